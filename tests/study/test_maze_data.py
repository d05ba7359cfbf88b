"""The data set of the figures: reproducible, half explored, and binned without losing a point."""

import numpy as np

from mural.study.maze_data import MAZE_GRID, free_cells, zigzag_data
from mural.tasks.mazes.layouts import ZIGZAG


def test_same_seed_same_data_other_seed_other_data():
    a, b, c = zigzag_data(0), zigzag_data(0), zigzag_data(1)
    np.testing.assert_array_equal(a.x, b.x)
    assert (a.visits != c.visits).any()


def test_the_last_corridor_is_unseen_and_walls_are_respected():
    data = zigzag_data(3)
    assert ZIGZAG.is_free(data.visits).all()
    assert data.visits[:, 0].max() < 4 / 3
    assert data.visits[:, 0].max() > 0
    assert len(data.examples) == 150
    assert data.y.sum() == 150


def test_binning_keeps_every_count():
    data = zigzag_data(0)
    x, y, counts = data.binned()
    assert counts[y == 0].sum() == len(data.visits)
    assert counts[y == 1].sum() == len(data.examples)
    assert len(np.unique(np.column_stack([x, y]), axis=0)) == len(x)
    ideal = data.ideal()
    n = MAZE_GRID.counts(data.visits)
    unseen = MAZE_GRID.counts(data.x) == 0
    assert (ideal[unseen] == 0.5).all()
    rare = (n == 1) & (MAZE_GRID.counts(data.examples) == 0)
    assert rare.any()
    np.testing.assert_allclose(ideal[rare], 1 / 3)
    assert free_cells(MAZE_GRID, data)[n > 0].all()
