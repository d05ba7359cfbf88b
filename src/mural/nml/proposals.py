"""Where the query tasks outside D come from.

CNML asks for an answer at states that nobody has seen, so the adaptation there has to be meta-trained too. A proposal
is any pure function (key, data, count) → inputs [count, d]; padding in D (represents = 0) must not be used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from mural.errors import ArgumentError
from mural.nml.weights import Data

Proposal = Callable[[Array, Data, int], Array]

MARGIN = 0.25  # how far beyond the data, as a share of its extent, the proposals reach on each side


def draw(key: Array, data: Data, count: int) -> Array:
    """Indices of `count` points of D, uniformly, with replacement, padding left out."""
    return jax.random.categorical(key, jnp.where(data.represents > 0, 0.0, -jnp.inf), shape=(count,))


def reach(data: Data) -> tuple[Array, Array]:
    """Low and high corner [d] of the bounding box of D, widened by a quarter of its extent on each side."""
    present = (data.represents > 0)[:, None]
    low = jnp.min(jnp.where(present, data.x, jnp.inf), axis=0)
    high = jnp.max(jnp.where(present, data.x, -jnp.inf), axis=0)
    # A single value still leaves room around it.
    margin = MARGIN * jnp.where(high > low, high - low, 1.0)
    return low - margin, high + margin


def box(key: Array, data: Data, count: int) -> Array:
    """Uniform over the widened bounding box of D: for states of a few dimensions."""
    low, high = reach(data)
    return jax.random.uniform(key, (count, data.x.shape[1]), data.x.dtype, minval=low[None], maxval=high[None])


def pairs(key: Array, data: Data, count: int) -> Array:
    """Points on the lines through random pairs of D, between them and a quarter beyond: stays near the data's
    own subspace, for states of many dimensions."""
    key_a, key_b, key_t = jax.random.split(key, 3)
    a, b = data.x[draw(key_a, data, count)], data.x[draw(key_b, data, count)]
    t = jax.random.uniform(key_t, (count, 1), data.x.dtype, -MARGIN, 1 + MARGIN)
    return a + t * (b - a)


def auto(key: Array, data: Data, count: int) -> Array:
    """`box` for up to `BOX_DIMENSIONS` inputs, `pairs` above: a box of many dimensions is nearly all corners."""
    return (box if data.x.shape[1] <= BOX_DIMENSIONS else pairs)(key, data, count)


BOX_DIMENSIONS = 4

PROPOSALS: dict[str, Proposal] = {"auto": auto, "box": box, "pairs": pairs}


def resolve(proposal: str | Proposal) -> Proposal:
    """A proposal by name, or the user's own function."""
    if callable(proposal):
        return proposal
    if proposal not in PROPOSALS:
        known: Any = ", ".join(sorted(PROPOSALS))
        raise ArgumentError(f"proposal={proposal!r} is unknown: use one of {known}, or a function (key, data, count).")
    return PROPOSALS[proposal]
