"""CNML by kernel counts, against maximum likelihood solved numerically and against counting by hand."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

from mural.nml import CNMLClassifier, kernel
from mural.nml.tabular import tabular_cnml
from mural.nml.weights import KERNEL_DECAY, Data

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(30, 2)), rng.integers(0, 3, 30)
REPRESENTS = rng.uniform(0.5, 4.0, 30)
DATA = Data(jnp.asarray(X, jnp.float32), jnp.asarray(Y, jnp.int32), jnp.asarray(REPRESENTS, jnp.float32))


def by_optimiser(query: np.ndarray, label: int, width: float) -> float:
    """θ_label that maximises the kernel-weighted likelihood of D and the query with this label, found numerically."""
    weights = REPRESENTS * np.exp(-KERNEL_DECAY * np.linalg.norm(X - query, axis=1) / width)

    def loss(logits: np.ndarray) -> float:
        log_theta = logits - np.log(np.exp(logits).sum())
        return -(weights @ log_theta[Y] + log_theta[label])

    best = optimize.minimize(loss, np.zeros(3), tol=1e-12).x
    return float(np.exp(best[label]) / np.exp(best).sum())


@pytest.mark.parametrize("width", [0.3, 1.0, 5.0])
def test_counts_are_maximum_likelihood(width):
    queries = np.array([[0.0, 0.0], [1.0, -0.5], [6.0, 6.0]])
    ours = np.exp(kernel.log_likelihoods(DATA, jnp.asarray(queries, jnp.float32), width, 3))
    slow = [[by_optimiser(query, label, width) for label in range(3)] for query in queries]
    np.testing.assert_allclose(ours, slow, atol=2e-4)


def test_a_kernel_without_reach_is_theorem_1():
    """Points at the same place count, others do not: (G + 1)/(N + G + 2)."""
    x = jnp.asarray(np.repeat([[0.0], [1.0]], [7, 3], axis=0), jnp.float32)
    data = Data(x, jnp.asarray([0] * 5 + [1] * 2 + [0] * 3), jnp.ones(10))
    log_p = np.asarray(kernel.log_likelihoods(data, jnp.asarray([[0.0], [1.0], [2.0]]), 1e-3))
    p = np.exp(log_p[:, 1]) / np.exp(log_p).sum(axis=1)
    np.testing.assert_allclose(p, [tabular_cnml(5, 2), tabular_cnml(3, 0), 0.5], atol=1e-6)


def test_neighbours_by_hand():
    x = jnp.asarray([[0.0], [1.0], [3.0], [7.0]])
    np.testing.assert_allclose(kernel.neighbour_distance(x[:2], x, 2), [3.0, 2.0])
    np.testing.assert_allclose(kernel.neighbour_distance(x[:1], x, 10), [7.0])  # fewer there: the furthest


def test_the_estimator_counts():
    X = np.concatenate([rng.normal(0, 1, (200, 2)), rng.normal(6, 0.3, (50, 2))])
    model = CNMLClassifier("kernel").fit(X, np.repeat([0, 1], [200, 50]))
    p = model.predict_proba([[0, 0], [6, 6], [-60, 60]])[:, 1]
    assert p[0] < 0.15
    assert p[1] > 0.85
    assert p[2] == pytest.approx(0.5, abs=1e-3)
    np.testing.assert_allclose(model.log_normalizer([[-60, 60]]), np.log(2), atol=1e-3)


def test_counts_are_repeated_rows_for_the_estimator():
    X, y, counts = np.array([[0.0], [1.0], [3.0]]), [0, 1, 1], [2, 1, 3]
    once = CNMLClassifier("kernel", kernel_width=1.0).fit(X, y, represents=counts)
    often = CNMLClassifier("kernel", kernel_width=1.0).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(once.predict_proba([[0.5], [2.0]]), often.predict_proba([[0.5], [2.0]]), atol=1e-6)


@pytest.mark.parametrize("width", [0.0, -1.0, float("nan")])
def test_widths_that_cannot_be(width):
    with pytest.raises(ValueError, match="kernel_width"):
        CNMLClassifier("kernel", kernel_width=width).fit(X, Y)
