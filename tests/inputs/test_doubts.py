"""Wrong examples are named, right ones never: not even where random steps succeed now and then."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import mural
from mural import cli
from mural.inputs import checks
from mural.inputs.checks import ExamplesWarning, explore
from mural.inputs.doubts import Walks, doubts_about, named, ordinary_rows
from mural.inputs.examples import SuccessExamples, load_examples
from mural.inputs.spaces import Spaces
from mural.inputs.world import make_env
from mural.study.wrong_examples import ordinary

CAR = "MountainCarContinuous-v0"
TASKS = ["zigzag-maze", "sawyer-push", CAR]


def right(env: gymnasium.Env[Any, Any], n: int = 150) -> np.ndarray:
    if env.spec is not None and env.spec.id == CAR:
        return np.random.default_rng(0).uniform([0.45, 0.0], [0.5, 0.05], (n, 2)).astype(np.float32)
    return env.unwrapped.success_examples(n, 0)  # type: ignore[attr-defined]


def wrong(env: gymnasium.Env[Any, Any], n: int) -> np.ndarray:
    """States of random episodes: other seeds, and up to twice as many steps as the check makes."""
    if env.spec is None or env.spec.id != CAR:
        return np.array(ordinary(env.unwrapped, n, 500, np.random.default_rng(5)))  # type: ignore[arg-type]
    env.action_space.seed(5)
    found, rng = [], np.random.default_rng(5)
    for i in range(n):
        obs, _ = env.reset(seed=500 + i)
        for _ in range(rng.integers(1, 100)):
            obs = env.step(env.action_space.sample())[0]
        found.append(obs)
    return np.array(found)


@pytest.mark.parametrize("name", TASKS)
def test_right_examples_pass_without_a_word_and_wrong_ones_are_named(name: str) -> None:
    env = make_env(name)
    examples = right(env)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mural.check_examples(env, examples)
    for bad in (np.arange(60, 90), np.array([3, 50, 51, 52, 100, 149])):  # a fifth; 4 %
        spoilt = examples.copy()
        spoilt[bad] = wrong(env, len(bad))
        with pytest.warns(ExamplesWarning, match=f"of 150 success examples look like .* rows {bad[0]}") as caught:
            mural.check_examples(env, spoilt)
        assert len(caught) == 1
        spaces = Spaces.of(env)
        found = ordinary_rows(spoilt[:, spaces.columns], explore(env, spaces).visited[:, spaces.columns])
        assert set(found) <= set(bad)
        assert len(found) >= 0.8 * len(bad)
    env.close()


def test_success_that_random_steps_meet_now_and_then_is_no_mistake() -> None:
    rng = np.random.default_rng(0)
    visits = rng.uniform(-1, 1, (1000, 2))
    goal = rng.uniform(0.6, 1, (150, 2))  # a 25th of the square
    assert len(ordinary_rows(goal, visits)) == 0
    goal[:30] = rng.uniform(-1, 0.4, (30, 2))
    assert set(ordinary_rows(goal, visits)) >= set(range(28))
    assert len(ordinary_rows(visits[:1], visits)) == 0


def test_rows_are_those_of_the_user_although_some_are_kept_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    env = make_env("zigzag-maze")
    examples = right(env)
    examples[40:60] = wrong(env, 20)
    with pytest.warns(ExamplesWarning, match=r"20 of 150 success examples .* rows 40–59 \("):
        mural.Agent("zigzag-maze", examples)
    np.savez(tmp_path / "mine.npz", examples=examples)
    picture = tmp_path / "p.png"
    cli.main(["examples", "check", "zigzag-maze", str(tmp_path / "mine.npz"), "--picture", str(picture)])
    assert "rows 40–59 " in capsys.readouterr().out
    assert picture.stat().st_size > 5000


def test_rows_in_few_words() -> None:
    assert named([4]) == "4"
    assert named(np.array([0, 1, 2, 5, 7, 8])) == "0–2, 5, 7–8"
    assert named(range(0, 40, 2)) == "0, 2, 4, 6, 8, 10, 12, 14, …"


def test_walks_are_shorter_where_steps_take_long(monkeypatch):
    env = make_env("zigzag-maze")
    spaces = Spaces.of(env)
    walks = explore(env, spaces)
    assert len(walks.visited) == checks.RESETS * (1 + checks.EACH)
    assert walks.whole
    monkeypatch.setattr(checks, "SECONDS", 0.0)
    started, visited, whole = explore(env, spaces)
    assert len(started) == checks.RESETS
    assert len(visited) == 2 * checks.RESETS
    assert not whole
    spoilt = right(env)
    spoilt[:20] = wrong(env, 20)
    with pytest.warns(ExamplesWarning, match="too few steps were seen to be sure"):
        assert len(checks.examine(env, spaces, load_examples(spoilt, spaces)).states) == 150


@pytest.mark.filterwarnings("ignore:.*repeat others")
def test_a_few_that_look_ordinary_are_left_out_and_others_kept() -> None:
    env = make_env("zigzag-maze")
    examples, spoilt = right(env), right(env)
    bad = np.r_[40:50, 100:110]
    spoilt[bad] = wrong(env, 20)

    with pytest.warns(ExamplesWarning, match="Training leaves them out"):
        agent = mural.Agent("zigzag-maze", spoilt)
    world = agent.run.world
    learned = np.concatenate([np.asarray(world.examples), world.held_out])
    assert len(learned) == 130
    assert not (spoilt[bad][:, None] == learned[None]).all(axis=2).any()
    assert world.examples is not None
    assert "20 of 150 left out" in world.examples.provenance
    with pytest.warns(ExamplesWarning, match="Training leaves them out"):
        kept = mural.Agent("zigzag-maze", spoilt, config={"keep_ordinary": True})
    assert len(np.asarray(kept.run.world.examples)) == 135
    half = examples.copy()
    half[:75] = wrong(env, 75)
    with pytest.warns(ExamplesWarning, match="too many to be mistakes for sure"):
        doubtful = mural.Agent("zigzag-maze", half)
    assert len(np.asarray(doubtful.run.world.examples)) == 135


def test_few_examples_and_goals_that_differ_leave_none_out() -> None:
    env = make_env("zigzag-maze")
    spaces = Spaces.of(env)
    walks = explore(env, spaces)
    few = right(env, 15).astype(np.float64)
    few[:3] = walks.visited[[10, 300, 700]]
    found = doubts_about(spaces, few, walks)
    assert "Of so few examples" in found.texts[-1]
    assert not len(found.rows)
    # A place and a goal that differs: an example near one of the starts looks ordinary where the goal was near it, too.
    rng = np.random.default_rng(0)
    goals = rng.uniform(-1, 1, 20)
    visited = np.stack([rng.normal(0, 0.2, (20, 51)), np.repeat(goals[:, None], 51, axis=1)], axis=2).reshape(-1, 2)
    places = rng.uniform(-1, 1, 150)
    examples = np.stack([places + rng.uniform(-0.05, 0.05, 150), places], axis=1)
    assert 2 <= len(ordinary_rows(examples, visited)) <= 50
    for wrong_ones in (0, 8):  # which would hide that two numbers go together
        examples[:wrong_ones] = visited[rng.integers(0, len(visited), wrong_ones)]
        found = doubts_about(spaces, examples, Walks(visited[::51], visited, True))
        assert "Where goals differ" in found.texts[-1]
        assert not len(found.rows)


def test_states_that_never_change_are_nothing_to_look_at() -> None:
    assert len(ordinary_rows(np.ones((30, 2)), np.ones((100, 2)))) == 0


@pytest.mark.filterwarnings("ignore:.*repeat others")
def test_a_wrong_example_at_the_start_does_not_keep_the_other_wrong_ones_in() -> None:
    """All episodes of the maze begin at one place. Recordings often hold their first state."""
    env = make_env("zigzag-maze")
    spaces = Spaces.of(env)
    walks = explore(env, spaces)
    for others in (np.arange(60, 90), np.zeros(0, int)):
        spoilt = right(env)
        spoilt[others] = wrong(env, len(others)) if len(others) else spoilt[others]
        spoilt[0] = env.reset(seed=0)[0]
        found = doubts_about(spaces, spoilt.astype(np.float64), walks)
        assert set(found.rows) == {0, *others}
        assert "Training leaves them out" in found.texts[-1]
    early = right(env)
    early[:] = env.reset(seed=0)[0]
    found = doubts_about(spaces, early.astype(np.float64), walks)
    assert "is the task done at the start" in found.texts[-1]
    assert not len(found.rows)


def test_without_a_check_nothing_is_left_out_and_the_settings_say_so() -> None:
    spoilt = right(make_env("zigzag-maze"))
    spoilt[:20] = wrong(make_env("zigzag-maze"), 20)
    agent = mural.Agent("zigzag-maze", spoilt, check=False)
    assert agent.config.keep_ordinary
    assert len(np.asarray(agent.run.world.examples)) == 135


def test_whole_observations_go_with_their_states() -> None:
    examples = SuccessExamples(np.arange(6.0).reshape(3, 2), np.arange(9.0).reshape(3, 3), "mine")
    rest = examples.without(np.array([1]))
    np.testing.assert_array_equal(rest.states, [[0, 1], [4, 5]])
    np.testing.assert_array_equal(rest.observations, [[0, 1, 2], [6, 7, 8]])
    assert examples.without(np.zeros(0, np.int64)) is examples
