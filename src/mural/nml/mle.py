"""Maximum likelihood for a feed-forward network, with weight decay and mixup: pure functions on pytrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from mural.nml import descent, mlp
from mural.nml.descent import Fit
from mural.nml.mlp import Params
from mural.nml.weights import Data


@dataclass(frozen=True)
class MLE:
    """How the network is regularised. Hashable: a static argument of the compiled functions."""

    weight_decay: float = 0.0
    """Decoupled (AdamW): each step also shrinks the weights by learning rate × this."""
    mixup: float = 0.0
    """α of the Beta(α, α) weights that mix pairs of points and their labels; 0 is off."""
    batch_size: int = 256
    """Points per step."""


def init(sizes: Sequence[int], *, key: Array) -> Fit:
    """A fresh network of layer widths `sizes` = (inputs, hidden…, classes)."""
    return descent.start(mlp.init(sizes, key=key))


def soft_cross_entropy(params: Params, x: Array, targets: Array, weight: Array) -> Array:
    """Σᵢ wᵢ (−Σ_c targetsᵢ_c log p_c(xᵢ)) / Σᵢ wᵢ, for label distributions `targets` [n, k]."""
    loss = -jnp.sum(targets * jax.nn.log_softmax(mlp.forward(params, x)), axis=-1)
    return jnp.sum(weight * loss) / jnp.maximum(jnp.sum(weight), 1e-30)


def mix(x: Array, targets: Array, weight: Array, alpha: float, *, key: Array) -> tuple[Array, Array]:
    """mixup: each point and its label distribution averaged with those of a partner, drawn by weight."""
    key_weight, key_partner = jax.random.split(key)
    share = jax.random.beta(key_weight, alpha, alpha, (x.shape[0], 1), x.dtype)
    partner = jax.random.choice(key_partner, x.shape[0], (x.shape[0],), p=weight)
    return share * x + (1 - share) * x[partner], share * targets + (1 - share) * targets[partner]


def update(
    config: MLE, state: Fit, batch: Data, learning_rate: Array | float, *, key: Array
) -> tuple[Fit, dict[str, Array]]:
    """One AdamW step on a batch."""
    targets = jax.nn.one_hot(batch.y, state.params[-1].b.shape[0], dtype=batch.x.dtype)
    x = batch.x
    if config.mixup > 0:
        x, targets = mix(x, targets, batch.represents, config.mixup, key=key)
    loss, gradient = jax.value_and_grad(soft_cross_entropy)(state.params, x, targets, batch.represents)
    return descent.step(state, gradient, learning_rate, config.weight_decay), {"loss": loss}


@partial(jax.jit, static_argnums=(0, 3))
def steps(
    config: MLE, state: Fit, data: Data, count: int, learning_rate: Array | float, *, key: Array
) -> tuple[Fit, dict[str, Array]]:
    """`count` steps, each on a random batch."""
    key_rows, key_mix = jax.random.split(key)
    order = jax.random.randint(key_rows, (count, config.batch_size), 0, data.x.shape[0])
    return _steps(config, state, data, order, learning_rate, key=key_mix)


@partial(jax.jit, static_argnums=0)
def epoch(
    config: MLE, state: Fit, data: Data, learning_rate: Array | float, *, key: Array
) -> tuple[Fit, dict[str, Array]]:
    """One pass over the data in random batches (the last, incomplete one is dropped)."""
    n = data.x.shape[0]
    size = min(config.batch_size, n)
    key_order, key_mix = jax.random.split(key)
    order = jax.random.permutation(key_order, n)[: n // size * size].reshape(-1, size)
    return _steps(config, state, data, order, learning_rate, key=key_mix)


def _steps(
    config: MLE, state: Fit, data: Data, order: Array, learning_rate: Array | float, *, key: Array
) -> tuple[Fit, dict[str, Array]]:
    """A step for each batch of rows, `order` [steps, batch]."""

    def one(state: Fit, xs: tuple[Array, Array]) -> tuple[Fit, dict[str, Array]]:
        rows, key = xs
        batch = Data(data.x[rows], data.y[rows], data.represents[rows])
        return update(config, state, batch, learning_rate, key=key)

    return jax.lax.scan(one, state, (order, jax.random.split(key, order.shape[0])))
