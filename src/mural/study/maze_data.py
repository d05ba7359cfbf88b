"""The zigzag-maze data set of the classifier's figures and of the fidelity benchmark.

An agent that wanders at random around the start, then one that makes its way half through the maze: places seen often,
places seen a few times, and a last corridor, with the goal in it, that nobody has seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mural.nml.tabular import Grid
from mural.tasks import make
from mural.tasks.mazes.layouts import ZIGZAG

Floats = NDArray[np.float64]

HORIZON = 100
WAYPOINTS = ((-3.0, 2.9), (0.0, 2.9), (0.0, -1.0))  # through the first corridor, half down the second
MAZE_GRID = Grid(low=(-4.0, -4.0), high=(4.0, 4.0), cells=16)


@dataclass(frozen=True)
class MazeData:
    """Visited states (label 0) and success examples (label 1)."""

    visits: Floats
    examples: Floats

    @property
    def x(self) -> Floats:
        """All states."""
        return np.concatenate([self.visits, self.examples])

    @property
    def y(self) -> NDArray[np.int64]:
        """Their labels."""
        return np.repeat([0, 1], [len(self.visits), len(self.examples)])

    def binned(self, grid: Grid = MAZE_GRID) -> tuple[Floats, NDArray[np.int64], Floats]:
        """The same data moved to cell centres: one row per cell and label, with the count that it represents."""
        rows, labels, counts = [], [], []
        for label, states in enumerate((self.visits, self.examples)):
            count = grid.counts(states)
            rows.append(grid.centres()[count > 0])
            labels.append(np.full((count > 0).sum(), label))
            counts.append(count[count > 0])
        return np.concatenate(rows), np.concatenate(labels), np.concatenate(counts)

    def ideal(self, grid: Grid = MAZE_GRID) -> Floats:
        """The count-based CNML probability of each cell."""
        return grid.ideal(self.visits, self.examples)


@cache
def zigzag_data(seed: int = 0, *, random_episodes: int = 8, directed_episodes: int = 12) -> MazeData:
    """A random walk from the start, then a noisy one along the first half of the maze; examples at the goal."""
    rng = np.random.default_rng(seed)
    visits = []
    for episode in range(random_episodes + directed_episodes):
        xy, ahead = np.asarray([ZIGZAG.start], dtype=float), list(WAYPOINTS)
        for _ in range(HORIZON):
            action = rng.uniform(-1, 1, (1, 2))
            if episode >= random_episodes:
                to_waypoint = np.asarray(ahead[0]) - xy[0]
                if np.linalg.norm(to_waypoint) < 0.5 and len(ahead) > 1:
                    ahead.pop(0)
                action = np.clip(0.8 * action + 0.35 * np.clip(2 * to_waypoint, -1, 1), -1, 1)
            xy = ZIGZAG.move(xy, action)
            visits.append(xy[0])
    task = make("zigzag-maze")
    examples = task.success_examples(150, seed)
    task.close()
    data = MazeData(np.asarray(visits), np.asarray(examples))
    data.visits.flags.writeable = data.examples.flags.writeable = False  # kept for the next who asks
    return data


def free_cells(grid: Grid, data: MazeData) -> NDArray[np.bool_]:
    """Cells that an agent can be in: their centre is free, or somebody has been there."""
    return np.asarray(ZIGZAG.is_free(grid.centres()) | (grid.counts(data.visits) > 0))
