"""Collecting: rows as the environment gave them, and named errors for what cannot be learned from."""

from typing import Annotated, Any, NamedTuple, get_type_hints

import gymnasium
import numpy as np
import pytest

from mural.agent import replay
from mural.agent.policy import NumpyPolicy
from mural.agent.replay import Column
from mural.inputs.spaces import Spaces, StepError
from mural.rewards import Part, Term, total
from mural.tasks import make
from mural.training import compiled
from mural.training.collect import (
    Collector,
    EnvironmentFailure,
    Noise,
    PolicyFailure,
    random_actions,
    reports,
    seeds,
    starts,
)
from mural.training.evaluate import episode, evaluate
from tests.training.small import Field


class Broken(Field):
    """Does `what` at its nth step."""

    def __init__(self, what, nth=4):
        self.what, self.nth, self.steps = what, nth, 0

    def step(self, action):
        obs, reward, ended, truncated, info = super().step(action)
        self.steps += 1
        if self.steps != self.nth:
            return obs, reward, ended, truncated, info
        if self.what == "raise":
            raise ZeroDivisionError("motor 3")
        if self.what == "key":
            return {}["velocity"]
        if self.what == "bare":
            raise AssertionError
        return {
            "nan": (np.array([0.1, np.nan]), reward, ended, truncated, info),
            "inf": (np.array([np.inf, 0.1]), reward, ended, truncated, info),
            "shape": (np.zeros(3), reward, ended, truncated, info),
            "reward": (obs, np.nan, ended, truncated, info),
            "four": (obs, reward, ended, info),
            "distance": (obs, reward, ended, truncated, {"distance": np.inf}),
            "place": (obs, reward, ended, truncated, {"xy": [1.0]}),
            "text": (obs, reward, ended, truncated, {"distance": "far"}),
        }[self.what]


def collector(*envs, failures=None):
    return Collector(envs, Spaces.of(envs[0]), failures)


def still(obs, before):
    return np.zeros((len(obs), 2), np.float32)


def test_rows_follow_each_other():
    both = collector(Field(), Field())
    both.restart([1, 2])
    act = random_actions(Noise(np.random.default_rng(0), 2, 2, 0.0))
    one, two = both.collect(20, act), both.collect(20, act, cut=True)
    rows = type(one)(*(np.concatenate(column) for column in zip(one, two, strict=True)))
    steps = np.tile(np.arange(15), 3)[:40]
    for i in range(2):
        np.testing.assert_array_equal(rows.step[:, i], steps)
        np.testing.assert_array_equal(np.flatnonzero(rows.last[:, i]), [14, 29, 39])  # two time limits, and the cut
        same = ~rows.last[:-1, i]
        np.testing.assert_array_equal(rows.next_obs[:-1, i][same], rows.obs[1:, i][same])
        assert (rows.next_obs[:-1, i][~same] != rows.obs[1:, i][~same]).all()
        moved = np.clip(rows.obs[:, i] + 0.2 * rows.action[:, i], -1, 1)
        np.testing.assert_allclose(rows.next_obs[:, i], moved, atol=1e-6)
    np.testing.assert_allclose(rows.distance, np.linalg.norm(rows.next_obs - 1, axis=-1), rtol=1e-5)
    np.testing.assert_allclose(rows.env_reward, -rows.distance)
    np.testing.assert_array_equal(rows.success, rows.distance < 0.3)
    np.testing.assert_array_equal(rows.xy, rows.next_obs)
    np.testing.assert_array_equal(rows.l2, rows.distance)
    assert not rows.terminated.any()
    assert [e.length for e in both.ended] == [15, 15, 15, 15, 10, 10]
    assert [e.length for e in both.episodes] == [15, 15, 15, 15]  # whole ones
    np.testing.assert_array_equal([e.obs for e in both.ended], rows.next_obs[rows.last])
    both.restart([1, 2])
    both.collect(5, act, cut=True)
    assert [e.length for e in both.episodes] == [5, 5]  # there are no others


def test_a_new_column_is_one_line(monkeypatch):
    """A line in `Rows`: it is collected, kept in the replay, and there for rewards to read."""
    charge = Column(report=("battery",))
    hints = get_type_hints(replay.Rows, include_extras=True)
    monkeypatch.setattr(replay, "Rows", NamedTuple("Rows", [*hints.items(), ("charge", Annotated[Any, charge])]))
    monkeypatch.setitem(replay.COLUMNS, "charge", charge)
    assert replay.columns(replay.Rows) == replay.COLUMNS

    class Powered(Field):
        def step(self, action):
            *rest, info = super().step(action)
            return *rest, info | {"battery": 1 - self.t / 100}

    one = collector(Powered())
    one.restart([0])
    block = one.collect(4, still)
    np.testing.assert_allclose(block.charge[:, 0], [0.99, 0.98, 0.97, 0.96])
    kept = replay.gather(replay.insert(replay.create(8, 1, 2, 2), block), np.array([2]))
    np.testing.assert_allclose(kept.charge, [0.97])
    part = type("Charge", (Part,), {"reads": ("charge",), "label": lambda self, state, charge: charge})()
    terms = (Term("charge", 1.0, part),)
    total.check(terms)
    columns = compiled.columns(block, (0, 1), total.reads(terms))
    np.testing.assert_allclose(part.label(None, *columns.values()), block.charge)


def test_terminations_are_counted():
    class Ends(Field):
        terminates_at = 3

    one = collector(Ends())
    one.restart([0])
    rows = one.collect(7, still)
    np.testing.assert_array_equal(np.flatnonzero(rows.terminated), [2, 5])
    np.testing.assert_array_equal(rows.last, rows.terminated)
    assert one.terminations == 2


def test_a_restart_repeats_everything():
    one = collector(Field())
    found = []
    for _ in range(2):
        one.restart([5])
        found.append(one.collect(40, random_actions(Noise(np.random.default_rng(3), 1, 2, 0.7))))
        one.collect(3, still)  # leaves it in mid-episode
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("raise", "ZeroDivisionError: motor 3"),
        ("key", r"KeyError: 'velocity'\."),
        ("bare", r"AssertionError\."),
        ("nan", "nan, which is not finite"),
        ("inf", "inf, which is not finite"),
        ("shape", r"shape \(3,\); the space says \(2,\)"),
        ("reward", "reward nan"),
        ("four", "needed are 5"),
        ("distance", "distance inf"),
        ("place", "xy"),
        ("text", "far"),
    ],
)
def test_what_cannot_be_learned_from_is_saved(tmp_path, what, told):
    one = collector(Broken(what), failures=tmp_path / "failure")
    one.restart([0])
    with pytest.raises(EnvironmentFailure, match=f"environment 0 failed at step 3 of its episode: .*{told}") as error:
        one.collect(10, still)
    assert "failure/transition.npz" in str(error.value)
    with np.load(tmp_path / "failure" / "transition.npz", allow_pickle=False) as saved:
        np.testing.assert_array_equal(saved["obs"], one.obs[0])
        np.testing.assert_array_equal(saved["action"], [0, 0])
        assert int(saved["step"]) == 3
        assert len(saved["returned"]) == (what not in ("raise", "key", "bare"))
    trace = (tmp_path / "failure" / "traceback.txt").read_text()
    assert str(tmp_path / "failure" / "traceback.txt") in str(error.value)
    assert trace.startswith("Traceback")
    assert ("in step\n" in trace) == (what in ("raise", "key", "bare"))


def test_a_reset_that_fails_is_named():
    class Stuck(Field):
        def reset(self, **_):
            raise OSError("no answer")

    with pytest.raises(EnvironmentFailure, match="reset: OSError: no answer"):
        collector(Stuck()).restart([0])


def test_a_policy_that_diverged_is_not_blamed_on_the_environment(tmp_path):
    one = collector(Field(), failures=tmp_path)
    one.restart([0])
    with pytest.raises(PolicyFailure, match="nan"):
        one.collect(1, lambda obs, before: np.full((1, 2), np.nan, np.float32))
    assert not list(tmp_path.iterdir())


def test_reports():
    obs, columns = np.array([1.0, 2.0, 3.0], np.float32), np.array([2, 0, 1])
    told = reports({}, obs, columns)
    assert np.isnan([told["success"], told["distance"], told["l2"]]).all()
    np.testing.assert_array_equal(told["xy"], [3, 1])
    told = reports({"success": True, "distance": 4, "l2": 3, "xy": (7, 8)}, obs, columns)
    assert (told["success"], told["distance"], told["l2"]) == (1, 4, 3)
    np.testing.assert_array_equal(told["xy"], [7, 8])
    assert reports({"distance": 4.0}, obs, columns)["l2"] == 4
    assert reports({"is_success": False, "success": True}, obs, columns)["success"] == 0
    np.testing.assert_array_equal(reports({}, obs, columns[:1])["xy"], [3, 0])
    with pytest.raises(StepError):
        reports({"xy": (np.nan, 0)}, obs, columns)


def test_seeds_are_their_own():
    found = [s for epoch in range(50) for s in seeds(0, epoch, 2, count=4)] + seeds(0, 0, 3, count=4)
    assert len(set(found)) == len(found)
    assert all(0 <= s < 2**31 for s in found)
    assert seeds(0, 7, 2, count=9)[:4] == seeds(0, 7, 2, count=4)


@pytest.mark.parametrize("correlation", [0.0, 0.7])
def test_random_actions_fill_the_box(correlation):
    act, nothing = random_actions(Noise(np.random.default_rng(0), 500, 2, correlation)), np.zeros((500, 1))
    drawn = np.concatenate([act(nothing, nothing) for _ in range(2)])
    assert drawn.dtype == np.float32
    np.testing.assert_allclose([drawn.min(), drawn.max()], [-1, 1], atol=0.02)


@pytest.mark.parametrize("correlation", [0.0, 0.7, 0.95])
def test_noise_is_standard_normal_and_remembers(correlation):
    noise = Noise(np.random.default_rng(0), 400, 2, correlation)
    draws = np.stack([noise().copy() for _ in range(60)])
    assert abs(draws.mean()) < 0.05
    np.testing.assert_allclose([draws[0].std(), draws[-1].std()], 1.0, atol=0.1)  # from the first step on
    for lag in (1, 3):
        found = np.mean(draws[lag:] * draws[:-lag])
        assert found == pytest.approx(correlation**lag, abs=0.03)
    assert abs(np.mean(draws[..., 0] * draws[..., 1])) < 0.03  # actions do not know of each other


def test_what_was_seen_before_comes_with_what_is_seen():
    """The change since the last observation is zero where an episode begins."""
    seen = []
    both = collector(Field(), Field())
    both.restart([1, 2])

    def act(obs, before):
        seen.append((obs.copy(), before.copy()))
        return np.full((2, 2), 0.5, np.float32)

    both.collect(20, act)
    for t, (obs, before) in enumerate(seen):
        np.testing.assert_array_equal(before, obs if t % 15 == 0 else seen[t - 1][0])


class Towards:
    """Always up and right."""

    def mode(self, obs, before):
        return np.ones((len(obs), 2), np.float32)


def test_evaluation():
    env = Field()
    spaces = Spaces.of(env)
    found = evaluate(env, spaces, Towards(), [3, 4], lambda rows: rows.next_obs[:, 0], 50)
    rows = [episode(env, spaces, Towards(), seed, 50) for seed in (3, 4)]
    assert all(len(r.step) == 15 for r in rows)
    assert found["eval/success"] == found["eval/success_ever"] == 1
    assert found["eval/distance"] == found["eval/best_distance"] == 0
    assert found["eval/length"] == 15
    assert found["eval/return"] == pytest.approx(np.mean([r.next_obs[:, 0].sum() for r in rows]), rel=1e-5)
    assert found["eval/env_return"] == pytest.approx(np.mean([r.env_reward.sum() for r in rows]), rel=1e-5)
    assert "eval/return" not in evaluate(env, spaces, Towards(), [3], None, 50)
    assert evaluate(env, spaces, Towards(), [3], None, 4)["eval/length"] == 4


class Counted(gymnasium.Wrapper):
    """A maze that counts its episodes, and may begin them with a push of its own."""

    def __init__(self, push=0.0):
        super().__init__(make("zigzag-maze"))
        self.episodes, self.push = 0, push

    def reset(self, *, seed=None, options=None):
        self.episodes += 1
        obs, info = self.env.reset(seed=seed, options=options)
        if self.push:
            obs, *_, info = self.env.step(np.random.default_rng(seed).uniform(-self.push, self.push, 2))
        return obs, info


def test_episodes_of_a_task_that_are_all_one_are_run_twice():
    """The same numbers as from all of them, to the last bit; what a wrapper draws, or noise, makes them differ."""
    policy = NumpyPolicy([(np.ones((2, 4), np.float32) / 2, np.zeros(4, np.float32))])
    for push, correlation, runs in ((0.0, None, 2), (0.5, None, 6), (0.0, 0.7, 6)):
        env = Counted(push)
        spaces = Spaces.of(env)
        ends = [episode(env, spaces, policy, seed, 50, correlation=correlation).distance[-1] for seed in range(6)]
        env.episodes = 0
        found = evaluate(env, spaces, policy, range(6), lambda rows: rows.next_obs[:, 0], 50, correlation=correlation)
        assert env.episodes == runs
        assert found["eval/distance"] == np.mean([float(end) for end in ends])


def test_a_failure_while_evaluating_is_saved(tmp_path):
    env = Broken("nan")
    with pytest.raises(EnvironmentFailure, match="not finite"):
        evaluate(env, Spaces.of(env), Towards(), [0], None, 50, tmp_path)
    assert (tmp_path / "transition.npz").is_file()


def test_evaluations_start_where_they_always_did():
    assert starts(0, 3) == seeds(0, 0, 3, count=3)
    assert starts(7, 2) == starts(7, 5)[:2] != starts(8, 2)
