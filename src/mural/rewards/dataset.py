"""D, what a success classifier learns from in an epoch: visited states (label 0) and examples (label 1).

D is a sample. CNML is defined on all data, so each point of D stands for its share of them: `represents`.
"""

from __future__ import annotations

from functools import partial

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
    x = [experience.states(negatives, key_replay)]
    if positives:
        examples = jnp.asarray(problem.examples)
        x.append(examples[jax.random.randint(key_examples, (positives,), 0, examples.shape[0])])
    share = max(experience.size / negatives, 1.0) if counts else 1.0
    y = np.repeat([0, 1], [negatives, positives]).astype(np.int32)
    represents = jnp.asarray(np.where(y == 1, share * negatives / max(positives, 1), share), jnp.float32)
    if spare and positives:
        represents = _spared(x[0], jnp.asarray(problem.examples), represents, jnp.asarray(experience.width))
    return Data(jnp.concatenate(x), jnp.asarray(y), represents)


@partial(jax.jit)
def _spared(states: Array, examples: Array, represents: Array, width: Array) -> Array:
    """`represents` with 0 for the states [n, d] that lie among the examples [m, d].

    Among them: nearer to one than examples usually are to their fifth neighbour, or than the kernel can resolve (half
    its width, where it is still a third).
    """
    own = jnp.median(neighbour_distance(examples, examples, NEIGHBOUR))
    among = jnp.min(distances(states, examples), axis=1) < jnp.maximum(own, width / 2)
    rest = jnp.zeros(represents.shape[0] - among.shape[0], bool)
    return jnp.where(jnp.concatenate([among, rest]), 0.0, represents)
