"""Planes of the tasks: their bounds hold, and places and observations belong together."""

import numpy as np
import pytest

from mural.tasks import TASKS, Plane, make
from mural.tasks.plane import columns


@pytest.fixture(params=TASKS, scope="module")
def task(request):
    task = make(request.param)
    yield task
    task.close()


def test_the_plane_holds_every_place_and_finds_it_in_the_observation(task):
    plane = task.plane
    obs, info = task.reset(seed=0)
    for _ in range(20):
        np.testing.assert_allclose(plane.places(obs[None])[0], info["xy"], atol=1e-9)
        assert (plane.low <= info["xy"]).all()
        assert (info["xy"] <= plane.high).all()
        obs, _, _, _, info = task.step(task.scripted_action())


def test_starts_are_where_episodes_start(task):
    if task.plane.start is not None:
        _, info = task.reset(seed=1)
        assert np.linalg.norm(info["xy"] - task.plane.start) < 0.5  # the shuffled maze's is the middle of a cell


def test_walls_are_where_nobody_is(task):
    for x0, y0, x1, y1 in task.plane.walls:
        _, info = task.reset(seed=0)
        assert not ((x0 < info["xy"][0] < x1) and (y0 < info["xy"][1] < y1))
    assert bool(task.plane.walls) == ("maze" in type(task).__name__.lower())


def test_the_shuffled_maze_goes_from_places_to_what_is_seen_and_back():
    task = make("shuffled-maze")
    places = task.plane.points(32)[task.layout.is_free(task.plane.points(32))]
    seen = task.plane.observations(places)
    assert np.linalg.norm(seen - places, axis=1).mean() > 1
    assert np.abs(task.plane.places(seen) - places).max() <= 0.25
    np.testing.assert_array_equal(task.plane.places(np.array([[np.nan, 1.0]])), [[np.nan, np.nan]])


def test_points_are_the_middles_of_cells():
    plane = Plane((0.0, -1.0), (4.0, 1.0))
    np.testing.assert_allclose(plane.points(2), [[1, -0.5], [1, 0.5], [3, -0.5], [3, 0.5]])
    assert plane.extent == (0.0, 4.0, -1.0, 1.0)
    np.testing.assert_array_equal(columns(2, 0)(np.array([[5, 6, 7]])), [[7, 5]])


@pytest.mark.parametrize("corners", [((0, 0), (1, 0)), ((0, 0), (1, np.inf)), ((0, 0, 0), (1, 1, 1))])
def test_planes_without_an_inside_are_refused(corners):
    with pytest.raises(ValueError, match="low below high"):
        Plane(*corners)
