"""Maps of a run: reward, visits and the policy's path at one moment, as a small file of arrays."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mural.atomic import replacing
from mural.errors import MuralError

LARGEST = 4_000_000  # bytes of arrays that are read at the most: a real map has about 15,000
MOST = 512  # cells per edge
SHAPES = {"extent": (4,), "counted": (4,), "axes": (2,), "path": (-1, 2), "examples": (-1, 2), "walls": (-1, 4)}


class MapFileError(MuralError, ValueError):
    """A file that is no map of a run, or a damaged one."""


@dataclass(frozen=True, eq=False)
class Map:
    """What is known of a plane at one step; boxes are left, right, bottom, top, and grids have x before y."""

    step: int
    epoch: int
    extent: NDArray[Any]
    """The plane [4]."""
    counted: NDArray[Any]
    """The box [4] that visits are counted in."""
    axes: NDArray[Any]
    """The names [2] of the axes."""
    visits: NDArray[Any]
    """How often each cell [n, n] was visited."""
    reward: NDArray[Any]
    """The learned reward of cells [m, m]; m = 0 where places have none."""
    path: NDArray[Any]
    """Places [t, 2] of an evaluation's episode."""
    examples: NDArray[Any]
    """Places [e, 2] of some success examples."""
    walls: NDArray[Any]
    """Rectangles [w, 4] as x0, y0, x1, y1."""
    start: NDArray[Any]
    """Where episodes start [2]; [0] if in no one place."""
    to_scale: bool = True
    """Whether both axes have one unit."""

    def save(self, path: Path) -> None:
        """Write the file, wholly or not at all."""
        arrays: dict[str, Any] = {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}
        with replacing(path) as scratch, scratch.open("wb") as file:
            np.savez_compressed(file, **arrays)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the file, or a `MapFileError`. Believes nothing: the file may come from a stranger."""
        try:
            with zipfile.ZipFile(path) as archive:
                if sum(entry.file_size for entry in archive.infolist()) > LARGEST:
                    raise MapFileError("it is too large")
            with np.load(path, allow_pickle=False) as arrays:
                found = {field.name: arrays[field.name] for field in fields(cls)}
            whole = {name: int(found.pop(name)) for name in ("step", "epoch")}
            loaded = cls(**found | whole | {"to_scale": bool(found["to_scale"])})
        except Exception as error:  # damage surfaces as a dozen kinds of error in zipfile, zlib and NumPy
            raise MapFileError(f"{path} is no map of a run ({error}): remove it") from error
        if problem := loaded._problem():
            raise MapFileError(f"{path} is no map of a run ({problem}): remove it")
        return loaded

    def _problem(self) -> str:
        """What is wrong with the arrays, or ''."""
        for name, shape in SHAPES.items():
            array = getattr(self, name)
            if array.ndim != len(shape) or any(want not in (-1, n) for want, n in zip(shape, array.shape, strict=True)):
                return f"{name} has shape {array.shape}"
        if self.start.shape not in ((0,), (2,)):
            return f"start has shape {self.start.shape}"
        for grid in (self.visits, self.reward):
            if grid.ndim != 2 or grid.shape[0] != grid.shape[1] or len(grid) > MOST:
                return f"a grid has shape {grid.shape}"
        if self.axes.dtype.kind != "U":
            return "the axes have no names"
        places = (self.extent, self.counted, self.path, self.examples, self.walls, self.start)
        for array in (*places, self.visits, self.reward):
            if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
                return "it has entries that are not finite numbers"
        for left, right, bottom, top in (map(float, self.extent), map(float, self.counted)):
            if left >= right or bottom >= top:
                return "its plane is empty"
        return ""
