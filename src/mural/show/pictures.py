"""Pictures of a run: what the learned reward says of each place, where the agent has been, where it now goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.image import imsave
from numpy.typing import NDArray

from mural.atomic import replacing
from mural.show.axes import EXAMPLES, draw_cells, furnish
from mural.storage.maps import Map
from mural.tasks.mazes.picture import TRAIL_NEW, TRAIL_OLD
from mural.tasks.plane import Plane, columns
from mural.training.collect import starts
from mural.training.evaluate import episode
from mural.training.run import Run

Image = NDArray[np.uint8]
Floats = NDArray[np.floating]
RESOLUTION = 64  # reward-map points per edge; the shuffled maze's 16 cells fit in
SIDE, DPI = 4.2, 100  # inches per panel
TRAIL = LinearSegmentedColormap.from_list("trail", [np.array(TRAIL_OLD) / 255, np.array(TRAIL_NEW) / 255])


def plane_of(run: Run) -> Plane | None:
    """The plane that the task declares, or else the states if they are two numbers, or else the places reported."""
    world, task = run.world, run.world.envs[0].unwrapped
    declared = getattr(task, "plane", None)
    # A wrapper that changes observations makes what the task says of them untrue.
    if isinstance(declared, Plane) and world.envs[0].observation_space == task.observation_space:
        return declared
    low, high = run.diagnostics.low, run.diagnostics.high
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (high > low).all()):
        return None
    corners = (float(low[0]), float(low[1])), (float(high[0]), float(high[1]))
    if len(world.columns) == 2:
        first, second = world.columns
        names = world.spaces.column_name(first), world.spaces.column_name(second)
        return Plane(*corners, names, columns(first, second), lambda xy: whole(run, xy, 0.0), to_scale=False)
    return Plane(*corners, to_scale=False) if hasattr(task, "xy") else None


def whole(run: Run, states: Floats, unknown: float) -> Floats:
    """States [n, d] as the classifier sees them in whole observations [n, o], whose other columns are `unknown`."""
    obs = np.full((len(states), run.world.spaces.obs_size), unknown, np.float32)
    obs[:, list(run.world.columns)] = states
    return obs


def example_places(run: Run, plane: Plane) -> Floats:
    """Places [m, 2] of those success examples that say where they are."""
    examples = run.world.examples
    if examples is None or plane.places is None:
        return np.zeros((0, 2), np.float32)
    obs = examples.observations if examples.observations is not None else whole(run, examples.states, np.nan)
    places = np.asarray(plane.places(np.asarray(obs)), np.float32)
    return places[np.isfinite(places).all(axis=1)]


def run_picture(run: Run, path: Path) -> Image | None:
    """Reward map, and visits with the path of an evaluation; returns what was written, None if there is no plane."""
    plane = plane_of(run)
    if plane is None:
        return None
    panels = [lambda ax: draw_visits(ax, run, plane, trajectory(run, plane))]
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
        lambda ax: draw_path(ax, run, plane, trajectory(run, plane)),
    ]
    if has_map(run, plane):
        panels.insert(0, lambda ax: draw_reward(ax, run, plane))
    return _drawn(panels, f"{run.config.task}, {run.config.method}, step {run.step}", path)


def run_map(run: Run) -> Map | None:
    """The same as numbers, for pages that show many moments of a run; None if there is no plane."""
    plane = plane_of(run)
    if plane is None:
        return None
    (left, bottom), (right, top) = run.diagnostics.low, run.diagnostics.high
    examples = example_places(run, plane)
    reward = reward_map(run, plane) if has_map(run, plane) else np.zeros((0, 0), np.float32)
    return Map(
        step=run.step,
        epoch=run.epoch,
        extent=np.array(plane.extent),
        counted=np.array([left, right, bottom, top]),
        axes=np.array(plane.axes, np.str_),
        visits=run.diagnostics.visits.astype(np.uint32),
        reward=np.clip(reward, -6e4, 6e4).astype(np.float16),
        path=trajectory(run, plane)[0].astype(np.float32),
        examples=examples[:: max(1, len(examples) // EXAMPLES)],
        walls=np.array(plane.walls, np.float32).reshape(-1, 4),
        start=np.array(plane.start if plane.start is not None else (), np.float32),
        to_scale=plane.to_scale,
    )


def has_map(run: Run, plane: Plane) -> bool:
    """Whether each place has a learned reward."""
    return plane.observations is not None and run.learned and run.learns_reward and run.reads <= {"states", "xy"}


def reward_map(run: Run, plane: Plane) -> Floats:
    """The learned reward at the centres of RESOLUTION × RESOLUTION cells, x before y."""
    assert plane.observations is not None
    xy = plane.points(RESOLUTION)
    states = np.asarray(plane.observations(xy), np.float32)[:, list(run.world.columns)]
    return np.asarray(run.reward_of(states, xy), np.float32).reshape(RESOLUTION, RESOLUTION)


def trajectory(run: Run, plane: Plane) -> tuple[Floats, bool | None]:
    """Places [n, 2] of the first evaluation's episode, and whether it ends in success (None: not reported)."""
    world = run.world
    seed = starts(run.config.seed, 1)[0]
    rows = episode(world.envs[0], world.spaces, run.policy, seed, run.epoch_steps)
    places = rows.xy
    if plane.places is not None:  # the reports begin with the first step: the start is in the first observation
        places = np.concatenate([np.asarray(plane.places(rows.obs[:1]), np.float32), places])
    success = float(rows.success[-1])
    return places, None if np.isnan(success) else bool(success)


def draw_reward(ax: Any, run: Run, plane: Plane) -> None:
    """The learned reward under walls, examples and start."""
    image = draw_cells(ax, reward_map(run, plane), plane.extent)
    ax.figure.colorbar(image, ax=ax, fraction=0.045, pad=0.02)
    furnish(ax, plane, "learned reward", example_places(run, plane))


def draw_visits(ax: Any, run: Run, plane: Plane, path: tuple[Floats, bool | None] | None) -> None:
    """How often each cell was visited, darker for more, by orders of magnitude; and the path of an evaluation."""
    visits = run.diagnostics.visits
    (left, bottom), (right, top) = run.diagnostics.low, run.diagnostics.high  # of the counts, not of the plane
    counted = float(left), float(right), float(bottom), float(top)
    if visits.any():
        norm = LogNorm(0.2, max(float(visits.max()), 2.0))
        draw_cells(ax, np.ma.masked_equal(visits, 0), counted, "Blues", norm=norm)
    if path is not None:
        _trail(ax, path[0])
    title = f"visits: {np.mean(visits > 0):.0%} of the plane" + (", and the policy's path" if path else "")
    furnish(ax, plane, title, example_places(run, plane))


def draw_path(ax: Any, run: Run, plane: Plane, path: tuple[Floats, bool | None]) -> None:
    """The path of an evaluation alone."""
    places, success = path
    _trail(ax, places)
    end = {None: "", True: ": success", False: ": no success"}[success]
    furnish(ax, plane, f"the policy's path{end}", example_places(run, plane))


def _trail(ax: Any, places: Floats) -> None:
    pieces = np.stack([places[:-1], places[1:]], axis=1)
    ax.add_collection(
        LineCollection(list(pieces), array=np.arange(len(pieces)), cmap=TRAIL, linewidths=1.8, capstyle="round")
    )
    ax.plot(*places[-1], marker="o", color="black", markeredgecolor="white", markersize=7, clip_on=False, zorder=5)


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
