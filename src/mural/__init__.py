"""Outcome-driven reinforcement learning: examples of success in, a policy and the reward that it learned out."""

from mural.nml import CNMLClassifier, MetaNMLClassifier, MLEClassifier

__all__ = ["CNMLClassifier", "MLEClassifier", "MetaNMLClassifier"]
__version__ = "0.1.0"
