"""Mean and deviation of everything seen so far, without keeping it: what bonuses are normalised by."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

SMALLEST = 1e-8  # deviations below this divide nothing


class Moments(NamedTuple):
    """Number, mean and sum of squared deviations of values of any shape."""

    n: Array  # []
    mean: Array  # [...]
    squares: Array  # [...]


def none(shape: tuple[int, ...] = ()) -> Moments:
    """Nothing seen yet."""
    return Moments(jnp.zeros(()), jnp.zeros(shape), jnp.zeros(shape))


def extend(seen: Moments, values: Array, forget: float = 0.0) -> Moments:
    """The moments of all values so far and of `values` [n, ...] together (the pairwise formula of Chan et al.).

    `forget` is the share of what was seen so far that counts no longer: above 0 it is a running average.
    """
    seen = Moments((1 - forget) * seen.n, seen.mean, (1 - forget) * seen.squares)
    new = jnp.asarray(values.shape[0], jnp.float32)
    mean = jnp.sum(values, axis=0) / jnp.maximum(new, 1)
    squares = jnp.sum((values - mean[None]) ** 2, axis=0)
    total = seen.n + new
    share = new / jnp.maximum(total, 1)
    apart = mean - seen.mean
    return Moments(total, seen.mean + share * apart, seen.squares + squares + share * seen.n * apart**2)


def deviation(seen: Moments) -> Array:
    """√(Σ(v − mean)²/n); 1 where nothing was seen or nothing differs."""
    std = jnp.sqrt(seen.squares / jnp.maximum(seen.n, 1))
    return jnp.where(std > SMALLEST, std, 1.0)
