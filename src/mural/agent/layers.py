"""The layers of SAC's networks: those of `mlp`, with gradients arranged for XLA on a CPU."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from mural.nml import mlp
from mural.nml.mlp import Layer
from mural.nml.products import dot_t, rounds, t_dot

SMALL = 2**17  # activations that are transposed on the fly as fast as beforehand


@jax.custom_vjp
def affine(a: Array, layer: Layer) -> Array:
    """z = a W + b of activations [n, i]; the same numbers as `mlp.affine`, with a faster gradient of W on a CPU.

    aᵀδ as autodiff leaves it is a product with its left side transposed, which XLA's CPU backend does at 0.6 of its
    usual speed (1024 × 512 × 512; not if all is small), and at a twentieth where δ is narrow. Transposing first
    costs next to nothing; the barrier keeps the compiler from undoing it.
    """
    return mlp.affine(a, layer)


def _in_memory(x: Array) -> Array:
    """x, not to be merged with what makes or uses it."""
    return jax.lax.optimization_barrier(x)  # type: ignore[no-untyped-call]


def _gradient(a: Array, error: Array) -> Layer:
    """Of the layer, for its input and the error at its output."""
    if rounds(a, error):
        w = t_dot(a, error)
    elif error.shape[1] < a.shape[1]:
        error_t = _in_memory(_in_memory(error).T)
        w = _in_memory(error_t @ a).T
    elif a.size > SMALL:
        w = _in_memory(_in_memory(a).T) @ error
    else:
        w = a.T @ error
    return Layer(w, jnp.sum(error, axis=0))


def _affine_forward(a: Array, layer: Layer) -> tuple[Array, tuple[Array, Layer]]:
    return mlp.affine(a, layer), (a, layer)


def _affine_backward(seen: tuple[Array, Layer], error: Array) -> tuple[Array, Layer]:
    a, layer = seen
    return dot_t(error, layer.w), _gradient(a, error)


affine.defvjp(_affine_forward, _affine_backward)


@jax.custom_vjp
def joint(obs: Array, action: Array, layer: Layer) -> Array:
    """`affine` of [obs, action]. The policy's loss needs the error of the actions alone: that of the observations is a
    product of its own, which the compiler then leaves out."""
    return mlp.affine(jnp.concatenate([obs, action], axis=-1), layer)


def _joint_forward(obs: Array, action: Array, layer: Layer) -> tuple[Array, tuple[Array, Array, Layer]]:
    return joint(obs, action, layer), (obs, action, layer)


def _joint_backward(seen: tuple[Array, Array, Layer], error: Array) -> tuple[Array, Array, Layer]:
    obs, action, layer = seen
    to_obs, to_action = layer.w[: obs.shape[1]], layer.w[obs.shape[1] :]
    return error @ to_obs.T, error @ to_action.T, _gradient(jnp.concatenate([obs, action], axis=-1), error)


joint.defvjp(_joint_forward, _joint_backward)
