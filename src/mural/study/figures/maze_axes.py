"""Drawing on the zigzag maze: reward maps with walls, visits and examples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mural.show.axes import draw_cells, furnish
from mural.study.maze_data import MazeData
from mural.tasks.mazes.tasks import ZigzagMaze

Floats = NDArray[np.float64]
PLANE = ZigzagMaze().plane
RESOLUTION = 96  # cells along an edge of a smooth reward map


def map_points() -> Floats:
    """The states at which a smooth reward map is evaluated [RESOLUTION², 2]."""
    return np.asarray(PLANE.points(RESOLUTION), np.float64)


def draw_map(ax: Any, reward: Floats, title: str, data: MazeData | None = None) -> Any:
    """A square map of rewards (x before y, as from `map_points` or `Grid.centres`) under the walls of the maze."""
    side = round(len(reward) ** 0.5)
    image = draw_cells(ax, reward.reshape(side, side), PLANE.extent, limits=(0.0, 1.0))
    if data is not None:
        ax.scatter(*data.visits.T, s=0.5, c="white", alpha=0.35, linewidths=0, rasterized=True)
    furnish(ax, PLANE, title, None if data is None else data.examples)
    ax.title.set_fontsize("medium")  # that of the figure
    ax.set(xlabel="", ylabel="")
    return image
