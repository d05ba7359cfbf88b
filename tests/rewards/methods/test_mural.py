"""MURAL as a reward: what it is trained on, what it says, and each of its switches."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mural.nml import meta
from mural.rewards.methods.mural import AUTO_WIDTH, Mural, NMLClassifier
from mural.rewards.methods.oracle import Reported
from tests.rewards import synthetic

PART = NMLClassifier(
    hidden=(16, 16), negatives=96, positives=96, train_points=48, adapt_points=96, outer_points=16, first_epochs=12,
    epochs=2, updates_per_epoch=16, queries_per_update=4, learning_rate=3e-3, kernel_width=1.0,
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
    r = synthetic.label(PART, learned[0], synthetic.at([[0.2, 0.0], [0.2, 6.0]]))
    assert r[1] > r[0] + 0.15


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


def drawn(part, problem, experience, seed=0):
    return part._draw(problem, experience, key=jax.random.key(seed))


def test_the_data_of_an_epoch(problem, visited):
    data = drawn(PART, problem, visited)
    y = np.asarray(data.y)
    np.testing.assert_array_equal(y, [0] * 96 + [1] * 96)
    seen = {tuple(row) for row in np.asarray(visited.recent["states"])}
    assert {tuple(row) for row in np.asarray(data.x)[y == 0]} <= seen
    assert {tuple(row) for row in np.asarray(data.x)[y == 1]} <= {tuple(row) for row in problem.examples}
    again, other = drawn(PART, problem, visited), drawn(PART, problem, visited, seed=1)
    np.testing.assert_array_equal(again.x, data.x)
    assert not np.array_equal(other.x, data.x)


@pytest.mark.parametrize(
    ("changes", "share"),
    [({}, 600 / 96), ({"counts": False}, 1.0), ({"counts_cap": 3.0}, 3.0), ({"negatives": 2000}, 1.0)],
)
def test_points_stand_for_their_share_of_the_replay(problem, visited, changes, share):
    part = replace(PART, **changes)
    represents = np.asarray(drawn(part, problem, visited).represents)
    np.testing.assert_allclose(represents[: part.negatives], share, rtol=1e-6)
    np.testing.assert_allclose(represents[part.negatives :].sum(), share * part.negatives, rtol=1e-5)  # equal classes


def test_without_examples_in_the_data(problem, visited):
    data = drawn(replace(PART, positives=0), problem, visited)
    assert data.x.shape == (96, 2)
    assert not np.asarray(data.y).any()


def test_warm_start_goes_on(problem, visited, learned):
    """The second epoch trains for `epochs` rounds from where the first ended; cold, from a new network."""
    state = learned[0]
    warm, _ = PART.learn(state, problem, visited, key=jax.random.key(2))
    assert int(warm.epochs) == int(state.epochs) + 1 == 2
    w, before = (np.asarray(s.network.params[0].w) for s in (warm, state))
    assert 0 < np.abs(w - before).max() < 0.5
    cold, _ = replace(PART, warm_start=False).learn(state, problem, visited, key=jax.random.key(2))
    assert np.abs(np.asarray(cold.network.params[0].w) - before).mean() > 3 * np.abs(w - before).mean()


def test_kernel_width_from_the_first_data(problem, visited):
    part = replace(PART, kernel_width=None)
    state = part.init(problem, key=jax.random.key(0))
    assert np.isnan(float(state.kernel_width))
    first, _ = part.learn(state, problem, visited, key=jax.random.key(1))
    key = jax.random.split(jax.random.key(1), 5)[0]
    x = np.asarray(part._draw(problem, visited, key=key).x)
    assert float(first.kernel_width) == pytest.approx(AUTO_WIDTH * np.sqrt(x.var(axis=0).sum()), rel=1e-4)
    second, _ = part.learn(first, problem, visited, key=jax.random.key(2))
    assert float(second.kernel_width) == float(first.kernel_width)


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


def test_terms():
    assert [(t.name, t.scale) for t in Mural(scale=2.0).terms()] == [("classifier", 2.0)]
    learned, told = Mural(env_scale=0.3).terms()
    assert (told.name, told.scale, told.part) == ("environment", 0.3, Reported("env_reward"))
    assert learned.part == NMLClassifier()
