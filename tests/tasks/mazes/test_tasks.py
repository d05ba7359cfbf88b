"""What is particular to each maze task, the registry, and the pictures of mazes."""

import itertools
import sys
import types

import gymnasium
import numpy as np
import pytest
from matplotlib.image import imread

from mural.tasks import TASKS, MissingExtraError, UnknownTaskError, describe, find, make
from mural.tasks.mazes.layouts import ZIGZAG
from mural.tasks.mazes.picture import AGENT, DONE, FLOOR, WALL, maze_frame
from mural.tasks.mazes.tasks import HIDDEN_REWARDS
from mural.tasks.picture import scripted_picture


def pixel(frame: np.ndarray, x: float, y: float) -> tuple[int, ...]:
    """The colour at a place of the world: 512 pixels from -4.25 to 4.25."""
    column, row = int((x + 4.25) / 8.5 * 512), int((4.25 - y) / 8.5 * 512)
    return tuple(frame[row, column].tolist())


# Zigzag and spiral


@pytest.mark.parametrize(("name", "goal"), [("zigzag-maze", (3, 3)), ("spiral-maze", (-0.5, 1.25))])
def test_examples_lie_within_the_release_s_radius(name, goal):
    task = make(name)
    offsets = np.linalg.norm(task.success_examples(500) - goal, axis=-1)
    assert offsets.max() <= 0.05
    assert np.median(offsets) == pytest.approx(0.05 / np.sqrt(2), rel=0.1)  # uniform over the disc
    np.testing.assert_array_equal(task.reset()[0], [-3, -3])


def test_info_has_the_place_for_coverage():
    task = make("zigzag-maze")
    task.reset()
    obs, *_, info = task.step([1.0, 0.0])
    np.testing.assert_array_equal(info["xy"], obs)
    assert info["xy"] is not obs


@pytest.mark.parametrize("name", ["zigzag-maze", "spiral-maze", "double-maze"])
def test_the_scripted_controller_succeeds_from_everywhere(name):
    """Episodes start in one place, so the battery sees one path; from anywhere else it must work, too."""
    task = make(name)
    places = np.random.default_rng(0).uniform(-4, 4, (100, 2))
    for place in places[task.layout.is_free(places)]:
        task.reset()
        task._x, task._y = place.tolist()
        for _ in range(task.horizon):
            *_, info = task.step(task.scripted_action())
        assert info["is_success"], place


@pytest.mark.parametrize("name", [name for name, spec in TASKS.items() if not spec.robots])
def test_ten_thousand_random_steps(name):
    """Uniform, bang-bang and held actions; the robots have theirs with their physics."""
    task, rng, held = make(name), np.random.default_rng(0), np.zeros(2)
    for t in range(10_000):
        if t % task.horizon == 0:
            task.reset(seed=t)
        if t % 8 == 0:
            held = rng.choice([-1.0, 1.0], 2)
        action = (rng.uniform(-1, 1, 2), rng.choice([-1.0, 1.0], 2), held)[t // task.horizon % 3]
        obs, *_, info = task.step(action)
        assert obs in task.observation_space, obs
        assert task.layout.is_free(info["xy"])
        assert np.isfinite(info["distance"])


# Double maze


def stand(task, x, y):
    task.reset()
    task._x, task._y = x, y
    return task.step([0.0, 0.0])


def test_hidden_rewards_are_paid_near_each_of_the_five_places_and_nowhere_else():
    task = make("double-maze")
    places = [(2.75, 0.5), (2.75, -0.5), (3.75, 0.5), (3.75, -0.5), (3.25, 0.0)]
    assert sorted(HIDDEN_REWARDS) == sorted(places)
    rng = np.random.default_rng(0)
    for x, y in rng.uniform([2.3, -1.2], [4, 1.2], (300, 2)):
        if task.layout.is_free([x, y]):
            near = min(np.hypot(x - rx, y - ry) for rx, ry in places) < 0.3
            assert stand(task, x, y)[1] == float(near)
    assert all(stand(task, *place)[1] == 1.0 for place in places)
    assert not any(stand(task, x, y)[1] for x, y in rng.uniform(-4, [2.2, 4], (100, 2)))


def test_hidden_rewards_are_nearer_than_the_examples_and_no_success():
    task = make("double-maze")
    assert not any(stand(task, *place)[4]["is_success"] for place in HIDDEN_REWARDS)
    assert not any(stand(task, *example)[1] for example in task.success_examples(5))
    # Up the middle corridor, around x = 0.8 below, around x = 2.4 above, down: shorter than the way left.
    corners = [(0, 0), (0.65, -3.15), (0.95, -3.15), (2.25, 3.15), (2.55, 3.15), (2.75, 0.5)]
    way = sum(np.hypot(*np.subtract(a, b)) for a, b in itertools.pairwise(corners))
    assert way < task.reset()[1]["distance"]


# Shuffled maze


def test_the_mapping_is_shared_by_seed_and_differs_between_seeds():
    first, again, other = (make("shuffled-maze", permutation_seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.reset()[0], again.reset()[0])
    np.testing.assert_array_equal(first.success_examples(), again.success_examples())
    assert {tuple(e) for e in first.success_examples()} != {tuple(e) for e in other.success_examples()}
    # The training's seed has no part in it.
    np.testing.assert_array_equal(first.reset(seed=1)[0], again.reset(seed=2)[0])


def test_observations_are_cell_centres_unlike_the_true_place():
    task = make("shuffled-maze")
    task.reset()
    task.action_space.seed(0)
    jumps = []
    for _ in range(200):
        before = task.observe()
        obs, *_, info = task.step(task.action_space.sample())
        assert ((obs + 4.25) % 0.5 == 0).all()
        assert float(task.distance(obs)) == ZIGZAG.distance(info["xy"])
        if (obs != before).any():
            jumps.append(np.abs(obs - before).max())
    assert np.mean(np.array(jumps) > 0.5) > 0.8


def test_walls_are_infinitely_far_in_any_disguise():
    task = make("shuffled-maze")
    cell = task.grid.cell_at([-1.25, 0.0])
    assert task.distance(task.grid.centres[task.grid.label[cell]]) == np.inf


# Registry


def test_names_and_ids():
    assert len(TASKS) == 9
    for name, spec in TASKS.items():
        assert find(name) is find(spec.id) is spec
        assert spec.id in gymnasium.registry
        assert spec.id.startswith("mural/")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("zigzag", "zigzag-maze"),
        ("ant_maze", "ant-maze"),
        ("SawyerDoor-v0", "mural/SawyerDoor-v0"),
        ("push", "sawyer-push"),
        ("hand", "hand-reposition"),
    ],
)
def test_a_wrong_name_gets_the_nearest_right_one(wrong, right):
    with pytest.raises(UnknownTaskError, match=rf"no task '{wrong}'; did you mean '{right}'\? there are zigzag-maze, "):
        find(wrong)
    with pytest.raises(UnknownTaskError, match="no task 'xyz'; there are zigzag-maze, "):
        find("xyz")


def test_the_list_of_tasks_says_what_to_install(monkeypatch):
    rows = describe()
    assert [row["name"] for row in rows] == list(TASKS)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    for row in describe():
        assert bool(row["install"]) == find(row["name"]).robots


@pytest.mark.parametrize("missing", ["mujoco", "metaworld"])
@pytest.mark.parametrize("name", TASKS)
def test_what_to_install_is_said_and_mazes_need_nothing(name, missing, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)  # importing it now fails
    # The hand is on the Sawyer's arm; the ant comes with Gymnasium.
    if find(name).robots and not (name == "ant-maze" and missing == "metaworld"):
        with pytest.raises(MissingExtraError, match=r"pip install 'mural-rl\[robots\]'"):
            make(name)
    else:
        make(name).close()


# Pictures


def test_a_frame_shows_walls_goal_and_agent():
    frame = maze_frame(ZIGZAG, trail=[(-3.0, -3.0), (-3.0, 0.0)])
    assert frame.shape == (512, 512, 3)
    assert pixel(frame, -4 / 3, 0) == WALL
    assert pixel(frame, 4 / 3, 3.9) == WALL
    assert pixel(frame, 0, 0) == FLOOR
    assert pixel(frame, 3, 3.45) == DONE
    assert pixel(frame, -3, 0) == AGENT
    assert pixel(frame, -3, -1.5) not in (FLOOR, WALL)  # the trail


def test_the_frame_of_success_is_written(tmp_path):
    picture = imread(scripted_picture("zigzag-maze", tmp_path / "done.png"))
    assert picture.shape[:2] == (512, 512)
    beyond = 255 * picture[100:400, 370, :3]  # a column between the last wall and the goal
    assert (np.abs(beyond - FLOOR).max(axis=-1) > 50).any()  # the trail


def test_every_step_is_drawn_only_when_asked_for():
    plain, drawn = make("spiral-maze"), make("spiral-maze", render_mode="rgb_array")
    for task in (plain, drawn):
        task.reset()
        for _ in range(5):
            task.step([1.0, 0.0])
    assert len(plain._trail) == 1
    assert len(drawn._trail) == 6
    assert plain.render() is None


def test_the_window_shows_frames(monkeypatch):
    """With a stand-in for the display: what is drawn goes to the window, once per step, and it is closed."""
    shown = []
    window = types.SimpleNamespace(show=shown.append, close=lambda: shown.append("closed"))
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("mural.tasks.window.FrameWindow", lambda title, fps: window)
    task = make("zigzag-maze", render_mode="human")
    task.reset()
    task.step([1.0, 1.0])
    assert [frame.shape for frame in shown] == [(512, 512, 3)] * 2
    assert task.render() is None
    task.close()
    assert shown[-1] == "closed"


def test_a_back_end_without_windows_is_named(monkeypatch):
    from mural.tasks import DisplayError
    from mural.tasks.window import FrameWindow

    monkeypatch.setenv("MPLBACKEND", "agg")
    with pytest.raises(DisplayError, match="rgb_array"):
        FrameWindow("maze", 10)
