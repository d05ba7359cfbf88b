"""Which columns of the flattened observation the success classifier sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from mural.errors import MuralError, did_you_mean

Ints = NDArray[np.int64]
Layout = Sequence[tuple[str, int, int]]
Selection = slice | str | Sequence[int]

HOW_TO_WRITE = "write it like '0:3' or '0,2', or give a list of columns"
OBSERVATION = "observation"  # the name of the only entry of an observation that is not a Dict


class SpaceError(MuralError, ValueError):
    """A space, or a choice of what the classifier sees, that cannot be used; the message says what to do instead."""


def columns(
    env: gymnasium.Env[Any, Any], layout: Layout, keys: str | Sequence[str] | None, chosen: Selection | None
) -> Ints:
    """The columns that `keys` or `chosen` (not both) select; without them what the environment's own view selects."""
    size = layout[-1][2]
    if keys is not None and chosen is not None:
        raise SpaceError("give classifier_keys or classifier_slice, not both")
    if keys is not None:
        found = of_keys(layout, keys)
    else:
        found = of_view(env, size) if chosen is None else of_slice(chosen, size)
    if len(found) == 0:
        raise SpaceError("the selection for the classifier is empty; choose at least one column")
    if len(set(found.tolist())) < len(found):
        raise SpaceError(f"the selection for the classifier names a column twice: {found.tolist()}")
    return found


def of_keys(layout: Layout, keys: str | Sequence[str]) -> Ints:
    """The columns of the named entries, in the order given; the name of a nested Dict stands for all in it."""
    names = [name for name, _, _ in layout]
    if names == [OBSERVATION] and keys not in (OBSERVATION, [OBSERVATION]):
        raise SpaceError("classifier_keys are for Dict observations and this is a Box; use classifier_slice")
    selected: list[int] = []
    for key in [keys] if isinstance(keys, str) else keys:
        found = [range(start, stop) for name, start, stop in layout if name == key or name.startswith(f"{key}/")]
        if not found:
            raise SpaceError(f"there is no observation entry {key!r}; {choice(str(key), names)}")
        selected += [column for part in found for column in part]
    return np.array(selected, dtype=np.int64)


def of_slice(selection: Selection, size: int) -> Ints:
    """The columns of a slice, a string like "0:3" or "0,2", or a list of columns; none may be out of range."""
    shown = f"classifier_slice {selection!r}"
    if isinstance(selection, str):
        try:
            if ":" in selection:
                selection = slice(*(int(part) if part.strip() else None for part in selection.split(":")))
            else:
                selection = [int(part) for part in selection.split(",")]
        except (TypeError, ValueError):  # TypeError: a slice of more than three parts
            raise SpaceError(f"{shown} is not understood; {HOW_TO_WRITE}") from None
    if isinstance(selection, slice):
        edges = [edge for edge in (selection.start, selection.stop) if edge is not None]
        if selection.step == 0 or any(not -size <= edge <= size for edge in edges):
            raise SpaceError(f"{shown} is out of range; the flattened observation has {size} columns")
        return np.arange(size)[selection]
    listed = np.asarray(selection)
    if listed.size == 0:
        return np.zeros(0, np.int64)
    if listed.ndim != 1 or listed.dtype.kind not in "iu":
        raise SpaceError(f"{shown} is not understood; {HOW_TO_WRITE}")
    if (listed < -size).any() or (listed >= size).any():
        raise SpaceError(f"{shown} is out of range; the flattened observation has columns 0 to {size - 1}")
    return np.where(listed < 0, listed + size, listed).astype(np.int64)


def of_view(env: gymnasium.Env[Any, Any], size: int) -> Ints:
    """What the environment's own `classifier_view` selects; everything where there is none."""
    everything = np.arange(size)
    view = getattr(env.unwrapped, "classifier_view", None)
    if view is None:
        return everything
    choose = "choose the classifier's columns with classifier_slice (':' is all of them)"
    if env.observation_space.shape != env.unwrapped.observation_space.shape:
        raise SpaceError(f"a wrapper changes the shape of this task's observations; {choose}")
    seen = np.asarray(view(everything.astype(np.float64)))
    probe = np.random.default_rng(0).standard_normal(size)
    chosen = seen.ndim == 1 and np.isin(seen, everything).all()
    if not chosen or not np.array_equal(view(probe), probe[seen.astype(np.int64)]):
        raise SpaceError(f"classifier_view of {env.unwrapped} does more than select columns; {choose}")
    return seen.astype(np.int64)


def choice(name: str, names: Sequence[str]) -> str:
    """A hint with the nearest right name, and all of them."""
    return f"{did_you_mean(name, names)}there are {', '.join(names)}"
