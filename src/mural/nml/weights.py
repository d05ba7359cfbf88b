"""What each point of D counts for at a query: the kernel, the query's own weight, and D as a sample of more.

At query x the loss is Σᵢ wᵢ ℓᵢ + w_q ℓ_q, divided by the sum of the weights, with

    wᵢ = (points that xᵢ stands for) · K(x, xᵢ),     w_q = k_query,     K(x, xᵢ) = exp(−2.3 ‖x − xᵢ‖ / λ_dist).

The division makes only ratios matter, so everything is done with logarithms: a query far from all data leaves
w_q alone in the sum, where the plain exponentials would underflow to 0/0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

UNROLLED = 32
KERNEL_DECAY = 2.3  # paper A.2.2: the weight is 0.1 at distance λ_dist

FeatureMap = Callable[[Array], Array]


class Data(NamedTuple):
    """The data set D: n inputs, their labels, and how many points each of them stands for (0: padding)."""

    x: Array  # [n, d]
    y: Array  # [n] integers
    represents: Array  # [n]


def identity(x: Array) -> Array:
    """The kernel's default feature map: raw inputs."""
    return x


def distances(a: Array, b: Array) -> Array:
    """Euclidean distances [m, n] between the rows of a [m, f] and b [n, f]; its gradient at distance 0 is 0."""
    if (
        a.shape[1] <= UNROLLED
    ):  # a reduction over a short last axis does not vectorise; sums of planes do, 70 times faster
        squared = sum(((a[:, None, j] - b[None, :, j]) ** 2 for j in range(a.shape[1])), jnp.zeros(()))
    else:
        squared = jnp.sum((a[:, None, :] - b[None, :, :]) ** 2, axis=-1)
    apart = squared > 0
    return jnp.where(apart, jnp.sqrt(jnp.where(apart, squared, 1.0)), 0.0)


def log_kernel(a: Array, b: Array, kernel_width: Array | float) -> Array:
    """log K [m, n]. An infinite width switches the kernel off."""
    scale = KERNEL_DECAY / jnp.asarray(kernel_width, a.dtype)
    d = distances(a, b)
    # 0·∞ is a NaN on either end (no kernel at infinite distance, no width at distance 0); both limits are 0.
    return jnp.where((d == 0) | (scale == 0), 0.0, -scale * d)


class Weights(NamedTuple):
    """Normalised weights of one loss per query: `data` [q, n] and `query` [q] sum to one for each query."""

    data: Array
    query: Array


def normalise(log_data: Array, log_query: Array) -> Weights:
    """Weights from their logarithms [q, n] and [q] (−∞: absent). A query with nothing at all gets zeros: no step."""
    top = jnp.maximum(jnp.max(log_data, axis=-1, initial=-jnp.inf), log_query)
    top = jnp.where(jnp.isfinite(top), top, 0.0)
    data, query = jnp.exp(log_data - top[:, None]), jnp.exp(log_query - top)
    total = jnp.sum(data, axis=-1) + query
    total = jnp.where(total > 0, total, 1.0)
    return Weights(data / total[:, None], query / total)


def query_weights(
    queries: Array,
    data: Data,
    *,
    kernel_width: Array | float,
    query_weight: Array | float = 1.0,
    features: FeatureMap = identity,
) -> Weights:
    """The weights of D and of the query itself in the loss at each query [q, d].

    `query_weight` (k_query) may differ per query; 0 leaves the query out.
    """
    log_k = log_kernel(features(queries), features(data.x), kernel_width)
    log_query = jnp.broadcast_to(jnp.log(jnp.asarray(query_weight, queries.dtype)), queries.shape[:1])
    return normalise(log_k + jnp.log(data.represents)[None, :], log_query)


def choose(data: Data, size: int | None, *, key: Array) -> Array:
    """Which points are in a random batch of D: indices [size]."""
    n = data.x.shape[0]
    if size is None or size >= n:
        return jnp.arange(n)
    # Padding (represents = 0) is never drawn before real points: Gumbel top-k with −∞ for padding.
    score = jnp.where(data.represents > 0, jax.random.uniform(key, (n,)), -1.0)
    return jax.lax.top_k(score, size)[1]


def subset(data: Data, size: int | None, *, key: Array) -> Data:
    """A random batch of D that still stands for all of it: each kept point represents n/size times as many."""
    if size is None or size >= data.x.shape[0]:
        return data
    kept = choose(data, size, key=key)
    present = jnp.sum(data.represents > 0)
    scale = jnp.maximum(present / size, 1.0).astype(data.represents.dtype)
    return Data(data.x[kept], data.y[kept], data.represents[kept] * scale)
