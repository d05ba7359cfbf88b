"""Where the agents of two methods have been by and by, from the replays in run folders, and coverage over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm
from numpy.typing import NDArray

from mural import tasks
from mural.errors import MuralError
from mural.show.axes import draw_cells, furnish
from mural.storage import checkpoint
from mural.study.figures.learning import line
from mural.study.figures.picture import PAGE, Ask, Drawn, sheet
from mural.study.runs import Group, MissingRunsError, Runs, gather, groups

Floats = NDArray[np.floating]
MOMENTS = (0.1, 0.25, 0.5, 1.0)  # shares of a run
BINS = 32
PAPER = 0.7  # coverage at convergence, says the paper


class ShortReplayError(MuralError, ValueError):
    """A run's replay no longer holds where it began."""


def visitations(ask: Ask) -> Drawn:
    """Visits and coverage of MURAL and VICE on the zigzag maze (fig:visitations)."""
    return of_task(ask, "fig:visitations", groups("mazes", ["zigzag-maze"], ("mural", "vice")))


def double(ask: Ask) -> Drawn:
    """Visits and coverage of MURAL and VICE on the double maze (fig:double-maze-visitations)."""
    return of_task(ask, "fig:double-maze-visitations", groups("double", ["double-maze"], ("mural", "vice")))


def of_task(ask: Ask, label: str, needed: Sequence[Group]) -> Drawn:
    """A row per method, a column per moment, and the coverage of all runs beside them."""
    runs = gather(needed, ask.where, what=label, partial=ask.partial)
    folders = {group: ask.runs / group.study / of[0]["name"] for group, of in runs.by.items()}
    absent = [path for path in folders.values() if not (path / "config.json").is_file()]
    if absent and not ask.partial:
        raise MissingRunsError(
            f"{label} draws visits from run folders and {', '.join(map(str, absent))} is not there: run `mural sweep "
            f"studies/{needed[0].study}.toml --only NAME --results runs/results` here for each (runs with results in "
            "results/ count as done), or point --runs to them; --partial draws the coverage alone"
        )
    shown = {group: places(path) for group, path in folders.items() if path not in absent}
    figure = sheet(PAGE, 1.35 * max(len(shown), 1) + 0.9)
    columns = len(MOMENTS) * bool(shown)
    grid = figure.add_gridspec(max(len(shown), 1), columns + 2)
    maps = {}
    for row, (group, xy) in enumerate(shown.items()):
        maps[group.label] = draw_row(figure, [grid[row, i] for i in range(columns)], group, xy)
    axis = figure.add_subplot(grid[:, columns:])
    curves = {group.label: line(axis, group, of, "coverage", {}) for group, of in runs.by.items()}
    axis.set(xlabel="thousand steps", ylim=(0, 1))
    axis.axhline(PAPER, color="0.5", linewidth=0.8, linestyle=":")
    axis.annotate("paper: about 70 %", (0, PAPER), (2, 2), textcoords="offset points", color="0.4", fontsize="x-small")
    axis.set_title("coverage of the plane")
    axis.legend(frameon=False)
    data: dict[str, Any] = {"coverage": curves, "visits": maps, **runs.provenance()}
    drawn_from = ", ".join(path.name for path in folders.values() if path not in absent) or "no run folders"
    return Drawn(figure, data, told(runs), f"{runs.made_by()}; maps of {drawn_from}")


def draw_row(figure: Any, cells: Sequence[Any], group: Group, xy: Floats) -> dict[str, Any]:
    """Visits of one run up to each moment; their counts."""
    task = tasks.make(group.task)
    plane, examples = task.plane, task.success_examples(20)
    task.close()
    assert plane is not None
    found = {}
    for i, (cell, share) in enumerate(zip(cells, MOMENTS, strict=True)):
        steps = round(share * len(xy))
        counts = count(xy[:steps], plane.low, plane.high)
        axis = figure.add_subplot(cell)
        draw_cells(axis, np.ma.masked_equal(counts, 0), plane.extent, "Blues", norm=LogNorm(0.2, max(2, counts.max())))
        furnish(axis, plane, f"{steps / 1000:.0f}k", None if plane.places is None else plane.places(examples))
        axis.title.set_fontsize("medium")
        axis.set(xlabel="", ylabel=group.label if i == 0 else "")
        axis.spines[:].set_visible(True)
        found[str(steps)] = counts.astype(int)
    return found


def places(folder: Path) -> Floats:
    """All places [steps, 2] that a run has visited, in order."""
    kept = checkpoint.load_latest(folder)
    xy = None if kept is None else kept.groups.get("replay", {}).get("rows.xy")
    if kept is None or xy is None:
        raise ShortReplayError(f"{folder} has no checkpoint with the places that it visited: train it anew")
    if xy.shape[0] * xy.shape[1] < kept.step:
        raise ShortReplayError(
            f"the replay of {folder} has lost its first steps: raise loop.replay_size to {kept.step}"
        )
    flat: Floats = xy.reshape(-1, 2)[: kept.step]
    return flat


def count(xy: Floats, low: tuple[float, float], high: tuple[float, float]) -> NDArray[np.float64]:
    """Visits of each cell of the plane, x before y."""
    limits = [(low[0], high[0]), (low[1], high[1])]
    return np.histogram2d(xy[:, 0], xy[:, 1], bins=BINS, range=limits)[0]


def told(runs: Runs) -> str:
    """Coverage at the end."""
    ends = {g.label: np.mean([run["curves"]["coverage"][-1][1] for run in of]) for g, of in runs.by.items()}
    return "coverage at the end: " + ", ".join(f"{label} {end:.2f}" for label, end in ends.items())
