"""CNML rewards equal the independent oracles: counts of a NumPy grid, and Newton's method in float64."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mural.nml.logistic import Logistic
from mural.nml.tabular import Grid
from mural.rewards.base import METHODS, Problem
from mural.rewards.methods.cnml import LogisticCNML, TabularCNML, TooManyCellsError
from mural.rewards.methods.cnml_kernel import KernelCNML
from tests.rewards import synthetic

KEY, PROBLEM = jax.random.key(0), synthetic.problem()
QUERIES = np.random.default_rng(1).uniform([-1, -1], [9, 1], (70, 2)).astype(np.float32)
probability = jax.jit(lambda part, state, states: part.probability(state, states), static_argnums=0)


def test_tabular_rewards_are_the_counts_of_theorem_1():
    part = TabularCNML(bins=9, balanced=False, low=-1.0, high=9.0)
    state = part.init(PROBLEM, key=KEY)
    np.testing.assert_array_equal(synthetic.label(part, state, synthetic.at(QUERIES)), 0.5)
    visited = []
    for seed in (0, 1):
        experience = synthetic.corridor(seed=seed, drift=0.3 * seed)
        state, info = part.learn(state, PROBLEM, experience, key=KEY)
        visited.extend(np.asarray(experience.recent["states"]))
    reference = Grid((-1.0, -1.0), (9.0, 9.0), 9)
    expected = reference.ideal(np.array(visited), PROBLEM.examples)[reference.index(QUERIES)]
    np.testing.assert_allclose(synthetic.label(part, state, synthetic.at(QUERIES)), expected, rtol=1e-6)
    np.testing.assert_allclose(probability(part, state, jnp.asarray(QUERIES)), expected, rtol=1e-6)
    assert len(set(expected.round(4))) > 5
    assert int(info["visits"]) == 400
    assert float(info["cells"]) / 81 == pytest.approx(float(info["coverage"]))
    weighed = np.repeat(PROBLEM.examples, 25, axis=0)  # 16 examples, 400 visits: 25 copies of each weigh the same
    expected = reference.ideal(np.array(visited), weighed)[reference.index(QUERIES)]
    balanced = dataclasses.replace(part, balanced=True)
    np.testing.assert_allclose(synthetic.label(balanced, state, synthetic.at(QUERIES)), expected, rtol=1e-6)


@pytest.mark.parametrize("part", [TabularCNML(bins=20), LogisticCNML(negatives=64, centres=0)])
def test_without_bounds_the_box_holds_first_data_and_examples(part):
    """It reaches from (0, −0.5) to the examples around (8, 0), and a quarter of that further."""
    state, _ = part.learn(part.init(PROBLEM, key=KEY), PROBLEM, synthetic.corridor(), key=KEY)
    x = np.concatenate([synthetic.corridor().recent["states"], PROBLEM.examples])
    margin = 0.25 * (x.max(0) - x.min(0)).max()
    np.testing.assert_allclose(state.region.low, x.min(0) - margin, rtol=1e-5)
    np.testing.assert_allclose(state.region.high, x.max(0) + margin, rtol=1e-5)
    again, _ = part.learn(state, PROBLEM, synthetic.corridor(seed=1), key=KEY)
    np.testing.assert_array_equal(again.region.low, state.region.low)


@pytest.mark.parametrize(("centres", "balanced"), [(0, True), (3, False)])
def test_logistic_rewards_are_exact_cnml(centres, balanced):
    """The oracle has weights for both labels, float64, a line search of its own, and a test of convergence."""
    part = LogisticCNML(negatives=32, balanced=balanced, centres=centres, low=-1.0, high=9.0, l2=0.1)
    experience = dataclasses.replace(synthetic.corridor(), size=1000)
    state, info = part.learn(part.init(PROBLEM, key=KEY), PROBLEM, experience, key=KEY)
    np.testing.assert_array_equal(state.represents, [1000 / 32] * 32 + [1000 / 16 if balanced else 1] * 16)
    np.testing.assert_array_equal(state.features[:, -1], 1)
    f, y = np.asarray(state.features, float), np.eye(2)[np.asarray(state.labels, int)]
    oracle = Logistic(f, y, np.asarray(state.represents, float), 0.1)
    w, converged, _ = oracle.fit()
    assert converged
    np.testing.assert_allclose(state.weights, w[:, 1] - w[:, 0], atol=2e-2)
    assert float(info["gradient"]) < 1e-2
    f_query = np.asarray(part._features(state.region, jnp.asarray(QUERIES)), float)
    log_p, ok = oracle.log_likelihoods(w, f_query)
    assert ok.all()
    expected = np.exp(log_p[:, 1]) / np.exp(log_p).sum(1)
    ours = synthetic.label(part, state, synthetic.at(QUERIES))
    np.testing.assert_allclose(ours, expected, atol=1e-3)
    assert expected.max() - expected.min() > 0.3


def test_bumps_are_products_of_gaussians_over_the_box():
    part = LogisticCNML(centres=3, low=0.0, high=4.0)
    state = part.init(PROBLEM, key=KEY)
    x = np.array([[0.0, 4.0], [1.0, 2.5]], np.float32)
    centres = [(a, b) for a in (0, 2, 4) for b in (0, 2, 4)]
    expected = [[np.exp(-0.5 * ((u - a) ** 2 + (v - b) ** 2) / 4) for a, b in centres] + [1] for u, v in x]
    np.testing.assert_allclose(part._features(state.region, jnp.asarray(x)), expected, rtol=1e-5)


def test_before_any_data_nothing_is_known():
    part = LogisticCNML(negatives=32, centres=3)
    ours = synthetic.label(part, part.init(PROBLEM, key=KEY), synthetic.at(QUERIES[:5]))
    np.testing.assert_allclose(ours, 0.5, atol=1e-6)


def test_method_and_what_it_cannot_do():
    config = METHODS["cnml"].config(scale=3.0)
    kinds = {"kernel": KernelCNML(), "tabular": TabularCNML(), "logistic": LogisticCNML()}
    for model, part in kinds.items():
        (term,) = dataclasses.replace(config, model=model).terms()
        assert (term.scale, term.part) == (3.0, part)
    assert config.model == "kernel"
    wide = Problem(9, 2, np.zeros((3, 9), np.float32))
    for part in (TabularCNML(), LogisticCNML()):
        with pytest.raises(TooManyCellsError, match="--method mural"):
            part.init(wide, key=KEY)


def test_kernel_rewards_are_counts_in_closed_form():
    part = KernelCNML(kernel_width=0.8, negatives=64, positives=32, spare=False, reward="probability")
    experience = dataclasses.replace(synthetic.corridor(), size=1000)
    empty = part.init(PROBLEM, key=KEY)
    np.testing.assert_array_equal(probability(part, empty, jnp.asarray(QUERIES)), 0.5)
    state, info = part.learn(empty, PROBLEM, experience, key=KEY)
    x, y, represents = (np.asarray(a, float) for a in state.support)
    weights = represents * np.exp(-2.3 * np.linalg.norm(QUERIES[:, None] - x[None], axis=-1) / 0.8)
    k0, k1 = (weights[:, y == label].sum(axis=1) for label in (0, 1))
    np.testing.assert_allclose(synthetic.label(part, state, synthetic.at(QUERIES)), (k1 + 1) / (k0 + k1 + 2), rtol=1e-3)
    odds = synthetic.label(dataclasses.replace(part, reward="log_odds"), state, synthetic.at(QUERIES))
    np.testing.assert_allclose(odds, 0.1 * np.log((k1 + 1) / (k0 + 1)), atol=1e-4)
    surprise = synthetic.label(dataclasses.replace(part, reward="surprise"), state, synthetic.at(QUERIES))
    np.testing.assert_allclose(surprise, -0.3 * np.log((k0 + 1) / (k0 + k1 + 2)), atol=1e-4)
    regret = np.asarray(part.regret(state, jnp.asarray(QUERIES)))
    np.testing.assert_allclose(regret, np.log((k0 + k1 + 2) / (k0 + k1 + 1)), atol=1e-5)
    assert float(info["p_examples"]) > 0.9 > 0.1 > float(info["p_replay"])
