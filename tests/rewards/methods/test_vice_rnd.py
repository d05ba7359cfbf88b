"""RND: its error and normaliser by their formulas, and novelty that goes where the predictor was trained."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mural.rewards import running
from mural.rewards.base import METHODS
from mural.rewards.methods.vice_rnd import RND
from tests.rewards import synthetic
from tests.rewards.methods.test_vice import forward

KEY, PROBLEM = jax.random.key(0), synthetic.problem()
SMALL = RND(hidden=(32, 32), outputs=8, steps=300, batch_size=64, learning_rate=1e-3)


def error(state, x):
    """In NumPy: mean over outputs of the squared difference."""
    return ((forward(state.predictor.params, x) - forward(state.target, x)) ** 2).mean(1)


def test_error_normaliser_and_loss_equal_their_formulas():
    """The deviation is that of all errors measured so far: each call's new states under that call's predictor."""
    part = dataclasses.replace(SMALL, steps=1, forget=0.0)
    first, second = (synthetic.corridor(seed=s, episodes=e) for s, e in ((0, 3), (1, 5)))
    state, seen = part.init(PROBLEM, key=KEY), []
    np.testing.assert_allclose(
        synthetic.label(part, state, first.recent), error(state, np.asarray(first.recent["states"])), rtol=1e-4
    )
    for i, experience in enumerate((first, second)):
        key, before = jax.random.fold_in(KEY, i), state
        state, info = part.learn(state, PROBLEM, experience, key=key)
        batch = np.asarray(experience.states(64, key))
        assert float(info["loss"]) == pytest.approx(error(before, batch).mean(), rel=1e-4)
        seen.extend(error(state, np.asarray(experience.recent["states"])))
        assert float(info["deviation"]) == pytest.approx(np.std(seen), rel=1e-4)
    x = np.random.default_rng(0).normal(size=(9, 2))
    expected = np.minimum(error(state, x) / np.std(seen), part.clip)
    np.testing.assert_allclose(synthetic.label(part, state, synthetic.at(x)), expected, rtol=1e-3)
    far = synthetic.at(np.full((1, 2), 1e4))
    assert error(state, np.full((1, 2), 1e4)) / np.std(seen) > part.clip
    np.testing.assert_array_equal(synthetic.label(part, state, far), part.clip)


def test_a_running_average_forgets():
    """Old errors weigh 1 − forget of what they did, epoch by epoch."""
    first, second = np.full(100, 5.0), np.linspace(0, 1, 50)
    weights = np.repeat([0.75, 1.0], [100, 50])
    both = np.concatenate([first, second])
    mean = np.average(both, weights=weights)
    expected = np.sqrt(np.average((both - mean) ** 2, weights=weights))
    moments = running.extend(running.extend(running.none(), jnp.asarray(first)), jnp.asarray(second), 0.25)
    assert float(running.deviation(moments)) == pytest.approx(expected, rel=1e-5)


def test_error_falls_where_trained_and_stays_high_elsewhere():
    """Elsewhere: beside and behind the corridor, as far from it as it is long."""
    experience = synthetic.corridor()
    centre = np.repeat([[-4.0, 0.0], [0.0, 4.0], [0.0, -4.0]], 20, axis=0)
    elsewhere = synthetic.at(np.random.default_rng(0).normal(centre, 0.2))
    before = state = SMALL.init(PROBLEM, key=KEY)
    for i in range(2):
        state, _ = SMALL.learn(state, PROBLEM, experience, key=jax.random.fold_in(KEY, i))
    trained, untrained = (
        error(state, x).mean() / error(before, x).mean()
        for x in (np.asarray(rows["states"]) for rows in (experience.recent, elsewhere))
    )
    assert trained < 0.002
    assert untrained > 0.1
    unclipped = dataclasses.replace(SMALL, clip=np.inf)
    assert float(synthetic.label(unclipped, state, elsewhere).min()) > 10 * float(
        synthetic.label(unclipped, state, experience.recent).max()
    )
    for a, b in zip(*map(jax.tree.leaves, (before.target, state.target)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_method():
    config = METHODS["vice-rnd"].config(bonus_scale=5.0)
    assert [(t.name, t.scale) for t in config.terms()] == [("classifier", 1.0), ("bonus", 5.0)]
    assert (config.bonus.hidden, config.bonus.outputs, config.bonus.learning_rate) == ((256, 256), 512, 1e-4)
