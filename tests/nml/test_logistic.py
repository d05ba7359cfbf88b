"""Exact logistic CNML against scipy's solver on the same objective, one query and label at a time."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from mural.nml import CNMLClassifier

L2 = 0.3


def objective(w, x, y, weights, l2):
    """Σ wᵢ ℓᵢ + ½ l2 ‖W‖² and its gradient, for inputs with a column of ones."""
    w = w.reshape(x.shape[1], -1)
    log_p = log_softmax(x @ w, axis=1)
    error = np.exp(log_p)
    error[np.arange(len(y)), y] -= 1
    loss = -(weights * log_p[np.arange(len(y)), y]).sum() + 0.5 * l2 * (w**2).sum()
    return loss, (x.T @ (weights[:, None] * error) + l2 * w).ravel()


def by_scipy(x, y, k, queries, weights=None, l2=L2):
    """log p_{θ_y}(y|x) [q, k], each by BFGS from zero on the augmented data."""
    x, queries = (np.column_stack([a, np.ones(len(a))]) for a in (x, queries))
    weights = np.ones(len(x)) if weights is None else weights
    out = np.empty((len(queries), k))
    for i, query in enumerate(queries):
        for label in range(k):
            augmented = np.vstack([x, query]), np.append(y, label), np.append(weights, 1.0)
            found = minimize(objective, np.zeros(x.shape[1] * k), (*augmented, l2), jac=True, method="BFGS", tol=1e-9)
            out[i, label] = log_softmax(query @ found.x.reshape(-1, k))[label]
    return out


def problem(k, n=25, d=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    x = rng.normal(size=(n, d)) + 0.8 * np.eye(k, d)[y]
    return x, y, np.vstack([rng.normal(scale=2, size=(4, d)), x[:1]])


def exact(**options):
    return CNMLClassifier(standardize=False, **{"l2": L2, **options})


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", [0, 1])
def test_equals_scipy_per_query_and_label(k, seed):
    x, y, queries = problem(k, seed=seed)
    ours = exact().fit(x, y).predict_log_likelihoods(queries)
    np.testing.assert_allclose(ours, by_scipy(x, y, k, queries), atol=1e-6)


def test_equals_sklearn_where_the_objectives_match():
    """Two symmetric weight vectors of k = 2 are one, w₁ − w₀, with half the penalty; a tiny l2 frees the intercept."""
    x, y, queries = problem(2)
    ours = exact(l2=1e-6).fit(x, y).predict_log_likelihoods(queries)
    for query, log_p in zip(queries, ours, strict=True):
        for label in (0, 1):
            sklearn = LogisticRegression(C=2e6, tol=1e-10, max_iter=1000)
            sklearn.fit(np.vstack([x, query]), np.append(y, label))
            assert log_p[label] == pytest.approx(sklearn.predict_log_proba([query])[0, label], abs=1e-5)


@pytest.mark.parametrize("k", [2, 3])
def test_the_gradient_vanishes_at_the_optimum(k):
    x, y, _ = problem(k)
    clf = exact().fit(x, y)
    ones = np.column_stack([x, np.ones(len(x))])
    assert np.abs(objective(clf.coef_.ravel(), ones, y, np.ones(len(x)), L2)[1]).max() < 1e-6
    assert clf.n_iter_ < 15


def test_user_features_replace_the_inputs():
    x, y, queries = problem(2)

    def rings(rows):
        return np.column_stack([np.hypot(*rows.T), rows[:, 0] * rows[:, 1], rows[:, 0]])

    ours = exact(features=rings).fit(x, y).predict_log_likelihoods(queries)
    np.testing.assert_allclose(ours, by_scipy(rings(x), y, 2, rings(queries)), atol=1e-6)
    assert np.abs(ours - exact().fit(x, y).predict_log_likelihoods(queries)).max() > 1e-2


@pytest.mark.parametrize("standardize", [False, True])
def test_a_point_that_represents_three_is_three_points(standardize):
    x, y, queries = problem(3)
    counts = np.random.default_rng(1).integers(1, 5, len(x))
    clf = CNMLClassifier(l2=L2, standardize=standardize)
    short = clf.fit(x, y, represents=counts).predict_log_likelihoods(queries)
    long = clf.fit(np.repeat(x, counts, axis=0), np.repeat(y, counts)).predict_log_likelihoods(queries)
    np.testing.assert_allclose(short, long, atol=1e-6)
    assert np.abs(short - clf.fit(x, y).predict_log_likelihoods(queries)).max() > 1e-2


def test_fractional_counts_equal_scipy():
    x, y, queries = problem(2)
    counts = np.random.default_rng(1).uniform(0, 7, len(x))
    ours = exact().fit(x, y, represents=counts).predict_log_likelihoods(queries)
    np.testing.assert_allclose(ours, by_scipy(x, y, 2, queries, counts), atol=1e-6)


def test_points_that_represent_none_are_not_there():
    x, y, queries = problem(2)
    counts = np.append(np.ones(len(x)), 0.0)
    far = np.vstack([x, [[50.0, -80.0]]]), np.append(y, 1)
    clf = CNMLClassifier(l2=L2)
    with_it, without = (clf.fit(*a).predict_proba(queries) for a in ((*far, counts), (x, y)))
    np.testing.assert_allclose(with_it, without, atol=1e-6)


def test_too_few_iterations_are_reported():
    x, y, queries = problem(2)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        clf = exact(max_iter=1).fit(x, y)
    with pytest.warns(ConvergenceWarning, match=r"10 of 10 problems did not converge in queries"):
        clf.predict_proba(queries)


def test_well_separated_data_converge_and_are_nearly_sure():
    x = np.vstack([np.full((30, 2), -40.0), np.full((30, 2), 40.0)]) + np.random.default_rng(0).normal(size=(60, 2))
    y = np.repeat([0, 1], 30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = exact(l2=1e-4).fit(x, y).predict_proba([[-40.0, -40.0], [40.0, 40.0], [0.0, 0.0]])
    # Even a label against the trend is only learned at the cost of thirty points nearby.
    assert p[0, 0] > 0.9
    assert p[1, 1] > 0.9
    assert abs(p[2, 0] - 0.5) < 0.05


@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2]])
def test_one_class_only(classes):
    x, _, queries = problem(2)
    y = np.zeros(len(x), int)
    ours = exact(classes=classes).fit(x, y)
    log_p = ours.predict_log_likelihoods(queries)
    np.testing.assert_allclose(log_p, by_scipy(x, y, len(classes), queries), atol=1e-6)
    assert (ours.predict(queries[-1:]) == 0).all()


def test_duplicated_data_make_it_surer():
    x, y, queries = problem(2)
    regret = [exact().fit(np.tile(x, (m, 1)), np.tile(y, m)).log_normalizer(queries) for m in (1, 4, 16)]
    assert (np.diff(regret, axis=0) < 0).all()
