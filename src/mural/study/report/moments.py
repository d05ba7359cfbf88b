"""The moments of a run that a slider shows: reward map, visits, path and reliability, as small pictures and numbers."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mural.errors import MuralError
from mural.storage.maps import Map
from mural.study.report.charts import number
from mural.study.report.reading import RunData, text

MOST = 40  # moments of a run
WIDE = 880  # pixels of a kept picture
PIXELS = 20_000_000  # of the largest picture that is opened
SHOWN = {
    "eval/success": "success",
    "eval/distance": "distance",
    "coverage": "coverage",
    "eval/return": "learned return",
}


@dataclass
class Scene:
    """What stands on every map of a run, in a box whose width is 100."""

    height: float
    axes: tuple[str, str]
    walls: list[tuple[float, float, float, float]]
    """x, y, width, height."""
    examples: list[tuple[float, float]]
    start: tuple[float, float] | None
    counted: tuple[float, float, float, float]
    """x, y, width, height of the visits."""
    low: str = ""
    high: str = ""
    """Ends of the reward's colours; '' if there are no rewards."""


@dataclass
class Moments:
    """All that a slider needs."""

    moments: list[dict[str, Any]]
    """step, epoch, told (numbers in words), reward and visits and picture (data URIs), path (points), table."""
    scene: Scene | None = None
    notes: list[str] = field(default_factory=list)
    wide: bool = False
    """Whether its pictures are much wider than high: two panels side by side."""

    @property
    def tables(self) -> bool:
        """Whether a classifier's reliability was measured."""
        return any(moment["table"] for moment in self.moments)


def moments_of(run: RunData) -> Moments:
    """Maps where the run kept them, else its pictures, else the reliability of its classifier alone."""
    notes: list[str] = []
    maps = load_maps(run.path, notes)
    if maps:
        scene = scene_of(maps)
        return Moments([moment(run, kept.step, kept.epoch, **drawn(kept, scene, maps)) for kept in maps], scene, notes)
    pictures = load_pictures(run.path, notes)
    if pictures:
        kept = [moment(run, step, picture=source) for step, source, _ in pictures]
        return Moments(kept, None, notes, wide=pictures[-1][2] > 1.4)
    return Moments([moment(run, step) for step in thinned(sorted(run.tables))], None, notes)


def moment(run: RunData, step: int, epoch: int | None = None, **shown: Any) -> dict[str, Any]:
    """One position of the slider."""
    rows = [row for row in run.rows if row["step"] <= step]
    known = {name: next((row[name] for row in reversed(rows) if name in row), None) for name in SHOWN}
    told = ", ".join(f"{SHOWN[name]} {number(value, name)}" for name, value in known.items() if value is not None)
    if epoch is None and rows and "epoch" in rows[-1]:
        epoch = int(rows[-1]["epoch"])
    measured = [at for at in run.tables if at <= step]
    table = [[round(v, 4) for v in row] for row in run.tables[max(measured)]] if measured else []
    empty = {"reward": None, "visits": None, "picture": None, "path": ""}
    return {"step": step, "epoch": epoch, "told": told, "table": table, **empty, **shown}


def thinned(values: Sequence[Any], most: int = MOST) -> list[Any]:
    """At most so many of the values, evenly, the first and the last among them."""
    if len(values) <= most:
        return list(values)
    return [values[round(i)] for i in np.linspace(0, len(values) - 1, most)]


def numbered(folder: Path, ending: str) -> list[tuple[int, Path]]:
    """The files of a folder that are named by steps, thinned."""
    files = [path for path in folder.glob(f"*{ending}") if path.stem.isascii() and path.stem.isdigit()]
    return thinned(sorted((int(path.stem[:15]), path) for path in files))


def load_maps(folder: Path, notes: list[str]) -> list[Map]:
    """The maps of a run that can be read."""
    found: list[Map] = []
    for _, path in numbered(folder / "maps", ".npz"):
        try:
            found.append(Map.load(path))
        except MuralError as error:
            notes.append(text(error))
    return found


def load_pictures(folder: Path, notes: list[str]) -> list[tuple[int, str, float]]:
    """Step, source and proportion (width to height) of a run's pictures.

    They are encoded anew: what a stranger's files hold besides a picture stays outside.
    """
    from PIL import Image

    found = []
    for step, path in numbered(folder / "pictures", ".png"):
        try:
            with Image.open(path, formats=["PNG"]) as image:
                if math.prod(image.size) > PIXELS:
                    notes.append(f"{text(path.name)} is too large to be shown.")
                    continue
                picture = image.convert("RGB")
            picture.thumbnail((WIDE, WIDE))
            found.append((step, encoded(picture, "WEBP", quality=82, method=4), picture.width / picture.height))
        except Exception as error:  # damage surfaces as many kinds of error in Pillow
            notes.append(f"{text(path.name)} cannot be shown: {text(error)}")
    return found


def encoded(picture: Any, kind: str, **options: Any) -> str:
    """A Pillow picture as a data URI."""
    data = io.BytesIO()
    picture.save(data, kind, **options)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(data.getvalue()).decode()}"


def scene_of(maps: Sequence[Map]) -> Scene:
    """What the maps of a run share, and the range of their rewards."""
    last = maps[-1]
    left, right, bottom, top = map(float, last.extent)
    height = 100.0 * (top - bottom) / (right - left) if last.to_scale else 80.0
    height = min(max(height, 25.0), 200.0)
    walls = [
        (x, y1, round(x1 - x, 2), round(y - y1, 2))
        for (x, y), (x1, y1) in zip(
            placed(last.walls[:500, :2], last, height), placed(last.walls[:500, 2:], last, height), strict=True
        )
    ]
    (x, y), (x1, y1) = placed(last.counted[[[0, 2], [1, 3]]], last, height)
    rewards = [kept.reward for kept in maps if kept.reward.size]
    low, high = limits(rewards)
    return Scene(
        height=round(height, 2),
        axes=(text(str(last.axes[0])), text(str(last.axes[1]))),
        walls=walls,
        examples=placed(last.examples[:50], last, height),
        start=placed(last.start[None], last, height)[0] if len(last.start) else None,
        counted=(x, y1, round(x1 - x, 2), round(y - y1, 2)),
        low=f"{low:.2g}" if rewards else "",
        high=f"{high:.2g}" if rewards else "",
    )


def limits(rewards: Sequence[NDArray[Any]]) -> tuple[float, float]:
    """The range of the colours, one for all moments."""
    if not rewards:
        return 0.0, 1.0
    low, high = min(float(grid.min()) for grid in rewards), max(float(grid.max()) for grid in rewards)
    return low, high if high > low else low + 1.0


def placed(places: NDArray[Any], kept: Map, height: float) -> list[tuple[float, float]]:
    """Places [n, 2] in the box of the scene, whose y goes down."""
    left, right, bottom, top = map(float, kept.extent)
    unit = (places.astype(np.float64) - [left, bottom]) / [right - left, top - bottom]
    return [(round(float(x) * 100, 2), round((1 - float(y)) * height, 2)) for x, y in np.clip(unit, -50, 50)]


def drawn(kept: Map, scene: Scene, maps: Sequence[Map]) -> dict[str, Any]:
    """Reward and visits as pictures of a pixel per cell, and the path as points."""
    found: dict[str, Any] = {}
    if kept.reward.size:
        low, high = limits([other.reward for other in maps if other.reward.size])
        found["reward"] = painted((kept.reward.astype(np.float64) - low) / (high - low), "viridis")
    most = max(2.0, float(maps[-1].visits.max(initial=0)))
    shade = np.log1p(np.maximum(kept.visits.astype(np.float64), 0)) / np.log1p(most)
    found["visits"] = painted(np.where(kept.visits > 0, 0.15 + 0.85 * shade, 0.0), "Blues")
    found["path"] = " ".join(f"{x:g},{y:g}" for x, y in placed(thinned_path(kept.path), kept, scene.height))
    return found


def thinned_path(path: NDArray[Any]) -> NDArray[Any]:
    """At most 200 places of a path."""
    return path[thinned(range(len(path)), 200)]


def painted(unit: NDArray[Any], colours: str) -> str:
    """Values [x, y] from 0 to 1 as a picture of a pixel each, in the colours of a map of Matplotlib."""
    from matplotlib import colormaps
    from PIL import Image

    levels = (np.clip(unit, 0, 1) * 255).astype(np.uint8)
    picture = Image.fromarray(np.ascontiguousarray(levels.T[::-1]))
    picture.putpalette((colormaps[colours](np.arange(256))[:, :3] * 255).astype(np.uint8).tobytes())
    return encoded(picture, "PNG", optimize=True)
