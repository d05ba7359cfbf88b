"""Typed settings, their constraints, and presets with sources."""
