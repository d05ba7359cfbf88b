"""Exact CNML for logistic regression inside compiled code: Newton's method for every query and label.

The same problem as in `mural.nml.logistic`, which solves it in float64 for any number of labels: with two labels and
the penalty ½ l2 (‖w₀‖² + ‖w₁‖²) the optimum has w₁ = −w₀, so it is enough to look for w = w₁ − w₀ with ¼ l2 ‖w‖².
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

CHUNK = 256  # queries solved side by side
SETTLED = 1e-3  # when the next step would move no logit in question by more than this, it is left out
SHORTEST = 1e-3  # when a step this much shorter than Newton's still goes uphill, float32 sees no way down
ROUNDING = 1e-6  # a rise of the objective that float32 cannot tell from none, relative to it


class Points(NamedTuple):
    """D: features [n, m], labels 0 or 1 [n], and how many points each stands for [n]."""

    f: Array
    y: Array
    represents: Array


def fit(data: Points, l2: float, max_iter: int) -> tuple[Array, Array]:
    """Maximum likelihood on D itself: weights [m], and the steps it took."""
    m = data.f.shape[1]
    return _newton(data, jnp.zeros(m), data.f, l2, max_iter)


def probability(data: Points, start: Array, queries: Array, l2: float, max_iter: int) -> Array:
    """p_CNML(1) [q] at queries [q, m], from Newton started at the weights of D alone."""

    def likelihood(query: Array, label: Array) -> Array:
        extended = Points(
            jnp.concatenate([data.f, query[None]]),
            jnp.concatenate([data.y, label[None]]),
            jnp.concatenate([data.represents, jnp.ones(1)]),
        )
        w, _ = _newton(extended, start, query[None], l2, max_iter)
        return jax.nn.sigmoid((2 * label - 1) * (query @ w))

    def one(query: Array) -> Array:
        p0, p1 = jax.vmap(likelihood, (None, 0))(query, jnp.arange(2.0))
        return p1 / (p0 + p1)

    return jax.lax.map(one, queries, batch_size=CHUNK)


def objective(data: Points, w: Array, l2: float) -> Array:
    """Σᵢ rᵢ ℓ(xᵢ, yᵢ) + ¼ l2 ‖w‖²."""
    return jnp.sum(data.represents * jax.nn.softplus((1 - 2 * data.y) * (data.f @ w))) + 0.25 * l2 * jnp.sum(w**2)


class _Search(NamedTuple):
    """Where the search is, where it goes next, and how far the logits in question would move."""

    w: Array  # [m]
    value: Array
    direction: Array  # [m]
    size: Array
    change: Array
    steps: Array


def _newton(data: Points, start: Array, watched: Array, l2: float, max_iter: int) -> tuple[Array, Array]:
    """Newton steps until the logits of the watched features [k, m] stand still; one that goes uphill is halved."""
    ridge = 0.5 * l2 * jnp.eye(data.f.shape[1])

    def moving(at: _Search) -> Array:
        return (at.change > SETTLED) & (at.size > SHORTEST) & (at.steps < max_iter)

    def step(at: _Search) -> _Search:
        w = at.w - at.size * at.direction
        value = objective(data, w, l2)
        p = jax.nn.sigmoid(data.f @ w)
        gradient = data.f.T @ (data.represents * (p - data.y)) + 0.5 * l2 * w
        hessian = (data.f * (data.represents * p * (1 - p))[:, None]).T @ data.f + ridge
        direction = jax.scipy.linalg.solve(hessian, gradient, assume_a="pos")
        change = jnp.max(jnp.abs(watched @ direction))
        better = _Search(w, value, direction, jnp.ones(()), change, at.steps + 1)
        shorter = at._replace(size=at.size / 2, steps=at.steps + 1)
        downhill = value <= at.value + ROUNDING * (1 + jnp.abs(value))
        return jax.tree.map(partial(jnp.where, downhill), better, shorter)

    infinite = jnp.asarray(jnp.inf)
    first = _Search(start, infinite, jnp.zeros_like(start), jnp.ones(()), infinite, jnp.zeros((), jnp.int32))
    end = jax.lax.while_loop(moving, step, first)
    return end.w, end.steps
