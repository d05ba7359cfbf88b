"""The network: a ReLU multi-layer perceptron as a plain pytree, with its activations and errors laid open.

The closed-form query (`mural.nml.closed_form`) needs what autodiff hides: the input activation of each layer and
the error back-propagated to its output. Both are a few lines for an MLP, and are written out here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mural.nml.products import dot, dot_t


class Layer(NamedTuple):
    """One affine map z = a W + b."""

    w: Array  # [fan_in, fan_out]
    b: Array  # [fan_out]


Params = tuple[Layer, ...]


def init(sizes: Sequence[int], *, key: Array, dtype: jnp.dtype | type = jnp.float32) -> Params:
    """Weights and biases uniform in ±1/√fan_in, for layer widths `sizes` = (inputs, hidden…, classes).

    NumPy draws them, from the key as its seed: a compiled draw takes a second for every new list of widths.
    """
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))

    def drawn(bound: float, *shape: int) -> Array:
        return jnp.asarray(rng.uniform(-bound, bound, shape), dtype)

    return tuple(
        Layer(drawn(fan_in**-0.5, fan_in, fan_out), drawn(fan_in**-0.5, fan_out)) for fan_in, fan_out in pairwise(sizes)
    )


def affine(a: Array, layer: Layer) -> Array:
    """z = a W + b for activations of any leading shape."""
    z = dot(a, layer.w)
    return z + jnp.broadcast_to(layer.b, z.shape)


def forward(params: Params, x: Array) -> Array:
    """Logits [..., k] of inputs x [..., d]."""
    return trace(params, x)[1]


def trace(params: Params, x: Array) -> tuple[tuple[Array, ...], Array]:
    """The input activation of each layer, (a_0 = x, a_1, …), and the logits."""
    activations, a = [], x
    for layer in params[:-1]:
        activations.append(a)
        a = jax.nn.relu(affine(a, layer))
    activations.append(a)
    return tuple(activations), affine(a, params[-1])


def backward(params: Params, activations: tuple[Array, ...], output_error: Array) -> tuple[Array, ...]:
    """The errors δ_l = ∂ℓ/∂z_l of every layer, given δ of the last: δ_{l−1} = (δ_l W_lᵀ) ⊙ [a_{l−1} > 0]."""
    errors = [output_error]
    for layer, a in zip(params[:0:-1], activations[:0:-1], strict=True):
        errors.append(dot_t(errors[-1], layer.w) * (a > 0))
    return tuple(reversed(errors))


def cross_entropy(logits: Array, labels: Array) -> Array:
    """−log p(label), element by element: logits [..., k] and integer labels [...]."""
    log_p = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(log_p, labels[..., None], axis=-1)[..., 0]
