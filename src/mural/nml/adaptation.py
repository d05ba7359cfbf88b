"""Several gradient steps per (query, label): each pair gets weights of its own, a few pairs at a time.

After the first step the activations of D differ from query to query, so nothing can be shared as in the closed form.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from mural.nml import mlp
from mural.nml.mlp import Params
from mural.nml.weights import Data, Weights

COPIES_MB = 256  # memory for private copies of the weights and their gradients


def augmented_loss(params: Params, data: Data, w_data: Array, query: Array, label: Array, w_query: Array) -> Array:
    """Σᵢ ωᵢ ℓᵢ + ω_q ℓ(query, label)."""
    on_data = jnp.sum(w_data * mlp.cross_entropy(mlp.forward(params, data.x), data.y))
    return on_data + w_query * mlp.cross_entropy(mlp.forward(params, query), label)


def adapted_logits(
    params: Params,
    data: Data,
    queries: Array,
    weights: Weights,
    points: Array,
    step_size: Array | float,
    steps: int,
) -> Array:
    """As `closed_form.adapted_logits`, [q, k, o, k], for any number of gradient steps."""
    k = params[-1].b.shape[0]

    def for_query(query_and_weights: tuple[Array, Array, Array, Array]) -> Array:
        query, w_data, w_query, at = query_and_weights

        def for_label(label: Array) -> Array:
            def step(adapted: Params, _: None) -> tuple[Params, None]:
                gradient = jax.grad(augmented_loss)(adapted, data, w_data, query, label, w_query)
                return jax.tree.map(lambda p, g: p - step_size * g, adapted, gradient), None

            adapted, _ = jax.lax.scan(step, params, None, length=steps)
            return mlp.forward(adapted, at)

        return jax.vmap(for_label)(jnp.arange(k))

    copy_mb = 3 * k * sum(p.size * p.dtype.itemsize for p in jax.tree.leaves(params)) / 2**20
    at_once = max(1, int(COPIES_MB / copy_mb))
    return jax.lax.map(for_query, (queries, weights.data, weights.query, points), batch_size=at_once)
