"""Network CNML trained to convergence: tabular CNML where points are far apart, whatever the chunks."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mural.nml import CNMLClassifier, network
from mural.nml.network import Training
from mural.nml.tabular import tabular_log_likelihoods
from tests.nml import problems

POINTS = np.array([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
COUNTS = np.array([[9.0, 0.0], [0.0, 4.0], [2.0, 5.0], [1.0, 1.0]])


def discrete():
    """Each point once per label it was seen with, standing for the times it was."""
    at, label = np.nonzero(COUNTS)
    return POINTS[at], label, COUNTS[at, label]


@pytest.fixture(scope="module")
def fitted():
    clf = CNMLClassifier("mlp", hidden=(16,), l2=1e-3, standardize=False, random_state=0, learning_rate=3e-2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return clf.fit(*discrete())


def test_agrees_with_counts_where_points_are_far_apart(fitted):
    ours, ideal = fitted.predict_proba(POINTS), np.exp(tabular_log_likelihoods(COUNTS))
    np.testing.assert_allclose(ours, ideal / ideal.sum(1, keepdims=True), atol=0.02)
    np.testing.assert_allclose(np.exp(fitted.predict_log_likelihoods(POINTS)), ideal, atol=0.03)


def test_a_point_that_represents_three_is_three_points(fitted):
    X, y, counts = discrete()
    times = counts.astype(int)
    long = CNMLClassifier(**fitted.get_params()).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(long.predict_proba(POINTS), fitted.predict_proba(POINTS), atol=0.01)


def test_chunks_change_nothing(fitted, monkeypatch):
    queries = np.vstack([POINTS, 0.5 * POINTS])
    together = fitted.predict_proba(queries)
    monkeypatch.setattr("mural.nml.cnml_classifier.COPIES_MB", 0)  # one query at a time
    np.testing.assert_allclose(fitted.predict_proba(queries), together, atol=1e-3)


def test_objective_is_the_regularised_mean_on_the_augmented_data():
    params, data = problems.network((2, 4, 3)), problems.data(6, 2, 3)
    query, label = jnp.ones(2), jnp.asarray(2)
    ours = jax.jit(network.objective)(params, data, query, label, jnp.asarray(1.0), 0.3)
    x, y = np.vstack([data.x, query]), np.append(data.y, label)
    (w1, b1), (w2, b2) = jax.tree.map(np.asarray, params)
    logits = np.maximum(x @ w1 + b1, 0) @ w2 + b2
    losses = np.log(np.exp(logits).sum(1)) - logits[np.arange(7), y]
    counts = np.append(data.represents, 1.0)
    penalty = 0.15 * sum((p**2).sum() for p in (w1, b1, w2, b2))
    assert ours == pytest.approx(((counts * losses).sum() + penalty) / counts.sum(), rel=1e-5)


def test_too_few_rounds_are_reported(fitted):
    X, y, counts = discrete()
    hasty = CNMLClassifier(**{**fitted.get_params(), "max_iter": 1})
    with pytest.warns(ConvergenceWarning, match=r"1 of 1 problems did not converge in fit: raise max_iter"):
        hasty.fit(X, y, counts)
    with pytest.warns(ConvergenceWarning, match=r"8 of 8 problems did not converge in queries"):
        hasty.predict_proba(POINTS)


def test_fit_says_how_many_rounds_it_took(fitted):
    assert 1 < fitted.n_iter_ < fitted.max_iter
    _, converged, rounds = network.fit(
        Training(l2=1e-3, learning_rate=3e-2, max_rounds=100), fitted.params_, fitted.data_
    )
    assert converged
    assert rounds <= fitted.n_iter_
