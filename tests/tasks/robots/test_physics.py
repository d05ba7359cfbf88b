"""What the physics of every robot must stand: long random runs, extreme actions, settled examples, a window."""

import importlib.util
import threading
import time
import types

import numpy as np
import pytest

from mural.tasks import TASKS, make
from mural.tasks.robots import sawyer_pick
from mural.tasks.robots.ant import ARENA, WALL_X, WALL_Y
from mural.tasks.robots.hand_model import TABLE_HIGH, TABLE_LOW
from mural.tasks.robots.mujoco_base import PhysicsError
from mural.tasks.robots.sawyer_door import ANGLE_MAX

# Not `importorskip`: MuJoCo chooses its renderer when it is imported, and the tasks do that right.
pytestmark = pytest.mark.skipif(importlib.util.find_spec("metaworld") is None, reason="needs the robot extra")

ROBOTS = [name for name, spec in TASKS.items() if spec.robots]
DEEPEST = 0.005  # metres
# Joules, a few times what was seen: the arm's heaviest link at full speed has 3; the ant runs.
ENERGY = {"sawyer-push": 8.0, "sawyer-pick": 8.0, "sawyer-door": 8.0, "ant-maze": 250.0, "hand-reposition": 8.0}


@pytest.fixture(scope="module", params=ROBOTS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def robot(name):
    task = make(name)
    yield task
    task.close()


def check_push(task) -> None:
    low, high = task.hand_low[:2] - 0.09, task.hand_high[:2] + 0.09  # paddle and puck
    assert (low < task.puck).all()
    assert (task.puck < high).all()
    assert abs(task.data.joint("z").qpos[0]) < 0.003, "the puck left the table's surface"


def check_pick(task) -> None:
    inside = np.array(sawyer_pick.TRAY) - sawyer_pick.BALL_RADIUS + DEEPEST
    assert (np.abs(task.ball[:2] - [0.0, 0.6]) < inside).all()
    assert sawyer_pick.BALL_RADIUS - DEEPEST < task.ball[2] < 0.32


def check_door(task) -> None:
    assert -0.02 < task.angle < ANGLE_MAX + 0.02


def check_ant(task) -> None:
    x, y, z = task.data.qpos[:3]
    assert (np.abs([x, y]) < ARENA).all()
    assert not (WALL_X[0] < x < WALL_X[1] and y > WALL_Y[0]), "the ant is inside the wall"
    assert 0.1 < z < 1.5


def check_hand(task) -> None:
    x, y, z = task.observe()[:3]
    assert (np.array(TABLE_LOW) < (x, y)).all()
    assert (np.array(TABLE_HIGH) > (x, y)).all()
    assert 0.01 < z < 0.2


CHECKS = dict(zip(ROBOTS, (check_push, check_pick, check_door, check_ant, check_hand), strict=True))


def test_ten_thousand_random_steps(name, robot, monkeypatch):
    """Episodes of uniform, of bang-bang and of held actions; only the last get to walls and far objects."""
    rng, deepest, moved = np.random.default_rng(0), [0.0], 0
    ramp = robot._ramp

    def noting(fraction: float) -> None:  # within control steps, too
        deepest[0] = max(deepest[0], -robot.data.contact.dist.min(initial=0.0))
        ramp(fraction)

    monkeypatch.setattr(robot, "_ramp", noting)
    size, held = robot.action_space.shape, np.zeros(0)
    for t in range(10_000):
        if t % 100 == 0:
            robot.reset(seed=t)
            start = robot.xy()
        if t % 8 == 0:
            held = rng.choice([-1.0, 1.0], size)
        action = (rng.uniform(-1, 1, size), rng.choice([-1.0, 1.0], size), held)[t // 100 % 3]
        if name == "hand-reposition" and t // 100 % 2:
            action[18] = -1.0  # pressed onto the table, so that it meets the object
        obs = robot.step(action)[0]
        assert obs in robot.observation_space, obs
        CHECKS[name](robot)
        moved += bool(np.linalg.norm(robot.xy() - start) > 0.02)
    assert not robot.data.warning.number.any()
    assert deepest[0] < DEEPEST
    assert moved > 300  # nobody was only waving in the air


@pytest.mark.parametrize("period", [1, 2, 5])
def test_extreme_alternating_actions_do_not_blow_up_the_energy(name, robot, period):
    size = robot.action_space.shape
    for pattern in (np.ones(size), np.random.default_rng(period).choice([-1.0, 1.0], size)):
        robot.reset(seed=0)
        for t in range(100):
            action = pattern * (-1.0) ** (t // period)
            if name == "hand-reposition" and t < 50:
                action[18] = -1.0  # down onto the table
            obs = robot.step(action)[0]
            assert obs in robot.observation_space
            robot._mujoco.mj_energyVel(robot.model, robot.data)
            assert robot.data.energy[1] < ENERGY[name]


def test_success_examples_are_settled(name, robot):
    """They stay as they are if nothing is done for half a second, and nothing is inside anything else.

    The ant's are as in the release: it is on its way, so only the latter holds.
    """
    for _ in robot._successes(10, np.random.default_rng(3)):
        assert robot.data.contact.dist.min(initial=0.0) > -0.003
        CHECKS[name](robot)
        if name == "ant-maze":
            continue
        before = robot.observe()
        robot._simulate(125)
        np.testing.assert_allclose(robot.observe(), before, atol=0.003)  # metres and radians
        assert np.abs(robot.distance(robot.observe()) - robot.distance(before)) < 5e-4


def test_examples_that_cannot_be_made_are_an_error(robot, monkeypatch):
    monkeypatch.setattr(robot, "_succeed", lambda rng: robot._reset())
    before = robot.get_physics()
    with pytest.raises(PhysicsError, match="of 20 tries to make an example, 0 were successes"):
        robot._make_examples(2, np.random.default_rng(0))
    np.testing.assert_array_equal(robot.get_physics(), before)


def test_a_window_is_gone_when_close_returns_and_changes_nothing(name, robot, monkeypatch):
    """With a stand-in for MuJoCo's viewer, whose thread also outlives its `close` by a moment."""
    opened = []

    def launch_passive(model, data, **_):
        robot._mujoco.mj_forward(model, data)  # as the viewer does
        told = threading.Event()
        thread = threading.Thread(target=lambda: (told.wait(), time.sleep(0.05)), daemon=True)
        thread.start()
        opened.append(thread)
        return types.SimpleNamespace(cam=types.SimpleNamespace(), sync=lambda: None, close=told.set)

    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(robot._mujoco, "viewer", types.SimpleNamespace(launch_passive=launch_passive), raising=False)
    shown = make(name, render_mode="human")
    observations = [shown.reset(seed=0)[0], *(shown.step(shown.scripted_action())[0] for _ in range(2))]
    plain = [robot.reset(seed=0)[0], *(robot.step(robot.scripted_action())[0] for _ in range(2))]
    assert np.array(observations).tobytes() == np.array(plain).tobytes()
    assert opened[0].is_alive()
    shown.close()
    assert not opened[0].is_alive()
    shown.reset()
    shown.close()
    assert [thread.is_alive() for thread in opened] == [False, False]
