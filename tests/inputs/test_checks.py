"""Good environments and examples pass without a word; every fault is called by its name."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces as gs

import mural
import mural.tasks
from mural.inputs.checks import EnvError, EnvWarning, ExamplesWarning, check_env, check_examples
from mural.inputs.examples import ExamplesError
from mural.inputs.spaces import SpaceError

RNG = np.random.default_rng(0)
TOP = np.stack([RNG.uniform(0.45, 0.6, 40), RNG.uniform(0.0, 0.05, 40)], axis=1)  # of the mountain


class Point(gymnasium.Env[Any, Any]):
    """A point that goes where it is pushed; faults can be switched on."""

    observation_space = gs.Box(-100, 100, (2,), np.float32)
    action_space = gs.Box(-1, 1, (2,), np.float32)

    def __init__(self, fault: str = "", horizon: int | None = 50) -> None:
        self.fault, self.steps = fault, 0
        if horizon is not None:
            self.horizon = horizon

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        if self.fault == "old reset":
            raise OSError("no seeds here")
        super().reset(seed=seed)
        self.at, self.steps = self.np_random.normal(size=2), 0
        return self._observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        self.at = self.at + 0.1 * np.asarray(action)
        if self.fault == "noise" and self.steps > 3:
            self.at = self.at + 1e-3 * np.random.default_rng().normal(size=2)
        if self.steps == {"raises": 30, "raises at once": 1}.get(self.fault):
            raise OSError("the cable came off")
        truncated = self.steps >= getattr(self, "horizon", 10**9)
        return self._observe(), 0.0, self.fault == "ends" and self.steps == 20, truncated, {}

    def _observe(self) -> Any:
        late = self.steps > 20
        obs = self.at.astype(np.float64 if self.fault == "type" else np.float32)
        if (self.fault == "nan" and late) or (self.fault == "nan at once" and self.steps):
            obs[1] = np.nan
        if self.fault == "outside" and late:
            obs[1] = 150
        if self.fault == "scale":
            obs[1] *= 1e-4
        if self.fault == "frozen":
            obs[:] = 0
        return obs


@pytest.mark.parametrize("id", ["Pendulum-v1", "MountainCarContinuous-v0", "mural/ZigzagMaze-v0"])
def test_good_environments_pass_without_a_word(id: str) -> None:
    report = check_env(gymnasium.make(id))  # a warning would be an error here
    assert report.warnings == ()
    assert "ready for training" in str(report)
    assert id in str(report)
    assert report.horizon == {"Pendulum-v1": 200, "MountainCarContinuous-v0": 999, "mural/ZigzagMaze-v0": 100}[id]


def test_our_own_point_is_good_without_its_faults() -> None:
    assert check_env(Point()).warnings == ()
    assert check_env(mural.tasks.make("zigzag-maze")).obs_size == 2


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("nan", r"observation\[1\] is nan"),
        ("raises", "OSError after 29 random steps: the cable came off"),
        ("type", "astype"),
        ("nan at once", r"observation\[1\] is nan"),
        ("raises at once", "OSError after 0 random steps: the cable came off"),
        ("old reset", r"reset\(seed=0\) raised OSError: no seeds here"),
    ],
)
def test_environments_that_cannot_be_trained_on(fault: str, why: str) -> None:
    with pytest.raises(EnvError, match=why):
        check_env(Point(fault))


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("noise", "same actions, observations differ from step 4 on"),
        ("outside", r"observation\[1\] was 150, outside the observation space \(-100 to 100\)"),
        ("scale", "rescale them"),
        ("ends", "10 of 10 episodes terminated.*hover.*absorbing"),
        ("frozen", "never changed"),
    ],
)
def test_doubts(fault: str, why: str) -> None:
    with pytest.warns(EnvWarning, match=why) as caught:
        report = check_env(Point(fault))
    assert len(caught) == 1
    assert str(caught[0].message) in str(report)


def test_a_time_limit_is_asked_for() -> None:
    with pytest.warns(EnvWarning, match="TimeLimit"):
        assert check_env(Point(horizon=None)).horizon is None
    assert check_env(gymnasium.wrappers.TimeLimit(Point(horizon=None), 70)).horizon == 70
    with pytest.warns(EnvWarning, match="TimeLimit"):  # its spec has a limit that nobody keeps any more
        check_env(gymnasium.make("MountainCarContinuous-v0").unwrapped)


def test_what_is_no_environment_or_has_the_wrong_spaces() -> None:
    with pytest.raises(EnvError, match=r"inherit from gymnasium\.Env"):
        check_env("Pendulum-v1")  # type: ignore[arg-type]
    with pytest.raises(SpaceError, match="continuous-action"):
        check_env(gymnasium.make("CartPole-v1"))


def test_good_examples_pass_without_a_word() -> None:
    mountain = gymnasium.make("MountainCarContinuous-v0")
    assert check_examples(mountain, TOP).states.shape == (40, 2)
    assert check_examples(mountain, TOP, classifier_slice=[0]).states.shape == (40, 1)
    assert check_examples(mural.tasks.make("zigzag-maze"), None).states.shape == (150, 2)
    upright = RNG.normal(scale=0.05, size=150)
    examples = np.stack([np.cos(upright), np.sin(upright), RNG.normal(scale=0.1, size=150)], axis=1)
    check_examples(gymnasium.make("Pendulum-v1"), examples)  # although a pendulum starts anywhere


def starts(id: str, n: int) -> np.ndarray:
    env = gymnasium.make(id)
    return np.array([env.reset(seed=1000 + seed)[0] for seed in range(n)])


MOUNTAIN, MAZE, PENDULUM = "MountainCarContinuous-v0", "mural/ZigzagMaze-v0", "Pendulum-v1"


@pytest.mark.parametrize(
    ("id", "examples", "why"),
    [
        (MOUNTAIN, TOP[:5], "only 5"),
        (MOUNTAIN, np.concatenate([TOP, TOP[:10]]), r"10 of 50 success examples \(20%\) repeat"),
        (MOUNTAIN, TOP * [1, 0] + [0, 0.01], r"observation\[1\]: equal in all"),
        (PENDULUM, starts(PENDULUM, 150), "as close to a success example"),
        (MAZE, starts(MAZE, 150) + RNG.normal(scale=1e-3, size=(150, 2)), "as close to a success example"),
        # One is enough where all episodes start there. It can be named, so it is, and left out.
        (
            MAZE,
            np.concatenate([TOP + 2, [[-3, -3]]]),
            r"1 of 41 success examples look like .*: rows 40 .* leaves them out",
        ),
    ],
)
def test_doubtful_examples(id: str, examples: np.ndarray, why: str) -> None:
    with pytest.warns(ExamplesWarning, match=why) as caught:
        check_examples(gymnasium.make(id), examples)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_examples(gymnasium.make(id), examples, warn=False)


def test_examples_that_are_refused() -> None:
    mountain = gymnasium.make(MOUNTAIN)
    for examples in (np.zeros((0, 2)), TOP * np.nan, TOP[:, :1], TOP + 5, {"position": TOP}, None):
        with pytest.raises(ExamplesError):
            check_examples(mountain, examples)


def test_checking_leaves_the_environments_own_generator_alone() -> None:
    env = gymnasium.make(MOUNTAIN)
    env.action_space.seed(0)
    check_examples(env, TOP)
    after = env.action_space.sample()
    env.action_space.seed(0)
    assert np.array_equal(env.action_space.sample(), after)


def test_columns_that_are_chosen_count_behind_a_wrapper_of_another_shape() -> None:
    """Without them the check asks for them; with them it goes on."""
    wrapped = gymnasium.wrappers.TimeAwareObservation(gymnasium.make("mural/ZigzagMaze-v0", max_episode_steps=100))
    with pytest.raises(SpaceError, match="classifier_slice"):
        check_env(wrapped)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EnvWarning)
        assert check_env(wrapped, classifier_slice="0:2").obs_size == 3


@pytest.mark.parametrize("name", ["zigzag-maze", "double-maze"])  # the second one starts at the origin
def test_a_tasks_own_examples_are_refused_in_other_units(name: str) -> None:
    task = mural.tasks.make(name)
    space = gs.Box(-10, 10, (2,), np.float32)
    scaled = gymnasium.wrappers.TransformObservation(task, lambda obs: (obs / 10).astype(np.float32), space)
    with pytest.raises(ExamplesError, match="TransformObservation changes their numbers"):
        check_examples(scaled, None)
    agent = mural.Agent(scaled, method="sac", check=False)  # which needs no examples
    assert agent.run.world.examples is None
    same = gymnasium.wrappers.TransformObservation(task, lambda obs: obs, task.observation_space)
    assert len(check_examples(same, None).states) == 150
