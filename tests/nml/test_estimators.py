"""The scikit-learn contract, and what our estimators promise beyond it."""

import doctest
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mural.nml import (
    CNMLClassifier,
    DataError,
    MetaNMLClassifier,
    MLEClassifier,
    cnml_classifier,
    meta,
    meta_classifier,
)

# The contract is about shapes, types and state. Every shape is compiled, so what is compiled is kept small.
TINY = {"outer_points": None, "train_points": None, "outside_share": 0.0}


@parametrize_with_checks(
    [
        CNMLClassifier(l2=0.1),
        MLEClassifier((), epochs=80, learning_rate=3e-2, random_state=0),
        MetaNMLClassifier((), meta_epochs=5, learning_rate=4e-2, random_state=0, **TINY),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


rng = np.random.default_rng(0)
X = np.vstack([rng.normal(size=(20, 2)) - 1.5, rng.normal(size=(20, 2)) + 1.5])
Y = np.repeat(["bad", "good"], 20)


def small(**options):
    quick = {"outer_points": 16, "train_points": None}  # XLA optimises little in tests: running takes the time
    return MetaNMLClassifier(
        **{"hidden": (16,), "meta_epochs": 20, "kernel_width": 0.7, "random_state": 0, **quick, **options}
    )


def estimators():
    network = CNMLClassifier("mlp", hidden=(8,), l2=0.1, learning_rate=3e-2, random_state=0)
    return [CNMLClassifier(), network, MLEClassifier((16,), epochs=40, random_state=0), small()]


NAMES = ["logistic", "network", "mle", "meta"]


@pytest.fixture(scope="module", params=range(4), ids=NAMES)
def fitted(request):
    return estimators()[request.param].fit(X, Y)


def test_answers_are_consistent(fitted):
    queries = X[::5]
    log_p, log_z = fitted.predict_log_likelihoods(queries), fitted.log_normalizer(queries)
    p = fitted.predict_proba(queries)
    assert (log_p <= 0).all()
    np.testing.assert_allclose(log_z, np.log(np.exp(log_p).sum(1)), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(p, np.exp(log_p - log_z[:, None]), rtol=1e-6)
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(queries)), p, rtol=1e-6)
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-12)
    np.testing.assert_array_equal(fitted.predict(queries), fitted.classes_[p.argmax(1)])
    assert fitted.score(X, Y) > 0.9


def test_the_regret_lies_between_none_and_ignorance(fitted):
    """Adding a label cannot make it less likely, and no label is more likely than certain."""
    log_z = fitted.log_normalizer(np.vstack([X[::5], [[0.0, 0.0], [3.0, -3.0], [9.0, 9.0]]]))
    slack = 0.02 if fitted.__class__ is MetaNMLClassifier or getattr(fitted, "model", "") == "mlp" else 1e-6
    assert (log_z >= -slack).all()
    assert (log_z <= np.log(2) + slack).all()
    if isinstance(fitted, MLEClassifier):
        np.testing.assert_allclose(log_z, 0, atol=1e-5)  # one model for all labels: nothing to regret
    else:
        assert log_z.max() > 0.05


def test_pickles_give_the_same_answers(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_allclose(again.predict_proba(X[:8]), fitted.predict_proba(X[:8]), atol=1e-6)
    assert again.get_params().keys() == fitted.get_params().keys()


def test_pickled_meta_nml_is_trained_on():
    clf = small(meta_epochs=2).fit(X, Y)
    again = pickle.loads(pickle.dumps(clf))
    for c in (clf, again):
        c.partial_fit(X, Y)
    np.testing.assert_allclose(again.predict_proba(X[:8]), clf.predict_proba(X[:8]), atol=1e-6)
    assert again.meta_epochs_ == 3


def test_clones_are_unfitted_and_refit_alike(fitted):
    fresh = clone(fitted)
    assert not hasattr(fresh, "classes_")
    if getattr(fitted, "model", "") != "mlp":  # slow, and the same code as for the others
        np.testing.assert_allclose(fresh.fit(X, Y).predict_proba(X[:8]), fitted.predict_proba(X[:8]), atol=1e-6)


@pytest.mark.parametrize("clf", [CNMLClassifier(), small(**TINY)], ids=["logistic", "meta"])
def test_pipelines_and_cross_validation(clf):
    scaled = make_pipeline(StandardScaler(), clf)
    assert scaled.fit(X * [1e-3, 1e5], Y).score(X * [1e-3, 1e5], Y) > 0.9
    assert cross_val_score(clf, X, Y, cv=2).mean() > 0.85


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_seed_decides(seed):
    def answers(random_state):
        return small(random_state=random_state).fit(X, Y).predict_proba(X[:8])

    clf = small(random_state=seed).fit(X, Y)
    first = clf.predict_proba(X[:8])
    np.testing.assert_array_equal(answers(seed), first)
    assert np.abs(first - answers(seed + 100)).max() > 1e-4
    assert clf.score(X, Y) > 0.9
    np.testing.assert_array_equal(answers(np.random.RandomState(seed)), first)


def test_partial_fit_goes_on_from_where_it_is():
    clf = small()
    for i in range(12):
        assert clf.partial_fit(X, Y, classes=["bad", "good"] if i == 0 else None) is clf
    assert clf.meta_epochs_ == len(clf.loss_curve_) == 12
    assert clf.classes is None  # a parameter is the user's
    assert np.mean(clf.loss_curve_[-3:]) < np.mean(clf.loss_curve_[:3])
    scaling, width, compiled = clf.shift_.copy(), clf.kernel_width_, meta.epoch._cache_size()
    moved, labels = X[:36] + np.array([30.0, 0.0]), np.repeat("bad", 36)
    before = clf.predict_proba(moved[:8])
    for _ in range(12):
        clf.partial_fit(moved, labels)
    np.testing.assert_array_equal(clf.shift_, scaling)  # the network knows inputs in this scale only
    assert clf.kernel_width_ == width
    assert meta.epoch._cache_size() == compiled  # 36 points are padded to as many as 40
    after = clf.predict_proba(moved[:8])
    assert (after[:, 0] > 0.55).all()  # the new D counts,
    assert (after[:, 0] > before[:, 0]).all()
    assert clf.predict_proba(X[-4:])[:, 1].max() < 0.65  # and the old one is forgotten


def test_partial_fit_after_fit_keeps_the_network():
    clf = small().fit(X, Y)
    clf.partial_fit(X, Y)
    assert clf.meta_epochs_ == 21
    assert clf.loss_curve_[-1] < clf.loss_curve_[0]
    assert clf.fit(X, Y).meta_epochs_ == 20  # fit starts anew


def test_partial_fit_knows_its_classes():
    clf = small().partial_fit(X[:20], Y[:20], classes=["bad", "good"])
    assert clf.predict_proba(X[:3]).shape == (3, 2)
    with pytest.raises(DataError, match=r"Labels \['ugly'\] are not among the classes"):
        clf.partial_fit(X, np.repeat("ugly", 40))
    fresh = small()
    with pytest.raises(DataError, match="not among"):
        fresh.partial_fit(X, Y, classes=["bad"])
    assert fresh.classes is None


def test_more_steps_after_fit():
    """Each step adapts further to each label: the regret rises, as exact CNML's is higher."""
    clf = small().fit(X, Y)
    one = clf.log_normalizer(X[:8])
    five = clf.set_params(steps=5).log_normalizer(X[:8])
    assert (five > one + 1e-3).all()


def test_counts_stand_for_points():
    """Where D stands for more, its answers are surer; one number is the same for every row."""
    plain, many, each = (
        small(meta_epochs=40).fit(X, Y, represents=r).log_normalizer(X) for r in (None, 20.0, np.full(40, 20.0))
    )
    np.testing.assert_allclose(many, each, atol=1e-6)
    assert many.mean() < 0.7 * plain.mean()


@pytest.mark.parametrize("module", [cnml_classifier, meta_classifier], ids=["exact", "meta"])
def test_examples_in_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted > 2
    assert result.failed == 0
