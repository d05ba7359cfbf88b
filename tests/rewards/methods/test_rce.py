"""RCE: its target over real episodes, the known optimum of its recursion, and a policy that follows it."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize, special

from mural.agent import rce, sac
from mural.agent import replay as replay_buffer
from mural.agent.rce import RecursiveClassification
from mural.agent.sac import SAC
from mural.nml import descent
from mural.nml.descent import Fit
from mural.rewards.base import METHODS
from tests.agent import test_replay
from tests.rewards.methods.test_vice import forward

SMALL = SAC(hidden=(32,), learning_rate=3e-3, gamma=0.9, tau=0.05)
SCALE = 50.0  # the recorded observations are serial numbers

init = sac.init
act = jax.jit(sac.act)
odds_of = partial(jax.jit, static_argnums=0)(rce.odds_ahead)
updates = partial(jax.jit, static_argnums=(0, 4, 5))(sac.updates)


def slow_odds(config, state, log, ids, terminations, key):
    """γw from a list of every step, in double precision; and how many steps each row looked ahead."""
    first, later, first_discount, later_discount, steps = [], [], [], [], []
    for one in ids:
        taken = [log[one]]
        while len(taken) < config.n_step and (following := test_replay.after(log, taken[-1])):
            taken.append(following)
        ends = [terminations == "stop" and bool(step["terminated"]) for step in (taken[0], taken[-1])]
        first.append(taken[0]["serial"] + 0.5)
        later.append(taken[-1]["serial"] + 0.5)
        first_discount.append(0.0 if ends[0] else config.gamma)
        later_discount.append(0.0 if ends[1] else config.gamma ** len(taken))
        steps.append(len(taken))
    chances = []
    places = [np.repeat(np.array(serials)[:, None], 2, axis=1) / SCALE for serials in (first, later)]
    draws = [act(state.policy, jnp.float32(x), key=k)[0] for x, k in zip(places, jax.random.split(key), strict=True)]
    for target in state.targets:
        near, far = (
            special.expit(forward(target, np.concatenate([x, a], axis=1))[:, 0])
            for x, a in zip(places, draws, strict=True)
        )
        chances.append(near if config.n_step == 1 else (near + np.array(later_discount) * far) / 2)
    c = np.minimum(*chances)
    return np.array(first_discount) * c / (1 - c), np.array(steps)


@pytest.mark.parametrize("terminations", ["bootstrap", "stop"])
@pytest.mark.parametrize("n_step", [1, 2, 5])
def test_target_over_episodes(n_step, terminations):
    """Over rows whose episodes go on, are cut or terminate within the n steps, in a ring that has wrapped."""
    config = dataclasses.replace(SMALL, n_step=n_step)
    state = init(config, 2, 1, key=jax.random.key(n_step))
    state = state._replace(targets=init(config, 2, 1, key=jax.random.key(99)).critics)
    replay, log = test_replay.record(9, seed=4)
    rows = replay.rows
    replay = replay._replace(rows=rows._replace(next_obs=rows.next_obs / SCALE))
    ids = np.array(sorted(log))
    batch = test_replay.batch(replay, ids, gamma=config.gamma, n_step=n_step, terminations=terminations)
    key = jax.random.key(5)
    expected, steps = slow_odds(config, state, log, ids, terminations, key)
    np.testing.assert_allclose(odds_of(config, state, batch, key=key), expected, rtol=1e-3, atol=1e-6)
    assert set(steps) == set(range(1, n_step + 1))
    assert (terminations == "stop") == bool((expected == 0).any())


@pytest.mark.parametrize(("n_step", "chance"), [(1, 0.2), (4, (0.2 + 0.9**4 * 0.2) / 2)])
def test_target_of_constant_critics(n_step, chance):
    """C̄ = 0.2 and 0.7 everywhere: the odds follow from the smaller one."""
    config = dataclasses.replace(SMALL, n_step=n_step)
    state = init(config, 2, 1, key=jax.random.key(0))
    targets = tuple(
        (hidden, last._replace(w=jnp.zeros_like(last.w), b=jnp.full_like(last.b, special.logit(c))))
        for (hidden, last), c in zip(state.targets, (0.2, 0.7), strict=True)
    )
    rows = replay_buffer.empty_rows((8, 1), 2, 1)
    replay = replay_buffer.insert(replay_buffer.create(8, 1, 2, 1), rows)
    batch = test_replay.batch(replay, jnp.array([0]), gamma=config.gamma, n_step=n_step, terminations="stop")
    odds = odds_of(config, state._replace(targets=targets), batch, key=jax.random.key(0))
    assert float(odds[0]) == pytest.approx(0.9 * chance / (1 - chance), rel=1e-4)


@partial(jax.jit, static_argnums=0)
def critics_alone(config, state, replay, examples, keys):
    """Updates of the critics and their targets, with a policy that stays."""

    def one(carry, key):
        state, optimiser = carry
        key_ids, key_loss = jax.random.split(key)
        ids = replay_buffer.draw(replay, 128, key=key_ids)
        batch = replay_buffer.batch(replay, ids, gamma=config.gamma, n_step=config.n_step, terminations="bootstrap")
        gradient, _ = jax.grad(rce.loss, has_aux=True)(state.critics, config, state, batch, examples, key=key_loss)
        critics, optimiser = descent.step(Fit(state.critics, optimiser), gradient, config.learning_rate)
        targets = jax.tree.map(lambda t, c: t + config.tau * (c - t), state.targets, critics)
        return (state._replace(critics=critics, targets=targets), optimiser), None

    return jax.lax.scan(one, (state, state.optimisers[1]), keys)[0][0]


@pytest.mark.parametrize("n_step", [1, 3])
def test_critics_reach_the_known_optimum(n_step):
    """s₀ → s₁ → s₁ → …, in equal shares, by the policy's own actions; the examples are at s₁.

    Where the loss is least, o₁ = 2(1 − γ) + γ w(s₁) and o₀ = γ w(s₁), with o = C/(1 − C) the odds of the critic.
    For n = 1, w = o₁, so that o₁ = 2 and o₀ = 2γ.
    """
    config = dataclasses.replace(SMALL, n_step=n_step, gamma=0.5)
    state = init(config, 1, 1, key=jax.random.key(1))
    rows = jax.tree.map(np.array, replay_buffer.empty_rows((1024, 1), 1, 1))
    rows.obs[:512], rows.obs[512:], rows.next_obs[:] = -1.0, 1.0, 1.0
    rows.action[:, 0] = act(state.policy, rows.obs[:, 0], key=jax.random.key(2))[0]
    rows.last[:512] = True
    replay = replay_buffer.insert(replay_buffer.create(1024, 1, 1, 1), rows)
    state = critics_alone(config, state, replay, jnp.ones((3, 1)), jax.random.split(jax.random.key(3), 3000))

    def ahead(odds, m):
        c = odds / (1 + odds)
        c = c if n_step == 1 else c * (1 + config.gamma**m) / 2
        return config.gamma * c / (1 - c)

    after = optimize.brentq(lambda o: 2 * (1 - config.gamma) + ahead(o, n_step) - o, 0.01, 9.0)
    before = ahead(after, 1)  # an episode of one step
    assert n_step > 1 or (after, before) == pytest.approx((2.0, 1.0))
    for place, expected in ((-1.0, before), (1.0, after)):
        obs = jnp.full((64, 1), place)
        actions, _ = act(state.policy, obs, key=jax.random.key(4))
        for critic in state.critics:
            found = jnp.exp(sac.q_values(critic, obs, actions, False))
            assert float(jnp.mean(found)) == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("n_step", [1, 5])
def test_policy_goes_where_the_examples_are(n_step):
    """Random walks of ten steps in [−1, 1] and examples around 0.5: from anywhere, the policy turns towards them."""
    rng = np.random.default_rng(3)
    rows = jax.tree.map(np.array, replay_buffer.empty_rows((200, 10), 1, 1))
    place = rng.uniform(-1, 1, (10, 1))
    for t in range(200):
        rows.obs[t], rows.action[t] = place, rng.uniform(-1, 1, (10, 1))
        place = np.clip(place + 0.3 * rows.action[t], -1, 1)
        rows.next_obs[t], rows.last[t] = place, t % 10 == 9
        place = rng.uniform(-1, 1, (10, 1)) if t % 10 == 9 else place
    replay = replay_buffer.insert(replay_buffer.create(200, 10, 1, 1), rows)
    config = dataclasses.replace(SMALL, n_step=n_step, temperature=0.03)  # 1e-4 saturates: no new data correct it
    state = init(config, 1, 1, key=jax.random.key(4))
    examples = jnp.float32(rng.uniform(0.4, 0.6, (20, 1)))
    ids = replay_buffer.draw(replay, 1500 * 64, key=jax.random.key(5)).reshape(1500, 64)
    objective = RecursiveClassification()
    state, info = updates(config, state, replay, ids, "absorb", objective, examples, key=jax.random.key(6))
    mean, _ = sac.distribution(state.policy, jnp.array([[-0.9], [-0.3], [0.0], [0.9]]))
    np.testing.assert_array_equal(np.sign(mean[:, 0]), [1, 1, 1, -1])
    assert float(info["temperature"]) == pytest.approx(0.03)


def test_method():
    spec = METHODS["rce"]
    assert (spec.objective, spec.needs) == (RecursiveClassification(), ("examples", "example_obs"))
    assert spec.reward == "none"
    assert not spec.config().terms()
