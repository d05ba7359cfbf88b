"""Numbers that tell success only beside another: where the ball is means little, how far it is from its goal means all.

An environment with a goal that differs from episode to episode observes two places, and success is that they are near
each other. Alone, neither tells anything, as examples and visits have it alike. So a number that says little by itself
is measured *from another one*, x_i − β x_j, where that difference hardly varies among the examples and does among the
visits. β is such that a change of the goal goes with as large a change of what has come to it, so units do not matter.
Nothing is lost: x_j stays as it is.

A goal is also what nobody can change. A number that only ever has values that episodes began with is no place to go
through, however slow it is.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from jax import Array
from numpy.typing import NDArray

FEWEST = 10  # examples and visits: of fewer nothing is concluded
MOST = 256  # numbers of a state: of more (pixels) no pairs are looked at
WEAK = 0.5  # relevance below which a number says little by itself
SURE = 5.0  # deviations from chance (of Fisher's z), from which on two numbers of the examples go together
ALIKE = 0.05  # of a number's deviation: values that differ by less are one, when it comes to chance
TELLING = 0.9  # relevance of their difference, from which on it is looked at instead
PRECISION = 1e-5  # of a number's size: what varies less is rounding
DISTINCT = 0.1  # of a number's common spread: a difference that varies less is none, but one number observed twice
Floats = NDArray[np.floating]
Flags = NDArray[np.bool_]


def given(states: Floats, recent: Floats, starts: Floats, abreast: int = 1) -> Flags:
    """Which numbers [d] differ among visited states [n, d], but in recent ones are only as episodes began.

    `starts` [k, d] are the states in which the recent episodes began; the first of the recent states, one for each
    environment, may belong to episodes that began earlier. Nor does such a number change more often than episodes
    begin: on a grid, where all values are also starts, that tells.
    """
    if len(recent) <= abreast:
        return np.zeros(recent.shape[1], bool)
    begun = np.concatenate([starts.reshape(-1, recent.shape[1]), recent[:abreast]])
    as_begun = np.array([np.isin(column, known).all() for column, known in zip(recent.T, begun.T, strict=True)], bool)
    seldom = (recent[abreast:] != recent[:-abreast]).sum(axis=0) <= len(starts)
    return as_begun & seldom & (states != states[:1]).any(axis=0)


def related(visits: Floats, examples: Floats, fixed: Flags) -> tuple[NDArray[np.int32], Floats]:
    """For each number, which other one it is measured from [d], and β [d]: 0 where it is measured as it is.

    `fixed` [d] says which numbers are given: of a pair these are measured from the other.
    """
    d = visits.shape[1]
    partner, slope = np.arange(d, dtype=np.int32), np.zeros(d)
    if not 2 <= d <= MOST or min(len(visits), len(examples)) < FEWEST:
        return partner, slope
    visits, examples = visits.astype(np.float64), examples.astype(np.float64)
    own, seen = np.cov(examples.T), np.cov(visits.T)
    apart = (visits.mean(axis=0) - examples.mean(axis=0)) / 2
    common = (np.diag(seen) + np.diag(own)) / 2 + apart**2
    relevance = 1 - np.diag(own) / np.where(common > 0, common, 1.0)
    together, beta = regressions(examples, own, fixed)

    def variance(covariance: Floats) -> Floats:
        """Of x_i − β x_j, for all pairs."""
        diagonal = np.diag(covariance)
        return np.maximum(diagonal[:, None] + beta**2 * diagonal[None] - 2 * beta * covariance, 0.0)

    spread = (variance(seen) + variance(own)) / 2 + (apart[:, None] - beta * apart[None]) ** 2
    distinct = spread > DISTINCT**2 * common[:, None]
    left = np.where(together & distinct & distinct.T, variance(own) / np.where(distinct, spread, 1.0), np.inf)
    pairs = [(i, j) for i, j in np.argwhere(np.triu(left <= 1 - TELLING, 1)).tolist()]
    used: set[int] = set()
    for pair in sorted(pairs, key=lambda pair: float(left[pair])):
        i, j = sorted(pair, key=lambda k: (not fixed[k], relevance[k]))
        if relevance[i] < WEAK and i not in used and slope[i] == 0 and slope[j] == 0:
            partner[i], slope[i] = j, beta[i, j]
            used.add(j)
    return partner, slope


def regressions(examples: Floats, own: Floats, fixed: Flags) -> tuple[Flags, Floats]:
    """Which numbers go together among the examples [m, d] beyond chance [d, d], and β_ij, with β_ij β_ji = 1.

    Where one of the two is given, the other was brought to it: x = β g + noise by regression on g, and so g is measured
    from x with 1/β. Where both are or none is, β is the ratio of their deviations.
    """
    deviation = np.sqrt(np.diag(own))
    alive = deviation > PRECISION * np.abs(examples).max(axis=0)
    size = np.where(alive, deviation, 1.0)
    count = np.array([distinct_values(column) for column in (examples / (ALIKE * size)).T])
    fewer = np.minimum(count[:, None], count[None])
    chance = np.tanh(SURE / np.sqrt(np.maximum(fewer - 3.0, 1.0)))
    correlation = np.where(alive[:, None] & alive[None], own / (size[:, None] * size[None]), 0.0)
    together = (fewer > 3) & (np.abs(correlation) >= chance)
    rho = np.where(together, correlation, 1.0)
    goal = fixed.astype(int)[:, None] - fixed.astype(int)[None]  # 1: i is given and j is not; −1: j is
    return together, np.sign(rho) * np.abs(rho) ** -goal * (size[:, None] / size[None])


def distinct_values(values: Floats) -> int:
    """How many groups the values [m] make, each no wider than 1: frames of a few episodes are few examples."""
    rising, at, count = np.sort(values), 0, 0
    while at < len(rising):
        at, count = int(np.searchsorted(rising, rising[at] + 1, side="right")), count + 1
    return count


Rows = TypeVar("Rows", Array, NDArray[np.float32])


def measured_from(states: Rows, partner: Rows, slope: Rows) -> Rows:
    """States [n, d] with each number less β times its partner."""
    return states - slope[None] * states[:, partner]
