"""Measurements of speed and fidelity: `mural bench`."""
