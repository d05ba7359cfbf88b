"""An epoch's draws: valid, uniform, and every reward that is used is current."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import mural
from mural.agent import replay as replay_buffer
from mural.agent.replay import Replay
from mural.rewards import base, register_method
from mural.rewards.base import Part, Term
from mural.training import compiled
from tests.training import small

followers = jax.jit(replay_buffer.followers, static_argnums=2)


class Case(NamedTuple):
    rows: int
    environments: int
    written: int
    new_rows: int
    calls: int
    pool: int
    n_step: int = 1


CASES = {
    "all in the pool": Case(rows=60, environments=1, written=30, new_rows=5, calls=3, pool=64),
    "fills up on the way": Case(rows=40, environments=2, written=30, new_rows=5, calls=4, pool=100),
    "full ring": Case(rows=40, environments=2, written=95, new_rows=5, calls=4, pool=100),
    "full ring, small pool": Case(rows=40, environments=2, written=95, new_rows=5, calls=4, pool=24),
    "n steps": Case(rows=40, environments=2, written=95, new_rows=5, calls=4, pool=25, n_step=3),
    "n steps, not full": Case(rows=60, environments=2, written=50, new_rows=5, calls=2, pool=32, n_step=3),
    "n steps in runs, full ring": Case(rows=60, environments=2, written=95, new_rows=2, calls=3, pool=64, n_step=4),
    "ring as short as the epoch": Case(rows=20, environments=1, written=40, new_rows=5, calls=4, pool=8),
}


def history(case: Case) -> Replay:
    """A replay after `written` rows of random episodes, the last of which was cut by the epoch's end."""
    rng = np.random.default_rng(0)
    replay = replay_buffer.create(case.rows, case.environments, 1, 1)
    for start in range(0, case.written, 5):
        block = jax.tree.map(np.array, replay_buffer.empty_rows((5, case.environments), 1, 1))
        block.last[:] = rng.random(block.last.shape) < 0.2
        block.last[-1] |= start + 5 == case.written
        replay = insert(replay, block)
    return replay


insert = jax.jit(replay_buffer.insert)


def draws(replay: Replay, case: Case, seed: int = 0, rich: float = 0.0) -> tuple[compiled.Pool, np.ndarray]:
    """The old transitions of an epoch, and the ids [calls, 8, 128] that it uses."""
    first, second = jax.random.split(jax.random.key(seed))
    pool = compiled.choose(replay, pool=case.pool, n_step=case.n_step, key=first)
    ids = compiled.plan(
        replay, pool, calls=case.calls, updates=8, batch=128, new_rows=case.new_rows, rich=rich, key=second
    )
    return pool, np.asarray(ids)


@pytest.mark.parametrize("rich", [0.0, 0.5])
@pytest.mark.parametrize("name", CASES)
def test_draws_are_valid_and_labelled(name, rich):
    case = CASES[name]
    replay = history(case)
    found, ids = draws(replay, case, rich=rich)
    pool = np.asarray(found.labelled)[: int(found.size)]
    assert ids.shape == (case.calls, 8, 128)
    in_runs = case.n_step > 1 and case.pool % compiled.RUN == 0
    assert len(pool) <= case.pool * (1 + (case.n_step - 1) / compiled.RUN if in_runs else case.n_step)
    assert int(found.usable) == min(case.pool, min(case.written, case.rows) * case.environments)
    for c in range(case.calls):
        written = case.written + (c + 1) * case.new_rows
        times = np.arange(max(0, written - case.rows), written)
        time_of = {int(t % case.rows): int(t) for t in times}
        seen = [time_of[int(row)] for row in ids[c].ravel() // case.environments]  # KeyError: not there at that time
        old = np.array([t < case.written for t in seen])
        needed = np.asarray(followers(replay, ids[c].ravel(), case.n_step))[:, old]
        assert set(needed.ravel()) <= set(pool)
        share = np.mean([t >= case.written for t in times])
        expected = stats.binomtest(int((~old).sum()), old.size, share) if 0 < share < 1 else None
        assert (~old).all() if share == 1 else expected.pvalue > 1e-3


@pytest.mark.parametrize("name", ["all in the pool", "fills up on the way", "full ring"])
def test_draws_are_uniform(name):
    """Over everything that the replay holds at each call, new and old."""
    case = CASES[name]
    counts = np.zeros((case.calls, case.rows * case.environments), int)
    replay = history(case)
    for seed in range(4):
        _, ids = draws(replay, case, seed)
        for c in range(case.calls):
            counts[c] += np.bincount(ids[c].ravel(), minlength=counts.shape[1])
    for c in range(case.calls):
        held = min(case.written + (c + 1) * case.new_rows, case.rows) * case.environments
        assert (counts[c][held:] == 0).all()
        assert stats.chisquare(counts[c][:held]).pvalue > 1e-4


@pytest.mark.parametrize("name", ["full ring, small pool", "n steps in runs, full ring"])
def test_a_small_pool_is_uniform_over_the_old(name):
    """No single plan is, but over many plans each surviving transition is used equally often."""
    case = CASES[name]
    replay = history(case)
    size = case.rows * case.environments
    drawn = [np.bincount(draws(replay, case, seed)[1][-1].ravel(), minlength=size) for seed in range(300)]
    spread = np.std(drawn, axis=0) / np.sqrt(len(drawn))
    assert (np.abs(np.mean(drawn, axis=0) - 1024 / size) < 4.5 * spread).all()


@pytest.mark.parametrize("name", ["all in the pool", "full ring"])
def test_draws_by_rank(name):
    """Half of the old ones as 1/rank of their rewards, among those that are still there; ties have one rank."""
    case = CASES[name]
    replay = history(case)
    size = case.rows * case.environments
    rewards = np.random.default_rng(1).integers(0, 9, size).astype(np.float32)
    replay = replay_buffer.set_rewards(replay, jnp.arange(size), jnp.asarray(rewards))
    held = min(case.written, case.rows) * case.environments
    ids = np.concatenate([draws(replay, case, seed, rich=0.5)[1] for seed in range(8)], axis=1)
    weight = np.array([1 / (1 + np.sum(rewards[:held] > r)) for r in rewards[:held]])
    chance = 0.5 / held + 0.5 * weight / weight.sum()
    for c in range(case.calls):
        rows = np.arange(case.written, case.written + (c + 1) * case.new_rows) % case.rows
        new = {int(r) * case.environments + e for r in rows for e in range(case.environments)}
        old = [i for i in range(held) if i not in new]
        counts = np.bincount(ids[c].ravel(), minlength=size)[old]
        assert stats.chisquare(counts, counts.sum() * chance[old] / chance[old].sum()).pvalue > 1e-4


# A whole run, with a reward that says when it was made


@dataclass(frozen=True)
class Clock(Part):
    """10 for each epoch that it has learned in, and the state's first entry."""

    scaled = False

    def init(self, problem, *, key):
        return jnp.zeros(())

    def learn(self, state, problem, experience, *, key):
        return state + 10, {}

    def label(self, state, states):
        return state + states[:, 0]


@dataclass(frozen=True)
class Clocked:
    """For tests."""

    def terms(self):
        return (Term("clock", 1.0, Clock()),)


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(base, "METHODS", dict(base.METHODS))
    register_method("test-clock", needs=())(Clocked)


def used_rewards(monkeypatch, agent: mural.Agent, epochs: int) -> tuple[list[list[float]], list[int]]:
    """For each epoch: when the rewards in use were made, and how many old states were labelled."""
    real_call, real_relabel = compiled.call, compiled.relabel
    when: list[list[float]] = []
    labels: list[int] = []
    n = agent.run.sac.steps_ahead

    def call(program, state, parts, replay, block, ids, examples, *, key):
        result = real_call(program, state, parts, replay, block, ids, examples, key=key)
        rows = result[1].rows
        used = np.unique(np.asarray(followers(result[1], ids.reshape(-1), n)))
        made = np.asarray(rows.reward).ravel()[used] - np.asarray(rows.next_obs).reshape(-1, 2)[used, 0]
        when[-1] += made.tolist()
        return result

    def relabel(program, parts, replay, ids, valid):
        labels[-1] += int(valid)
        return real_relabel(program, parts, replay, ids, valid)

    monkeypatch.setattr(compiled, "call", call)
    monkeypatch.setattr(compiled, "relabel", relabel)
    for _ in range(epochs):
        when.append([])
        labels.append(0)
        agent.learn(1, progress=False)
    return when, labels


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"loop.pool": 64, "loop.replay_size": 240},
        {"loop.pool": 64, "loop.replay_size": 240, "loop.environments": 2, "sac.n_step": 3},
    ],
    ids=["all", "small pool, full ring", "two environments, three steps"],
)
def test_every_reward_in_use_is_current(clock, monkeypatch, settings):
    if "loop.environments" in settings:
        monkeypatch.setitem(
            mural.api.worlds.gymnasium.registry, "Field-v0", small.gymnasium.envs.registration.EnvSpec(
                "Field-v0", entry_point=small.Field, disable_env_checker=True, order_enforce=False
            ),
        )  # fmt: skip
        env = "Field-v0"
    else:
        env = small.Field()
    agent = mural.Agent(env, method="test-clock", config=small.SETTINGS | settings)
    when, labels = used_rewards(monkeypatch, agent, 8)
    assert when[0] == []
    for epoch in range(1, 8):
        np.testing.assert_allclose(when[epoch], 10 * epoch, atol=1e-4)
        assert 0 < labels[epoch] <= agent.config.loop.pool * agent.run.sac.steps_ahead
    if "loop.pool" in settings and "sac.n_step" not in settings:
        assert len(set(labels[2:])) == 1  # however much there is; returns of several steps may overlap


def test_stale_rewards_stay_as_they_were(clock, monkeypatch):
    agent = mural.Agent(small.Field(), method="test-clock", config=small.SETTINGS | {"loop.stale": True})
    when, labels = used_rewards(monkeypatch, agent, 6)
    assert labels == [0, 60, 0, 0, 0, 0]  # only the random steps, which had none
    for epoch in range(1, 6):
        made = set(np.round(when[epoch], 3))
        assert made == {10.0 * e for e in range(1, epoch + 1)}


def test_an_empty_replay_draws_only_new_rows():
    empty = replay_buffer.create(20, 1, 1, 1)
    for rich in (0.0, 0.5):
        pool, ids = draws(empty, Case(0, 0, 0, new_rows=5, calls=2, pool=8), rich=rich)
        assert int(pool.size) == 0
        assert ids[0].max() < 5
        assert ids[1].max() < 10
