"""Finite, sensible answers at the edges, and errors that say what to do."""

import jax
import numpy as np
import pytest

from mural.nml import CNMLClassifier, DataError, Fit, MetaNMLClassifier, MLEClassifier, meta, mlp

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(size=(30, 2)) - 2, rng.normal(size=(30, 2)) + 2])
Y = np.repeat([0, 1], 30)


def small(**options):
    """Few shapes, few compilations: D of up to 64 points of two inputs, eight or fewer queries."""
    quick = {"outer_points": 16, "train_points": None}  # XLA optimises little in tests: running takes the time
    return MetaNMLClassifier(**{"hidden": (16,), "meta_epochs": 40, "random_state": 0, **quick, **options})


def sensible(p, n, k=2):
    assert p.shape == (n, k)
    assert np.isfinite(p).all()
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-6)
    return p


@pytest.fixture(scope="module")
def fitted():
    return small(kernel_width=0.5).fit(X, Y)


def test_queries_equal_to_data_points(fitted):
    """D itself is where query tasks come from: distance 0 inside the meta-gradient."""
    assert np.isfinite(fitted.loss_curve_).all()
    p = sensible(fitted.predict_proba(X), 60)
    assert (p.argmax(1) == Y).mean() > 0.95
    sensible(CNMLClassifier().fit(X, Y).predict_proba(X), 60)


@pytest.mark.parametrize("far", [1e3, 1e6, 1e30, 1e300, np.finfo(float).max])
def test_far_from_all_data_every_label_is_possible(fitted, far):
    queries = far * np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [0.0, 1.0]])
    p = sensible(fitted.predict_proba(queries), 5)
    np.testing.assert_allclose(p, 0.5, atol=0.1)
    assert (fitted.log_normalizer(queries) > 0.15).all()


@pytest.mark.parametrize("far", [1e3, 1e6, 1e30, 1e300])
def test_exact_cnml_far_from_all_data(far):
    """A lone point far out bends a linear model to either label."""
    queries = far * np.array([[1.0, -1.0], [-1.0, 1.0]])
    clf = CNMLClassifier(l2=1e-3).fit(X, Y)
    sensible(clf.predict_proba(queries), 2)
    np.testing.assert_allclose(clf.log_normalizer(queries), np.log(2), atol=0.1)


def test_one_class_of_two():
    p = sensible(small(classes=[0, 1], kernel_width=0.5).fit(X, np.zeros(60)).predict_proba(X[:8]), 8)
    assert (p[:, 0] > 0.55).all()
    p = sensible(CNMLClassifier(classes=[0, 1]).fit(X, np.zeros(60)).predict_proba(X[:8]), 8)
    assert (p[:, 0] > 0.6).all()


@pytest.mark.parametrize("clf", [small(), CNMLClassifier(), MLEClassifier((4,), epochs=2)])
def test_one_class_without_a_second(clf):
    clf.fit(X[:5], ["only"] * 5)
    np.testing.assert_array_equal(clf.predict_proba(X[:3]), np.ones((3, 1)))
    np.testing.assert_array_equal(clf.log_normalizer(X[:3]), np.zeros(3))
    assert (clf.predict(X[:3]) == "only").all()


def test_one_data_point():
    """Tabular CNML with one visit is 2/3."""
    p = sensible(small(classes=[0, 1], kernel_width=0.5, meta_epochs=100).fit(X[:1], [1]).predict_proba(X[:1]), 1)
    assert 0.52 < p[0, 1] < 0.8
    sensible(CNMLClassifier(classes=[0, 1]).fit(X[:1], [1]).predict_proba(X[:8]), 8)


def test_duplicated_points_with_both_labels():
    twice, labels = np.repeat(X[:1], 40, axis=0), np.arange(40) % 2
    p = sensible(small(kernel_width=0.5).fit(twice, labels).predict_proba(X[:1]), 1)
    np.testing.assert_allclose(p, 0.5, atol=0.1)
    np.testing.assert_allclose(CNMLClassifier().fit(twice, labels).predict_proba(X[:1]), 0.5, atol=1e-6)
    auto = small().fit(twice, labels)  # all neighbours at distance 0
    assert auto.kernel_width_ > 0


@pytest.mark.parametrize("width", [1e-12, 1e-300, 1e12, None, np.inf])
def test_extreme_kernel_widths(width):
    clf = small(kernel_width=width).fit(X, Y)
    p = sensible(clf.predict_proba(X), 60)
    assert np.isfinite(clf.loss_curve_).all()
    if width is not None and width < 1:
        between = sensible(clf.predict_proba(X[:8] + 0.1), 8)  # off all points nothing is known
        np.testing.assert_allclose(between, 0.5, atol=0.15)
    else:
        assert (p.argmax(1) == Y).mean() > 0.95


@pytest.mark.parametrize("sign", [1, -1])
def test_logits_of_ten_thousand(fitted, sign):
    """Certainty that no step can undo is certainty, not NaN; and training from there has finite gradients."""
    params = fitted.state_.params
    last = mlp.Layer(params[-1].w * 0, params[-1].b * 0 + sign * np.array([1e4, -1e4], np.float32))
    state = Fit((*params[:-1], last), fitted.state_.optimiser)
    config = fitted._config()
    log_p = jax.jit(meta.log_likelihoods, static_argnums=0)(
        config, state.params, fitted.data_, fitted.data_.x[:8], 0.5, key=fitted.key_
    )
    assert np.isfinite(log_p).all()
    np.testing.assert_allclose(log_p[:, (1 - sign) // 2], 0, atol=1e-6)
    assert (np.asarray(log_p)[:, (1 + sign) // 2] < -1e3).all()
    new, info = meta.epoch(config, state, fitted.data_, fitted.kernel_width_, np.float32(1e-3), key=fitted.key_)
    assert np.isfinite(info["loss"]).all()
    assert all(np.isfinite(p).all() for p in jax.tree.leaves(new))


@pytest.mark.parametrize("scale", [1e-300, 1e-38, 1e38, 1e300])
def test_extreme_scales_are_standardised_away(scale):
    p = sensible(small().fit(X * scale, Y).predict_proba(X * scale), 60)
    assert (p.argmax(1) == Y).mean() > 0.95
    exact = CNMLClassifier().fit(X * scale, Y).predict_proba(X * scale)
    assert (sensible(exact, 60).argmax(1) == Y).mean() > 0.95


def test_columns_of_mixed_scales_and_without_spread():
    wild = X * [1e-38, 1e38]
    assert (sensible(small().fit(wild, Y).predict_proba(wild), 60).argmax(1) == Y).mean() > 0.95
    flat = np.c_[X[:, 0], np.full(60, 1e30)]
    assert (sensible(small().fit(flat, Y).predict_proba(flat), 60).argmax(1) == Y).mean() > 0.9


@pytest.mark.parametrize("scale", [1e-300, 1e-38, 1e-3, 1e3])
def test_raw_small_and_large_inputs(scale):
    sensible(small(standardize=False).fit(X * scale, Y).predict_proba(X * scale), 60)


@pytest.mark.parametrize("scale", [1e30, 1e38, 1e300])
def test_raw_inputs_beyond_single_precision(scale):
    for clf in (small(standardize=False), CNMLClassifier(standardize=False)):
        with pytest.raises(DataError, match="use standardize=True, or rescale"):
            clf.fit(X * scale, Y)


def test_no_meta_training_at_all():
    clf = small(meta_epochs=0, kernel_width=0.5).fit(X, Y)
    assert clf.loss_curve_ == []
    sensible(clf.predict_proba(X[:8]), 8)


ESTIMATORS = [small(), CNMLClassifier(), CNMLClassifier("mlp"), MLEClassifier()]
each_estimator = pytest.mark.parametrize("clf", ESTIMATORS, ids=["meta", "logistic", "mlp", "mle"])


@each_estimator
@pytest.mark.parametrize(
    ("X", "y", "represents", "advice"),
    [
        ([[np.nan, 1.0], [1.0, 2.0]], [0, 1], None, "Drop or impute"),
        ([[np.inf, 1.0], [1.0, 2.0]], [0, 1], None, "Clip or rescale"),
        (np.zeros((0, 2)), [], None, "At least one labelled point"),
        ([[1.0, 2.0]], [0.37], None, "Unknown label type"),
        (X, Y, -1.0, "represents must be finite, 0 or more"),
        (X, Y, np.nan, "represents must be finite, 0 or more"),
        (X, Y, np.zeros(60), "above 0 for at least one"),
        (X, Y, np.ones(7), "one number, or one for each of the 60 rows"),
    ],
)
def test_bad_data_are_named_with_what_to_do(clf, X, y, represents, advice):
    with pytest.raises(DataError, match=advice):
        clf.fit(X, y, represents)


def test_bad_queries_are_named_with_what_to_do(fitted):
    for clf in (fitted, CNMLClassifier().fit(X, Y)):
        with pytest.raises(DataError, match="Pass the same columns"):
            clf.predict_proba(np.zeros((3, 5)))
        with pytest.raises(DataError, match="Drop or impute"):
            clf.predict_proba([[np.nan, 0.0]])
        with pytest.raises(DataError, match="Clip or rescale"):
            clf.predict_proba([[np.inf, 0.0]])


@each_estimator
def test_labels_that_were_not_named(clf):
    clf = type(clf)(**{**clf.get_params(), "classes": [0, 1]})
    with pytest.raises(DataError, match=r"Labels \[2\] are not among the classes \[0, 1\]: name all labels"):
        clf.fit(X, np.where(Y == 1, 2, 0))


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"kernel_width": 0.0}, "use a length above 0, 'auto', or None"),
        ({"kernel_width": -1.0}, "use a length above 0"),
        ({"kernel_width": np.nan}, "use a length above 0"),
        ({"kernel_width": "wide"}, "use a length above 0"),
        ({"proposal": "spiral"}, "use one of auto, box, pairs, or a function"),
        ({"steps": 0}, "at least one gradient step"),
    ],
)
def test_bad_options_of_meta_nml(options, advice):
    for y in (Y, np.zeros(60)):  # also where there is nothing to train
        with pytest.raises(ValueError, match=advice):
            small(**options).fit(X, y)


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"model": "forest"}, "use 'logistic', 'mlp' or 'kernel'"),
        ({"l2": 0.0}, "must be above 0"),
        ({"l2": np.nan}, "must be above 0"),
        ({"features": lambda rows: rows[:3]}, "one row per input"),
        ({"features": lambda rows: rows * np.inf}, "features gave NaN or infinity"),
    ],
)
def test_bad_options_of_exact_cnml(options, advice):
    with pytest.raises(ValueError, match=advice), np.errstate(invalid="ignore"):
        CNMLClassifier(**options).fit(X, Y)
