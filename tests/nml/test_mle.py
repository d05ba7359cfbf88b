"""Maximum likelihood with its remedies: mixup, weight decay and early stopping do what they say."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mural.nml import MLEClassifier, mle, mlp
from tests.nml import problems

PARAMS, DATA = problems.network((2, 8, 3)), problems.data(32, 2, 3)
CONFIG = mle.MLE(batch_size=16)


def size(params):
    return float(sum(np.sum(np.asarray(p) ** 2) for p in jax.tree.leaves(params)))


def test_soft_cross_entropy_of_hard_and_soft_labels():
    logits = np.asarray(jax.jit(mlp.forward)(PARAMS, DATA.x), dtype=float)
    log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    weight = np.asarray(DATA.represents)
    for targets in (np.eye(3)[np.asarray(DATA.y)], np.random.default_rng(0).dirichlet([1, 1, 1], 32)):
        ours = mle.soft_cross_entropy(PARAMS, DATA.x, jnp.asarray(targets, jnp.float32), DATA.represents)
        assert ours == pytest.approx((weight * -(targets * log_p).sum(1)).sum() / weight.sum(), rel=1e-5)
    assert mle.soft_cross_entropy(PARAMS, DATA.x, jnp.asarray(targets, jnp.float32), jnp.zeros(32)) == 0


def test_mixup_mixes_inputs_and_labels_alike_and_keeps_means():
    """Means over many draws lie within 4 standard errors (6e-5 false alarms) of the weighted means of the data."""
    x, y = np.array(DATA.x), np.eye(3, dtype=np.float32)[np.asarray(DATA.y)]
    weight = np.asarray(DATA.represents).copy()
    weight[4], x[4] = 0.0, 1000.0  # a point that represents none is nobody's partner
    both = jnp.asarray(np.c_[x, y])  # a point's label mixed by another share than its input would show
    keys = jax.random.split(jax.random.key(0), 500)
    mixed, targets = jax.jit(jax.vmap(lambda key: mle.mix(both, jnp.asarray(y), jnp.asarray(weight), 0.5, key=key)))(
        keys
    )
    np.testing.assert_array_equal(mixed[..., 2:], targets)
    targets = np.asarray(targets)
    np.testing.assert_allclose(targets.sum(-1), 1, rtol=1e-5)
    assert ((targets > 0.05) & (targets < 0.95)).any(-1).mean() > 0.2  # really mixed
    means = (np.asarray(mixed)[..., :2] * weight[:, None]).sum(1) / weight.sum()
    expected = (x * weight[:, None]).sum(0) / weight.sum()
    assert (np.abs(means.mean(0) - expected) < 4 * means.std(0) / np.sqrt(500)).all()


def test_training_lowers_the_loss_and_decay_shrinks_the_weights():
    state = mle.init((2, 8, 3), key=jax.random.key(0))
    ends = []
    for decay in (0.0, 1.0):
        config, end = mle.MLE(weight_decay=decay, batch_size=16), state
        for i in range(60):
            end, info = mle.epoch(config, end, DATA, 1e-2, key=jax.random.key(i))
        assert info["loss"].shape == (2,)  # two batches of 16
        ends.append((size(end.params), float(info["loss"].mean())))
    assert ends[1][0] < 0.7 * ends[0][0]
    before = float(mle.soft_cross_entropy(state.params, DATA.x, jax.nn.one_hot(DATA.y, 3), DATA.represents))
    assert ends[0][1] < ends[1][1] < before


def test_decay_is_decoupled():
    """Where the gradient vanishes, a step multiplies the weights by 1 − rate × decay."""
    state = mle.init((2, 8, 3), key=jax.random.key(0))
    nothing = DATA._replace(represents=jnp.zeros(32))
    new, _ = mle.epoch(mle.MLE(weight_decay=0.5, batch_size=32), state, nothing, 0.1, key=jax.random.key(0))
    for a, b in zip(jax.tree.leaves(new.params), jax.tree.leaves(state.params), strict=True):
        np.testing.assert_allclose(a, 0.95 * b, rtol=1e-5)


def noisy(n=40):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 2)), np.arange(n) % 2  # labels that cannot be learned


def test_early_stopping_stops_and_keeps_the_best_weights(monkeypatch):
    X, y = noisy()
    losses = iter([0.9, 0.5, 0.7, 0.8, 0.6, 0.1])
    kept = []

    def validation_loss(params, data):
        assert len(data.x) == 10
        kept.append(params)
        return next(losses)

    monkeypatch.setattr("mural.nml.mle_classifier._loss", validation_loss)
    clf = MLEClassifier((8,), epochs=50, early_stopping=True, validation_fraction=0.25, patience=3, random_state=0)
    clf.fit(X, y)
    assert len(clf.loss_curve_) == 5  # the best was the second, three more brought nothing
    assert clf.params_ is kept[1]


def test_without_early_stopping_all_epochs_are_run_on_all_data():
    X, y = noisy()
    clf = MLEClassifier((8,), epochs=30, patience=1, random_state=0).fit(X, y)
    assert len(clf.loss_curve_) == 30
    assert clf.loss_curve_[-1] < clf.loss_curve_[0]
    weights = [size(MLEClassifier((8,), epochs=30, weight_decay=d, random_state=0).fit(X, y).params_) for d in (0, 30)]
    assert weights[1] < 0.5 * weights[0]


def test_early_stopping_with_real_losses_stops_before_overfitting():
    X, y = noisy()
    clf = MLEClassifier((32,), epochs=300, early_stopping=True, validation_fraction=0.25, patience=5, random_state=0)
    assert len(clf.fit(X, y).loss_curve_) < 300
