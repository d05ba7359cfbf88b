"""Letting go shows what moves by itself: in made-up worlds whose answer is known, and in ours."""

import gymnasium
import numpy as np
import pytest

from mural.inputs import watching
from mural.inputs.spaces import Spaces


class Sledge(gymnasium.Env):
    """Four sledges on ice: an action pushes, friction slows. `shown`: velocities are observed too."""

    horizon = 60

    def __init__(self, friction=0.05, shown=False, ends=None):
        self.friction, self.shown, self.ends = friction, shown, ends
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (8 if shown else 4,))
        self.action_space = gymnasium.spaces.Box(-1, 1, (4,))

    def _obs(self):
        return np.concatenate([self.x, self.v] if self.shown else [self.x]).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.v, self.t = self.np_random.normal(size=4), np.zeros(4), 0
        return self._obs(), {}

    def step(self, action):
        self.v = (1 - self.friction) * self.v + 0.1 * np.asarray(action, float)
        self.x, self.t = self.x + self.v, self.t + 1
        return self._obs(), 0.0, self.t == self.ends, self.t == self.horizon, {}


def hides(env):
    return watching.hides_motion(watching.look(env, Spaces.of(env)))


def test_ice_hides_motion_and_sand_does_not():
    assert hides(Sledge(friction=0.05))
    assert not hides(Sledge(friction=0.05, shown=True))  # it is in the observation
    assert not hides(Sledge(friction=1.0))  # stops at once
    assert not hides(Sledge(friction=0.7))  # after a few steps


@pytest.mark.filterwarnings("error")
def test_a_counter_among_the_numbers_hides_nothing():
    """It changes by the same in every step, which is no change to be told."""
    limited = gymnasium.wrappers.TimeLimit(Sledge(), 60)
    assert hides(gymnasium.wrappers.TimeAwareObservation(limited, flatten=True, normalize_time=False))


def test_a_few_numbers_that_roll_on_are_not_enough():
    """A ball that was hit rolls on; the hand that hit it is what is steered."""

    class Mixed(Sledge):
        def step(self, action):
            self.v = np.array([1.0, 0, 0, 0]) * 0.95 * self.v + 0.1 * np.asarray(action, float)
            self.x, self.t = self.x + self.v, self.t + 1
            return self._obs(), 0.0, False, False, {}

    assert not hides(Mixed())


def test_episodes_that_end_while_watching_say_nothing():
    assert not hides(Sledge(ends=watching.DRIVEN + 3))
    short = Sledge()
    short.horizon = 15
    short.step = None  # is not asked
    assert not hides(short)
    broken = Sledge()
    broken.step = lambda action: 1 / 0  # has its name in the run
    assert not hides(broken)
    still = Sledge()
    still.step = lambda action: (still._obs(), 0.0, False, False, {})
    assert not hides(still)


def test_slow_environments_are_not_watched_for_long(monkeypatch):
    clock = iter(range(0, 10_000, 7))
    monkeypatch.setattr(watching.time, "monotonic", lambda: float(next(clock)))
    assert len(watching.watch(Sledge(), Spaces.of(Sledge())).coasted) == 3


@pytest.mark.parametrize(("name", "hidden"), [("ZigzagMaze", False), ("SawyerPush", False), ("AntMaze", True)])
def test_of_our_tasks_the_ant(name, hidden):
    if name != "ZigzagMaze":
        pytest.importorskip("mujoco")
    assert hides(gymnasium.make(f"mural/{name}-v0")) is hidden


class Cells(gymnasium.Env):
    """A walk on a grid of `side` × `side` cells, each shown where `relabel` puts it."""

    horizon = 60

    def __init__(self, side=16, relabel=False):
        self.side, places = side, np.arange(side * side)
        self.shown = np.random.default_rng(0).permutation(places) if relabel else places
        self.observation_space = gymnasium.spaces.Box(0, side - 1, (2,))
        self.action_space = gymnasium.spaces.Box(-1, 1, (2,))

    def _obs(self):
        return np.array(divmod(self.shown[self.at[0] * self.side + self.at[1]], self.side), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = np.zeros(2, int)
        return self._obs(), {}

    def step(self, action):
        self.at = np.clip(self.at + np.sign(np.round(action)).astype(int), 0, self.side - 1)
        return self._obs(), 0.0, False, False, {}


def waves(env):
    return watching.waves_of(watching.look(env, Spaces.of(env)))


def test_waves_where_states_come_back():
    assert waves(Cells(6)) == 3
    assert waves(Cells(6, relabel=True)) == 3
    assert waves(Cells(2)) == 0  # two values per number: nothing to tell apart
    assert waves(Cells(1)) == 0
    assert waves(Sledge()) == 0
    short = Cells(6)
    short.horizon = 15
    assert waves(short) == 0


@pytest.mark.parametrize(
    ("name", "found"),
    [("ZigzagMaze", 0), ("DoubleMaze", 0), ("ShuffledMaze", 8), ("SawyerPick", 0), ("HandReposition", 0)],
)
def test_of_our_tasks_the_shuffled_maze(name, found):
    if "Maze" not in name:
        pytest.importorskip("mujoco")
    assert waves(gymnasium.make(f"mural/{name}-v0")) == found
