"""The shuffled maze's dynamics: a maze cut into cells, and a permutation that hides where each cell is.

A cell is one number, row * 16 + column. Moves are a table look-up, so batched stepping is an indexing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mural.cells import cells
from mural.tasks.base import Floats
from mural.tasks.mazes.layouts import ARENA, THRESHOLD, MazeLayout
from mural.tasks.mazes.paths import Bools

Ints = NDArray[np.int64]

SIDE = 16  # paper A.5: a 16 × 16 grid
CELLS = SIDE * SIDE
CELL = (ARENA[2] - ARENA[0]) / SIDE  # 0.5, just the length of a full step in the continuous maze


@dataclass(frozen=True)
class ShuffledGrid:
    """`layout` cut into cells that are relabelled by a permutation of all of them."""

    layout: MazeLayout
    permutation_seed: int = 0

    @cached_property
    def centres(self) -> Floats:
        """Centre of each cell, [256, 2]."""
        axis = ARENA[0] + CELL * (np.arange(SIDE) + 0.5)
        return np.stack(np.meshgrid(axis, axis), axis=-1).reshape(CELLS, 2)

    @cached_property
    def label(self) -> Ints:
        """The cell that each cell is shown as: a seeded permutation, walls included."""
        return np.random.default_rng(self.permutation_seed).permutation(CELLS)

    @cached_property
    def unlabel(self) -> Ints:
        """The inverse of `label`."""
        return np.argsort(self.label)

    @cached_property
    def free(self) -> Bools:
        """Whether the agent can be in each cell: the centre is not inside a wall."""
        return self.layout.is_free(self.centres)

    @cached_property
    def distance(self) -> Floats:
        """Maze distance from the centre of each cell to the goal, inf in walls."""
        return self.layout.distance(self.centres)

    @cached_property
    def next(self) -> Ints:
        """Cell after a move by (-1, 0, 1) columns and rows, [256, 3, 3]: along x, then y, each if free."""
        column, row = np.arange(CELLS) % SIDE, np.arange(CELLS) // SIDE
        table = np.empty((CELLS, 3, 3), dtype=np.int64)
        for i in range(3):
            aside = row * SIDE + np.clip(column + i - 1, 0, SIDE - 1)
            x_moved = np.where(self.free[aside], aside, np.arange(CELLS))
            for j in range(3):
                above = np.clip(row + j - 1, 0, SIDE - 1) * SIDE + x_moved % SIDE
                table[:, i, j] = np.where(self.free[above], above, x_moved)
        return table

    def cell_at(self, xy: ArrayLike) -> Ints:
        """The cell that each xy [..., 2] is in; the edges belong to the cell above and to the right."""
        column_row = cells(np.asarray(xy, dtype=np.float64), ARENA[0], ARENA[2], SIDE)
        cell: Ints = column_row[..., 1] * SIDE + column_row[..., 0]
        return cell

    def move(self, cell: ArrayLike, action: ArrayLike) -> Ints:
        """Cells [...] one step after actions [..., 2]: half a full action or more goes one cell that way."""
        act = np.asarray(action, dtype=np.float64)
        way = 1 + (act >= 0.5).astype(np.int64) - (act <= -0.5).astype(np.int64)
        moved: Ints = self.next[np.asarray(cell), way[..., 0], way[..., 1]]
        return moved

    @cached_property
    def moves_to_go(self) -> Floats:
        """Fewest moves from each cell to one in which the task is done; inf inside walls."""
        steps = np.where(self.distance < THRESHOLD, 0.0, np.inf)
        while True:
            better = np.minimum(steps, 1.0 + steps[self.next].min(axis=(1, 2)))
            better[~self.free] = np.inf
            if np.array_equal(better, steps):
                return steps
            steps = better
