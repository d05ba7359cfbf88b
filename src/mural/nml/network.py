"""Exact CNML for networks: for every query and label, train on the augmented data until nothing moves any more.

Full-batch Adam on Σᵢ rᵢ ℓᵢ + ℓ_q + ½ l2 ‖θ‖² (divided by the total weight), started from the maximum-likelihood
network of D, with a step size that falls to zero over each round. A round that changes the query's likelihood by less
than `tol` is the last one. Slow by nature: this is the oracle that meta-NML is measured against.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from mural.nml import mlp
from mural.nml.mlp import Params
from mural.nml.weights import Data


@dataclass(frozen=True)
class Training:
    """How a network is trained to convergence."""

    l2: float = 1e-3
    """Strength of the penalty ½ l2 ‖θ‖² beside the summed loss."""
    learning_rate: float = 3e-3
    """Of Adam, at the start of a round."""
    round_steps: int = 200
    """Adam steps per round."""
    max_rounds: int = 20
    """Give up after so many rounds."""
    tol: float = 2e-3
    """Largest change of a probability over the last round that counts as converged."""


def objective(params: Params, data: Data, query: Array, label: Array, query_weight: Array, l2: float) -> Array:
    """The regularised mean loss on D ∪ (query, label)."""
    total = jnp.sum(data.represents) + query_weight
    on_data = jnp.sum(data.represents * mlp.cross_entropy(mlp.forward(params, data.x), data.y))
    on_query = query_weight * mlp.cross_entropy(mlp.forward(params, query), label)
    penalty = 0.5 * l2 * sum(jnp.sum(p**2) for p in jax.tree.leaves(params))
    return (on_data + on_query + penalty) / total


def _round(training: Training, params: Params, data: Data, query: Array, label: Array, query_weight: Array) -> Params:
    """One round of Adam with a cosine-falling step size."""
    schedule = optax.cosine_decay_schedule(training.learning_rate, training.round_steps)
    adam = optax.adam(schedule)

    def step(carry: tuple[Params, optax.OptState], _: None) -> tuple[tuple[Params, optax.OptState], None]:
        params, state = carry
        gradient = jax.grad(objective)(params, data, query, label, query_weight, training.l2)
        change, state = adam.update(gradient, state)
        return (optax.apply_updates(params, change), state), None

    (params, _), _ = jax.lax.scan(step, (params, adam.init(params)), None, length=training.round_steps)
    return params


@partial(jax.jit, static_argnums=0)
def _fit_round(training: Training, params: Params, data: Data) -> tuple[Params, Array]:
    nothing = jnp.zeros((), data.x.dtype)
    params = _round(training, params, data, data.x[0], data.y[0], nothing)
    return params, jax.nn.softmax(mlp.forward(params, data.x))


@partial(jax.jit, static_argnums=0)
def _query_round(training: Training, copies: Params, data: Data, queries: Array, labels: Array) -> tuple[Params, Array]:
    """A round for each (query, label), every one with weights of its own."""

    def one(params: Params, query: Array, label: Array) -> tuple[Params, Array]:
        params = _round(training, params, data, query, label, jnp.ones((), data.x.dtype))
        return params, -mlp.cross_entropy(mlp.forward(params, query), label)

    return jax.vmap(one)(copies, queries, labels)


def fit(training: Training, params: Params, data: Data) -> tuple[Params, bool, int]:
    """The maximum-likelihood network of D, whether its probabilities stopped moving, and the rounds it took."""
    before = np.full((data.x.shape[0], params[-1].b.shape[0]), np.inf)
    for rounds in range(1, training.max_rounds + 1):
        params, p = _fit_round(training, params, data)
        if np.abs(np.asarray(p) - before).max() < training.tol:
            return params, True, rounds
        before = np.asarray(p)
    return params, False, training.max_rounds


def log_likelihoods(training: Training, params: Params, data: Data, queries: Array) -> tuple[np.ndarray, np.ndarray]:
    """log p_{θ_y}(y|x) [q, k] at a chunk of queries [q, d], and which of them converged [q, k]."""
    q, k = queries.shape[0], params[-1].b.shape[0]
    queries, labels = jnp.repeat(queries, k, axis=0), jnp.tile(jnp.arange(k), q)
    copies = jax.tree.map(lambda p: jnp.broadcast_to(p, (q * k, *p.shape)), params)
    log_p, converged = np.full(q * k, np.inf), np.zeros(q * k, dtype=bool)
    for _ in range(training.max_rounds):
        copies, new = _query_round(training, copies, data, queries, labels)
        # An answer stands once it has converged, however long the rest of the chunk takes.
        now = np.where(converged, log_p, np.asarray(new))
        log_p, converged = now, converged | (np.abs(np.exp(now) - np.exp(log_p)) < training.tol)
        if converged.all():
            break
    return log_p.reshape(q, k), converged.reshape(q, k)
