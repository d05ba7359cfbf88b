"""DDL: its loss by its formula, and step distances recovered where they are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mural.rewards.base import METHODS, Problem
from mural.rewards.methods import ddl
from mural.rewards.methods.ddl import DynamicalDistance, GoalError
from tests.rewards import synthetic
from tests.rewards.methods.test_vice import forward

KEY, PROBLEM = jax.random.key(0), synthetic.problem()


def test_loss_equals_its_formula():
    rng = np.random.default_rng(0)
    first, last, gap = rng.normal(size=(12, 2)), rng.normal(size=(12, 2)), rng.integers(0, 9, 12)
    params = DynamicalDistance(hidden=(8, 8)).init(PROBLEM, key=KEY).network.params
    d = forward(params, np.concatenate([first, last], axis=1))[:, 0]
    arrays = (jnp.asarray(a, jnp.float32) for a in (first, last, gap))
    assert float(jax.jit(ddl.loss)(params, *arrays)) == pytest.approx(0.5 * ((d - gap) ** 2).mean(), rel=1e-5)


def test_targets_are_the_steps_between_states_of_an_episode():
    """One step from known weights: the reported loss is that of the very pairs that were drawn."""
    part = DynamicalDistance(hidden=(8,), steps=1, batch_size=32)
    experience = synthetic.corridor()
    state = part.init(PROBLEM, key=KEY)
    first, last, gap = (np.asarray(a, float) for a in experience.pairs(32, KEY))
    after, info = part.learn(state, PROBLEM, experience, key=KEY)
    d = forward(state.network.params, np.concatenate([first, last], axis=1))[:, 0]
    assert float(info["loss"]) == pytest.approx(0.5 * ((d - gap) ** 2).mean(), rel=1e-4)
    np.testing.assert_array_equal(after.goal, synthetic.GOAL)


def test_step_distances_in_a_corridor():
    """Whoever walks straight on at 0.4 per step is (8 − x)/0.4 steps from the end."""
    obs = np.zeros((1, 21, 2), np.float32)
    obs[0, :, 0] = 0.4 * np.arange(21)
    rows = synthetic.transitions(obs[0, :-1], np.ones((20, 2)), obs[0, 1:])
    part = DynamicalDistance(hidden=(32, 32), steps=500, batch_size=128, learning_rate=3e-3)
    state = part.init(PROBLEM, key=KEY)
    for i in range(2):
        state, info = part.learn(state, PROBLEM, synthetic.experience(rows, obs), key=jax.random.fold_in(KEY, i))
    steps = (8 - obs[0, 1:, 0]) / 0.4
    np.testing.assert_allclose(synthetic.label(part, state, rows), -steps, atol=1.0)
    assert float(info["loss"]) < 0.3


def test_method_and_what_it_cannot_do():
    spec = METHODS["ddl"]
    assert "distance" in spec.needs
    assert [(t.name, t.scale) for t in spec.config(scale=0.5).terms()] == [("distance", 0.5)]
    with pytest.raises(GoalError, match="set goal"):
        DynamicalDistance().init(Problem(2, 2, np.zeros((3, 2), np.float32)), key=KEY)
