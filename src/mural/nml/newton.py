"""Newton's method for logistic regression with two labels inside compiled code: what CNML asks for once per query.

`mural.nml.logistic` solves the same problem for any number of labels in NumPy and float64, and proves that it has
converged: it is the reference, and too slow for the rewards of a training loop. This one is single precision, a fixed
number of steps, and compiles; the tests compare the two.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

HALVINGS = 8  # step sizes that a Newton step chooses from


def newton(
    features: Array, labels: Array, represents: Array, l2: float, start: Array, steps: int
) -> tuple[Array, Array]:
    """Weights [m] that minimise Σᵢ rᵢ ℓᵢ + ¼ l2 ‖w‖², and the size of the gradient's largest entry there.

    w is the difference of the two labels' weights of `mural.nml.logistic`, of which one is minus the other at the
    optimum: ½ l2 (‖w/2‖² + ‖w/2‖²) is the penalty above. A step takes the best of several step sizes.
    """
    signs, penalty = 1 - 2 * labels, 0.5 * l2
    sizes = jnp.append(0.5 ** jnp.arange(HALVINGS, dtype=features.dtype), 0.0)  # 0: where no size is better, stay

    def gradient_at(w: Array) -> tuple[Array, Array]:
        p = jax.nn.sigmoid(features @ w)
        return ((p - labels) * represents) @ features + penalty * w, p

    def one(_: int, w: Array) -> Array:
        gradient, p = gradient_at(w)
        curvature = (features * (represents * p * (1 - p))[:, None]).T @ features
        step = jnp.linalg.solve(curvature + penalty * jnp.eye(len(w)), gradient)
        at, along = features @ w, features @ step
        z = signs[None] * (at[None] - sizes[:, None] * along[None])
        # Only differences from where we are matter, and they are exact where the sums would round.
        fall = (jax.nn.softplus(z) - jax.nn.softplus(signs * at)[None]) @ represents
        fall += 0.5 * penalty * sizes * (sizes * (step @ step) - 2 * (w @ step))
        return w - sizes[jnp.argmin(fall)] * step

    weights = jax.lax.fori_loop(0, steps, one, start)
    return weights, jnp.max(jnp.abs(gradient_at(weights)[0]))
