"""Reward and visits over time: the pictures that runs have kept, a row per run and a column per moment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.image import imread

from mural.study.figures.picture import PAGE, Ask, Drawn, sheet
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
    """Tile the pictures of the first run of each method."""
    found = {method: first_with_pictures(ask.runs / "mazes", f"{task}-{method}-") for method in METHODS}
    missing = [method for method, folder in found.items() if folder is None]
    if len(missing) == len(METHODS) or (missing and not ask.partial):
        raise MissingRunsError(
            f"{ask.runs / 'mazes'} has no run of {task} with {' or '.join(missing)} that kept pictures: run "
            "`mural sweep studies/mazes.toml` here, or point --runs to the run folders"
        )
    folders = [folder for folder in found.values() if folder is not None]
    figure = sheet(PAGE, 1.15 * len(folders) + 0.3)
    axes = figure.subplots(len(folders), COLUMNS, squeeze=False)
    shown = {}
    for line, folder in zip(axes, folders, strict=True):
        kept = sorted((folder / "pictures").glob("*.png"))
        chosen = [kept[round(i)] for i in np.linspace(0, len(kept) - 1, min(COLUMNS, len(kept)))]
        for axis in line:
            axis.set_axis_off()
        for axis, picture in zip(line, chosen, strict=False):
            axis.imshow(imread(picture))
            axis.set_title(f"step {int(picture.stem):,}", fontsize=6)
        shown[folder.name] = [int(picture.stem) for picture in chosen]
    return Drawn(figure, {"steps": shown, "missing": missing}, f"runs {', '.join(shown)}", f"runs {', '.join(shown)}")


def first_with_pictures(folder: Path, start: str) -> Path | None:
    """The run of the lowest seed whose name is `start` and a seed, if it has kept pictures."""
    runs = [path for path in folder.glob(f"{start}*") if path.name.removeprefix(start).isdigit()]
    kept = [path for path in runs if any((path / "pictures").glob("*.png"))]
    return min(kept, key=lambda path: int(path.name.removeprefix(start)), default=None)
