"""Exact CNML as a reward: counts are Theorem 1 to the last visit, Newton agrees with the float64 solver."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mural.nml.logistic import Logistic
from mural.nml.tabular import Grid
from mural.rewards import newton
from mural.rewards.base import METHODS, Problem
from mural.rewards.cnml import CNML, GridSizeError, LogisticCNML, TabularCNML
from mural.rewards.newton import Points
from tests.rewards import synthetic

KEY = jax.random.key(0)
TABULAR = TabularCNML(bins=9, low=-0.6, high=8.4)
LOGISTIC = LogisticCNML(negatives=60)
FIT, SOLVE, LABEL = jax.jit(newton.fit), jax.jit(newton.probability), jax.jit(LOGISTIC.label)


def test_cells_follow_theorem_1_over_several_epochs():
    problem, state, seen = synthetic.problem(), TABULAR.init(synthetic.problem(), key=KEY), []
    grid = Grid((-0.6, -0.6), (8.4, 8.4), 9)
    np.testing.assert_array_equal(TABULAR.label(state, synthetic.at(grid.centres())), 0.5)
    for seed in range(3):
        experience = synthetic.corridor(seed=seed, drift=0.3)
        state, info = TABULAR.learn(state, problem, experience, key=KEY)
        seen.append(np.asarray(experience.recent.states))
    expected = grid.ideal(np.concatenate(seen), problem.examples)
    np.testing.assert_allclose(TABULAR.label(state, synthetic.at(grid.centres())), expected, rtol=1e-6)
    assert (int(info["visits"]), int(info["cells"])) == (600, (grid.counts(np.concatenate(seen)) > 0).sum())
    assert float(info["p_replay"]) == pytest.approx(expected[grid.index(seen[-1])].mean(), rel=1e-5)
    assert float(info["p_examples"]) == pytest.approx(expected[grid.index(problem.examples)].mean(), rel=1e-5)


def test_balanced_examples_weigh_as_much_as_all_visits():
    """200 visits and 4 examples in two cells: each example counts for 50."""
    part = dataclasses.replace(TABULAR, balanced=True)
    problem = Problem(2, 2, np.array([[8.0, 0.0]] * 3 + [[1.0, 0.0]], np.float32))
    experience = synthetic.experience(synthetic.at([[1.0, 0.0]] * 150 + [[3.0, 0.0]] * 50))
    state, _ = part.learn(part.init(problem, key=KEY), problem, experience, key=KEY)
    p = part.probability(state, jnp.asarray([[8.0, 0.0], [1.0, 0.0], [3.0, 0.0], [5.0, 5.0]]))
    np.testing.assert_allclose(p, [151 / 152, 51 / 202, 1 / 52, 1 / 2], rtol=1e-6)


def test_the_grid_covers_first_data_and_examples_and_then_stays():
    part, problem = TabularCNML(bins=8), synthetic.problem()
    state, _ = part.learn(part.init(problem, key=KEY), problem, synthetic.corridor(), key=KEY)
    points = np.concatenate([synthetic.corridor().recent.states, problem.examples])
    assert (np.asarray(state.region.low) < points.min(0)).all()
    assert (np.asarray(state.region.high) > points.max(0)).all()
    later, _ = part.learn(state, problem, synthetic.experience(synthetic.at([[99.0, 99.0]])), key=KEY)
    np.testing.assert_array_equal(later.region.high, state.region.high)
    np.testing.assert_array_equal(later.examples, state.examples)
    assert int(later.visits[-1]) == int(state.visits[-1]) + 1


def test_too_many_cells_are_refused():
    with pytest.raises(GridSizeError, match=r"16 bins along each of 8 axes.*logistic"):
        TabularCNML().init(Problem(8, 2, np.zeros((3, 8), np.float32)), key=KEY)


def exact(data, queries, l2):
    """p_CNML of the float64 solver, and its weights as one vector."""
    f, y, represents = (np.asarray(a, float) for a in data)
    problem = Logistic(f, np.stack([1 - y, y], axis=1), represents, l2)
    weights, converged, _ = problem.fit()
    log_p, all_converged = problem.log_likelihoods(weights, np.asarray(queries, float))
    assert converged
    assert all_converged.all()
    return np.exp(log_p[:, 1]) / np.exp(log_p).sum(1), weights[:, 1] - weights[:, 0]


@pytest.mark.parametrize("l2", [0.01, 1.0])
@pytest.mark.parametrize("kind", ["overlapping", "separable", "heavy"])
def test_newton_agrees_with_the_float64_solver(kind, l2):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    y = (x[:, 0] + (0 if kind == "separable" else rng.normal(size=40)) > 0).astype(float)
    represents = np.where(y == 0, 2000.0, 1.0) if kind == "heavy" else np.ones(40)
    columns = np.concatenate([np.ones((40, 1)), x], axis=1)
    data = Points(*(jnp.asarray(a, jnp.float32) for a in (columns, y, represents)))
    queries = np.concatenate([np.ones((12, 1)), rng.normal(size=(12, 2)) * 4], axis=1)
    expected, weights = exact(data, queries, l2)
    start, _ = FIT(data, l2, 50)
    np.testing.assert_allclose(start, weights, rtol=2e-3, atol=2e-3)
    p = SOLVE(data, start, jnp.asarray(queries, jnp.float32), l2, 50)
    np.testing.assert_allclose(p, expected, atol=2e-3)


@pytest.mark.parametrize(("balanced", "each"), [(False, 1.0), (True, 200 / 16)])
def test_logistic_part_is_cnml_on_the_whole_replay(balanced, each):
    """D is a sample: its points stand for 200 visits and 16 examples, or for as many examples as visits."""
    problem, experience = synthetic.problem(), synthetic.corridor(drift=0.3)
    part = dataclasses.replace(LOGISTIC, balanced=balanced)
    state, info = part.learn(part.init(problem, key=KEY), problem, experience, key=KEY)
    np.testing.assert_allclose(state.data.represents, [200 / 60] * 60 + [each] * 16, rtol=1e-6)
    u = (problem.examples - np.asarray(state.mean)) / np.asarray(state.edge)
    f = np.stack([np.ones(16), u[:, 0], u[:, 1], u[:, 0] ** 2, u[:, 0] * u[:, 1], u[:, 1] ** 2], axis=1)
    np.testing.assert_allclose(state.data.f[60:], f, rtol=1e-4, atol=1e-5)
    p, weights = exact(state.data, state.data.f, part.l2)
    np.testing.assert_allclose(state.weights, weights, rtol=5e-3, atol=5e-3)
    assert float(info["p_replay"]) == pytest.approx(p[:60].mean(), abs=1e-3)
    assert float(info["p_examples"]) == pytest.approx(p[60:].mean(), abs=1e-3)
    assert p[:60].mean() < 0.2 < 0.8 < p[60:].mean()
    np.testing.assert_allclose(LABEL(state, synthetic.at(problem.examples)), p[60:], atol=5e-3)


def test_without_data_logistic_cnml_knows_nothing():
    problem = synthetic.problem()
    state = LOGISTIC.init(problem, key=KEY)
    np.testing.assert_allclose(LABEL(state, synthetic.at(problem.examples)), 0.5, atol=1e-6)


def test_method_chooses_its_model():
    assert METHODS["cnml"].config is CNML
    assert CNML().terms()[0].part == TabularCNML()
    (term,) = CNML(model="logistic", scale=2.0).terms()
    assert (term.name, term.scale, term.part) == ("classifier", 2.0, LogisticCNML())
