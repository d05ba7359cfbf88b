"""Anti-aliased discs, lines and rectangles in world coordinates: Pillow draws them large, then shrinks the picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from mural.tasks.base import Floats

Colour = tuple[int, int, int]
FINE = 4  # Pillow draws hard edges: each pixel is the mean of FINE × FINE of its dots


class Canvas:
    """A square picture of `width` × `width` of the world, whose lower left corner is `corner`; y upwards."""

    def __init__(self, size: int, corner: tuple[float, float], width: float, background: Colour) -> None:
        self._size, self._corner, self._scale = size, corner, FINE * size / width
        self._attach(Image.new("RGB", (FINE * size, FINE * size), background))

    def _attach(self, image: Image.Image) -> None:
        self._image, self._draw = image, ImageDraw.Draw(image)

    def copy(self) -> Canvas:
        """A canvas that starts as this one is now."""
        twin = Canvas.__new__(Canvas)
        twin._size, twin._corner, twin._scale = self._size, self._corner, self._scale
        twin._attach(self._image.copy())
        return twin

    def image(self) -> NDArray[np.uint8]:
        """The picture, [size, size, 3]."""
        return np.array(self._image.reduce(FINE))

    def grid(self) -> Floats:
        """World coordinates of the middles of all pixels, [size, size, 2]."""
        at = (np.arange(self._size) + 0.5) * FINE / self._scale
        return np.stack(np.meshgrid(self._corner[0] + at, self._corner[1] + at[::-1]), axis=-1)

    def tint(self, mask: NDArray[np.bool_], colour: Colour) -> None:
        """Fill the pixels of `mask` (see `grid`)."""
        fine = Image.fromarray(mask).resize(self._image.size, Image.Resampling.NEAREST)
        self._image.paste(colour, mask=fine)

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """A filled circle."""
        self._draw.ellipse(self._box(x - radius, y - radius, x + radius, y + radius), fill=colour)

    def ring(self, x: float, y: float, radius: float, width: float, colour: Colour) -> None:
        """The outline of a circle."""
        outer = radius + 0.5 * width  # Pillow draws outlines inside the box that it is given
        box = self._box(x - outer, y - outer, x + outer, y + outer)
        self._draw.ellipse(box, outline=colour, width=round(width * self._scale))

    def line(self, a: Sequence[float], b: Sequence[float], width: float, colour: Colour) -> None:
        """A straight line with round ends."""
        self._draw.line([self._at(*a), self._at(*b)], fill=colour, width=round(width * self._scale))
        for x, y in (a, b):
            self.disc(x, y, 0.5 * width, colour)

    def rectangle(self, x0: float, y0: float, x1: float, y1: float, colour: Colour, width: float = 0.0) -> None:
        """A rectangle: filled, or its outline if `width` is given."""
        if width > 0.0:
            half = 0.5 * width
            box = self._box(x0 - half, y0 - half, x1 + half, y1 + half)
            self._draw.rectangle(box, outline=colour, width=round(width * self._scale))
        else:
            self._draw.rectangle(self._box(x0, y0, x1, y1), fill=colour)

    def _at(self, x: float, y: float) -> tuple[float, float]:
        """Where a point of the world is on the enlarged picture, in dots from its upper left corner."""
        return (x - self._corner[0]) * self._scale, self._image.height - (y - self._corner[1]) * self._scale

    def _box(self, x0: float, y0: float, x1: float, y1: float) -> tuple[float, float, float, float]:
        """The dots that a box of the world covers; Pillow counts the last ones in."""
        (left, bottom), (right, top) = self._at(x0, y0), self._at(x1, y1)
        return left, top, max(left, right - 1), max(top, bottom - 1)
