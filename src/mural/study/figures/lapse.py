"""Reward and visits over time, from the maps that runs have kept: two rows per run and a column per moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.patches import Rectangle

from mural.show.axes import draw_cells
from mural.storage import disk
from mural.storage.maps import Map
from mural.study.figures.picture import COLUMN, Ask, Drawn, sheet
from mural.study.runs import MAZES, MissingRunsError

COLUMNS = 4
METHODS = ("mural", "vice")


def zigzag(ask: Ask) -> Drawn:
    """Reward and visits of MURAL and VICE on the zigzag maze."""
    return over_time(ask, MAZES[0])


def spiral(ask: Ask) -> Drawn:
    """Reward and visits of MURAL and VICE on the spiral maze."""
    return over_time(ask, MAZES[1])


def over_time(ask: Ask, task: str) -> Drawn:
    """The maps of the first run of each method: what is rewarded above, what was visited below."""
    found = {method: first_with_maps(ask.runs / "mazes", f"{task}-{method}-") for method in METHODS}
    missing = [method for method, folder in found.items() if folder is None]
    if len(missing) == len(METHODS) or (missing and not ask.partial):
        raise MissingRunsError(
            f"{ask.runs / 'mazes'} has no run of {task} with {' or '.join(missing)} that kept maps: run "
            f"`mural sweep studies/mazes.toml --only '{task}-*' --results runs/results` here (runs with results "
            "in results/ count as done), or point --runs to the run folders"
        )
    folders = {method: folder for method, folder in found.items() if folder is not None}
    figure = sheet(COLUMN, 1.8 * len(folders) + 0.3)
    axes = figure.subplots(2 * len(folders), COLUMNS, squeeze=False)
    shown, made = {}, []
    for i, (method, folder) in enumerate(folders.items()):
        maps = chosen(folder)
        for axis in axes[2 * i : 2 * i + 2].flat:
            axis.set_axis_off()
        for j, kept in enumerate(maps):
            draw_reward(axes[2 * i, j], kept, f"{kept.step / 1000:.0f}k steps")
            draw_visits(axes[2 * i + 1, j], kept)
        for axis, what in zip(axes[2 * i : 2 * i + 2, 0], ("reward", "visits"), strict=True):
            axis.set_ylabel(f"{method}: {what}", fontsize=7)
        shown[folder.name] = [numbers(kept) for kept in maps]
        made.append(f"{folder.name} (commit {str(disk.read_json(folder / 'versions.json').get('commit', '?'))[:7]})")
    words = "colours of a reward map run from its least to its most"
    return Drawn(
        figure, {"moments": shown, "missing": missing}, f"runs {', '.join(shown)}", f"runs {', '.join(made)}; {words}"
    )


def numbers(kept: Map) -> dict[str, Any]:
    """What is drawn of a moment."""
    arrays = {"reward": kept.reward, "visits": kept.visits, "path": kept.path}
    return {"step": kept.step} | {name: np.round(np.asarray(of, float), 3).tolist() for name, of in arrays.items()}


def chosen(folder: Path) -> list[Map]:
    """Maps with a reward, from the first to the last, sooner ones closer to each other: most happens early."""
    kept = sorted((folder / "maps").glob("*.npz"))
    last = len(kept) - 1
    picks = sorted({round(last * share) for share in np.linspace(0.25, 1, COLUMNS) ** 2})
    return [Map.load(kept[i]) for i in picks]


def draw_reward(axis: Any, kept: Map, title: str) -> None:
    """The learned reward of each place."""
    if kept.reward.size:
        draw_cells(axis, np.asarray(kept.reward, float), box(kept.extent))
    furnished(axis, kept, title)


def draw_visits(axis: Any, kept: Map) -> None:
    """How often each cell was visited, by orders of magnitude, and the way that the policy took."""
    norm = LogNorm(0.2, max(float(kept.visits.max()), 2.0))
    draw_cells(axis, np.ma.masked_equal(kept.visits, 0), box(kept.counted), "Blues", norm=norm)
    axis.plot(*np.asarray(kept.path).T, color="#D55E00", linewidth=1.2)
    furnished(axis, kept, "")


def box(values: Any) -> tuple[float, float, float, float]:
    """Left, right, bottom, top."""
    left, right, bottom, top = map(float, values)
    return left, right, bottom, top


def furnished(axis: Any, kept: Map, title: str) -> None:
    """Walls, the goal and the start over what is drawn."""
    for x0, y0, x1, y1 in kept.walls:
        axis.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, facecolor="#d8d8d8", edgecolor="black", linewidth=0.4))
    if len(kept.examples):
        axis.plot(*kept.examples.mean(axis=0), "*", color="crimson", markersize=5, markeredgewidth=0)
    if len(kept.start):
        axis.plot(*kept.start, "o", color="white", markeredgecolor="black", markersize=3, markeredgewidth=0.6)
    left, right, bottom, top = box(kept.extent)
    axis.set_axis_on()
    axis.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[], aspect="equal" if kept.to_scale else "auto")
    axis.spines[:].set_visible(True)
    axis.set_title(title)


def first_with_maps(folder: Path, start: str) -> Path | None:
    """The run of the lowest seed whose name is `start` and a seed, if it has kept maps."""
    runs = [path for path in folder.glob(f"{start}*") if path.name.removeprefix(start).isdigit()]
    kept = [path for path in runs if any((path / "maps").glob("*.npz"))]
    return min(kept, key=lambda path: int(path.name.removeprefix(start)), default=None)
