"""Drawing on a task's plane with Matplotlib: a map of values, and what stands on every such picture."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from mural.tasks.plane import Box, Plane

Floats = NDArray[np.floating]
EXAMPLES = 20  # drawn at the most, about


def draw_cells(
    ax: Any,
    values: Floats,
    extent: Box,
    colours: str = "viridis",
    limits: tuple[float, float] | None = None,
    norm: Any = None,
) -> Any:
    """Values of the cells of a grid [n, n], x before y; `limits` are those of the colours, or `norm` sets them."""
    low, high = limits or (None, None)
    return ax.imshow(
        values.T, origin="lower", extent=extent, cmap=colours, interpolation="nearest", aspect="auto",
        vmin=low, vmax=high, norm=norm,
    )  # fmt: skip


def furnish(ax: Any, plane: Plane, title: str, examples: Floats | None = None) -> None:
    """Walls, some of the success examples [m, 2] and the start, over what is drawn already."""
    for x0, y0, x1, y1 in plane.walls:
        ax.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, facecolor="#d8d8d8", edgecolor="black", linewidth=0.6))
    if examples is not None and len(examples):
        few = examples[:: max(1, len(examples) // EXAMPLES)]
        ax.scatter(*few.T, s=22, marker="*", c="crimson", linewidths=0)
    if plane.start is not None:
        ax.plot(*plane.start, marker="o", color="white", markeredgecolor="black", markersize=6)
    if plane.to_scale:
        ax.set_aspect("equal")
    ax.set(xlim=plane.extent[:2], ylim=plane.extent[2:], xticks=[], yticks=[])
    ax.set_xlabel(plane.axes[0], fontsize=8)
    ax.set_ylabel(plane.axes[1], fontsize=8)
    ax.set_title(title, fontsize=10)
