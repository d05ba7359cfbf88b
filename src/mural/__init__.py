"""Outcome-driven reinforcement learning: examples of success in, a policy and the reward that it learned out."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mural.registration import register_tasks

if TYPE_CHECKING:
    from mural.agent.policy import load_policy
    from mural.api import Agent
    from mural.errors import MuralError
    from mural.inputs.checks import check_env, check_examples
    from mural.inputs.examples import SuccessExamples
    from mural.nml import CNMLClassifier, MetaNMLClassifier, MLEClassifier
    from mural.rewards import register_method
    from mural.rewards.outcome import OutcomeReward

# Imported when first used: `load_policy` must work on a robot without JAX, and `mural --help` at once.
_HOMES = {
    "Agent": "mural.api",
    "CNMLClassifier": "mural.nml",
    "MLEClassifier": "mural.nml",
    "MetaNMLClassifier": "mural.nml",
    "OutcomeReward": "mural.rewards.outcome",
    "MuralError": "mural.errors",
    "SuccessExamples": "mural.inputs.examples",
    "check_env": "mural.inputs.checks",
    "check_examples": "mural.inputs.checks",
    "load_policy": "mural.agent.policy",
    "register_method": "mural.rewards",
}

__all__ = [
    "Agent",
    "CNMLClassifier",
    "MLEClassifier",
    "MetaNMLClassifier",
    "MuralError",
    "OutcomeReward",
    "SuccessExamples",
    "check_env",
    "check_examples",
    "load_policy",
    "register_method",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'mural' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])


register_tasks()
