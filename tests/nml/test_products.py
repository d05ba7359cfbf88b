"""Products are rounded where that is asked for, and nowhere else; gradients too."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mural.agent import layers
from mural.nml import closed_form, meta, mlp, products
from mural.nml.mlp import Layer
from mural.nml.weights import Data, query_weights

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="elsewhere XLA rounds by itself")
WIDE = products.WIDE
SEED = 0


@pytest.fixture
def factors():
    """a [m, k] and b [k, n], all sides wide and different."""
    rng = np.random.default_rng(SEED)
    shapes = (WIDE + 16, WIDE), (WIDE, WIDE + 32)
    return tuple(rng.normal(size=shape).astype(np.float32) for shape in shapes)


def rounded(x):
    """The nearest numbers with 8 binary digits, ties to even: bfloat16, by arithmetic on the bits of float32."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    return (((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) << 16).astype(np.uint32).view(np.float32).astype(np.float64)


def test_products_are_those_of_rounded_factors_and_only_where_asked_for(factors):
    a, b = factors
    for product, left, right in [
        (products.dot, a, b),
        (products.dot_t, a, b.T.copy()),
        (products.t_dot, a.T.copy(), b),
    ]:
        left, right = jnp.asarray(left), jnp.asarray(right)
        exact = product(left, right)
        with products.precision("bfloat16"):
            found = product(left, right)
        np.testing.assert_allclose(exact, a.astype(float) @ b, atol=1e-4)
        np.testing.assert_allclose(found, rounded(a) @ rounded(b), atol=1e-4)
        assert np.max(np.abs(found - exact)) > 1e-3
        with products.precision("float32"):
            assert np.array_equal(product(left, right), exact)


def test_leading_axes_are_kept_and_narrow_products_are_exact(factors):
    a, b = (jnp.asarray(x) for x in factors)
    with products.precision("bfloat16"):
        stacked = products.dot(a.reshape(8, -1, WIDE), b)
        np.testing.assert_allclose(stacked.reshape(len(a), -1), products.dot(a, b), atol=1e-5)
        for few in (1, 7, WIDE - 1):  # what is asked about one row does not depend on the others
            np.testing.assert_allclose(products.dot(a[:few], b), products.dot(a, b)[:few], atol=1e-5)
        for few, narrow in [(a, b[:, : WIDE - 1]), (a[:, : WIDE - 1], b[: WIDE - 1])]:
            np.testing.assert_allclose(products.dot(few, narrow), np.asarray(few, float) @ narrow, atol=1e-4)


@pytest.mark.parametrize("affine", [mlp.affine, layers.affine])
def test_gradients_are_products_of_rounded_factors(factors, affine):
    a, b = factors
    error = np.random.default_rng(SEED + 1).normal(size=(a.shape[0], b.shape[1])).astype(np.float32)

    def loss(a, layer):
        return jnp.sum(affine(a, layer) * error)

    with products.precision("bfloat16"):
        to_a, to_layer = jax.jit(jax.grad(loss, argnums=(0, 1)))(a, Layer(b, np.zeros(b.shape[1], np.float32)))
    np.testing.assert_allclose(to_a, rounded(error) @ rounded(b).T, atol=2e-4)
    np.testing.assert_allclose(to_layer.w, rounded(a).T @ rounded(error), atol=2e-4)
    np.testing.assert_allclose(to_layer.b, error.sum(axis=0), atol=1e-4)


def test_adaptation_and_meta_training_come_close_to_those_of_single_precision():
    rng = np.random.default_rng(SEED)
    data = Data(
        jnp.asarray(rng.normal(size=(128, 3)), jnp.float32), jnp.asarray(rng.integers(2, size=128)), jnp.ones(128)
    )
    queries = jnp.asarray(rng.normal(size=(WIDE, 3)), jnp.float32)
    params = mlp.init((3, 64, 64, 2), key=jax.random.key(SEED))

    def adapted():
        weights = query_weights(queries, data, kernel_width=1.0, query_weight=jnp.ones(len(queries)))
        return closed_form.log_likelihoods(params, closed_form.support(params, data), queries, weights, 0.1)

    def gradient():
        config = meta.MetaNML(train_points=None, outer_points=None)
        found = jax.grad(meta.meta_loss)(params, config, data, queries, 1.0, key=jax.random.key(SEED))
        return jnp.concatenate([x.reshape(-1) for x in jax.tree.leaves(found)])

    for what, near in [(adapted, 0.01), (gradient, 0.1)]:
        exact = what()
        with products.precision("bfloat16"):
            found = what()
        error = jnp.linalg.norm(found - exact) / jnp.linalg.norm(exact)
        assert 0 < error < near, (what, error)
