"""The replay buffer against slow Python over lists of episodes."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mural.agent import replay as replay_buffer
from mural.agent.replay import Replay, Rows

CAPACITY, BLOCK, ENVIRONMENTS = 24, 4, 3
GAMMA = 0.9

insert = jax.jit(replay_buffer.insert)
draw = jax.jit(replay_buffer.draw, static_argnums=1)
pairs = jax.jit(replay_buffer.pairs, static_argnums=1)
followers = jax.jit(replay_buffer.followers, static_argnums=2)
batch = partial(jax.jit, static_argnames=("gamma", "n_step", "terminations"))(replay_buffer.batch)


def record(blocks: int, seed: int = 0, environments: int = ENVIRONMENTS) -> tuple[Replay, dict[int, dict]]:
    """A replay after so many blocks of random episodes, and what its ids should hold, from a list of every step."""
    rng = np.random.default_rng(seed)
    replay = replay_buffer.create(CAPACITY, environments, 2, 1)
    count, episode = np.zeros(environments, int), np.arange(environments)
    log: dict[int, dict] = {}
    serial = 0
    for b in range(blocks):
        rows = jax.tree.map(np.array, replay_buffer.empty_rows((BLOCK, environments), 2, 1))
        for t in range(BLOCK):
            for e in range(environments):
                serial += 1
                ended, cut = rng.random() < 0.12, rng.random() < 0.12
                step = {
                    "serial": serial, "time": b * BLOCK + t, "env": e, "episode": int(episode[e]),
                    "reward": float(np.float32(rng.normal())), "terminated": ended, "last": ended or cut,
                    "step": int(count[e]),
                }  # fmt: skip
                rows.obs[t, e], rows.next_obs[t, e], rows.action[t, e] = serial, serial + 0.5, -serial
                for name in ("reward", "terminated", "last", "step"):
                    getattr(rows, name)[t, e] = step[name]
                log[(step["time"] % CAPACITY) * environments + e] = step
                count[e] += 1
                if step["last"]:
                    count[e] = 0
                    episode[e] += environments
        replay = insert(replay, rows)
    return replay, log


def after(log: dict[int, dict], step: dict, environments: int = ENVIRONMENTS) -> dict | None:
    """The next step of the same episode, if it is there."""
    found = log.get(((step["time"] + 1) % CAPACITY) * environments + step["env"])
    return found if found and not step["last"] and found["time"] == step["time"] + 1 else None


@pytest.mark.parametrize("blocks", [0, 1, 5, 6, 7, 17])
def test_the_ring_holds_the_newest(blocks):
    replay, log = record(blocks)
    kept = min(blocks * BLOCK, CAPACITY)
    assert int(replay.written) == blocks * BLOCK
    assert int(replay_buffer.filled(replay)) == kept
    assert len(log) == kept * ENVIRONMENTS
    held = replay_buffer.gather(replay, jnp.arange(kept * ENVIRONMENTS))
    for i in range(kept * ENVIRONMENTS):
        assert float(held.obs[i, 0]) == log[i]["serial"]
        assert float(held.next_obs[i, 1]) == log[i]["serial"] + 0.5
        assert float(held.action[i, 0]) == -log[i]["serial"]
        assert int(held.step[i]) == log[i]["step"]
        assert log[i]["time"] >= blocks * BLOCK - CAPACITY


def slow_return(log: dict[int, dict], start: dict, n: int, terminations: str) -> tuple[float, float, float]:
    """Return, discount and the serial number of the step whose next observation follows."""
    taken = [start]
    while len(taken) < n and (following := after(log, taken[-1])):
        taken.append(following)
    m, end = len(taken), taken[-1]
    value = sum(GAMMA**k * s["reward"] for k, s in enumerate(taken))
    if end["terminated"] and terminations == "absorb":
        value += sum(GAMMA**k * end["reward"] for k in range(m, 400))
    stops = end["terminated"] and terminations != "bootstrap"
    return value, 0.0 if stops else GAMMA**m, end["serial"]


@pytest.mark.parametrize("terminations", ["absorb", "stop", "bootstrap"])
@pytest.mark.parametrize("n_step", [1, 3, 7])
def test_n_step_returns(n_step, terminations):
    ends = set()
    for blocks, seed in ((3, 0), (6, 1), (7, 2), (20, 3)):  # not yet full, just full, wrapped, wrapped often
        replay, log = record(blocks, seed)
        ids = np.resize(np.array(sorted(log)), CAPACITY * ENVIRONMENTS)
        found = batch(replay, ids, gamma=GAMMA, n_step=n_step, terminations=terminations)
        for i, one in enumerate(ids):
            value, discount, end = slow_return(log, log[one], n_step, terminations)
            assert float(found.obs[i, 0]) == log[one]["serial"]
            assert float(found.returns[i]) == pytest.approx(value, rel=1e-4, abs=1e-5)
            assert float(found.discount[i]) == pytest.approx(discount, rel=1e-5)
            assert float(found.next_obs[i, 0]) == end + 0.5
            ends.add((discount == 0, end - log[one]["serial"]))
    assert len(ends) >= (1 if terminations == "bootstrap" and n_step == 1 else 2)  # or nothing was tried


def test_followers_stay_in_the_episode():
    replay, log = record(9)
    ids = np.array(sorted(log))
    chain = np.asarray(followers(replay, ids, 4))
    assert chain.shape == (4, len(ids))
    np.testing.assert_array_equal(chain[0], ids)
    for one, *rest in chain.T:
        now = log[one]
        for got in rest:
            now = after(log, now) or now
            assert log[got]["serial"] == now["serial"]


@pytest.mark.parametrize("blocks", [2, 6, 16])
def test_pairs_are_of_one_episode(blocks):
    replay, log = record(blocks)
    seen = set()
    for seed in range(8):
        i, j, gap = map(np.asarray, pairs(replay, 256, key=jax.random.key(seed)))
        for first, second, steps in zip(i, j, gap, strict=True):
            a, b = log[int(first)], log[int(second)]
            assert a["episode"] == b["episode"]
            assert b["time"] - a["time"] == steps >= 0
            seen.add((int(first), int(second)))
    possible = sum(a["episode"] == b["episode"] and a["time"] <= b["time"] for a in log.values() for b in log.values())
    assert len(seen) >= 0.95 * possible  # every pair can be drawn


@pytest.mark.parametrize("blocks", [1, 3, 8])
def test_draws_are_uniform(blocks):
    replay, log = record(blocks)
    ids = np.asarray(draw(replay, 20_000, key=jax.random.key(blocks)))
    assert set(ids) == set(log)
    assert stats.chisquare(np.bincount(ids)).pvalue > 1e-4


def test_rewards_are_rewritten_in_place():
    replay, _ = record(4)
    ids = jnp.array([0, 5, 7, CAPACITY * ENVIRONMENTS])  # the last is beyond the end
    changed = replay_buffer.set_rewards(replay, ids, jnp.array([10.0, 11.0, 12.0, 13.0]))
    flat = np.asarray(changed.rows.reward).ravel()
    np.testing.assert_array_equal(flat[[0, 5, 7]], [10, 11, 12])
    rest = np.setdiff1d(np.arange(CAPACITY * ENVIRONMENTS), [0, 5, 7])
    np.testing.assert_array_equal(flat[rest], np.asarray(replay.rows.reward).ravel()[rest])
    assert isinstance(changed.rows, Rows)


@pytest.mark.parametrize("blocks", [1, 5, 17])
def test_what_came_before(blocks):
    """`before` is the observation one step earlier in the episode, where it is still held."""
    replay, log = record(blocks)
    ids = np.array(sorted(log))
    found = batch(replay, jnp.asarray(ids), gamma=GAMMA, n_step=2, terminations="stop")
    oldest = min(step["time"] for step in log.values())
    for i, now, then in zip(ids, np.asarray(found.obs), np.asarray(found.before), strict=True):
        step = log[int(i)]
        earlier = next((s for s in log.values() if after(log, s) is step), None)
        expected = step["serial"] if earlier is None or step["time"] == oldest else earlier["serial"]
        assert (now[0], then[0]) == (step["serial"], expected)
    later = np.asarray(found.next_before)[:, 0] + 0.5
    np.testing.assert_array_equal(later, np.asarray(found.next_obs)[:, 0])  # each step leads from `obs` to `obs` + ½
