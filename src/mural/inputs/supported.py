"""Which observation and action spaces can be trained on, and what to do about the others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces as gym_spaces

from mural.agent.policy import ActionBox
from mural.inputs.selection import OBSERVATION, SpaceError

UNBOUNDED = 1e30  # bounds beyond this, such as the largest float, are no bounds


class Entry(NamedTuple):
    """One Box of an observation, and where it is in the flattened one."""

    path: tuple[str, ...]
    space: gym_spaces.Box[Any]
    start: int
    stop: int

    @property
    def name(self) -> str:
        """Keys of nested Dicts joined by a slash."""
        return "/".join(map(str, self.path)) or OBSERVATION


def entries_of(space: gym_spaces.Space[Any], path: tuple[str, ...] = (), start: int = 0) -> Iterator[Entry]:
    """The Boxes of an observation space, in Gymnasium's order."""
    name = f"observation entry {'/'.join(map(str, path))!r}" if path else "observation space"
    if isinstance(space, gym_spaces.Dict):
        for key, part in space.spaces.items():
            for entry in entries_of(part, (*path, key), start):
                yield entry
                start = entry.stop
        return
    if not isinstance(space, gym_spaces.Box):
        advice = {
            gym_spaces.Discrete: "make it a vector of numbers, for example with gymnasium.wrappers.FlattenObservation",
            gym_spaces.Tuple: "make it a Dict of Boxes, or flatten it with gymnasium.wrappers.FlattenObservation",
        }
        what = advice.get(type(space), "make it a Box of numbers with gymnasium.wrappers.TransformObservation")
        raise SpaceError(f"the {name} is {space}; needed is a Box or a Dict of Boxes: {what}")
    if len(space.shape) > 2 or space.dtype == np.uint8:
        raise SpaceError(
            f"the {name} looks like an image (shape {space.shape}, {space.dtype}), which is not supported: provide a "
            "vector of state or features (poses, or a trained encoder's output) through an ObservationWrapper"
        )
    yield Entry(path, space, start, start + math.prod(space.shape))


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
