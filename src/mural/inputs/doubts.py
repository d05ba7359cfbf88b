"""What looks like a mistake in success examples, next to states that random actions come to."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from mural.inputs.spaces import Spaces
from mural.rewards.relations import given, related

States = NDArray[np.float64]

FEW = 10  # fewer examples than this say little about what success is
CLOSE = 0.01  # distance, in standard deviations per column, from which on two states count as the same
NEARBY = 0.05  # share of the examples, and of the visits, that is the neighbourhood of an example
SOME = 0.02  # share of the examples that must look ordinary before it is said; two of them at least
AT_START = 0.5  # share of starts with an example beside them, from which on examples seem to lie at the start
MOST = 1 / 3  # share of the examples that may look ordinary and be left out: more may be what success is like
SURE = 20  # examples, of which some may be left out
NAMED = 8  # so many rows or ranges of rows are named

ORDINARY = (
    "{count} of {all} success examples look like states that random actions come to: rows {rows} (the first is 0). "
    "Around them there are more such states than other examples, and a few of them can keep the agent where it starts. "
    "{verdict} `mural examples check ENV FILE --picture p.png` marks them"
)
LEFT_OUT = "Training leaves them out, unless keep_ordinary is set (`--keep-ordinary`)."
LOOK = "so training leaves none out: look at these rows."
VERDICTS = {
    "many": f"They are too many to be mistakes for sure, {LOOK}",
    "sparse": f"Of so few examples right ones can look like that, {LOOK}",
    "goals": f"Where goals differ, right ones can look like that, {LOOK}",
    "slow": f"The environment is slow, and too few steps were seen to be sure, {LOOK}",
}


class Walks(NamedTuple):
    """Whole observations of random episodes."""

    started: States  # [k, o]
    visited: States  # [n, o] starts among them
    whole: bool  # no walk was cut short as time ran out


class Doubts(NamedTuple):
    """What was found."""

    texts: tuple[str, ...]
    rows: NDArray[np.int64]
    """Examples that training does without."""


def doubts_about(spaces: Spaces, states: States, walks: Walks) -> Doubts:
    """What looks like a mistake in examples [m, d], given random episodes."""
    texts, rows = [], np.zeros(0, np.int64)
    if len(states) < FEW:
        count = "is only 1 success example" if len(states) == 1 else f"are only {len(states)} success examples"
        texts.append(f"there {count}; collect about 150, varied in all that does not matter")
    repeated = len(states) - len(np.unique(states, axis=0))
    if repeated:
        texts.append(f"{repeated} of {len(states)} success examples ({repeated / len(states):.0%}) repeat others")
    started, visited = walks.started[:, spaces.columns], walks.visited[:, spaces.columns]
    still = (np.ptp(states, axis=0) == 0) & (np.ptp(visited, axis=0) > 0)
    if len(states) > 1 and still.any():
        names = ", ".join(spaces.column_name(int(column)) for column in spaces.columns[still][:12])
        texts.append(
            f"{names}: equal in all success examples, but not in the environment. The classifier will take this for a "
            "part of success; if it is none, leave it out with classifier_keys or classifier_slice"
        )
    near, ordinary = _look_like_starts(states, started, visited), ordinary_rows(states, visited)
    others = np.delete(states, ordinary, axis=0)
    few = near >= AT_START and len(others) and _look_like_starts(others, started, visited) < AT_START / 2
    if near >= AT_START and not few:
        texts.append(
            f"{near:.0%} of {len(started)} states in which episodes started are as close to a success example as "
            "to each other: is the task done at the start, or were the examples taken too early?"
        )
    elif few or len(ordinary) >= max(2, SOME * len(states)):  # few: without them no example lies at the start
        reason = _reason_to_keep(states, ordinary, started, visited, walks.whole)
        rows = rows if reason else ordinary
        verdict = VERDICTS[reason] if reason else LEFT_OUT
        texts.append(ORDINARY.format(count=len(ordinary), all=len(states), rows=named(ordinary), verdict=verdict))
    return Doubts(tuple(texts), rows)


def _reason_to_keep(
    states: States, ordinary: NDArray[np.int64], started: States, visited: States, whole: bool
) -> str | None:
    """Why examples that look ordinary are learned from all the same, if they are."""
    if len(ordinary) > MOST * len(states):
        return "many"
    if len(states) < SURE:
        return "sparse"
    others = np.delete(states, ordinary, axis=0)
    if related(visited, others, given(visited, visited, started))[1].any():
        return "goals"
    return None if whole else "slow"


def ordinary_rows(states: States, visited: States) -> NDArray[np.int64]:
    """Rows of the examples [m, d] that have a twentieth of the visits [n, d] nearer than a twentieth of the examples.

    Where success is rare among the visits, right examples lie closer together than visits come to them, even if some
    visits succeed. A wrong one lies among the visits, and at most the other wrong ones are with it.
    """
    if len(states) < 2:
        return np.zeros(0, np.int64)
    spread = np.concatenate([states, visited]).std(axis=0)
    moving = spread > 0
    if not moving.any():
        return np.zeros(0, np.int64)
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
