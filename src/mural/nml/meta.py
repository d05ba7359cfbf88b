"""Meta-NML: an initialisation θ from which one gradient step solves any of CNML's augmented problems.

Each query x_τ and label y make a task: fit D ∪ (x_τ, y). Meta-training minimises, over queries and all k labels,

    E_τ [ Σᵢ ωᵢ ℓ(xᵢ, yᵢ; θ′) + ω_q ℓ(x_τ, y; θ′) ],      θ′ = θ − α ∇_θ [ Σᵢ ωᵢ ℓ(xᵢ, yᵢ; θ) + ω_q ℓ(x_τ, y; θ) ]

(equation 4 of the paper with the weights of A.2.1 and A.2.2), through the inner step (second order). The paper's three
tricks are `query_in_every_batch`, `kernel_width` (∞: off) and calling `epoch` again on the state that it returned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import Array

from mural.nml import adaptation, closed_form, descent, mlp, proposals
from mural.nml.descent import Fit
from mural.nml.mlp import Params
from mural.nml.weights import Data, FeatureMap, Weights, choose, identity, query_weights, subset

OWN = 16  # queries with batches of their own that are put to the network at once
ABREAST = 256  # queries with one batch: what is computed for them stays in the processor's cache


@dataclass(frozen=True)
class MetaNML:
    """What meta-NML is, apart from data and weights. Hashable: a static argument of the compiled functions."""

    step_size: float = 0.1
    """α, the size of the inner gradient step (the 2021 release: 0.01)."""
    steps: int = 1
    """Inner gradient steps; 1 uses the closed form."""
    query_weight: float = 1.0
    """k_query: how many points the query counts for."""
    outer_query: float = 1.0
    """Factor on k_query in the outer loss (the 2021 release: ½)."""
    query_in_every_batch: bool = True
    """Query in every inner batch with the right weight; off, it is there as often as any point of D would be."""
    train_points: int | None = 256
    """Random points of D in an inner batch of meta-training; None takes all of D."""
    adapt_points: int | None = None
    """Random points of D in the batch of a query; None takes all of D."""
    outer_points: int | None = 64
    """Points of D per task in the outer loss, drawn in proportion to their weight; None takes all of D."""
    outside_share: float = 1 / 3
    """Share of the query tasks that are drawn outside D."""
    proposal: proposals.Proposal = proposals.auto
    """Where the query tasks outside D are drawn."""
    query_class: int | None = None
    """Draw the query tasks inside D among its points with this label only; None: among all."""
    features: FeatureMap = identity
    """Feature map of the kernel."""
    queries_per_update: int = 8
    """Query points per Adam step; each is a task for every label."""
    updates_per_epoch: int = 16
    """Adam steps per meta-epoch."""


def init(sizes: tuple[int, ...], *, key: Array) -> Fit:
    """A fresh network of layer widths `sizes` = (inputs, hidden…, classes)."""
    return descent.start(mlp.init(sizes, key=key))


def inner_query_weights(config: MetaNML, count: int, batch: Data, data: Data, *, key: Array) -> Array:
    """k_query of each query [count] in the inner loss: always, or only when the luck of the batch includes it."""
    weight = jnp.full(count, config.query_weight, batch.x.dtype)
    if config.query_in_every_batch or batch.x.shape[0] == data.x.shape[0]:
        return weight
    # Drawn like any other point, it is in a batch with probability size/n, and stands for n/size like all in it.
    share = jnp.sum(batch.represents > 0) / jnp.sum(data.represents > 0)
    return jnp.where(jax.random.bernoulli(key, share, (count,)), weight / share, 0.0)


def meta_loss(
    params: Params, config: MetaNML, data: Data, queries: Array, kernel_width: Array | float, *, key: Array
) -> Array:
    """The meta-training loss, averaged over the queries [q, d] with all k labels each."""
    key_batch, key_luck, key_outer = jax.random.split(key, 3)
    batch = subset(data, config.train_points, key=key_batch)
    weigh = partial(query_weights, kernel_width=kernel_width, features=config.features)
    k_inner = inner_query_weights(config, queries.shape[0], batch, data, key=key_luck)
    inner = weigh(queries, batch, query_weight=k_inner)
    outer = weigh(queries, data, query_weight=config.outer_query * config.query_weight)
    points, labels, w_points = outer_sample(outer, data, config.outer_points, key=key_outer)
    points = jnp.concatenate([points, queries[:, None, :]], axis=1)  # [q, o + 1, d]
    if config.steps == 1:
        logits = closed_form.adapted_logits(
            params,
            closed_form.support(params, batch),
            closed_form.trace_queries(params, queries),
            inner,
            points,
            config.step_size,
        )
    else:
        logits = adaptation.adapted_logits(params, batch, queries, inner, points, config.step_size, config.steps)
    k = logits.shape[-1]
    log_p = jax.nn.log_softmax(logits)  # [q, k, o + 1, k]
    on_data = -jnp.take_along_axis(log_p[:, :, :-1], labels[:, None, :, None], axis=-1)[..., 0]
    on_query = -jnp.diagonal(log_p[:, :, -1], axis1=1, axis2=2)  # [q, k]
    per_task = jnp.einsum("qko,qo->qk", on_data, w_points) + outer.query[:, None] * on_query
    return jnp.sum(per_task) / (queries.shape[0] * k)


def outer_sample(weights: Weights, data: Data, count: int | None, *, key: Array) -> tuple[Array, Array, Array]:
    """Points [q, o, d], labels and weights [q, o] whose weighted sum of losses is that over all of D, in expectation.

    Most kernel weights are next to nothing. Drawing points in proportion to their weight keeps the sum unbiased
    at count/n of the cost; the query's own term is kept exactly by the caller.
    """
    q, n = weights.data.shape
    if count is None or count >= n:
        points = jnp.broadcast_to(data.x[None], (q, *data.x.shape))
        return points, jnp.broadcast_to(data.y[None], (q, n)), weights.data
    # Inverse transform sampling: one sort-free pass per query instead of q·count·n Gumbel variables.
    cumulative = jnp.cumsum(weights.data, axis=1)
    total = cumulative[:, -1]
    u = jax.random.uniform(key, (q, count), weights.data.dtype) * total[:, None]
    chosen = jax.vmap(partial(jnp.searchsorted, side="right"))(cumulative, u)
    chosen = jnp.minimum(chosen, n - 1)
    return data.x[chosen], data.y[chosen], jnp.broadcast_to(total[:, None] / count, (q, count))


def draw_queries(config: MetaNML, data: Data, count: int, *, key: Array) -> Array:
    """Query points of `count` tasks: from D, and by the proposal from outside D."""
    outside = round(count * config.outside_share)
    key_in, key_out = jax.random.split(key)
    source = data
    if config.query_class is not None:
        source = data._replace(represents=jnp.where(data.y == config.query_class, data.represents, 0.0))
    inside = data.x[proposals.draw(key_in, source, count - outside)]
    if outside == 0:
        return inside
    return jnp.concatenate([inside, config.proposal(key_out, data, outside)])


def update(
    config: MetaNML,
    state: Fit,
    data: Data,
    queries: Array,
    kernel_width: Array | float,
    learning_rate: Array | float,
    *,
    key: Array,
) -> tuple[Fit, dict[str, Array]]:
    """One Adam step on the meta-loss of the given queries."""
    loss, gradient = jax.value_and_grad(meta_loss)(state.params, config, data, queries, kernel_width, key=key)
    return descent.step(state, gradient, learning_rate), {"loss": loss, "gradient_norm": optax.tree.norm(gradient)}


@partial(jax.jit, static_argnums=0)
def epoch(
    config: MetaNML,
    state: Fit,
    data: Data,
    kernel_width: Array | float,
    learning_rate: Array | float,
    *,
    key: Array,
) -> tuple[Fit, dict[str, Array]]:
    """A meta-epoch: draw all query points, then one Adam step per group of them. Call it again to retrain."""
    key_queries, key_order, key_updates = jax.random.split(key, 3)
    count = config.queries_per_update * config.updates_per_epoch
    queries = draw_queries(config, data, count, key=key_queries)
    queries = jax.random.permutation(key_order, queries)
    groups = queries.reshape(config.updates_per_epoch, config.queries_per_update, -1)

    def one(state: Fit, xs: tuple[Array, Array]) -> tuple[Fit, dict[str, Array]]:
        group, key = xs
        return update(config, state, data, group, kernel_width, learning_rate, key=key)

    return jax.lax.scan(one, state, (groups, jax.random.split(key_updates, config.updates_per_epoch)))


def log_likelihoods(
    config: MetaNML, params: Params, data: Data, queries: Array, kernel_width: Array | float, *, key: Array
) -> Array:
    """log p_{θ_y}(y|x) [q, k] at the queries [q, d]. Softmax over labels gives p_meta-NML; logsumexp the regret.

    All queries adapt on the same batch of D; `own_log_likelihoods` draws one for each.

    Adaptation is meta-trained on D and around it. A query beyond that is put to the network at the nearest point of
    the widened box of D, and to the kernel where it really is: far away means no data, not a wild extrapolation.
    """
    key_batch, key_luck = jax.random.split(key)
    batch = subset(data, config.adapt_points, key=key_batch)
    k_query = inner_query_weights(config, queries.shape[0], batch, data, key=key_luck)
    inside = reach_of(data)
    support = closed_form.support(params, batch)

    def some(asked: tuple[Array, Array]) -> Array:
        queries, weight = asked
        weights = query_weights(
            queries, batch, kernel_width=kernel_width, query_weight=weight, features=config.features
        )
        queries = inside(queries)
        if config.steps == 1:
            return closed_form.log_likelihoods(params, support, queries, weights, config.step_size)
        logits = adaptation.adapted_logits(
            params, batch, queries, weights, queries[:, None, :], config.step_size, config.steps
        )
        return jnp.diagonal(jax.nn.log_softmax(logits[:, :, 0]), axis1=1, axis2=2)

    return in_groups(some, (queries, k_query), ABREAST)


def reach_of(data: Data) -> Callable[[Array], Array]:
    """Takes queries [q, d] to the nearest points of the widened box of D."""
    low, high = proposals.reach(data)
    return lambda queries: jnp.clip(queries, low[None, :], high[None, :])


def in_groups(function: Callable[[Any], Array], rows: Any, size: int) -> Array:
    """`function` of rows [n, …], for `size` of them at a time where there are more."""
    n = jax.tree.leaves(rows)[0].shape[0]
    if n <= size:
        return function(rows)
    whole = n // size * size
    groups = jax.tree.map(lambda c: c[:whole].reshape(-1, size, *c.shape[1:]), rows)
    found = jax.lax.map(function, groups)
    found = found.reshape(whole, *found.shape[2:])
    if whole == n:
        return found
    return jnp.concatenate([found, function(jax.tree.map(lambda c: c[whole:], rows))])


def own_log_likelihoods(
    config: MetaNML, params: Params, data: Data, queries: Array, kernel_width: Array | float, *, key: Array
) -> Array:
    """log p_{θ_y}(y|x) [q, k] where every query adapts on a random batch of its own, as in the 2021 release.

    Batches share the points of D. Where they have more points in all than D, the activations and errors of D are
    computed once, and each query gives those outside its batch a weight of zero.
    """
    keys = jax.random.split(key, queries.shape[0])

    def alone(query: tuple[Array, Array]) -> Array:
        x, k = query
        return log_likelihoods(config, params, data, x[None], kernel_width, key=k)[0]

    n = data.x.shape[0]
    if config.steps > 1 or queries.shape[0] * (config.adapt_points or n) < n:
        return jax.lax.map(alone, (queries, keys), batch_size=OWN)
    support, inside = closed_form.support(params, data), reach_of(data)

    def weigh(query: tuple[Array, Array]) -> Weights:
        x, k = query
        key_batch, key_luck = jax.random.split(k)
        batch = subset(data, config.adapt_points, key=key_batch)
        k_query = inner_query_weights(config, 1, batch, data, key=key_luck)
        of_batch, own = query_weights(
            x[None], batch, kernel_width=kernel_width, query_weight=k_query, features=config.features
        )
        kept = choose(data, config.adapt_points, key=key_batch)
        return Weights(jnp.zeros(n, of_batch.dtype).at[kept].set(of_batch[0]), own[0])

    def some(asked: tuple[Array, Array]) -> Array:
        weights = jax.vmap(weigh)(asked)
        return closed_form.log_likelihoods(params, support, inside(asked[0]), weights, config.step_size)

    return in_groups(some, (queries, keys), ABREAST)
