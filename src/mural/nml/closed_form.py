"""One gradient step per (query, label), for all of them at once and without a copy of the weights.

A weighted sum of losses has, for a layer z = a W + b, the gradient Σᵢ ωᵢ aᵢᵀ δᵢ for W and Σᵢ ωᵢ δᵢ for b. The
layer after one step of size α, applied to an activation a, is therefore

    z′ = a W + b − α [ Σᵢ ωᵢ (a·aᵢ + 1) δᵢ  +  ω_q (a·a_q + 1) δ_q(y) ],

exactly, with aᵢ, δᵢ the activations and errors of D at θ. Those are computed once and shared; per query remain a
few matrix products, in the order that is cheaper: (a aᵢᵀ) δᵢ never forms the gradient of W; a (aᵢᵀ δᵢ) does, which
pays where a layer is narrow and many activations ask for the same gradient, as in meta-training. The error of the
query depends on its label only through p − e_y at the output, which lies in the (k−1)-dimensional space of vectors
that sum to zero: k−1 backward passes serve all k labels (one, for k = 2).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mural.nml import mlp
from mural.nml.mlp import Params
from mural.nml.products import dot, dot_t
from mural.nml.weights import Data, Weights


class Support(NamedTuple):
    """D as the closed form sees it: per layer the activations aᵢ [n, fan_in] and the errors δᵢ [n, fan_out]."""

    activations: tuple[Array, ...]
    errors: tuple[Array, ...]


class QueryTrace(NamedTuple):
    """The queries at θ. δ_q(y) = Σ_c coefficients[q, y, c] · basis[q, c], for each layer."""

    activations: tuple[Array, ...]  # [q, fan_in]
    basis: tuple[Array, ...]  # [q, k−1, fan_out]
    coefficients: Array  # [q, k, k−1]


def support(params: Params, data: Data) -> Support:
    """Activations and errors of D at θ: one forward and one backward pass, shared by all queries."""
    activations, logits = mlp.trace(params, data.x)
    one_hot = jax.nn.one_hot(data.y, logits.shape[-1], dtype=logits.dtype)
    return Support(activations, mlp.backward(params, activations, jax.nn.softmax(logits) - one_hot))


def trace_queries(params: Params, queries: Array) -> QueryTrace:
    """Activations of the queries at θ, and their errors for all labels in the basis e_c − e_{k−1}, c < k−1."""
    activations, logits = mlp.trace(params, queries)
    k = logits.shape[-1]
    eye = jnp.eye(k, dtype=logits.dtype)
    directions = jnp.broadcast_to(eye[:-1] - eye[-1:], (queries.shape[0], k - 1, k))
    per_layer = tuple(a[:, None, :] for a in activations)
    # p − e_y = Σ_{c<k−1} (p_c − [c = y]) (e_c − e_{k−1}), since p − e_y sums to zero.
    coefficients = (jax.nn.softmax(logits)[:, None, :] - eye[None])[:, :, :-1]
    return QueryTrace(activations, mlp.backward(params, per_layer, directions), coefficients)


def adapted_logits(
    params: Params,
    support: Support,
    queries: QueryTrace,
    weights: Weights,
    points: Array,
    step_size: Array | float,
) -> Array:
    """Logits [q, k, o, k] at `points` [q, o, d] of the network adapted to (query q, label y), for every q and y."""
    w_query = weights.query[:, None, None]
    a = points[:, None]  # [q, 1, o, d]: the input is the same for every label; layers above split
    for i, layer in enumerate(params):
        by_data = data_gradient(a, support.activations[i], support.errors[i], weights.data)
        to_query = (jnp.einsum("qlod,qd->qlo", a, queries.activations[i]) + 1) * w_query
        z = mlp.affine(a, layer) - step_size * by_data
        for c in range(queries.coefficients.shape[-1]):
            size = step_size * to_query * queries.coefficients[:, :, None, c]  # [q, k, o]
            z = z - size[..., None] * queries.basis[i][:, None, None, c]
        a = jax.nn.relu(z)
    return z


def data_gradient(a: Array, activations: Array, errors: Array, weights: Array) -> Array:
    """Σᵢ ωᵢ (a·aᵢ + 1) δᵢ [q, l, o, fan_out] at activations a [q, l, o, fan_in], with the weights ω [q, n]."""
    (q, labels, points, fan_in), (n, fan_out) = a.shape, errors.shape
    asked = labels * points
    a = a.reshape(q, asked, fan_in)
    if (asked + n) * fan_in * fan_out < asked * n * (fan_in + fan_out) / 2:  # /2: one large product beats q small ones
        if fan_in < fan_out:
            of_w = ((weights[:, None] * activations.T[None]).reshape(-1, n) @ errors).reshape(q, fan_in, fan_out)
            found = a @ of_w
        else:
            of_w = ((weights[:, None] * errors.T[None]).reshape(-1, n) @ activations).reshape(q, fan_out, fan_in)
            found = jnp.einsum("qpi,qoi->qpo", a, of_w)
        found = found + (weights @ errors)[:, None]
    else:
        similarity = (dot_t(a.reshape(-1, fan_in), activations) + 1).reshape(q, asked, n) * weights[:, None]
        found = dot(similarity.reshape(-1, n), errors)
    return found.reshape(q, labels, points, fan_out)


def log_likelihoods(
    params: Params, support: Support, queries: Array, weights: Weights, step_size: Array | float
) -> Array:
    """log p_{θ_y}(y|x) [q, k]: each label's likelihood under the network adapted to it."""
    logits = adapted_logits(params, support, trace_queries(params, queries), weights, queries[:, None, :], step_size)
    return jnp.diagonal(jax.nn.log_softmax(logits[:, :, 0]), axis1=1, axis2=2)
