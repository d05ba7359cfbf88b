"""Pictures of a run: what the learned reward says of each place, where the agent has been, where it now goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.image import imsave
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from mural.atomic import replacing
from mural.tasks.mazes.picture import TRAIL_NEW, TRAIL_OLD
from mural.tasks.mazes.tasks import MazeTask, ShuffledMaze
from mural.training.collect import seeds
from mural.training.evaluate import episode
from mural.training.run import Run

Image = NDArray[np.uint8]
Floats = NDArray[np.float32]
RESOLUTION = 64  # reward-map points per edge; the shuffled maze's 16 cells divide it
SIDE, DPI = 4.2, 100  # inches per panel
TRAIL = LinearSegmentedColormap.from_list("trail", [np.array(TRAIL_OLD) / 255, np.array(TRAIL_NEW) / 255])


@dataclass(frozen=True)
class Plane:
    """The plane that a run is drawn on."""

    low: Floats
    high: Floats
    shown: Callable[[Floats], Floats] | None
    """Places [n, 2] → what the classifier sees there [n, 2]; None where a place is only part of the state."""
    examples: Floats  # [m, 2] places
    start: Floats | None
    task: Any

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """As matplotlib has it."""
        return float(self.low[0]), float(self.high[0]), float(self.low[1]), float(self.high[1])


def plane_of(run: Run) -> Plane | None:
    """The plane of the states, or of the places that the task reports; None where there is neither."""
    world, task = run.world, run.world.envs[0].unwrapped
    low, high = (np.asarray(side, np.float32) for side in (run.diagnostics.low, run.diagnostics.high))
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (high > low).all()):
        return None
    examples = np.zeros((0, 2), np.float32) if world.examples is None else world.examples.states
    start = np.asarray(task.layout.start, np.float32) if isinstance(task, MazeTask) else None
    if isinstance(task, ShuffledMaze):
        grid = task.grid
        true = np.asarray(grid.centres[grid.unlabel[grid.cell_at(examples)]], np.float32)

        def shown(xy: Floats) -> Floats:
            return np.asarray(grid.centres[grid.label[grid.cell_at(xy)]], np.float32)

        return Plane(low, high, shown, true, start, task)
    if len(world.columns) == 2:
        return Plane(low, high, lambda xy: xy, examples, start, task)
    if hasattr(task, "xy"):
        return Plane(low, high, None, np.zeros((0, 2), np.float32), start, task)
    return None


def run_picture(run: Run, path: Path) -> Image | None:
    """Reward map, and visits with the path of an evaluation; returns what was written, None if there is no plane."""
    plane = plane_of(run)
    if plane is None:
        return None
    panels = [lambda ax: draw_visits(ax, run, plane, trajectory(run))]
    if has_map(run, plane):
        panels.insert(0, lambda ax: draw_reward(ax, run, plane))
    return _drawn(panels, f"{run.config.task}, {run.config.method}, step {run.step}", path)


def final_picture(run: Run, path: Path) -> Image | None:
    """Reward map, visits, and the path that the policy takes, side by side; None if there is no plane."""
    plane = plane_of(run)
    if plane is None:
        return None
    panels = [
        lambda ax: draw_visits(ax, run, plane, None),
        lambda ax: draw_path(ax, plane, trajectory(run)),
    ]
    if has_map(run, plane):
        panels.insert(0, lambda ax: draw_reward(ax, run, plane))
    return _drawn(panels, f"{run.config.task}, {run.config.method}, step {run.step}", path)


def has_map(run: Run, plane: Plane) -> bool:
    """Whether each place has a learned reward."""
    return plane.shown is not None and run.learned and run.learns_reward and not run.reads & {"obs", "action"}


def reward_map(run: Run, plane: Plane) -> Floats:
    """The learned reward at the centres of RESOLUTION × RESOLUTION cells, x before y."""
    assert plane.shown is not None
    unit = (np.arange(RESOLUTION, dtype=np.float32) + 0.5) / RESOLUTION
    xy = np.stack(np.meshgrid(unit, unit, indexing="ij"), axis=-1).reshape(-1, 2) * (plane.high - plane.low) + plane.low
    obs = np.zeros((len(xy), run.world.spaces.obs_size), np.float32)
    obs[:, list(run.world.columns)] = plane.shown(xy)
    return np.asarray(run.reward_of(obs, xy), np.float32).reshape(RESOLUTION, RESOLUTION)


def trajectory(run: Run) -> tuple[Floats, bool | None]:
    """Places [n, 2] of the first evaluation's episode, and whether it ends in success (None: not reported)."""
    world = run.world
    seed = seeds(run.config.seed, 0, 3, count=1)[0]
    rows = episode(world.envs[0], world.spaces, run.policy, seed, run.epoch_steps)
    places = rows.xy
    if len(world.columns) == 2 and not isinstance(world.envs[0].unwrapped, ShuffledMaze):
        places = np.concatenate([rows.obs[:1, list(world.columns)], places])
    success = float(rows.success[-1])
    return places, None if np.isnan(success) else bool(success)


def draw_reward(ax: Any, run: Run, plane: Plane) -> None:
    """The learned reward under walls, examples and start."""
    values = reward_map(run, plane)
    probability = values.min() >= 0 and values.max() <= 1
    image = ax.imshow(
        values.T, origin="lower", extent=plane.extent, cmap="viridis", interpolation="nearest", aspect="auto",
        vmin=0 if probability else None, vmax=1 if probability else None,
    )  # fmt: skip
    ax.figure.colorbar(image, ax=ax, fraction=0.045, pad=0.02)
    _furnish(ax, plane, "learned reward")


def draw_visits(ax: Any, run: Run, plane: Plane, path: tuple[Floats, bool | None] | None) -> None:
    """How often each cell was visited, darker for more, by orders of magnitude; and the path of an evaluation."""
    visits = run.diagnostics.visits
    shown = np.ma.masked_equal(visits, 0)
    ax.imshow(
        shown.T, origin="lower", extent=plane.extent, cmap="Blues", interpolation="nearest", aspect="auto",
        norm=LogNorm(0.2, max(float(visits.max()), 2.0)),
    )  # fmt: skip
    if path is not None:
        _trail(ax, path[0])
    _furnish(ax, plane, f"visits: {np.mean(visits > 0):.0%} of the plane" + (", and the policy's path" if path else ""))


def draw_path(ax: Any, plane: Plane, path: tuple[Floats, bool | None]) -> None:
    """The path of an evaluation alone."""
    places, success = path
    _trail(ax, places)
    end = {None: "", True: ": success", False: ": no success"}[success]
    _furnish(ax, plane, f"the policy's path{end}")


def _trail(ax: Any, places: Floats) -> None:
    pieces = np.stack([places[:-1], places[1:]], axis=1)
    ax.add_collection(
        LineCollection(list(pieces), array=np.arange(len(pieces)), cmap=TRAIL, linewidths=1.8, capstyle="round")
    )
    ax.plot(*places[-1], marker="o", color="black", markeredgecolor="white", markersize=7, clip_on=False, zorder=5)


def _furnish(ax: Any, plane: Plane, title: str) -> None:
    """Walls, examples and start, over what is already drawn."""
    if isinstance(plane.task, MazeTask):
        for x0, y0, x1, y1 in plane.task.layout.walls:
            ax.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, facecolor="#d8d8d8", edgecolor="black", linewidth=0.6))
        ax.set_aspect("equal")
    ax.scatter(*plane.examples[:: max(1, len(plane.examples) // 20)].T, s=22, marker="*", c="crimson", linewidths=0)
    if plane.start is not None:
        ax.plot(*plane.start, marker="o", color="white", markeredgecolor="black", markersize=6)
    ax.set(xlim=plane.extent[:2], ylim=plane.extent[2:], xticks=[], yticks=[])
    ax.set_title(title, fontsize=10)


def _drawn(panels: list[Callable[[Any], None]], title: str, path: Path) -> Image:
    """Draw the panels in a row and write them, wholly or not at all."""
    figure = Figure(figsize=(SIDE * len(panels) + 0.3, SIDE + 0.2), dpi=DPI, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    for i, panel in enumerate(panels, start=1):
        panel(figure.add_subplot(1, len(panels), i))
    figure.suptitle(title, fontsize=10)
    canvas.draw()
    image: Image = np.asarray(canvas.buffer_rgba())[..., :3].copy()
    with replacing(path) as scratch:
        imsave(scratch, image, format="png")
    return image
