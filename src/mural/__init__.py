"""Outcome-driven reinforcement learning."""
