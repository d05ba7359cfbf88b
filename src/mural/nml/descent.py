"""Gradient descent for all that is learned here: weights with their moments of Adam, one step, many steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

ADAM = optax.scale_by_adam()

Loss = Callable[[Any, Any], tuple[Array, dict[str, Array]]]


class Fit(NamedTuple):
    """Weights of any shape and the moments of Adam."""

    params: Any
    optimiser: optax.OptState


def start(params: Any) -> Fit:
    """Fresh moments."""
    return Fit(params, _moments(params))


_moments = jax.jit(ADAM.init)


def step(fit: Fit, gradient: Any, learning_rate: Array | float, weight_decay: float = 0.0) -> Fit:
    """One step of AdamW. Weight decay is decoupled: the step also shrinks the weights by learning rate × decay."""
    change, optimiser = ADAM.update(gradient, fit.optimiser)
    if weight_decay:
        change = jax.tree.map(lambda c, p: c + weight_decay * p, change, fit.params)
    return Fit(jax.tree.map(lambda p, c: p - learning_rate * c, fit.params, change), optimiser)


def descend(
    loss: Loss, fit: Fit, batches: Any, learning_rate: float, weight_decay: float = 0.0
) -> tuple[Fit, dict[str, Array]]:
    """One step per batch; `batches` is a pytree with a leading axis of steps. Reports are means over the steps.

    `loss(params, batch)` gives what is minimised and scalars to report.
    """

    def one(fit: Fit, batch: Any) -> tuple[Fit, dict[str, Array]]:
        gradient, info = jax.grad(loss, has_aux=True)(fit.params, batch)
        return step(fit, gradient, learning_rate, weight_decay), info

    fit, infos = jax.lax.scan(one, fit, batches)
    return fit, {name: jnp.mean(values) for name, values in infos.items()}


def stacked(x: Array, steps: int) -> Array:
    """Rows [steps · b, …] as a stack of batches [steps, b, …]."""
    return x.reshape(steps, -1, *x.shape[1:])
