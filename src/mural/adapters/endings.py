"""What the end of an episode is worth in a loop that is not ours: the same three answers as in our own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mural.agent.replay import Terminations
from mural.errors import ArgumentError
from mural.rewards.outcome import OutcomeReward
from mural.rewards.states import StatesError
from mural.typed import convert


def checked_endings(terminations: Any, gamma: float) -> tuple[Terminations, float]:
    """Both as they were given, if they can be."""
    known: Terminations = convert(Terminations, terminations, "terminations")
    if not 0 <= gamma < 1:
        raise ArgumentError(
            f"gamma is {gamma}; it must be at least 0 and below 1, and the one that the agent learns with"
        )
    return known, float(gamma)


def with_endings(
    rewards: NDArray[np.float32], terminated: NDArray[np.bool_], terminations: Terminations, gamma: float
) -> NDArray[np.float32]:
    """Rewards of transitions; with `absorb`, a termination is worth staying there: Σ γᵏ r = r / (1 − γ)."""
    if terminations != "absorb":
        return rewards
    return np.where(terminated, rewards / np.float32(1 - gamma), rewards).astype(np.float32)


def require_reward(reward: Any) -> OutcomeReward:
    """The same reward, or an `ArgumentError` if it is something else, such as the examples."""
    if not isinstance(reward, OutcomeReward):
        raise ArgumentError(f"reward is {'None' if reward is None else f'a {type(reward).__name__}'}; it must be a "
                            "mural.OutcomeReward, made from your examples: mural.OutcomeReward(examples)")  # fmt: skip
    return reward


def require_width(reward: OutcomeReward, width: int) -> None:
    """Raise a `StatesError` unless states of this width are what the reward has examples of."""
    wanted = reward.examples.shape[1]
    if width != wanted:
        raise StatesError(
            f"the reward's examples have {wanted} numbers and it would be shown {width} of each observation: choose "
            "with classifier_keys or classifier_slice, or make examples that are whole observations"
        )
