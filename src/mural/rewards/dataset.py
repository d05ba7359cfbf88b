"""D, what a success classifier learns from in an epoch: visited states (label 0) and examples (label 1).

CNML is defined on all data. D is less, so each point of it stands for its share of them: `represents`.
"""

from __future__ import annotations

from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mural.nml.coreset import coreset
from mural.nml.kernel import neighbour_distance
from mural.nml.weights import Data, distances
from mural.rewards.base import Experience, Problem

CANDIDATES = 4096  # visited states that a coreset is chosen from
NEIGHBOUR = 5  # among the examples: how far apart states are that are all success


class Drawing(Protocol):
    """What a classifier says about its D."""

    @property
    def negatives(self) -> int:
        """Visited states in it."""

    @property
    def positives(self) -> int:
        """Examples in it, drawn with replacement; both labels weigh the same."""

    @property
    def counts(self) -> bool:
        """Whether all of D stands for all that was visited, and not for itself."""

    @property
    def spare(self) -> bool:
        """Whether visited states that cannot be told from an example are not held against success."""

    @property
    def coreset(self) -> bool:
        """Whether the visited states are a coreset of more, and not a random draw."""


def draw(how: Drawing, problem: Problem, experience: Experience, *, key: Array) -> Data:
    """D of an epoch."""
    key_replay, key_examples = jax.random.split(key)
    visited = experience.states(candidates(how), key_replay)
    return compose(how, visited, experience.size, problem.examples, experience.width, key=key_examples)


def candidates(how: Drawing) -> int:
    """Visited states that D is made from."""
    return max(CANDIDATES, how.negatives) if how.coreset else how.negatives


def compose(how: Drawing, visited: Array, size: int, examples: np.ndarray, width: Array | float, *, key: Array) -> Data:
    """D from a random draw of `candidates` out of `size` visited states, and from the examples; λ is `width`."""
    weight = max(size, how.negatives) if how.counts else how.negatives
    each = jnp.full(len(visited), weight / len(visited), jnp.float32)
    if how.positives and how.spare:
        each = _spared(visited, each, examples, np.float32(width))
    if how.coreset:
        visited, each = coreset(visited, how.negatives, each)
    y = np.repeat([0, 1], [how.negatives, how.positives]).astype(np.int32)
    if not how.positives:
        return Data(visited, jnp.asarray(y), each)
    return _with_examples(visited, each, examples, y, np.float32(weight / how.positives), key=key)


@jax.jit
def _spared(visited: Array, each: Array, examples: Array, width: Array) -> Array:
    """What visited states [n, d] count for, without those among the examples.

    Among them: nearer to one than examples usually are to their fifth neighbour, or than the kernel can resolve (half
    its width, where it is still a third).
    """
    own = jnp.median(neighbour_distance(examples, examples, NEIGHBOUR))
    among = jnp.min(distances(visited, examples), axis=1) < jnp.maximum(own, width / 2)
    return jnp.where(among, 0.0, each)


@jax.jit
def _with_examples(visited: Array, each: Array, examples: Array, y: Array, weight: Array, *, key: Array) -> Data:
    """Visited states [n, d] and as many examples as there are labels 1, which count for `weight` each."""
    more = y.shape[0] - visited.shape[0]
    drawn = examples[jax.random.randint(key, (more,), 0, examples.shape[0])]
    return Data(jnp.concatenate([visited, drawn]), y, jnp.concatenate([each, jnp.full(more, weight)]))
