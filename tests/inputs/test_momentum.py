"""Letting go shows what moves by itself: in made-up worlds whose answer is known, and in ours."""

import gymnasium
import numpy as np
import pytest

from mural.inputs import momentum
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
    return momentum.hides_motion(env, Spaces.of(env))


def test_ice_hides_motion_and_sand_does_not():
    assert hides(Sledge(friction=0.05))
    assert not hides(Sledge(friction=0.05, shown=True))  # it is in the observation
    assert not hides(Sledge(friction=1.0))  # stops at once
    assert not hides(Sledge(friction=0.7))  # after a few steps


def test_a_few_numbers_that_roll_on_are_not_enough():
    """A ball that was hit rolls on; the hand that hit it is what is steered."""

    class Mixed(Sledge):
        def step(self, action):
            self.v = np.array([1.0, 0, 0, 0]) * 0.95 * self.v + 0.1 * np.asarray(action, float)
            self.x, self.t = self.x + self.v, self.t + 1
            return self._obs(), 0.0, False, False, {}

    assert not hides(Mixed())


def test_episodes_that_end_while_watching_say_nothing():
    assert not hides(Sledge(ends=momentum.DRIVEN + 3))
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
    monkeypatch.setattr(momentum.time, "monotonic", lambda: float(next(clock)))
    assert len(momentum.watch(Sledge(), Spaces.of(Sledge()))[2]) == 3


@pytest.mark.parametrize(("name", "hidden"), [("ZigzagMaze", False), ("SawyerPush", False), ("AntMaze", True)])
def test_of_our_tasks_the_ant(name, hidden):
    if name != "ZigzagMaze":
        pytest.importorskip("mujoco")
    assert hides(gymnasium.make(f"mural/{name}-v0")) is hidden
