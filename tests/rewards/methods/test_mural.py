"""MURAL as a reward: what it is trained on, what it says, and each of its switches."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mural.nml import meta
from mural.rewards.methods.mural import Mural, NMLClassifier
from tests.rewards import synthetic

PART = NMLClassifier(
    hidden=(16, 16), negatives=96, positives=96, train_points=48, adapt_points=96, outer_points=16, first_epochs=12,
    epochs=2, updates_per_epoch=16, queries_per_update=4, learning_rate=3e-3, kernel_width=1.0,
    spare=False, reward="probability",
)  # fmt: skip


@pytest.fixture(scope="module")
def problem():
    return synthetic.problem()


@pytest.fixture(scope="module")
def visited():
    """A walk that stays in the first half of the corridor."""
    return synthetic.corridor(episodes=30)


@pytest.fixture(scope="module")
def fresh(problem):
    return PART.init(problem, key=jax.random.key(0))


@pytest.fixture(scope="module")
def learned(problem, visited, fresh):
    return PART.learn(fresh, problem, visited, key=jax.random.key(1))


def test_successes_are_rewarded_and_visited_states_are_not(problem, visited, learned):
    state, info = learned
    r = synthetic.label(PART, state, synthetic.at([[0.0, 0.0], [1.0, 0.0], [8.0, 0.0]]))
    assert r.shape == (3,)
    assert ((r > 0) & (r < 1)).all()
    assert r[2] > 0.8
    assert r[0] < 0.2
    assert float(info["p_examples"]) > 0.7 > float(info["p_replay"])


def test_unvisited_states_are_rewarded_more_than_visited_ones(learned):
    """What the walk has not seen, off the corridor, is neither."""
    r = synthetic.label(PART, learned[0], synthetic.at([[0.2, 0.0], [4.0, 4.0], [-4.0, 0.0]]))
    assert r[1:].min() > r[0] + 0.15


def test_the_reward_is_the_classifier_after_one_step_per_label(learned):
    """p = p₁ / (p₀ + p₁), each after its own gradient step on the support and the query."""
    state = learned[0]
    x = jnp.array([[0.5, 0.1], [4.0, 0.0]])
    log_p = meta.log_likelihoods(
        PART.config(), state.network.params, state.support, x, state.kernel_width, key=jax.random.key(5)
    )
    p = np.exp(np.asarray(log_p, np.float64))
    np.testing.assert_allclose(synthetic.label(PART, state, synthetic.at(x)), p[:, 1] / (p[:, 0] + p[:, 1]), rtol=1e-4)


def test_labels_do_not_depend_on_their_neighbours(learned):
    rows = np.random.default_rng(0).uniform(0, 8, (12, 2))
    together = synthetic.label(PART, learned[0], synthetic.at(rows))
    reversed_ = synthetic.label(PART, learned[0], synthetic.at(rows[::-1]))
    np.testing.assert_allclose(together, reversed_[::-1], rtol=1e-4)


def test_warm_start_goes_on(problem, visited, learned):
    """The second epoch trains for `epochs` rounds from where the first ended; cold, from a new network."""
    state = learned[0]
    warm, _ = PART.learn(state, problem, visited, key=jax.random.key(2))
    assert int(warm.epochs) == int(state.epochs) + 1 == 2
    w, before = (np.asarray(s.network.params[0].w) for s in (warm, state))
    assert 0 < np.abs(w - before).max() < 0.5
    cold, _ = replace(PART, warm_start=False).learn(state, problem, visited, key=jax.random.key(2))
    assert np.abs(np.asarray(cold.network.params[0].w) - before).mean() > 3 * np.abs(w - before).mean()


def test_kernel_width_is_the_one_measured_unless_set(problem, visited, fresh, learned):
    there = replace(visited, width=0.7)
    measured, _ = replace(PART, kernel_width=None).learn(fresh, problem, there, key=jax.random.key(1))
    assert float(measured.kernel_width) == np.float32(0.7)
    assert float(learned[0].kernel_width) == 1.0


def test_other_measures_are_those_of_the_probability(learned):
    x = synthetic.at([[0.0, 0.0], [4.0, 0.0], [8.0, 0.0]])
    p = np.asarray(synthetic.label(PART, learned[0], x), np.float64)
    assert p.min() < 0.4 < 0.6 < p.max()
    odds = synthetic.label(replace(PART, reward="log_odds"), learned[0], x)
    np.testing.assert_allclose(odds, 0.1 * np.log(p / (1 - p)), rtol=1e-3)
    surprise = synthetic.label(replace(PART, reward="surprise"), learned[0], x)
    np.testing.assert_allclose(surprise, -0.3 * np.log(1 - p), rtol=1e-3)


def test_the_gap_to_kernel_counts_is_reported(learned):
    """Trained on the same weights, the network comes near to the counts where it was trained."""
    assert 0 < float(learned[1]["kernel_gap"]) < 0.25
    assert 0 < float(learned[1]["kernel_gap_beyond"]) < 0.5


def test_a_support_for_every_query(problem, visited, fresh, learned):
    """As released: all of D is kept, and one state asked twice adapts on different points of it."""
    part = replace(PART, support="query", adapt_points=24)
    state, _ = part.learn(part.init(problem, key=jax.random.key(0)), problem, visited, key=jax.random.key(1))
    assert state.support.x.shape[0] == PART.negatives + PART.positives
    r = np.asarray(synthetic.label(part, state, synthetic.at([[4.0, 0.0], [4.0, 0.0], [8.0, 0.0]])))
    assert r[0] != r[1]
    assert r[2] > r[:2].max()


def test_learning_is_a_function_of_its_key(problem, visited, fresh, learned):
    again, _ = PART.learn(fresh, problem, visited, key=jax.random.key(1))
    for a, b in zip(jax.tree.leaves(again), jax.tree.leaves(learned[0]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_without_meta_training(problem, visited, fresh):
    """Plain cross-entropy, the same query step: it still tells success from what was visited."""
    part = replace(PART, meta_training=False)
    state, info = part.learn(fresh, problem, visited, key=jax.random.key(1))
    r = synthetic.label(part, state, synthetic.at([[0.0, 0.0], [8.0, 0.0]]))
    assert r[1] > r[0] + 0.3
    assert np.isfinite(float(info["loss"]))


def test_without_meta_training_there_are_as_many_steps_of_the_same_size(problem, visited, fresh, learned):
    """Adam counts its steps; the first epoch has `first_epochs` of them, later ones `epochs`."""
    part = replace(PART, meta_training=False)
    state, _ = part.learn(fresh, problem, visited, key=jax.random.key(1))
    later, _ = part.learn(state, problem, visited, key=jax.random.key(2))
    meta_later, _ = PART.learn(learned[0], problem, visited, key=jax.random.key(2))
    for plain, trained in ((state, learned[0]), (later, meta_later)):
        assert steps_of(plain) == steps_of(trained) > 0
    assert part.learning_rate == PART.learning_rate


def steps_of(state):
    """How many updates the optimiser has made."""
    (count,) = {int(leaf) for leaf in jax.tree.leaves(state.network.optimiser) if np.ndim(leaf) == 0}
    return count


def test_terms():
    assert [(t.name, t.scale) for t in Mural(scale=2.0).terms()] == [("classifier", 2.0)]
    assert Mural().terms()[0].part == NMLClassifier()
