"""Drawing on the zigzag maze: reward maps with walls, visits and examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from mural.study.maze_data import MazeData
from mural.tasks.mazes.layouts import ARENA, ZIGZAG

Floats = NDArray[np.float64]
COLOURS = "viridis"
RESOLUTION = 97  # points along an edge of a reward map


def map_points() -> Floats:
    """The states at which a smooth reward map is evaluated [RESOLUTION², 2]."""
    axis = np.linspace(ARENA[0], ARENA[2], RESOLUTION)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)


def draw_map(ax: Any, reward: Floats, title: str, data: MazeData | None = None) -> Any:
    """A square map of rewards (x before y, as from `map_points` or `Grid.centres`) under the walls of the maze."""
    side = round(len(reward) ** 0.5)
    extent = (ARENA[0], ARENA[2], ARENA[1], ARENA[3])
    image = ax.imshow(
        reward.reshape(side, side).T,
        origin="lower",
        extent=extent,
        vmin=0,
        vmax=1,
        cmap=COLOURS,
        interpolation="nearest",
    )
    for x0, y0, x1, y1 in ZIGZAG.walls:
        ax.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, facecolor="#d8d8d8", edgecolor="black", linewidth=0.6))
    if data is not None:
        ax.scatter(*data.visits.T, s=0.5, c="white", alpha=0.35, linewidths=0)
        ax.scatter(*data.examples[::10].T, s=14, marker="*", c="crimson", linewidths=0)
    ax.plot(*ZIGZAG.start, marker="o", color="white", markeredgecolor="black", markersize=5)
    ax.set(xlim=extent[:2], ylim=extent[2:], xticks=[], yticks=[])
    ax.set_title(title, fontsize=10)
    return image


def save(figure: Figure, path: Path) -> None:
    """Write the picture, making its folder if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, bbox_inches="tight", metadata={"Software": f"matplotlib {matplotlib.__version__}"})
