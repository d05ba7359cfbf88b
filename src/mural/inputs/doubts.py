"""What looks like a mistake in success examples, next to states that random actions come to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from mural.inputs.spaces import Spaces

States = NDArray[np.float64]

FEW = 10  # fewer examples than this say little about what success is
CLOSE = 0.01  # distance, in standard deviations per column, from which on two states count as the same
NEARBY = 0.05  # share of the examples, and of the visits, that is the neighbourhood of an example
SOME = 0.02  # share of the examples that must look ordinary before it is said; two of them at least
MOST = 1 / 3  # share of the examples that may look ordinary and be left out: more may be what success is like
NAMED = 8  # so many rows or ranges of rows are named

ORDINARY = (
    "{count} of {all} success examples look like states that random actions come to: rows {rows} (the first is 0). "
    "Around them there are more such states than other examples, and a few of them can keep the agent where it starts. "
    "{verdict} `mural examples check ENV FILE --picture p.png` marks them"
)
LEFT_OUT = "Training leaves them out; if they are right, set keep_ordinary (`--keep-ordinary`)."
TOO_MANY = (
    "These are too many to leave out, so training learns from all: look at these rows, and take out the wrong ones."
)


def doubts_about(spaces: Spaces, states: States, started: States, visited: States) -> Iterator[str]:
    """What looks like a mistake in examples [m, d], given whole observations of starts and random steps."""
    if len(states) < FEW:
        count = "is only 1 success example" if len(states) == 1 else f"are only {len(states)} success examples"
        yield f"there {count}; collect about 150, varied in all that does not matter"
    repeated = len(states) - len(np.unique(states, axis=0))
    if repeated:
        yield f"{repeated} of {len(states)} success examples ({repeated / len(states):.0%}) repeat others"
    started, visited = started[:, spaces.columns], visited[:, spaces.columns]
    still = (np.ptp(states, axis=0) == 0) & (np.ptp(visited, axis=0) > 0)
    if len(states) > 1 and still.any():
        names = ", ".join(spaces.column_name(int(column)) for column in spaces.columns[still][:12])
        yield (
            f"{names}: equal in all success examples, but not in the environment. The classifier will take this for a "
            "part of success; if it is none, leave it out with classifier_keys or classifier_slice"
        )
    near, rows = _look_like_starts(states, started, visited), ordinary_rows(states, visited)
    if near >= 0.5:
        yield (
            f"{near:.0%} of {len(started)} states in which episodes started are as close to a success example as "
            "to each other: is the task done at the start, or were the examples taken too early?"
        )
    elif len(rows) >= max(2, SOME * len(states)):
        verdict = LEFT_OUT if len(rows) <= MOST * len(states) else TOO_MANY
        yield ORDINARY.format(count=len(rows), all=len(states), rows=named(rows), verdict=verdict)


def left_out(spaces: Spaces, states: States, started: States, visited: States) -> NDArray[np.int64]:
    """Rows of the examples [m, d] that training does without, by the same look: a few that are ordinary states."""
    started, visited = started[:, spaces.columns], visited[:, spaces.columns]
    rows = ordinary_rows(states, visited)
    few = max(2, SOME * len(states)) <= len(rows) <= MOST * len(states)
    return rows if few and _look_like_starts(states, started, visited) < 0.5 else rows[:0]


def ordinary_rows(states: States, visited: States) -> NDArray[np.int64]:
    """Rows of the examples [m, d] that have a twentieth of the visits [n, d] nearer than a twentieth of the examples.

    Where success is rare among the visits, right examples lie closer together than visits come to them, even if some
    visits succeed. A wrong one lies among the visits, and at most the other wrong ones are with it.
    """
    if len(states) < 2:
        return np.zeros(0, np.int64)
    spread = np.concatenate([states, visited]).std(axis=0)
    moving = spread > 0
    examples, visits = (x[:, moving] / spread[moving] for x in (states, visited))
    # An example's nearest among the examples is itself: one more.
    fellows, others = max(1, round(NEARBY * len(states))) + 1, max(1, round(NEARBY * len(visits)))
    to_fellows = cKDTree(examples).query(examples, [fellows])[0][:, 0]
    to_visits = cKDTree(visits).query(examples, [others])[0][:, 0]
    return np.flatnonzero(to_visits < to_fellows)


def named(rows: Sequence[int] | NDArray[np.int64]) -> str:
    """Rising row numbers in few words: 0–3, 7, 9."""
    breaks = [i + 1 for i, (a, b) in enumerate(pairwise(rows)) if b > a + 1]
    parts = [rows[i:j] for i, j in pairwise([0, *breaks, len(rows)])]
    words = [f"{part[0]}" if len(part) == 1 else f"{part[0]}–{part[-1]}" for part in parts]
    return ", ".join(words[:NAMED]) + (", …" if len(words) > NAMED else "")


def _look_like_starts(states: States, started: States, visited: States) -> float:
    """Share of starting states that have an example as close to them as their fellows are to each other."""
    everything = np.concatenate([states, visited])
    spread = everything.std(axis=0)
    moving = spread > 0
    if not moving.any():
        return 1.0
    a, b = started[:, moving] / spread[moving], states[:, moving] / spread[moving]
    to_examples = np.array([np.sqrt(((b - row) ** 2).mean(axis=1)).min() for row in a])
    to_fellows = [np.sqrt(((np.delete(a, i, axis=0) - row) ** 2).mean(axis=1)).min() for i, row in enumerate(a)]
    return float((to_examples <= max(float(np.median(to_fellows)), CLOSE)).mean())
