"""Sweeps: tasks × methods × seeds × variants, each run a process of its own, here or on a cluster."""
