"""Counts over the cells of a grid, inside compiled code."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

import mural.cells
from mural.errors import MuralError


class Box(NamedTuple):
    """The region that the cells divide."""

    low: Array  # [d]
    high: Array  # [d]


def box(points: np.ndarray | None, size: int, low: float | None, high: float | None, widen: float) -> Box:
    """From `low` to `high` on all `size` axes; where one is None, the box of the points, widened.

    Widened: each side is moved out by `widen` times the longest edge. Without points either, −1 and 1.
    """
    if points is None or len(points) == 0:
        bottom, top = np.full(size, -1.0), np.full(size, 1.0)
    else:
        bottom, top = points.min(0).astype(float), points.max(0).astype(float)
        margin = widen * max(float((top - bottom).max()), 1e-3)
        bottom, top = bottom - margin, top + margin
    if low is not None:
        bottom = np.full(size, low)
    if high is not None:
        top = np.full(size, high)
    if not (bottom < top).all():
        raise BoundsError(f"the grid runs from {bottom.tolist()} to {top.tolist()}: set low below high")
    return Box(jnp.asarray(bottom, jnp.float32), jnp.asarray(top, jnp.float32))


class BoundsError(MuralError, ValueError):
    """A grid without an inside; the message has its bounds."""


def cells(region: Box, bins: int, x: Array) -> Array:
    """Flat cell index [n] of places x [n, d]; what lies outside belongs to the nearest cell."""
    position = mural.cells.cells(x, region.low[None], region.high[None], bins)
    flat = jnp.zeros(x.shape[0], jnp.int32)
    for axis in range(x.shape[1]):
        flat = flat * bins + position[:, axis]
    return flat


def counted(counts: Array, region: Box, bins: int, x: Array) -> Array:
    """`counts` [bins^d] with one more for each of the places [n, d]."""
    return counts.at[cells(region, bins, x)].add(1)
