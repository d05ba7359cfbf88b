"""Pictures and films of runs: there, not blank, the right way up, and of no consequence for the run."""

import importlib.util

import gymnasium
import jax
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from PIL import Image

import mural
from mural.rewards import NotOfStatesError
from mural.show import pictures, snapshots, video
from mural.show.axes import furnish
from mural.show.pictures import (
    RESOLUTION,
    example_places,
    final_picture,
    plane_of,
    reward_map,
    run_map,
    run_picture,
    trajectory,
)
from mural.show.snapshots import MOMENTS, between
from mural.show.video import VideoError, record
from mural.tasks import Plane, make
from mural.tasks.plane import columns
from mural.training.run import Run

TINY = {
    "loop.epoch_steps": 100, "loop.random_steps": 100, "loop.replay_size": 1000, "sac.hidden": [8],
    "sac.batch_size": 8, "watch.picture_every": 0,
}  # fmt: skip


def explored(task, method="vice", examples=None, epochs=1, **more):
    """An agent after epochs of random actions: nothing is learned, so hardly anything is compiled."""
    hidden = {"reward.classifier.hidden": [8]} if method == "vice" else {}
    config = {**TINY, "loop.random_steps": 100 * epochs, **hidden, **more}
    agent = mural.Agent(task, examples, method=method, config=config, check=False)
    for _ in range(epochs):
        agent.run.advance()
    return agent


@pytest.fixture(scope="module")
def zigzag():
    agent = explored("zigzag-maze")
    agent.run.random_epochs = 0  # its classifier, untrained as it is, counts as learned
    return agent


def test_a_picture_has_what_was_written(zigzag, tmp_path):
    path = tmp_path / "new" / "p.png"
    image = run_picture(zigzag.run, path)
    assert image.dtype == np.uint8
    assert (imread(path)[..., :3] * 255).round().astype(np.uint8).tolist() == image.tolist()
    assert len(np.unique(image.reshape(-1, 3), axis=0)) > 100
    assert [p.name for p in path.parent.iterdir()] == ["p.png"]
    wider = final_picture(zigzag.run, tmp_path / "f.png")
    assert wider.shape[1] > 1.3 * image.shape[1]


def test_the_map_is_the_learned_reward_with_x_first(zigzag):
    plane = plane_of(zigzag.run)
    values = reward_map(zigzag.run, plane)
    i, j = 50, 7
    at = plane.low + (np.array([i, j]) + 0.5) / len(values) * np.subtract(plane.high, plane.low)
    assert values[i, j] == pytest.approx(float(zigzag.reward(at[None])[0]), abs=1e-6)


def test_maps_are_the_right_way_up(zigzag, tmp_path, monkeypatch):
    monkeypatch.setattr(zigzag.run, "reward_of", lambda states, xy: (states[:, 0] > 0) * 1.0)  # 1 on the right
    image = run_picture(zigzag.run, tmp_path / "p.png").astype(int)
    row, half = image[image.shape[0] // 2], image.shape[1] // 2
    left, right = row[half // 4], row[half * 3 // 4]
    assert right[0] - right[2] > 100  # yellow
    assert left[2] > left[0]  # blue


def test_a_path_starts_at_the_start(zigzag):
    places, success = trajectory(zigzag.run, plane_of(zigzag.run))
    np.testing.assert_allclose(places[0], [-3, -3])
    assert places.shape == (101, 2)
    assert success is False


def test_a_map_keeps_what_a_picture_shows(zigzag):
    kept, plane = run_map(zigzag.run), plane_of(zigzag.run)
    np.testing.assert_allclose(kept.reward, reward_map(zigzag.run, plane), atol=1e-3)
    assert kept.visits.tolist() == zigzag.run.diagnostics.visits.tolist()
    np.testing.assert_allclose(kept.path, trajectory(zigzag.run, plane)[0])
    assert (kept.step, kept.epoch, len(kept.walls), kept.start.tolist()) == (100, 1, 2, list(plane.start))
    assert 15 <= len(kept.examples) <= 30
    told = run_map(explored("zigzag-maze", method="sac").run)
    assert told.reward.shape == (0, 0)
    assert run_map(explored("Pendulum-v1", method="sac").run) is None


@pytest.mark.parametrize("epochs", [1, 7, 30, 31, 100, 5000])
def test_maps_are_few_however_long_a_run_is(epochs):
    kept = epochs // between(1000 * epochs, 1000)
    assert min(epochs, MOMENTS // 2) <= kept <= MOMENTS


def test_the_last_epoch_has_a_picture_and_a_map(tmp_path, monkeypatch):
    monkeypatch.setattr(snapshots, "MOMENTS", 2)
    more = {"loop.random_steps": 500, "watch.picture_every": 5, "watch.eval_every": 50}
    agent = mural.Agent("zigzag-maze", method="sac", run_dir=tmp_path / "r", config={**TINY, **more}, check=False)
    agent.learn(500, progress=False)
    assert sorted(path.name for path in (tmp_path / "r" / "maps").iterdir()) == ["0000000300.npz", "0000000500.npz"]
    assert [path.name for path in (tmp_path / "r" / "pictures").iterdir()] == ["0000000500.png"]


def test_pictures_change_nothing(tmp_path):
    with_picture, without = (explored("zigzag-maze", method="sac", epochs=1) for _ in range(2))
    run_picture(with_picture.run, tmp_path / "p.png")
    run_map(with_picture.run)
    for agent in (with_picture, without):
        agent.run.random_epochs = 2
    assert with_picture.run.advance() == without.run.advance()


def test_told_rewards_have_no_map_and_states_without_a_plane_no_picture(tmp_path):
    visits = run_picture(explored("zigzag-maze", method="sac").run, tmp_path / "p.png")
    assert visits.shape[1] < 1.2 * visits.shape[0]
    assert run_picture(explored("Pendulum-v1", method="sac").run, tmp_path / "none.png") is None
    assert not (tmp_path / "none.png").exists()


def test_rewards_that_states_alone_do_not_have(tmp_path):
    """Counts are those of the place, which the shuffled maze's states are not; curiosity is about transitions."""
    small = {"reward.classifier.hidden": [8], "reward.classifier_scale": 0.0}
    shuffled = explored("shuffled-maze", method="vice-count", **small)
    shuffled.run._learn_reward(jax.random.key(0))
    with pytest.raises(NotOfStatesError, match="places"):
        shuffled.run.reward_of(np.zeros((1, 2), np.float32))
    plane = plane_of(shuffled.run)
    values = reward_map(shuffled.run, plane)
    quarter = RESOLUTION // 4  # the start is at the lower left, where all hundred steps were
    assert values[:quarter, :quarter].mean() < 1
    np.testing.assert_allclose(values[-quarter:, -quarter:], 1, rtol=1e-6)
    explored("zigzag-maze", method="vice-count", **small).run.reward_of(np.zeros((1, 2), np.float32))
    curious = explored("zigzag-maze", method="icm")
    with pytest.raises(NotOfStatesError, match="action and next_obs and obs"):
        curious.run.reward_of(np.zeros((1, 2), np.float32))
    curious.run.random_epochs = shuffled.run.random_epochs = 0
    one, two = (run_picture(agent.run, tmp_path / "p.png").shape for agent in (curious, shuffled))
    assert one[1] < 1.2 * one[0]
    assert two[1] > 1.7 * two[0]


def test_shuffled_cells_are_drawn_where_they_are():
    run = explored("shuffled-maze").run
    assert np.linalg.norm(example_places(run, plane_of(run)) - [3, 3], axis=1).max() < 0.5
    places, _ = trajectory(run, plane_of(run))
    assert np.linalg.norm(places[0] - [-3, -3]) < 0.5


class Rescaled(gymnasium.ObservationWrapper):
    """Observations in other units than those of the task."""

    def __init__(self):
        super().__init__(make("zigzag-maze"))
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,))

    def observation(self, observation):
        return (observation / 4).astype(np.float32)


def test_a_plane_holds_for_the_observations_of_its_task_alone():
    examples = np.full((3, 2), 0.75, np.float32)
    plane = plane_of(explored(Rescaled(), examples=examples).run)
    assert (plane.low, plane.high, plane.walls) == ((-1.0, -1.0), (1.0, 1.0), ())


class Corridor(gymnasium.Env):
    """An environment of somebody else's, three numbers long, with a plane of its own."""

    observation_space = gymnasium.spaces.Box(-9, 9, (3,))
    action_space = gymnasium.spaces.Box(-1, 1, (1,))
    horizon = 5
    plane = Plane((0.0, 0.0), (2.0, 4.0), ("east", "north"), places=columns(2, 0), walls=((0.5, 0.5, 1.0, 1.0),))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.array([3, 0, 1], np.float32), {"xy": np.array([1.0, 3.0])}

    def step(self, action):
        return np.array([2, 0, 1], np.float32), 0.0, False, False, {"xy": np.array([1.0, 2.0])}


def test_environments_may_declare_a_plane(tmp_path):
    run = explored(Corridor(), examples=np.array([[1.0, 5.0, 0.5]], np.float32)).run
    plane = plane_of(run)
    assert plane is Corridor.plane
    np.testing.assert_array_equal(example_places(run, plane), [[0.5, 1.0]])
    np.testing.assert_array_equal(trajectory(run, plane)[0][:2], [[1, 3], [1, 2]])
    assert run_picture(run, tmp_path / "p.png") is not None
    seen = explored(Corridor(), examples=np.array([[0.5]], np.float32), classifier_slice="2:3").run
    assert len(example_places(seen, plane)) == 0  # north is not among what these examples say


def test_every_picture_has_walls_examples_start_and_axes():
    ax = Figure().subplots()
    furnish(ax, Plane((0, 0), (2, 4), ("east", "north"), walls=((0.5, 1, 1, 3),), start=(1, 1)), "t", np.ones((50, 2)))
    (wall,) = ax.patches
    assert (*wall.get_xy(), wall.get_width(), wall.get_height()) == (0.5, 1, 0.5, 2)
    assert len(ax.collections[0].get_offsets()) == 25
    assert ax.lines[0].get_xydata().tolist() == [[1, 1]]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xlim(), ax.get_aspect()) == ("east", "north", (0, 2), 1.0)


def test_other_peoples_planes(tmp_path):
    examples = np.array([[0.5, 0.02], [0.5, 0.03]], np.float32)
    agent = explored("MountainCarContinuous-v0", examples=examples)
    assert run_picture(agent.run, tmp_path / "p.png") is not None
    plane = plane_of(agent.run)
    np.testing.assert_array_equal(example_places(agent.run, plane), examples)
    assert plane.axes == ("observation[0]", "observation[1]")
    assert not plane.to_scale


def test_a_full_disk_leaves_the_old_picture(zigzag, tmp_path, monkeypatch):
    path = tmp_path / "p.png"
    path.write_bytes(b"old")

    def full(path, *_, **__):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pictures, "imsave", full)
    with pytest.raises(OSError, match="No space"):
        run_picture(zigzag.run, path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"p.png": b"old"}


def test_a_film_has_all_frames(zigzag, tmp_path, monkeypatch):
    heard = []
    monkeypatch.setattr(Run, "longest", 12)  # episodes are cut after so many steps
    with Image.open(record(zigzag.run, tmp_path / "new" / "v.gif", 2, heard.append)) as film:
        assert 13 <= film.n_frames <= 26  # PIL joins frames that are equal
        assert film.info["duration"] >= 100
    assert heard == [1, 2]
    mp4 = record(zigzag.run, tmp_path / "v.mp4", 1)
    assert mp4.read_bytes()[4:8] == b"ftyp"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new", "v.mp4"]


def test_films_that_cannot_be(zigzag, tmp_path, monkeypatch):
    with pytest.raises(VideoError, match=r"\.mp4 or a \.gif"):
        record(zigzag.run, tmp_path / "v.avi")
    with pytest.raises(VideoError, match="at least one"):
        record(zigzag.run, tmp_path / "v.gif", 0)
    found = importlib.util.find_spec
    monkeypatch.setattr(video.importlib.util, "find_spec", lambda name: None if "ffmpeg" in name else found(name))
    with pytest.raises(VideoError, match=r"pip install 'imageio\[ffmpeg\]'"):
        record(zigzag.run, tmp_path / "v.mp4", 1)
    assert list(tmp_path.iterdir()) == []


class Blind(gymnasium.Env):
    """An environment without pictures."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Box(-1, 1, (1,))
    horizon = 5

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.zeros(2, np.float32), 0.0, False, False, {}


def test_environments_that_cannot_be_filmed(tmp_path):
    with pytest.raises(VideoError, match="register it"):
        record(mural.Agent(Blind(), method="sac", config=TINY, check=False).run, tmp_path / "v.gif")
    gymnasium.register("Blind-v0", lambda: Blind(), max_episode_steps=5)
    try:
        with pytest.raises(VideoError, match="cannot render"):
            record(mural.Agent("Blind-v0", method="sac", config=TINY, check=False).run, tmp_path / "v.gif")
    finally:
        gymnasium.registry.pop("Blind-v0")
