"""Between actions in [−1, 1], which agent, replay and rewards know, and those that the environment takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium import spaces as gym_spaces
from numpy.typing import ArrayLike, NDArray

from mural.training.selection import SpaceError

Floats = NDArray[np.float32]

UNBOUNDED = 1e30  # bounds beyond this, such as the largest float, are no bounds


@dataclass(frozen=True, eq=False)
class ActionBox:
    """A box of actions, of any shape and any finite bounds."""

    low: NDArray[Any]
    high: NDArray[Any]
    _middle: NDArray[np.float64] = field(init=False, repr=False)
    _half: NDArray[np.float64] = field(init=False, repr=False)
    _unit: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # In double precision: the middle of narrow bounds far from 0 has no room in single precision.
        low, high = np.asarray(self.low, np.float64), np.asarray(self.high, np.float64)
        object.__setattr__(self, "_middle", low / 2 + high / 2)
        object.__setattr__(self, "_half", high / 2 - low / 2)
        object.__setattr__(self, "_unit", bool((low == -1).all() and (high == 1).all()))

    def to_env(self, action: NDArray[Any]) -> NDArray[Any]:
        """Actions [a] or [n, a] in [−1, 1] (others are clipped) → the environment's shape, type and bounds."""
        shape = self.low.shape if action.ndim == 1 else (len(action), *self.low.shape)
        values = action.reshape(shape)
        if not self._unit:
            values = self._middle + self._half * values
        # The clip also takes care of rounding, so ±1 give the bounds themselves and never a value outside.
        return np.minimum(np.maximum(values.astype(self.low.dtype), self.low), self.high)

    def from_env(self, action: ArrayLike) -> Floats:
        """The environment's actions, one or a batch → [a] or [n, a] in [−1, 1]."""
        values = np.asarray(action, np.float64)
        shape = (-1,) if values.ndim == self.low.ndim else (len(values), self.low.size)
        return np.clip((values - self._middle) / self._half, -1.0, 1.0).reshape(shape).astype(np.float32)


def action_box(space: gym_spaces.Space[Any]) -> ActionBox:
    """The box of an action space, or a `SpaceError`."""
    if not isinstance(space, gym_spaces.Box) or space.dtype.kind != "f":
        raise SpaceError(
            f"the action space is {space}; use a continuous-action environment (a Box of floats), or wrap this one "
            "with gymnasium.wrappers.TransformAction so that it takes numbers and picks its action by them"
        )
    low, high = np.asarray(space.low), np.asarray(space.high)
    if low.size == 0:
        raise SpaceError(f"the action space {space} is empty; at least one number is needed")
    if not ((np.abs(low) < UNBOUNDED) & (np.abs(high) < UNBOUNDED)).all():
        raise SpaceError(
            f"the action space {space} is unbounded, so there is no scale to explore on: wrap the environment with "
            "gymnasium.wrappers.TransformAction and give it the bounds that you want (RescaleAction only stretches "
            "finite ones; ClipAction makes a space unbounded: leave it out, actions are within the bounds here anyway)"
        )
    if not (low < high).all():
        where = np.argwhere(~(low < high))[0].tolist()
        raise SpaceError(f"action {where} has low >= high in {space}; leave it out, or give it room, with a wrapper")
    return ActionBox(low, high)
