"""The plane that a task is seen on: visits are counted over it, and pictures of a run are drawn on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from mural.errors import ArgumentError

Floats = NDArray[np.floating]
Point = tuple[float, float]
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Plane:
    """Two axes, how far they reach, what stands there, and how places and observations belong together.

    A *place* is what the task reports as ``info["xy"]``. Any environment may have such a `plane`, not only ours.
    """

    low: Point
    """Lower left corner."""
    high: Point
    """Upper right corner."""
    axes: tuple[str, str] = ("x", "y")
    """What the two axes are."""
    places: Callable[[Floats], Floats] | None = None
    """Observations [n, o] → their places [n, 2]. None: an observation does not say where it is."""
    observations: Callable[[Floats], Floats] | None = None
    """Places [n, 2] → observations [n, o]. None: a place is only part of an observation, so it has no reward."""
    walls: tuple[Box, ...] = ()
    """Rectangles as x0, y0, x1, y1."""
    start: Point | None = None
    """Where episodes start, if always in one place."""
    to_scale: bool = True
    """Both axes have one unit: draw them to the same scale."""

    def __post_init__(self) -> None:
        bounds = np.array([self.low, self.high], dtype=float)
        if bounds.shape != (2, 2) or not np.isfinite(bounds).all() or not (bounds[0] < bounds[1]).all():
            raise ArgumentError(f"the plane runs from {self.low} to {self.high}: give finite corners, low below high")

    @property
    def extent(self) -> Box:
        """Left, right, bottom, top, as Matplotlib has it."""
        return float(self.low[0]), float(self.high[0]), float(self.low[1]), float(self.high[1])

    def points(self, bins: int) -> Floats:
        """Centres [bins², 2] of bins × bins cells, x before y."""
        unit = (np.arange(bins, dtype=np.float32) + 0.5) / bins
        low, high = np.asarray(self.low, np.float32), np.asarray(self.high, np.float32)
        return np.stack(np.meshgrid(unit, unit, indexing="ij"), axis=-1).reshape(-1, 2) * (high - low) + low


def columns(first: int, second: int) -> Callable[[Floats], Floats]:
    """For `Plane.places`: two columns of an observation are the place."""
    return lambda observations: observations[..., [first, second]]


def from_above(space: spaces.Box[Any], first: int, second: int, thing: str) -> Plane:
    """Two columns of the observations, within the bounds that their space has for them: where a thing is."""
    at = [first, second]
    (x0, y0), (x1, y1) = space.low[at].tolist(), space.high[at].tolist()
    return Plane((x0, y0), (x1, y1), (f"x of {thing}", f"y of {thing}"), places=columns(first, second))
