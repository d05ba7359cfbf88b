"""States as users bring them, checked before anything is computed; and a fair memory of those visited."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mural.errors import MuralError

Floats = NDArray[np.float32]


class StatesError(MuralError, ValueError):
    """States that a reward cannot be learned from or asked for; the message says what is wrong with them."""


def checked_states(states: Any, widths: tuple[int, ...] | None, needed: str, what: str = "states") -> Floats:
    """States [n, d] in single precision: finite, at least one. They are as wide as one of `widths`, and a single one is
    [1, d]; without `widths` they are rows of any width."""
    names = column_names(states)
    if names != [str(i) for i in range(len(names))]:  # pandas numbers columns that nobody named
        raise StatesError(
            f"{what} are a table with the columns {', '.join(names)}, and a reward knows no names: give their order, "
            f"mural.SuccessExamples.from_table({what}, columns={names})"
        )
    try:
        array = np.asarray(states)
        with np.errstate(over="ignore"):  # what single precision cannot hold becomes infinite, and is named below
            rows = array.real.astype(np.float32)
    except (TypeError, ValueError) as error:
        raise StatesError(f"{what} are not an array of numbers ({error}); {needed}") from None
    if np.iscomplexobj(array):
        raise StatesError(f"{what} are complex numbers; {needed}")
    if rows.size == 0:
        raise StatesError(f"there are no {what}: their shape is {rows.shape}; {needed}")
    shape = rows.shape
    rows = rows if widths is None else np.atleast_2d(rows)
    if rows.ndim != 2 or (widths is not None and rows.shape[1] not in widths):
        raise StatesError(f"{what} have shape {shape}; {needed}")
    wrong = np.argwhere(~np.isfinite(rows))
    if len(wrong):
        row, column = (int(i) for i in wrong[0])
        raise StatesError(f"{what}[{row}, {column}] is {rows[row, column]}, which is not finite")
    return rows


def column_names(states: Any) -> list[str]:
    """The names of the columns of a data frame or a structured array; none of anything else."""
    names = getattr(states, "columns", None)
    if names is None:
        names = getattr(getattr(states, "dtype", None), "names", None)
    return [] if names is None else [str(name) for name in names]


class Memory:
    """At most `capacity` of all states seen, each of them with the same chance (Vitter's reservoir, algorithm R)."""

    def __init__(self, capacity: int, width: int) -> None:
        self.states = np.zeros((capacity, width), np.float32)
        self.seen = 0

    @property
    def held(self) -> int:
        """States that are there."""
        return min(self.seen, len(self.states))

    def add(self, states: Floats, rng: np.random.Generator) -> None:
        """While there is room, append; then the t-th state of all takes a random place among t, if that is held."""
        first = max(len(self.states) - self.seen, 0)
        room, rest = states[:first], states[first:]
        self.states[self.seen : self.seen + len(room)] = room
        self.seen += len(room)
        places = rng.integers(0, self.seen + 1 + np.arange(len(rest)))
        kept = places < len(self.states)
        self.states[places[kept]] = rest[kept]  # of several with one place, NumPy keeps the last, as it should be
        self.seen += len(rest)
