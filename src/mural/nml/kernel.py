"""CNML by kernel counts, in closed form: the local model of the paper's A.2.2, solved without a network.

The model at a query x has one free probability per label, θ, and the likelihood of D weighted by the kernel around x:

    L(θ) = Σᵢ wᵢ log θ_{yᵢ} + log θ_y,     wᵢ = (points that xᵢ stands for) · K(x, xᵢ),

the last term being the query itself with label y. Its maximum is a share of weighted counts: with K_c = Σ_{yᵢ=c} wᵢ,
θ_y = (K_y + 1)/(Σ_c K_c + 1). Normalised over labels, as CNML asks, p(y|x) = (K_y + 1)/(Σ_c K_c + k). With a kernel
that is 1 in a cell of a grid and 0 elsewhere this is Theorem 1 of the paper; with a smooth one it is what meta-NML,
which has the same weights and a network, should come near to.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from mural.nml.weights import Data, distances, log_kernel


def counts(data: Data, queries: Array, kernel_width: Array | float, classes: int = 2) -> Array:
    """K [q, k]: how many points of D with each label lie around the queries [q, d], by the kernel."""
    weights = jnp.exp(log_kernel(queries, data.x, kernel_width)) * data.represents[None]
    return weights @ (data.y[:, None] == jnp.arange(classes)[None]).astype(weights.dtype)


def log_likelihoods(data: Data, queries: Array, kernel_width: Array | float, classes: int = 2) -> Array:
    """log θ_y = log (K_y + 1)/(Σ K + 1) [q, k]. Softmax over labels gives p; logsumexp the regret, as for meta-NML."""
    k = counts(data, queries, kernel_width, classes)
    return jnp.log1p(k) - jnp.log1p(jnp.sum(k, axis=1, keepdims=True))


def neighbour_distance(x: Array, points: Array, neighbour: int) -> Array:
    """Distance [n] from each of x [n, d] to its `neighbour`-th nearest among points that include x itself."""
    nearest, _ = jax.lax.top_k(-distances(x, points), min(neighbour + 1, points.shape[0]))
    return -nearest[:, -1]
