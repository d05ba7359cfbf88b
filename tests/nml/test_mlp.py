"""The written-out activations and errors are those of autodiff."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mural.nml import mlp


@pytest.mark.parametrize("sizes", [(3, 2), (3, 8, 2), (3, 8, 6, 5, 4)])
def test_backward_equals_autodiff(sizes):
    params = mlp.init(sizes, key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (7, sizes[0]))
    y = jnp.arange(7) % sizes[-1]
    activations, logits = mlp.trace(params, x)
    np.testing.assert_array_equal(logits, mlp.forward(params, x))
    errors = mlp.backward(params, activations, jax.nn.softmax(logits) - jax.nn.one_hot(y, sizes[-1]))
    gradient = jax.grad(lambda p: jnp.sum(mlp.cross_entropy(mlp.forward(p, x), y)))(params)
    for a, delta, layer in zip(activations, errors, gradient, strict=True):
        np.testing.assert_allclose(a.T @ delta, layer.w, atol=1e-5)
        np.testing.assert_allclose(delta.sum(0), layer.b, atol=1e-5)


def test_forward_is_relu_layers():
    params = mlp.init((3, 8, 2), key=jax.random.key(0))
    x = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    (w1, b1), (w2, b2) = jax.tree.map(np.asarray, params)
    np.testing.assert_allclose(mlp.forward(params, x), np.maximum(x @ w1 + b1, 0) @ w2 + b2, rtol=1e-5)
    np.testing.assert_allclose(mlp.forward(params, x[0]), mlp.forward(params, x)[0], rtol=1e-5)


def test_cross_entropy_is_safe_for_huge_logits():
    logits = jnp.array([[1e4, -1e4], [-1e4, 1e4], [0.0, 0.0]])
    np.testing.assert_allclose(mlp.cross_entropy(logits, jnp.array([0, 0, 1])), [0.0, 2e4, np.log(2)], rtol=1e-6)


def test_init_is_seeded_and_bounded():
    a, b = (mlp.init((4, 50, 3), key=jax.random.key(seed)) for seed in (0, 1))
    assert not np.array_equal(a[0].w, b[0].w)
    for layer in a:
        bound = layer.w.shape[0] ** -0.5
        assert 0.8 * bound < np.abs(layer.w).max() <= bound
        assert np.abs(layer.b).max() <= bound
