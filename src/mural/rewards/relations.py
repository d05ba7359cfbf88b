"""Numbers that tell success only beside another: where the ball is means little, how far it is from its goal means all.

An environment with a goal that differs from episode to episode observes two places, and success is that they are near
each other. Alone, neither tells anything, as examples and visits have it alike. So a number that says little by itself
is measured *from another one*, x_i − β x_j, where that difference hardly varies among the examples and does among the
visits. β is such that a change of the goal goes with as large a change of what has come to it: by regression on the
goal where one of the two is given, else the ratio of the two deviations among the examples. So units do not matter.
Nothing is lost: x_j stays as it is.

A goal is also what nobody can change. A number that changes between episodes and never within one is no place to go
through, however slow it is.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

EXAMPLES = 20  # at the least: fewer lie on a line by chance
WEAK = 0.5  # relevance below which a number says little by itself
SURE = 5.0  # deviations from chance (of Fisher's z), from which on two numbers of the examples go together
LEAST = 0.5  # correlation that they have at the least
TELLING = 0.9  # relevance of their difference, from which on it is looked at instead
PRECISION = 1e-5  # of a number's size: what varies less is rounding
DISTINCT = 0.1  # of a number's common spread: a difference that varies less is none, but one number observed twice
Floats = NDArray[np.float64]


def given(states: Array, recent: Array, episodes: int, abreast: int = 1) -> Array:
    """Which numbers [d] differ among visited states [n, d], and in recent ones, in their order, only between episodes.

    What never differs at all is something that nobody has moved yet.
    """
    changes = jnp.sum(recent[abreast:] != recent[:-abreast], axis=0)
    return (changes <= episodes) & jnp.any(states != states[:1], axis=0)


def related(visits: Floats, examples: Floats, fixed: NDArray[np.bool_]) -> tuple[NDArray[np.int32], Floats]:
    """For each number, which other one it is measured from [d], and β [d]: 0 where it is measured as it is.

    `fixed` [d] says which numbers the agent cannot change: of a pair these are measured from the others.
    """
    d = visits.shape[1]
    partner, slope = np.arange(d, dtype=np.int32), np.zeros(d)
    if len(examples) < EXAMPLES or d < 2:
        return partner, slope
    own, seen = np.cov(examples.T), np.cov(visits.T)
    apart = (visits.mean(axis=0) - examples.mean(axis=0)) / 2
    common = (np.diag(seen) + np.diag(own)) / 2 + apart**2
    relevance = 1 - np.diag(own) / np.where(common > 0, common, 1.0)
    deviation = np.sqrt(np.diag(own))
    alive = deviation > PRECISION * np.abs(examples).max(axis=0)
    size = np.where(alive, deviation, 1.0)
    correlation = np.where(alive[:, None] & alive[None], own / (size[:, None] * size[None]), 0.0)
    together = np.abs(correlation) >= max(LEAST, np.tanh(SURE / np.sqrt(len(examples) - 3)))
    rho = np.where(together, correlation, 1.0)
    goal = fixed.astype(int)[:, None] - fixed.astype(int)[None]  # 1: i is given and j is not; −1: j is
    beta = np.sign(rho) * np.abs(rho) ** -goal * (size[:, None] / size[None])

    def variance(covariance: Floats) -> Floats:
        """Of x_i − β x_j, for all pairs."""
        diagonal = np.diag(covariance)
        return np.maximum(diagonal[:, None] + beta**2 * diagonal[None] - 2 * beta * covariance, 0.0)

    spread = (variance(seen) + variance(own)) / 2 + (apart[:, None] - beta * apart[None]) ** 2
    distinct = spread > DISTINCT**2 * common[:, None]
    left = np.where(distinct & together, variance(own) / np.where(distinct, spread, 1.0), np.inf)
    np.fill_diagonal(left, np.inf)
    used: set[int] = set()
    for flat in np.argsort(np.minimum(left, left.T), axis=None, kind="stable"):
        i, j = sorted(divmod(int(flat), d), key=lambda k: (not fixed[k], relevance[k]))
        if min(left[i, j], left[j, i]) > 1 - TELLING:
            break
        if relevance[i] < WEAK and i not in used and slope[i] == 0 and slope[j] == 0:
            partner[i], slope[i] = j, beta[i, j]
            used.add(j)
    return partner, slope


@jax.jit
def measured_from(states: Array, partner: Array, slope: Array) -> Array:
    """States [n, d] with each number less β times its partner."""
    return states - slope[None] * states[:, partner]
