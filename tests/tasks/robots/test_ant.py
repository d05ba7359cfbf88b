"""The ant maze: its metric, its physics, its gait; and the MuJoCo plumbing that it stands on."""

import copy
import math
import pickle
import sys
from importlib.util import find_spec
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from mural.tasks import DisplayError, MissingExtraError
from mural.tasks.robots.ant import AntMaze
from mural.tasks.robots.ant_gait import HEADING, OPTIONS, Steering, gait, heading
from mural.tasks.robots.mujoco_base import PhysicsError, require_mujoco

pytestmark = pytest.mark.skipif(find_spec("mujoco") is None, reason="needs the robot extra")


@pytest.fixture(scope="module")
def ant():
    task = AntMaze()
    yield task
    task.close()


def xy_to_obs(xy) -> np.ndarray:
    xy = np.asarray(xy, dtype=float)
    return np.concatenate([xy, np.zeros((*xy.shape[:-1], 13))], axis=-1)


# The metric


def test_start_to_goal_is_25(ant):
    obs, info = ant.reset(seed=0)
    assert info["distance"] == float(ant.distance(obs)) == 25.0
    np.testing.assert_array_equal(info["xy"], [-5.5, 4.5])
    assert ant.distance(xy_to_obs(ant.goal)) == 0.0


def test_metric_agrees_with_dijkstra_on_a_grid(ant):
    """Paths along the axes around a wall whose corners are on the grid: Dijkstra is exact."""
    h = 0.25
    xs, ys = np.arange(-7.0, 7.0 + h / 2, h), np.arange(-5.5, 5.5 + h / 2, h)
    x, y = np.meshgrid(xs, ys, indexing="ij")
    free = ~((np.abs(x) < 1.25) & (y > -2.5))  # the wall reaches through the upper edge
    index = np.arange(x.size).reshape(x.shape)
    edges = []
    for a, b in ((np.s_[:-1, :], np.s_[1:, :]), (np.s_[:, :-1], np.s_[:, 1:])):
        open_ = free[a] & free[b]
        edges.append(np.stack([index[a][open_], index[b][open_]]))
    i, j = np.concatenate(edges, axis=1)
    graph = coo_array((np.full(len(i), h), (i, j)), shape=(x.size, x.size)).tocsr()
    goal = index[np.argmin(np.abs(xs - 5.5)), np.argmin(np.abs(ys - 4.5))]
    expected = dijkstra(graph, directed=False, indices=goal).reshape(x.shape)
    measured = ant.distance(xy_to_obs(np.stack([x, y], axis=-1)))
    np.testing.assert_allclose(measured[free], expected[free], atol=1e-9)


# The model


def test_the_robot_is_gymnasiums_with_weaker_motors(ant):
    model = ant.model
    assert (model.nq, model.nv, model.nu) == (15, 14, 8)
    np.testing.assert_array_equal(model.actuator_gear[:, 0], 30.0)
    assert ant.frame_skip * model.opt.timestep == pytest.approx(0.15)
    with gymnasium.make("Ant-v5") as other:
        theirs = other.unwrapped.model
        assert model.body_mass.sum() == pytest.approx(theirs.body_mass.sum())
        np.testing.assert_array_equal(model.jnt_range, theirs.jnt_range)


def test_it_starts_standing(ant):
    """Nothing is dropped and nothing sticks in the floor."""
    ant.reset(seed=0)
    height = ant.data.qpos[2]
    for _ in range(3):
        obs, *_ = ant.step(np.zeros(8))
    assert abs(obs[2] - height) < 0.03
    np.testing.assert_allclose(obs[:2], [-5.5, 4.5], atol=1e-3)


# Physics


def deepest(task) -> float:
    return float(task.data.contact.dist.min(initial=0.0))


@pytest.mark.parametrize("target", [(0.0, 4.5), (-9.0, 4.0), (-5.0, 9.0)], ids=["wall", "west", "north"])
def test_walls_hold_a_running_ant(ant, target):
    ant.reset(seed=0)
    steering = Steering([target])
    for _ in range(120):
        obs, *_ = ant.step(steering.act(ant.data.qpos[:7]))
        assert -7 < obs[0] < -1.25
        assert obs[1] < 5.5
        assert deepest(ant) > -0.02  # it hits them at up to 3 m/s


# The gait


def test_the_eight_copies_of_the_gait_walk_alike(ant):
    """Each copy's path is the first one's, turned and mirrored: so motors and legs are matched right."""
    ends = []
    for turn, mirror in OPTIONS:
        ant._place(-4.0, -1.0)
        for step in range(8):
            ant._advance(gait(step, turn, mirror))
        end = complex(*(ant.data.qpos[:2] - (-4.0, -1.0))) * (-1j) ** turn
        ends.append(end.conjugate() if mirror else end)
    np.testing.assert_allclose(ends, ends[0], atol=1e-4)
    assert heading(1, True) == pytest.approx(math.pi / 2 - HEADING)


@pytest.mark.parametrize("seed", range(3))
def test_the_scripted_ant_reaches_the_goal_after_ten_random_actions(ant, seed):
    ant.reset(seed=seed)
    rng = np.random.default_rng(seed)
    for t in range(ant.horizon):
        *_, info = ant.step(rng.uniform(-1, 1, 8) if t < 10 else ant.scripted_action())
    assert info["is_success"], info


# Examples


def test_examples_are_near_the_goal_and_out_of_the_walls(ant):
    examples = ant.success_examples(60, seed=4)
    xy = examples[:, :2] - ant.goal
    assert (ant.distance(examples) < 5).all()
    assert (xy > [-1.6, -2.6]).all()  # the release's ranges, and what ten random actions add
    assert (xy < [1.1, 0.8]).all()
    assert (xy.std(axis=0) > 0.2).all()
    assert (examples[:, 7:].std(axis=0) > 0.05).all()


# Plumbing that all MuJoCo tasks share


def test_pickling_in_the_middle_of_an_episode_keeps_everything(ant):
    ant.reset(seed=0)
    for _ in range(20):
        ant.step(ant.scripted_action())
    twins = [pickle.loads(pickle.dumps(ant)), copy.deepcopy(ant)]
    for _ in range(20):
        expected, *_ = ant.step(ant.scripted_action())
        for twin in twins:
            assert twin.step(twin.scripted_action())[0].tobytes() == expected.tobytes()
    assert twins[0].np_random.random() == ant.np_random.random()


def test_returning_to_a_state_continues_bit_for_bit(ant):
    ant.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-1, 1, (30, 8))
    for action in actions[:10]:
        ant.step(action)
    state = ant.get_physics()
    first = [ant.step(action)[0].tobytes() for action in actions[10:]]
    ant.set_physics(state)
    assert [ant.step(action)[0].tobytes() for action in actions[10:]] == first


@pytest.mark.parametrize(("velocity", "kind"), [(np.nan, "QVEL"), (1e12, "mjWARN")])
def test_a_broken_simulation_says_so(velocity, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its warnings to a file where it is
    task = AntMaze()
    task.reset(seed=0)
    task.data.qvel[3] = velocity
    with pytest.raises(PhysicsError, match=kind):
        task.step(np.zeros(8))
    task.reset(seed=0)  # and a reset repairs it
    task.step(np.zeros(8))


def test_without_mujoco_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingExtraError, match=r"AntMaze needs .* pip install 'mural-rl\[robots\]'"):
        AntMaze()


def test_closing_frees_the_renderer_and_rendering_goes_on():
    task = AntMaze(render_mode="rgb_array")
    task.reset(seed=0)
    first = task.render()
    task.close()
    assert task._renderer is None
    np.testing.assert_array_equal(task.render(), first)
    task.close()
    task.close()


def test_a_back_end_that_cannot_draw_is_named(ant, monkeypatch):
    """The task `ant` is there so that mujoco has been imported already: only then is it too late to choose."""
    for name in ("MUJOCO_GL", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    task = AntMaze(render_mode="rgb_array")
    task.reset(seed=0)
    with pytest.raises(DisplayError, match="MUJOCO_GL=egl"):
        task.render()


def test_the_robots_file_is_not_copied():
    assert not list(Path(sys.modules["mural"].__path__[0]).rglob("*.xml"))


def test_a_drawing_library_that_is_not_there_is_named(monkeypatch):
    """OpenGL's own module then fails on an attribute while MuJoCo is imported."""

    class NoLibrary:
        @staticmethod
        def find_spec(name, *_):
            if name == "mujoco":
                raise AttributeError("'NoneType' object has no attribute 'glGetError'")

    monkeypatch.delitem(sys.modules, "mujoco", raising=False)
    monkeypatch.setattr(sys, "meta_path", [NoLibrary, *sys.meta_path])
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    with pytest.raises(MissingExtraError, match=r"MUJOCO_GL=osmesa here .* leave MUJOCO_GL unset"):
        require_mujoco("AntMaze")
