"""Kernel weights: the paper's formula where it can be computed, its limits where it cannot."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mural.nml.weights import Data, Weights, distances, log_kernel, normalise, query_weights, subset

rng = np.random.default_rng(0)
X, QUERIES = rng.normal(size=(9, 3)).astype(np.float32), rng.normal(size=(4, 3)).astype(np.float32)
COUNTS = rng.uniform(0.5, 5, 9).astype(np.float32)
DATA = Data(jnp.asarray(X), jnp.zeros(9, int), jnp.asarray(COUNTS))


def test_weights_are_the_papers():
    kernel = np.exp(-2.3 * np.linalg.norm(QUERIES[:, None] - X[None], axis=-1) / 0.6) * COUNTS
    total = kernel.sum(1) + 2.5
    weights = query_weights(jnp.asarray(QUERIES), DATA, kernel_width=0.6, query_weight=2.5)
    np.testing.assert_allclose(weights.data, kernel / total[:, None], rtol=1e-5)
    np.testing.assert_allclose(weights.query, 2.5 / total, rtol=1e-5)


def test_a_tenth_at_the_kernel_width():
    assert np.exp(log_kernel(jnp.zeros((1, 1)), jnp.full((1, 1), 3.0), 3.0)) == pytest.approx(0.1, abs=1e-3)


def test_no_kernel_at_infinite_width():
    weights = query_weights(jnp.asarray(QUERIES), DATA, kernel_width=jnp.inf)
    np.testing.assert_allclose(weights.data, np.tile(COUNTS / (COUNTS.sum() + 1), (4, 1)), rtol=1e-5)


def test_features_are_what_the_kernel_measures():
    first = query_weights(jnp.asarray(QUERIES), DATA, kernel_width=0.6, features=lambda x: x[:, :1])
    cut = query_weights(jnp.asarray(QUERIES[:, :1]), DATA._replace(x=DATA.x[:, :1]), kernel_width=0.6)
    np.testing.assert_array_equal(first.data, cut.data)


def test_a_weight_for_each_query():
    weights = query_weights(jnp.asarray(QUERIES), DATA, kernel_width=0.6, query_weight=jnp.array([0.0, 1.0, 2.0, 1e6]))
    assert weights.query[0] == 0
    assert (np.diff(weights.query) > 0).all()
    np.testing.assert_allclose(weights.data.sum(1) + weights.query, 1, rtol=1e-5)


def test_distance_is_exact_and_has_gradient_zero_at_zero():
    np.testing.assert_allclose(
        distances(jnp.asarray(QUERIES), DATA.x), np.linalg.norm(QUERIES[:, None] - X[None], axis=-1), rtol=1e-6
    )
    gradient = jax.grad(lambda q: jnp.sum(distances(q, DATA.x[:1])))(DATA.x[:1])
    np.testing.assert_array_equal(gradient, np.zeros((1, 3)))


@pytest.mark.parametrize("far", [1e3, 1e6, 1e19, 1e25])
def test_when_all_kernel_weights_underflow_the_query_stands_alone(far):
    weights = query_weights(jnp.full((1, 3), far), DATA, kernel_width=0.01)
    assert weights.query[0] == 1
    np.testing.assert_array_equal(weights.data, np.zeros((1, 9)))


def test_without_the_query_the_nearest_of_far_data_remain():
    weights = query_weights(jnp.full((1, 3), 1e4), DATA, kernel_width=0.01, query_weight=0.0)
    assert weights.query[0] == 0
    np.testing.assert_allclose(weights.data.sum(), 1, rtol=1e-6)


@pytest.mark.parametrize("width", [1e-12, 1e-38, 1e12, 1e38])
def test_extreme_widths(width):
    weights = query_weights(DATA.x[:2], DATA, kernel_width=width)
    assert np.isfinite(weights.data).all()
    share = COUNTS[:2] / (COUNTS[:2] + 1) if width < 1 else COUNTS[:2] / (COUNTS.sum() + 1)
    np.testing.assert_allclose(np.diagonal(weights.data), share, rtol=1e-4)


def test_nothing_at_all_is_no_step():
    zeros = normalise(jnp.full((2, 3), -jnp.inf), jnp.full(2, -jnp.inf))
    np.testing.assert_array_equal(zeros.data, np.zeros((2, 3)))
    np.testing.assert_array_equal(zeros.query, np.zeros(2))


def test_normalise_knows_only_ratios():
    log_data, log_query = jnp.log(jnp.array([[1.0, 2.0]])), jnp.log(jnp.array([5.0]))
    for shift in (0.0, 500.0, -500.0):
        weights = normalise(log_data + shift, log_query + shift)
        np.testing.assert_allclose(weights.data, [[0.125, 0.25]], rtol=1e-4)
        assert isinstance(weights, Weights)


def test_a_subset_stands_for_all():
    """Any sum over D is that over the subset in expectation: within 4 standard errors (6e-5 false alarms)."""
    padding = Data(DATA.x, DATA.y, DATA.represents.at[jnp.array([2, 5])].set(0.0))
    values = jnp.asarray(1 + rng.normal(size=9), jnp.float32)  # a sum far from 0 shows a wrong scale
    data = padding._replace(x=values[:, None])
    draw = jax.jit(jax.vmap(lambda key: subset(data, 4, key=key)))
    batches = draw(jax.random.split(jax.random.key(0), 3000))
    assert batches.x.shape == (3000, 4, 1)
    assert (np.asarray(batches.represents) > 0).all()
    sums = np.asarray(jnp.sum(batches.represents * batches.x[..., 0], axis=1))
    expected = float(jnp.sum(data.represents * values))
    assert abs(sums.mean() - expected) < 4 * sums.std() / np.sqrt(3000)
    # Without replacement: no point twice in a batch.
    assert all(len(np.unique(row)) == 4 for row in np.asarray(batches.x[:100, :, 0]))


def test_a_subset_larger_than_what_is_there_keeps_its_counts():
    data = DATA._replace(represents=jnp.where(jnp.arange(9) < 3, DATA.represents, 0.0))
    kept = subset(data, 5, key=jax.random.key(0))
    assert kept.represents.sum() == pytest.approx(float(data.represents.sum()))
    assert subset(data, None, key=jax.random.key(0)) is data
    assert subset(data, 9, key=jax.random.key(0)) is data
