"""Geometry of the mazes: motion, walls, and shortest paths against two independent computations."""

import heapq
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from mural.tasks.mazes.layouts import ARENA, DOUBLE, SPIRAL, STEP, ZIGZAG, MazeLayout
from mural.tasks.mazes.paths import ShortestPaths
from mural.tasks.mazes.shuffled import CELLS, SIDE, ShuffledGrid

LAYOUTS = [ZIGZAG, SPIRAL, DOUBLE]
each_layout = pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
layouts = st.sampled_from(LAYOUTS)
coordinate = st.floats(-4.0, 4.0)
points = st.tuples(coordinate, coordinate)
actions = st.tuples(st.floats(-1.5, 1.5), st.floats(-1.5, 1.5))

# The walls once more, from the table of the release: inflated by 0.15, as x0, y0, x1, y1.
THIRD = 4 / 3
BLOCKED = {
    "zigzag": [(-THIRD - 0.15, -9, -THIRD + 0.15, 2.15), (THIRD - 0.15, -2.15, THIRD + 0.15, 9)],
    "spiral": [
        (-9, -2.15, 2.15, -1.85),
        (1.85, -2.15, 2.15, 2.15),
        (-2.15, 1.85, 2.15, 2.15),
        (-2.15, -0.15, -1.85, 2.15),
        (-2.15, -0.15, 0.15, 0.15),
    ],
    "double": [
        (-2.55, -3.15, -2.25, 9),
        (-0.95, -9, -0.65, 3.15),
        (0.65, -3.15, 0.95, 9),
        (2.25, -9, 2.55, 3.15),
    ],
}


def blocked(layout: MazeLayout, xy: np.ndarray, shrink: float = 0.0) -> np.ndarray:
    x, y = xy[..., 0], xy[..., 1]
    hit = np.zeros(x.shape, dtype=bool)
    for x0, y0, x1, y1 in BLOCKED[layout.name]:
        hit |= (x > x0 + shrink) & (x < x1 - shrink) & (y > y0 + shrink) & (y < y1 - shrink)
    return hit


def free_points(layout: MazeLayout, n: int, seed: int = 0) -> np.ndarray:
    xy = np.random.default_rng(seed).uniform(-4, 4, (4 * n, 2))
    return xy[~blocked(layout, xy)][:n]


# Walls and motion


@each_layout
def test_walls_are_where_the_release_has_them(layout):
    xy = np.random.default_rng(0).uniform(-4, 4, (20_000, 2))
    np.testing.assert_array_equal(layout.is_free(xy), ~blocked(layout, xy))
    assert layout.is_free(layout.start)
    assert layout.is_free(layout.goal)
    assert not layout.is_free([4.001, 0.0])
    thickness = np.minimum(layout.walls[:, 2] - layout.walls[:, 0], layout.walls[:, 3] - layout.walls[:, 1])
    np.testing.assert_allclose(thickness, 0.3)


def test_move_in_the_open_is_half_the_action():
    np.testing.assert_array_equal(ZIGZAG.move([-3.0, -3.0], [1.0, -0.5]), [-2.5, -3.25])


def test_actions_are_clipped_and_the_arena_confines():
    np.testing.assert_array_equal(ZIGZAG.move([-3.0, -3.0], [9.0, 0.0]), [-2.5, -3.0])
    np.testing.assert_array_equal(ZIGZAG.move([-3.9, -3.0], [-1.0, 0.0]), [-4.0, -3.0])


def test_a_wall_stops_at_its_face_and_lets_slide():
    face = ZIGZAG.walls[0, 0]
    np.testing.assert_array_equal(ZIGZAG.move([face - 0.2, 0.0], [1.0, 1.0]), [face, 0.5])
    # From the other side, and along the arena's edge, where the wall must not leave a gap.
    assert ZIGZAG.move([ZIGZAG.walls[0, 2] + 0.01, -4.0], [-1.0, -1.0])[0] == ZIGZAG.walls[0, 2]


@settings(max_examples=300, deadline=None)
@given(layouts, points, st.lists(actions, min_size=1, max_size=5))
def test_scalar_and_batched_paths_agree_bit_for_bit(layout, point, moves):
    xy = np.array([point])
    for ax, ay in moves:
        point = layout.move_point(*point, ax, ay)
        xy = layout.move(xy, [[ax, ay]])
        assert np.array(point).tobytes() == xy[0].tobytes()
        assert layout.paths.distance_point(*point) == layout.distance(xy)[0]


@settings(max_examples=300, deadline=None)
@given(layouts, st.integers(0, 10_000), actions)
def test_nothing_tunnels(layout, seed, action):
    """The maze distance changes by no more than the way travelled: through a wall it would jump."""
    here = free_points(layout, 16, seed)
    there = layout.move(here, action)
    assert not blocked(layout, there, shrink=1e-12).any()
    way = STEP * np.abs(np.clip(action, -1, 1)).sum()
    assert (np.abs(layout.distance(here) - layout.distance(there)) <= way + 1e-5).all()


def test_a_long_random_walk_stays_free():
    rng = np.random.default_rng(0)
    for layout in LAYOUTS:
        xy = np.tile(layout.start, (500, 1))
        for _ in range(200):
            xy = layout.move(xy, rng.choice([-1.0, -0.3, 0.7, 1.0], (500, 2)))
            assert layout.is_free(xy).all()


def test_move_broadcasts_and_leaves_its_arguments_alone():
    xy = np.zeros((2, 3, 2))
    assert DOUBLE.move(xy, np.ones(2)).shape == (2, 3, 2)
    assert DOUBLE.move(xy, np.ones(2)).flags.writeable
    assert not xy.any()


# Shortest paths


def taut_string(layout: MazeLayout, origin: tuple[float, float]) -> float:
    """The shortest path by Dijkstra over wall corners; a line is clear if none of its samples is blocked."""
    nodes = [origin, layout.goal]
    nodes += [(x, y) for x0, y0, x1, y1 in BLOCKED[layout.name] for x in (x0, x1) for y in (y0, y1)]
    nodes = [p for p in nodes if max(map(abs, p)) <= 4 and not blocked(layout, np.array(p), 1e-9)]

    def clear(a, b):
        n = int(math.dist(a, b) / 0.002) + 2
        return not blocked(layout, np.linspace(a, b, n), shrink=1e-6).any()

    best, queue = {0: 0.0}, [(0.0, 0)]
    while queue:
        length, i = heapq.heappop(queue)
        if nodes[i] == layout.goal:
            return length
        for j, node in enumerate(nodes):
            further = length + math.dist(nodes[i], node)
            if further < best.get(j, math.inf) and clear(nodes[i], node):
                best[j] = further
                heapq.heappush(queue, (further, j))
    return math.inf


@each_layout
def test_distance_is_the_taut_string(layout):
    origins = [layout.start, *map(tuple, free_points(layout, 12, seed=3).tolist())]
    for origin in origins:
        assert layout.distance(origin) == pytest.approx(taut_string(layout, origin), abs=2e-5)


@each_layout
def test_distance_agrees_with_a_fine_grid(layout):
    """With 16 directions, paths on a grid are longer than the truth by at most 2.8 %, and a bit at walls."""
    step, n = 0.05, 161
    axis = np.linspace(-4, 4, n)
    xy = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1)
    ok = ~blocked(layout, xy, shrink=1e-9)  # some nodes are on a wall's face, but for rounding
    index = np.arange(n * n).reshape(n, n)
    rows, columns, lengths = [], [], []
    for di, dj in [(1, 0), (0, 1), (1, 1), (1, -1), (1, 2), (2, 1), (1, -2), (2, -1)]:
        a = index[max(-di, 0) : n - max(di, 0), max(-dj, 0) : n - max(dj, 0)].ravel()
        b = a + di * n + dj
        along = np.linspace(xy.reshape(-1, 2)[a], xy.reshape(-1, 2)[b], 9)
        keep = ~blocked(layout, along, shrink=1e-9).any(axis=0)  # long moves must not cut corners
        rows.append(a[keep])
        columns.append(b[keep])
        lengths.append(np.full(keep.sum(), step * math.hypot(di, dj)))
    graph = coo_array((np.concatenate(lengths), (np.concatenate(rows), np.concatenate(columns))), shape=(n * n,) * 2)
    goal = index[round((layout.goal[0] + 4) / step), round((layout.goal[1] + 4) / step)]
    grid = dijkstra(graph.tocsr(), directed=False, indices=goal).reshape(n, n)
    exact = layout.distance(xy)
    assert np.isinf(exact[~ok]).all()
    assert (grid[ok] >= exact[ok] - 1e-6).all()
    assert (grid[ok] <= 1.028 * exact[ok] + 0.3).all()


def test_known_lengths():
    legs = [(-3, -3), (-THIRD - 0.15, 2.15), (-THIRD + 0.15, 2.15)]
    half = math.dist(legs[0], legs[1]) + 0.3 + math.dist(legs[2], (0, 0))
    assert ZIGZAG.distance(ZIGZAG.start) == pytest.approx(2 * half, abs=1e-9)
    assert ZIGZAG.distance([3.0, 2.0]) == 1.0
    assert SPIRAL.distance(SPIRAL.goal) == 0.0
    # Across the inner wall: 1.6 away as the crow flies, and not near.
    assert SPIRAL.distance([-2.1 - 0.05, 1.25]) > 5


@settings(max_examples=200, deadline=None)
@given(layouts, points, points)
def test_distance_is_a_metric(layout, a, b):
    da, db = layout.distance(np.array([a, b]))
    if np.isfinite(da) and np.isfinite(db):
        assert da >= math.dist(a, layout.goal) - 1e-9
        middle = np.linspace(a, b, 200)
        if not blocked(layout, middle, shrink=-0.02).any():  # in sight of each other
            assert abs(da - db) <= math.dist(a, b) + 1e-5


@each_layout
def test_scalar_and_batched_distances_agree_at_many_places(layout):
    xy = np.random.default_rng(1).uniform(-4.1, 4.1, (2000, 2))
    assert [layout.paths.distance_point(x, y) for x, y in xy.tolist()] == layout.distance(xy).tolist()


@each_layout
def test_distance_survives_float32_at_every_face(layout):
    for x0, y0, x1, y1 in layout.walls:
        faces = np.array([[x0, (y0 + y1) / 2], [x1, (y0 + y1) / 2], [(x0 + x1) / 2, y0], [(x0 + x1) / 2, y1]])
        faces = faces[layout.is_free(faces)]
        assert len(faces)
        np.testing.assert_allclose(layout.distance(faces.astype(np.float32)), layout.distance(faces), atol=1e-5)


def test_distance_keeps_leading_dimensions_and_handles_none():
    assert ZIGZAG.distance(np.zeros((4, 3, 2))).shape == (4, 3)
    assert ZIGZAG.distance(np.zeros((0, 2))).shape == (0,)


def test_a_goal_behind_a_closed_wall_is_infinitely_far():
    paths = ShortestPaths([(-0.1, -9, 0.1, 9)], ARENA, (2.0, 0.0))
    assert paths.distance([[-2.0, 0.0], [1.0, 0.0]]).tolist() == [math.inf, 1.0]


def test_the_shorter_way_around_islands_is_taken():
    paths = ShortestPaths([(-1, -1, 1, 1)], ARENA, (3.0, 0.0))
    around = [math.dist((-3, 0.5), (-1, y)) + 2 + math.dist((1, y), (3, 0)) for y in (1, -1)]
    assert paths.distance([-3.0, 0.5]) == pytest.approx(min(around), abs=1e-5)
    crowded = ShortestPaths([(-1, -1, 1, 1), (-2.5, -3, -2, 0.5), (1.5, -0.2, 2, 3.5)], ARENA, (3.0, 1.0))
    xy = np.random.default_rng(0).uniform(-4, 4, (2000, 2))
    assert [crowded.distance_point(x, y) for x, y in xy.tolist()] == crowded.distance(xy).tolist()


def test_layouts_pickle():
    assert pickle.loads(pickle.dumps(SPIRAL)) == SPIRAL


# The shuffled grid


def test_grid_moves_one_cell_and_stops_at_walls():
    grid = ShuffledGrid(ZIGZAG)
    start = int(grid.cell_at(ZIGZAG.start))
    np.testing.assert_array_equal(grid.centres[start], [-2.75, -2.75])
    assert grid.move(start, [0.5, 0.0]) == start + 1
    assert grid.move(start, [0.49, -0.49]) == start
    assert grid.move(start, [-1.0, 1.0]) == start - 1 + SIDE
    beside_wall = int(grid.cell_at([-1.75, 0.0]))
    assert grid.move(beside_wall, [1.0, 1.0]) == beside_wall + SIDE
    assert grid.free.sum() == CELLS - 24
    assert grid.free[grid.next[grid.free]].all()


def test_grid_labels_are_a_permutation_of_all_cells():
    first, again, other = ShuffledGrid(ZIGZAG, 1), ShuffledGrid(ZIGZAG, 1), ShuffledGrid(ZIGZAG, 2)
    assert sorted(first.label) == list(range(CELLS))
    np.testing.assert_array_equal(first.label, again.label)
    assert (first.label != other.label).any()
    np.testing.assert_array_equal(first.unlabel[first.label], np.arange(CELLS))
    # Relabelling rows and columns only would keep cells of a row in a row; this does not.
    assert len(set(first.label[:SIDE] // SIDE)) > 4


def test_every_free_cell_can_reach_the_goal():
    grid = ShuffledGrid(ZIGZAG)
    assert np.isfinite(grid.moves_to_go[grid.free]).all()
    assert grid.moves_to_go[grid.cell_at(ZIGZAG.start)] == 31
