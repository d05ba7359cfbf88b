"""What the agent's networks see of an observation: numbers of order one, whatever units the environment uses.

The classifier, the replay, `info` and the user keep raw observations. `see` is applied where the networks read them,
and its twin in NumPy is part of the exported policy.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from mural.nml.waves import beside, width

HONEST = 100.0  # a bound further away than so many times what was seen says nothing
OUTSIDE = 0.1  # what was seen may exceed an honest bound by this share of its width
STILL = 0.1  # changes of what hardly moves are measured by this share of the others' typical change
FASTEST = 10.0  # changes beyond this are cut


class View(NamedTuple):
    """Where zero is, and how large one is, for each number of an observation."""

    centre: Array  # [o]
    scale: Array  # [o]
    change: Array  # [o] one, for the change since the last observation


def raw(size: int) -> View:
    """Observations as they are."""
    return View(jnp.zeros(size), jnp.ones(size), jnp.ones(size))


def inputs(numbers: int, motion: bool, waves: int) -> int:
    """How many numbers the networks see of an observation of so many."""
    return width(numbers, waves) + motion * numbers


def see(view: View, obs: Array, before: Array, motion: bool, waves: int = 0) -> Array:
    """Network inputs [n, o] for observations [n, o].

    Beside them: with `waves` 2·waves·o sines and cosines of them, and with `motion` o changes since `before`.
    """
    seen = (obs - view.centre[None]) / view.scale[None]
    seen = beside(seen, waves)
    if not motion:
        return seen
    change = jnp.clip((obs - before) / view.change[None], -FASTEST, FASTEST)
    return jnp.concatenate([seen, change], axis=-1)


def measure(
    obs: NDArray[np.float32],
    next_obs: NDArray[np.float32],
    examples: NDArray[np.float32] | None,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> View:
    """The view for transitions [n, o] seen first, success examples [m, o] (NaN: not known) and the space's bounds [o].

    Where the bounds are finite and honest, centre ± scale are the bounds. Elsewhere they are the mean ± two standard
    deviations of visits and examples, half of the weight on each.
    """
    x = np.asarray(obs, np.float64)
    sets = [x] if examples is None else [x, np.asarray(examples, np.float64)]
    known = np.ones(x.shape[1], bool) if examples is None else ~np.isnan(sets[1]).any(axis=0)
    means = np.stack([np.where(known, s.mean(axis=0), x.mean(axis=0)) for s in sets])
    squares = np.stack([np.where(known, s.var(axis=0), x.var(axis=0)) for s in sets])
    centre = means.mean(axis=0)
    spread = np.sqrt(squares.mean(axis=0) + means.var(axis=0))
    least = np.min([np.where(known, s.min(axis=0), x.min(axis=0)) for s in sets], axis=0)
    most = np.max([np.where(known, s.max(axis=0), x.max(axis=0)) for s in sets], axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        middle, half = low / 2 + high / 2, high / 2 - low / 2
        room = OUTSIDE * 2 * half
        inside = (least >= low - room) & (most <= high + room)
        honest = np.isfinite(half) & (half > 0) & inside & ((most > least) <= (half <= HONEST * (most - least)))
    centre = np.where(honest, middle, centre)
    scale = np.where(honest, half, np.where(spread > 0, 2 * spread, 1.0))
    step = (np.asarray(next_obs, np.float64) - x).std(axis=0)
    moved = step > 0
    typical = np.median(step[moved] / scale[moved]) if moved.any() else 1.0
    change = np.maximum(step, STILL * typical * scale)
    return View(*(jnp.asarray(v, jnp.float32) for v in (centre, scale, change)))
