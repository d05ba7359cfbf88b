"""Gradient descent for all learned parts: AdamW over a stack of batches, in one compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from mural.nml.mle import ADAM

Loss = Callable[[Any, Any], tuple[Array, dict[str, Array]]]


class Fit(NamedTuple):
    """Weights of any shape and the moments of Adam."""

    params: Any
    optimiser: optax.OptState


def start(params: Any) -> Fit:
    """Fresh moments."""
    return Fit(params, ADAM.init(params))


def descend(
    loss: Loss, fit: Fit, batches: Any, learning_rate: float, weight_decay: float = 0.0
) -> tuple[Fit, dict[str, Array]]:
    """One step per batch; `batches` is a pytree with a leading axis of steps. Reports are means over the steps.

    `loss(params, batch)` gives what is minimised and scalars to report. Weight decay is decoupled: each step also
    shrinks the weights by learning rate × decay.
    """

    def one(fit: Fit, batch: Any) -> tuple[Fit, dict[str, Array]]:
        gradient, info = jax.grad(loss, has_aux=True)(fit.params, batch)
        change, optimiser = ADAM.update(gradient, fit.optimiser)
        params = jax.tree.map(lambda p, c: p - learning_rate * (c + weight_decay * p), fit.params, change)
        return Fit(params, optimiser), info

    fit, infos = jax.lax.scan(one, fit, batches)
    return fit, {name: jnp.mean(values) for name, values in infos.items()}


def stacked(x: Array, steps: int) -> Array:
    """Rows [steps · b, …] as a stack of batches [steps, b, …]."""
    return x.reshape(steps, -1, *x.shape[1:])
