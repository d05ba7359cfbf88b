"""Typed settings of a run, how they must fit together, and presets per task and method with their sources."""
