"""Anti-aliased discs, lines and rectangles in world coordinates: enough to draw a maze, in NumPy only."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mural.tasks.base import Floats

Colour = tuple[int, int, int]


class Canvas:
    """A square picture of `width` × `width` of the world, whose lower left corner is `corner`; y upwards.

    Each shape is given by how far outside of it a pixel is; coverage falls from 1 to 0 over one pixel there.
    """

    def __init__(self, size: int, corner: tuple[float, float], width: float, background: Colour) -> None:
        self.pixels: Floats = np.empty((size, size, 3))
        self.pixels[:] = background
        self._size, self._corner, self._scale = size, corner, size / width

    def copy(self) -> Canvas:
        """A canvas that starts as this one is now."""
        twin = Canvas.__new__(Canvas)
        twin.__dict__.update(self.__dict__)
        twin.pixels = self.pixels.copy()
        return twin

    def image(self) -> NDArray[np.uint8]:
        """The picture, [size, size, 3]."""
        return np.rint(self.pixels).astype(np.uint8)

    def grid(self) -> tuple[Floats, Floats]:
        """World coordinates of all pixels."""
        x, y = self._pixels_within(slice(0, self._size), slice(0, self._size))
        return np.broadcast_arrays(x, y)  # type: ignore[return-value]

    def tint(self, mask: NDArray[np.bool_], colour: Colour) -> None:
        """Fill the pixels of `mask` (see `grid`)."""
        self.pixels[mask] = colour

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """A filled circle."""
        self.line((x, y), (x, y), 2.0 * radius, colour)

    def ring(self, x: float, y: float, radius: float, width: float, colour: Colour) -> None:
        """The outline of a circle."""
        rows, columns = self._window(x, y, x, y, radius + width)
        px, py = self._pixels_within(rows, columns)
        outside = np.abs(np.hypot(px - x, py - y) - radius) - 0.5 * width
        self._blend(rows, columns, outside, colour)

    def line(self, a: Sequence[float], b: Sequence[float], width: float, colour: Colour) -> None:
        """A straight line with round ends."""
        (ax, ay), (bx, by) = a, b
        rows, columns = self._window(min(ax, bx), min(ay, by), max(ax, bx), max(ay, by), width)
        px, py = self._pixels_within(rows, columns)
        dx, dy = bx - ax, by - ay
        length2 = dx * dx + dy * dy
        along = np.clip(((px - ax) * dx + (py - ay) * dy) / length2, 0.0, 1.0) if length2 > 0.0 else 0.0
        outside = np.hypot(px - (ax + along * dx), py - (ay + along * dy)) - 0.5 * width
        self._blend(rows, columns, outside, colour)

    def rectangle(self, x0: float, y0: float, x1: float, y1: float, colour: Colour, width: float = 0.0) -> None:
        """A rectangle: filled, or its outline if `width` is given."""
        rows, columns = self._window(x0, y0, x1, y1, width)
        px, py = self._pixels_within(rows, columns)
        outside = np.maximum(np.maximum(x0 - px, px - x1), np.maximum(y0 - py, py - y1))
        self._blend(rows, columns, np.abs(outside) - 0.5 * width if width > 0.0 else outside, colour)

    def _window(self, x0: float, y0: float, x1: float, y1: float, margin: float) -> tuple[slice, slice]:
        """Rows and columns of the pixels that a shape within this box can touch."""

        def pixels(low: float, high: float, origin: float) -> tuple[int, int]:
            first = math.floor((low - margin - origin) * self._scale) - 1
            last = math.ceil((high + margin - origin) * self._scale) + 1
            return min(max(first, 0), self._size), min(max(last, 0), self._size)

        (left, right), (bottom, top) = pixels(x0, x1, self._corner[0]), pixels(y0, y1, self._corner[1])
        return slice(self._size - top, self._size - bottom), slice(left, right)

    def _pixels_within(self, rows: slice, columns: slice) -> tuple[Floats, Floats]:
        x = self._corner[0] + (np.arange(columns.start, columns.stop) + 0.5) / self._scale
        y = self._corner[1] + (self._size - np.arange(rows.start, rows.stop) - 0.5) / self._scale
        return x[None, :], y[:, None]

    def _blend(self, rows: slice, columns: slice, outside: Floats, colour: Colour) -> None:
        cover = np.clip(0.5 - outside * self._scale, 0.0, 1.0)[..., None]
        patch = self.pixels[rows, columns]
        patch += cover * (np.array(colour) - patch)
