"""D, what a success classifier learns from in an epoch: visited states (label 0) and examples (label 1).

CNML is defined on all data. D is less, so each point of it stands for its share of them: `represents`.
"""

from __future__ import annotations

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


def draw(
    problem: Problem,
    experience: Experience,
    negatives: int,
    positives: int,
    *,
    counts: bool,
    spare: bool,
    core: bool = False,
    key: Array,
) -> Data:
    """`negatives` visited states and `positives` examples, drawn with replacement; both labels weigh the same.

    `counts`: all of D stands for all that was visited, and not for itself. `spare`: visited states that cannot be told
    from an example are not held against success. `core`: the visited states are a coreset of more, not a random draw.
    """
    key_replay, key_examples = jax.random.split(key)
    drawn = max(CANDIDATES, negatives) if core else negatives
    visited = experience.states(drawn, key_replay)
    weight = max(experience.size, negatives) if counts else negatives
    each = jnp.full(drawn, weight / drawn, jnp.float32)
    if positives and spare:
        each = _spared(visited, each, problem.examples, np.float32(experience.width))
    if core:
        visited, each = coreset(visited, negatives, each)
    y = np.repeat([0, 1], [negatives, positives]).astype(np.int32)
    if not positives:
        return Data(visited, jnp.asarray(y), each)
    return _with_examples(visited, each, problem.examples, y, np.float32(weight / positives), key=key_examples)


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
