"""Cells of a grid: the same in NumPy and in compiled functions, whoever counts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mural.cells import cells
from mural.nml.tabular import Grid
from mural.rewards import grid
from mural.tasks.mazes.layouts import ZIGZAG
from mural.tasks.mazes.shuffled import ShuffledGrid


@pytest.mark.parametrize(("x", "cell"), [(0.0, 0), (0.99, 0), (1.0, 1), (3.99, 3), (4.0, 3), (-7.0, 0), (1e30, 3)])
def test_edges_belong_to_the_cell_above_and_the_outside_to_the_nearest(x, cell):
    place = np.array([[x, 0.5]])
    np.testing.assert_array_equal(cells(place, 0.0, 4.0, 4), [[cell, 0]])
    np.testing.assert_array_equal(jax.jit(lambda p: cells(p, 0.0, 4.0, 4))(place), [[cell, 0]])


def test_all_who_count_agree():
    places = np.random.default_rng(0).uniform(-5, 5, (200, 2)).astype(np.float32)
    column, row = cells(places, -4.0, 4.0, 16).T
    np.testing.assert_array_equal(Grid((-4.0, -4.0), (4.0, 4.0), 16).index(places), column * 16 + row)
    region = grid.box(None, 2, -4.0, 4.0, 0.0)
    np.testing.assert_array_equal(grid.cells(region, 16, jnp.asarray(places)), column * 16 + row)
    np.testing.assert_array_equal(ShuffledGrid(ZIGZAG).cell_at(places), row * 16 + column)
