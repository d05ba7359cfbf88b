"""The agent: soft actor-critic, its replay, and policies that run with NumPy alone."""
