"""Matrix products in bfloat16 on a CPU, where that is asked for.

Processors with AVX-512 BF16 or AMX multiply numbers of 8 binary digits (bfloat16) at several times the speed of single
precision. XLA's CPU backend never does so by itself. Inside `precision("bfloat16")`, or where JAX's own setting
`jax_default_matmul_precision` says so, these functions round the factors of a product and add up in single precision,
but only where both matrices are wide, as the errors of many terms average out: a few numbers that go into a network,
and logits that come out of it, are multiplied in single precision. On other devices XLA multiplies as it is set, and
nothing here changes that.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array

Precision = Literal["float32", "bfloat16"]
WIDE = 48  # narrower products cost next to nothing


def precision(asked: Precision) -> AbstractContextManager[None]:
    """Inside it, all is compiled to multiply with this precision. float32: as JAX is set."""
    return nullcontext() if asked == "float32" else jax.default_matmul_precision(asked)


def dot(a: Array, b: Array) -> Array:
    """a [..., k] @ b [k, n]."""
    return _flat(_dot, a, b) if rounds(a, b) else a @ b


def dot_t(a: Array, b: Array) -> Array:
    """a [..., k] @ b [n, k]ᵀ."""
    return _flat(_dot_t, a, b) if rounds(a, b) else a @ b.T


def t_dot(a: Array, b: Array) -> Array:
    """a [m, k]ᵀ @ b [m, n]."""
    return _t_dot(a, b) if rounds(a, b) else a.T @ b


def rounds(a: Array, b: Array) -> bool:
    """Whether a product of a [..., k] and the matrix b is rounded: asked for, on a CPU, and worth it.

    How many rows `a` has does not matter: what a state is worth does not depend on how many are asked about at once.
    """
    asked = jax.config.jax_default_matmul_precision  # type: ignore[attr-defined]
    return asked == "bfloat16" and jax.default_backend() == "cpu" and min(a.shape[-1], *b.shape) >= WIDE


def _flat(product: jax.custom_vjp[Array], a: Array, b: Array) -> Array:
    z = product(a.reshape(-1, a.shape[-1]), b)
    return z.reshape(*a.shape[:-1], z.shape[-1])


# XLA multiplies bfloat16 quickly where it sums over the second axis on the left, and over either on the right.


def _half(x: Array) -> Array:
    return jax.lax.optimization_barrier(x.astype(jnp.bfloat16))  # type: ignore[no-untyped-call]


def _turned(x: Array) -> Array:
    """xᵀ, written to memory: flat, it cannot be left where it was and merely be called transposed."""
    flat = jax.lax.optimization_barrier(_half(x).T.reshape(-1))  # type: ignore[no-untyped-call]
    return flat.reshape(x.shape[1], x.shape[0])


def _sum(a: Array, b: Array, axis: int) -> Array:
    over = (((1,), (axis,)), ((), ()))
    return jax.lax.dot_general(a, b, over, preferred_element_type=jnp.float32)


@jax.custom_vjp
def _dot(a: Array, b: Array) -> Array:
    return _sum(_half(a), _half(b), 0)


@jax.custom_vjp
def _dot_t(a: Array, b: Array) -> Array:
    return _sum(_half(a), _half(b), 1)


def _t_dot(a: Array, b: Array) -> Array:
    return _sum(_turned(a), _half(b), 0)


_dot.defvjp(
    lambda a, b: (_dot(a, b), (a, b)),
    lambda factors, error: (_dot_t(error, factors[1]), _t_dot(factors[0], error)),
)
_dot_t.defvjp(
    lambda a, b: (_dot_t(a, b), (a, b)),
    lambda factors, error: (_dot(error, factors[1]), _t_dot(error, factors[0])),
)
