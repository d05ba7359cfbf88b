"""A coreset: few points that stand for many, each with the exact number that is nearest to it.

A random draw of n points from N leaves holes where N/n or fewer points lie, and moves them with every draw. Half of a
coreset is drawn like that, so that it is dense where the points are; the other half are the farthest points, one after
the other, so that whatever was there at all has somebody near that stands for it, and for no more than it was.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from mural.nml.weights import distances


@partial(jax.jit, static_argnums=1)
def coreset(points: Array, size: int, counts: Array) -> tuple[Array, Array]:
    """`size` of the points [n, d], which come in random order, and how many each of them stands for [size].

    Point i counts for `counts` [n] of i; each gives its count to the nearest of those chosen.
    """
    first = size - size // 2
    nearest = jnp.min(distances(points, points[:first]), axis=1)
    rows = jnp.concatenate([jnp.arange(first), jnp.zeros(size - first, jnp.int32)])

    def add(i: int, found: tuple[Array, Array]) -> tuple[Array, Array]:
        rows, nearest = found
        row = jnp.argmax(nearest)
        away = distances(points, points[row][None])[:, 0]
        return rows.at[first + i].set(row), jnp.minimum(nearest, away)

    rows, _ = jax.lax.fori_loop(0, size - first, add, (rows, nearest))
    chosen = points[rows]
    owner = jnp.argmin(distances(points, chosen), axis=1)
    return chosen, jnp.zeros(size).at[owner].add(counts)
