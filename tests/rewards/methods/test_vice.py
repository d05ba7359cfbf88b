"""VICE: its loss, its optimum with and without the policy term, and what mixup and weight decay do to it."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mural.rewards.base import METHODS, Problem
from mural.rewards.methods import vice
from mural.rewards.methods.vice import ExamplesError, Vice, ViceClassifier
from tests.rewards import synthetic

SMALL = ViceClassifier(hidden=(16,), steps=500, batch_size=256, learning_rate=5e-3, weight_decay=0.0, mixup=0.0)
KEY = jax.random.key(0)


def forward(params, x):
    for i, (w, b) in enumerate(params):
        x = x @ np.asarray(w, float) + np.asarray(b, float)
        x = np.maximum(x, 0) if i < len(params) - 1 else x
    return x


def train(part, problem, experience):
    state = part.init(problem, key=KEY)
    return part.learn(state, problem, experience, key=KEY)


def test_loss_equals_its_formula():
    """−Σ y log softmax[log π, f], from probabilities rather than logits."""
    rng = np.random.default_rng(0)
    x, log_pi, share = rng.normal(size=(20, 2)), rng.normal(size=20), rng.uniform(size=20)
    params = ViceClassifier(hidden=(8, 8)).init(synthetic.problem(), key=KEY).params
    p = np.exp(forward(params, x)[:, 0]) / (np.exp(forward(params, x)[:, 0]) + np.exp(log_pi))
    expected = -(share * np.log(p) + (1 - share) * np.log(1 - p)).mean()
    targets = np.stack([1 - share, share], axis=1)
    arrays = (jnp.asarray(a, jnp.float32) for a in (x, log_pi, targets))
    assert float(jax.jit(vice.loss)(params, *arrays)) == pytest.approx(expected, rel=1e-5)


def test_one_step_is_adamw_on_that_loss():
    """Adam's first step is the learning rate times the gradient's sign; decay comes on top, unscaled by Adam."""
    part = ViceClassifier(hidden=(8,), steps=1, batch_size=16, learning_rate=1e-3, weight_decay=0.5, mixup=0.0)
    problem = dataclasses.replace(synthetic.problem(), examples=np.ones((1, 2), np.float32))
    experience = synthetic.experience(synthetic.at([[-1.0, 0.5]]))
    before = part.init(problem, key=KEY)
    after, info = part.learn(before, problem, experience, key=KEY)
    x = jnp.asarray([[-1.0, 0.5], [1.0, 1.0]])
    value, gradient = jax.jit(jax.value_and_grad(vice.loss))(before.params, x, jnp.zeros(2), jnp.eye(2))
    assert float(info["loss"]) == pytest.approx(float(value), rel=1e-5)
    for old, new, g in zip(*map(jax.tree.leaves, (before.params, after.params, gradient)), strict=True):
        moving = np.abs(np.asarray(g)) > 1e-4
        expected = old - 1e-3 * (np.sign(g) + 0.5 * old)
        np.testing.assert_allclose(np.asarray(new)[moving], np.asarray(expected)[moving], atol=2e-6)
        np.testing.assert_allclose(np.asarray(new)[g == 0], np.asarray(old * (1 - 5e-4))[g == 0], rtol=1e-6)


@pytest.mark.parametrize("policy_term", [False, True])
def test_the_optimum_is_the_known_posterior(policy_term):
    """Three states with known shares e among examples and q in the replay: f = log e/q (+ log π of the policy)."""
    places = np.eye(3, 2, dtype=np.float32)  # (1, 0), (0, 1), (0, 0)
    e, q = np.array([0.1, 0.4, 0.5]), np.array([0.6, 0.3, 0.1])
    examples, visited = np.repeat(places, (100 * e).astype(int), 0), np.repeat(places, (100 * q).astype(int), 0)
    problem = Problem(2, 2, examples, examples)
    log_pi = 1.5 * places[:, 0] - 0.7
    experience = dataclasses.replace(
        synthetic.experience(synthetic.at(visited)), act=lambda obs, key: (obs, 1.5 * obs[:, 0] - 0.7)
    )
    part = dataclasses.replace(SMALL, policy_term=policy_term)
    state, info = train(part, problem, experience)
    f = np.log(e / q) + (log_pi if policy_term else 0)
    np.testing.assert_allclose(synthetic.label(part, state, synthetic.at(places)), f, atol=0.12)
    p = 1 / (1 + np.exp(-f))
    np.testing.assert_allclose(part.probability(state, jnp.asarray(places)), p, atol=0.03)
    assert float(info["p_examples"]) == pytest.approx((e * p).sum(), abs=0.05)
    assert float(info["p_replay"]) == pytest.approx((q * p).sum(), abs=0.05)


def test_mixup_makes_p_linear_between_the_classes():
    """Only pairs of opposite labels reach the inside of the segment, where their label is their share of the way."""
    problem = dataclasses.replace(synthetic.problem(), examples=np.array([[1.0, 0.0]], np.float32))
    experience = synthetic.experience(synthetic.at([[-1.0, 0.0]]))
    inside = jnp.asarray([[-0.5, 0.0], [0.0, 0.0], [0.5, 0.0]])
    part = dataclasses.replace(SMALL, mixup=1.0)
    state, _ = train(part, problem, experience)
    np.testing.assert_allclose(part.probability(state, inside), [0.25, 0.5, 0.75], atol=0.1)
    state, _ = train(SMALL, problem, experience)
    p = SMALL.probability(state, jnp.asarray([[-1.0, 0.0], [1.0, 0.0]]))
    assert p[0] < 1e-2
    assert p[1] > 0.99


def test_the_three_rewards_are_one_logit():
    problem, rows = synthetic.problem(), synthetic.corridor().recent
    state = SMALL.init(problem, key=KEY)
    f, log_p, p = (
        np.asarray(synthetic.label(dataclasses.replace(SMALL, reward=reward), state, rows), float)
        for reward in ("logit", "log_prob", "prob")
    )
    np.testing.assert_allclose(p, 1 / (1 + np.exp(-f)), rtol=1e-5)
    np.testing.assert_allclose(log_p, np.log(p), rtol=1e-4)
    np.testing.assert_array_equal(SMALL.probability(state, rows["states"]), p.astype(np.float32))


def test_method_and_what_it_cannot_do():
    (term,) = METHODS["vice"].config(scale=2.0).terms()
    assert (term.name, term.scale, term.part) == ("classifier", 2.0, Vice().classifier)
    with pytest.raises(ExamplesError, match="no success examples"):
        ViceClassifier().init(Problem(2, 2, np.zeros((0, 2), np.float32)), key=KEY)
    with pytest.raises(ExamplesError, match="policy_term to False"):
        ViceClassifier(policy_term=True).init(Problem(2, 2, np.zeros((3, 2), np.float32)), key=KEY)
