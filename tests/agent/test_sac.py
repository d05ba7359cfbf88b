"""SAC's formulas against NumPy and SciPy."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from mural.agent import rce, sac
from mural.agent import replay as replay_buffer
from mural.agent.policy import LOG_STD_MAX, LOG_STD_MIN, NumpyPolicy
from mural.agent.rce import RecursiveClassification
from mural.agent.replay import Batch
from mural.agent.sac import SAC

CONFIG = SAC(hidden=(8, 8), batch_size=6, learning_rate=1e-3, tau=0.1)
OBS, ACTIONS = 3, 2

init = sac.init
act = jax.jit(sac.act)
update = partial(jax.jit, static_argnames=("config", "objective"))(sac.update)
td_loss = partial(jax.jit, static_argnums=1)(sac.td_loss)
q_values = partial(jax.jit, static_argnums=3)(sac.q_values)
policy_loss = partial(jax.jit, static_argnums=(1, 4))(sac.policy_loss)
rce_loss = partial(jax.jit, static_argnums=1)(rce.loss)


@pytest.fixture(scope="module")
def state():
    """An agent whose targets differ from its critics."""
    fresh = init(CONFIG, OBS, ACTIONS, key=jax.random.key(0))
    other = init(CONFIG, OBS, ACTIONS, key=jax.random.key(1))
    return fresh._replace(targets=other.critics, log_temperature=jnp.float32(-0.7))


@pytest.fixture(scope="module")
def batch():
    rng = np.random.default_rng(0)
    return Batch(
        obs=jnp.asarray(rng.normal(size=(6, OBS)), jnp.float32),
        action=jnp.asarray(rng.uniform(-1, 1, (6, ACTIONS)), jnp.float32),
        returns=jnp.asarray(rng.normal(size=6), jnp.float32),
        discount=jnp.asarray([0.99, 0.99, 0.0, 0.98, 0.99, 0.0], jnp.float32),
        next_obs=jnp.asarray(rng.normal(size=(6, OBS)), jnp.float32),
        first_obs=jnp.asarray(rng.normal(size=(6, OBS)), jnp.float32),
        before=jnp.asarray(rng.normal(size=(6, OBS)), jnp.float32),
        next_before=jnp.asarray(rng.normal(size=(6, OBS)), jnp.float32),
        first_discount=jnp.asarray([0.99, 0.99, 0.99, 0.99, 0.99, 0.0], jnp.float32),
    )


rows_of = partial(jax.jit, static_argnames=("gamma", "n_step", "terminations"))(replay_buffer.batch)


def network(params, x, layer_norm=False):
    """The forward pass in double precision."""
    a = np.asarray(x, np.float64)
    for layer in params[:-1]:
        z = a @ np.asarray(layer.w, np.float64) + np.asarray(layer.b, np.float64)
        if layer_norm:
            z = (z - z.mean(-1, keepdims=True)) / np.sqrt(z.var(-1, keepdims=True) + 1e-5)
        a = np.maximum(z, 0)
    return a @ np.asarray(params[-1].w, np.float64) + np.asarray(params[-1].b, np.float64)


def q(critic, obs, action, layer_norm=False):
    return network(critic, np.concatenate([obs, action], -1), layer_norm)[:, 0]


def least(critics, obs, action):
    return np.minimum(q(critics[0], obs, action), q(critics[1], obs, action))


def squashed(state, obs):
    out = network(state.policy, obs)
    return out[:, :ACTIONS], np.clip(out[:, ACTIONS:], LOG_STD_MIN, LOG_STD_MAX)


def test_the_density_of_what_was_drawn(state, batch):
    """p(a) = N(arctanh a; μ, σ) / (1 − a²), by SciPy."""
    actions, density = act(state.policy, batch.obs, key=jax.random.key(3))
    assert bool(jnp.all(jnp.abs(actions) < 1))
    mean, log_std = squashed(state, batch.obs)
    a = np.asarray(actions, np.float64)
    expected = stats.norm.logpdf(np.arctanh(a), mean, np.exp(log_std)) - np.log1p(-(a**2))
    np.testing.assert_allclose(density, expected.sum(-1), rtol=1e-3, atol=1e-3)


def test_drawn_actions_have_the_density(state, batch):
    """Kolmogorov–Smirnov: Φ((arctanh a − μ) / σ) of many draws is uniform."""
    many = jnp.repeat(batch.obs[:1], 4000, axis=0)
    actions, _ = act(state.policy, many, key=jax.random.key(4))
    mean, log_std = squashed(state, batch.obs[:1])
    u = stats.norm.cdf((np.arctanh(np.asarray(actions, np.float64)) - mean) / np.exp(log_std))
    for column in u.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("u", [0.0, 0.3, -2.0, 8.0, -12.0, 30.0])
def test_squash_correction_keeps_its_digits(u):
    exact = -2 * (np.logaddexp(u, -u) - np.log(2))  # log(1 − tanh²u) = −2 log cosh u
    assert float(sac.squash_correction(jnp.float32(u))) == pytest.approx(exact, rel=1e-5, abs=1e-6)


def test_densities_at_the_edge_are_finite(state, batch):
    *hidden, last = state.policy
    far = (*hidden, last._replace(b=last.b.at[:ACTIONS].set(50.0)))
    actions, density = act(far, batch.obs, key=jax.random.key(3))
    np.testing.assert_array_equal(actions, 1)
    assert bool(jnp.all(jnp.isfinite(density)))


def test_the_numpy_policy_is_the_same(state, batch):
    ours = NumpyPolicy([(np.asarray(layer.w), np.asarray(layer.b)) for layer in state.policy])
    mean, log_std = sac.distribution(state.policy, batch.obs)
    for found, expected in zip(ours.distribution(np.asarray(batch.obs)), (mean, log_std), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_td_loss_by_hand(state, batch):
    key = jax.random.key(5)
    next_action, next_log_pi = act(state.policy, batch.next_obs, key=key)
    future = least(state.targets, batch.next_obs, next_action) - np.exp(-0.7) * np.asarray(next_log_pi)
    y = np.asarray(batch.returns) + np.asarray(batch.discount) * future
    expected = sum(0.5 * np.mean((q(critic, batch.obs, batch.action) - y) ** 2) for critic in state.critics)
    loss, info = td_loss(state.critics, CONFIG, state, batch, key=key)
    assert float(loss) == pytest.approx(expected, rel=1e-4)
    assert float(info["q"]) == pytest.approx(q(state.critics[0], batch.obs, batch.action).mean(), rel=1e-4, abs=1e-5)


def test_values_of_several_steps_are_of_rewards_alone(state, batch):
    """y of three steps is R + γᵐ min_j Q̄_j: no temperature in it."""
    key, three = jax.random.key(5), dataclasses.replace(CONFIG, n_step=3)
    next_action, _ = act(state.policy, batch.next_obs, key=key)
    y = np.asarray(batch.returns) + np.asarray(batch.discount) * least(state.targets, batch.next_obs, next_action)
    expected = sum(0.5 * np.mean((q(critic, batch.obs, batch.action) - y) ** 2) for critic in state.critics)
    for log_temperature in (-0.7, 2.0):
        warm = state._replace(log_temperature=jnp.float32(log_temperature))
        loss, _ = td_loss(state.critics, three, warm, batch, key=key)
        assert float(loss) == pytest.approx(expected, rel=1e-4)


def test_values_relative_to_a_base(state, batch):
    """Networks that say Q − base have the loss of networks that say Q, at time limits and at terminations."""
    key, base = jax.random.key(5), -3.5

    def raised(critics):
        return tuple((*critic[:-1], critic[-1]._replace(b=critic[-1].b + base)) for critic in critics)

    assert 0 < np.mean(np.asarray(batch.discount) == 0) < 1
    expected, whole = td_loss(
        raised(state.critics), CONFIG, state._replace(targets=raised(state.targets)), batch, key=key
    )
    loss, info = td_loss(state.critics, CONFIG, state._replace(base=jnp.float32(base)), batch, key=key)
    assert float(loss) == pytest.approx(float(expected), rel=1e-4)
    assert float(info["q"]) == pytest.approx(float(whole["q"]), rel=1e-4)


def test_the_target_is_not_differentiated(state, batch):
    """dL/dQ of the output bias is the mean error: a gradient through y would add to it."""
    gradient, _ = jax.grad(td_loss, has_aux=True)(state.targets, CONFIG, state, batch, key=jax.random.key(5))
    next_action, next_log_pi = act(state.policy, batch.next_obs, key=jax.random.key(5))
    future = least(state.targets, batch.next_obs, next_action) - np.exp(-0.7) * np.asarray(next_log_pi)
    y = np.asarray(batch.returns) + np.asarray(batch.discount) * future
    for critic, slope in zip(state.targets, gradient, strict=True):
        expected = np.mean(q(critic, batch.obs, batch.action) - y)
        assert float(slope[-1].b[0]) == pytest.approx(expected, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("n_step", [1, 3])
def test_rce_loss_by_hand(state, batch, n_step):
    examples = jnp.asarray(np.random.default_rng(1).normal(size=(4, OBS)), jnp.float32)
    key = jax.random.key(6)
    key_odds, key_rows, key_examples = jax.random.split(key, 3)
    key_first, key_later = jax.random.split(key_odds)
    successes = examples[jax.random.randint(key_rows, (6,), 0, 4)]
    success_actions, _ = act(state.policy, successes, key=key_examples)
    first_actions, _ = act(state.policy, batch.first_obs, key=key_first)
    later_actions, _ = act(state.policy, batch.next_obs, key=key_later)
    chances = []
    for target in state.targets:
        first = special.expit(q(target, batch.first_obs, first_actions))
        later = special.expit(q(target, batch.next_obs, later_actions))
        chances.append(first if n_step == 1 else (first + np.asarray(batch.discount) * later) / 2)
    c = np.minimum(*chances)
    odds = np.asarray(batch.first_discount) * c / (1 - c)
    expected = 0.0
    for critic in state.critics:
        done = special.expit(q(critic, successes, success_actions))
        now = special.expit(q(critic, batch.obs, batch.action))
        target = odds / (1 + odds)
        entropy = -(target * np.log(now) + (1 - target) * np.log(1 - now))
        expected += (1 - CONFIG.gamma) * np.mean(-np.log(done)) + np.mean((1 + odds) * entropy)
    config = dataclasses.replace(CONFIG, n_step=n_step)
    loss, info = rce_loss(state.critics, config, state, batch, examples, key=key)
    assert float(loss) == pytest.approx(expected, rel=1e-4)
    assert float(info["odds"]) == pytest.approx(odds.mean(), rel=1e-4)


@pytest.mark.parametrize(("entropy", "coefficient"), [(1e-4, 1e-4), (None, np.exp(-0.7))])
def test_rce_policy_loss_by_hand(state, batch, entropy, coefficient):
    """It climbs the probability, not the logit; its temperature is fixed unless it is asked to learn."""
    config = dataclasses.replace(CONFIG, temperature=entropy)
    action, log_pi = act(state.policy, batch.obs, key=jax.random.key(10))
    chance = special.expit(least(state.critics, batch.obs, action))
    loss, _ = policy_loss(state.policy, config, state, batch, RecursiveClassification(), key=jax.random.key(10))
    assert float(loss) == pytest.approx(np.mean(coefficient * np.asarray(log_pi) - chance), rel=1e-4)
    after, info = update(config, state, batch, RecursiveClassification(), batch.obs, key=jax.random.key(11))
    assert float(info["temperature"]) == pytest.approx(coefficient)
    assert (float(after.log_temperature) == float(state.log_temperature)) == (entropy is not None)


def test_layer_norm(state, batch):
    for critic in state.critics:
        found = q_values(critic, batch.obs, batch.action, True)
        np.testing.assert_allclose(found, q(critic, batch.obs, batch.action, True), rtol=1e-3, atol=1e-4)
        louder = [layer._replace(w=layer.w * 7, b=layer.b * 7) for layer in critic[:1]]
        again = q_values((*louder, *critic[1:]), batch.obs, batch.action, True)
        np.testing.assert_allclose(again, found, rtol=1e-2, atol=1e-3)  # what is normalised has no scale
        assert not np.allclose(found, q_values(critic, batch.obs, batch.action, False), atol=1e-3)


def test_targets_follow(state, batch):
    after, _ = update(CONFIG, state, batch, key=jax.random.key(7))
    for old, new, critic in zip(*map(jax.tree.leaves, (state.targets, after.targets, after.critics)), strict=True):
        np.testing.assert_allclose(new, 0.9 * old + 0.1 * critic, rtol=1e-5, atol=1e-6)


def test_fresh_targets_equal_the_critics():
    fresh = init(CONFIG, OBS, ACTIONS, key=jax.random.key(0))
    for a, b in zip(jax.tree.leaves(fresh.critics), jax.tree.leaves(fresh.targets), strict=True):
        np.testing.assert_array_equal(a, b)
    one, two = (critic[0].w for critic in fresh.critics)
    assert not np.allclose(one, two)  # twins, not copies


@pytest.mark.parametrize(("log_std", "sign"), [(-5.0, 1), (-0.3, -1)])
def test_temperature_follows_the_entropy(state, batch, log_std, sign):
    """Less entropy than the −2 asked for heats, more cools."""
    *hidden, last = state.policy
    last = last._replace(w=jnp.zeros_like(last.w), b=jnp.array([0.0, 0.0, log_std, log_std]))
    after, info = update(CONFIG, state._replace(policy=(*hidden, last)), batch, key=jax.random.key(8))
    assert (float(info["entropy"]) < -ACTIONS) == (sign > 0)
    assert np.sign(float(after.log_temperature - state.log_temperature)) == sign


def test_target_entropy_grows_with_the_action():
    assert sac.entropy_target(CONFIG, 0.3, 7) == -7
    assert sac.entropy_target(dataclasses.replace(CONFIG, entropy_per_action=-0.25), 1.0, 8) == -2


def test_target_entropy_falls_once_success_is_found():
    config = dataclasses.replace(CONFIG, entropy_per_action=-0.25, entropy_when_found=-1.0)
    assert [sac.entropy_target(config, found, 8) for found in (0.0, 0.5, 1.0)] == [-2, -5, -8]


def test_the_average_follows_the_policy(state, batch):
    """a ← a + 0.1 (π − a) with each update; without averaging there is none."""
    config = dataclasses.replace(CONFIG, averaging=0.1)
    fresh = init(config, OBS, ACTIONS, key=jax.random.key(0))
    after, _ = update(config, fresh, batch, key=jax.random.key(1))
    weights = [jax.tree.leaves(p) for p in (fresh.policy, after.policy, after.average)]
    for start, end, average in zip(*weights, strict=True):
        np.testing.assert_allclose(average, 0.9 * start + 0.1 * end, atol=1e-6)
    assert state.average == ()


def test_the_policy_climbs_q_with_entropy(state, batch):
    """One update of the policy lowers α log π − min Q on the same noise."""
    key = jax.random.split(jax.random.key(9))[1]
    after, _ = update(CONFIG, state, batch, key=jax.random.key(9))
    fixed = state._replace(critics=after.critics)
    before, _ = policy_loss(state.policy, CONFIG, fixed, batch, key=key)
    later, _ = policy_loss(after.policy, CONFIG, fixed, batch, key=key)
    assert float(later) < float(before)


def test_fused_updates_are_single_updates_in_a_row(state):
    replay = replay_buffer.create(16, 1, OBS, ACTIONS)
    rng = np.random.default_rng(2)
    rows = jax.tree.map(np.array, replay_buffer.empty_rows((16, 1), OBS, ACTIONS))
    rows.obs[:], rows.next_obs[:] = rng.normal(size=(2, 16, 1, OBS))
    rows.reward[:] = rng.normal(size=(16, 1))
    replay = replay_buffer.insert(replay, rows)
    ids = jnp.asarray(rng.integers(0, 16, (3, 6)))
    fused, info = jax.jit(sac.updates, static_argnums=(0, 4))(CONFIG, state, replay, ids, "stop", key=jax.random.key(1))
    single, losses = state, []
    for row, key in zip(ids, jax.random.split(jax.random.key(1), 3), strict=True):
        one = rows_of(replay, row, gamma=CONFIG.gamma, n_step=1, terminations="stop")
        single, report = update(CONFIG, single, one, key=key)
        losses.append(float(report["critic_loss"]))
    for a, b in zip(jax.tree.leaves(fused), jax.tree.leaves(single), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert float(info["critic_loss"]) == pytest.approx(np.mean(losses), rel=1e-4)
