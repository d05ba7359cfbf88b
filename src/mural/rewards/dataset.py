"""D, what a success classifier learns from in an epoch: visited states (label 0) and examples (label 1).

D is a sample. CNML is defined on all data, so each point of D stands for its share of them: `represents`.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mural.nml.kernel import neighbour_distance
from mural.nml.weights import Data, distances
from mural.rewards.base import Experience, Problem

NEIGHBOUR = 5  # among the examples: how far apart states are that are all success


def draw(
    problem: Problem, experience: Experience, negatives: int, positives: int, *, counts: bool, spare: bool, key: Array
) -> Data:
    """`negatives` visited states and `positives` examples, drawn with replacement; both labels weigh the same.

    `counts`: all of D stands for all that was visited, and not for itself. `spare`: visited states that cannot be told
    from an example are not held against success.
    """
    key_replay, key_examples = jax.random.split(key)
    visited = experience.states(negatives, key_replay)
    share = max(experience.size / negatives, 1.0) if counts else 1.0
    y = np.repeat([0, 1], [negatives, positives]).astype(np.int32)
    represents = np.where(y == 1, share * negatives / max(positives, 1), share).astype(np.float32)
    if not positives:
        return Data(visited, jnp.asarray(y), jnp.asarray(represents))
    width = np.float32(experience.width) if spare else None
    return _with_examples(visited, problem.examples, y, represents, width, key=key_examples)


@jax.jit
def _with_examples(
    visited: Array, examples: Array, y: Array, represents: Array, width: Array | None, *, key: Array
) -> Data:
    """Visited states [n, d] and as many examples as there are labels 1; with a width, visits among them are spared.

    Among them: nearer to one than examples usually are to their fifth neighbour, or than the kernel can resolve (half
    its width, where it is still a third).
    """
    n = visited.shape[0]
    drawn = examples[jax.random.randint(key, (y.shape[0] - n,), 0, examples.shape[0])]
    if width is not None:
        own = jnp.median(neighbour_distance(examples, examples, NEIGHBOUR))
        among = jnp.min(distances(visited, examples), axis=1) < jnp.maximum(own, width / 2)
        represents = represents.at[:n].set(jnp.where(among, 0.0, represents[:n]))
    return Data(jnp.concatenate([visited, drawn]), y, represents)
