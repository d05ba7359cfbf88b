"""Pictures of mazes: walls, start, goal, examples of success, and where the agent went."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mural.tasks.base import Floats
from mural.tasks.mazes.layouts import ARENA, THRESHOLD, MazeLayout, Point
from mural.tasks.mazes.paths import Bools
from mural.tasks.mazes.raster import Canvas, Colour

SIZE = 512
View = tuple[float, float, float]  # lower left corner and width of what is seen
WHOLE: View = (ARENA[0] - 0.25, ARENA[1] - 0.25, ARENA[2] - ARENA[0] + 0.5)

Spot = tuple[float, float, float]  # x, y, radius

# Told apart also by people who confuse red and green, and by lightness alone.
OUTSIDE: Colour = (150, 156, 166)
FLOOR: Colour = (252, 252, 250)
WALL: Colour = (62, 68, 80)
GRID: Colour = (222, 225, 230)
DONE: Colour = (188, 230, 205)
GOAL: Colour = (0, 122, 82)
START: Colour = (40, 96, 190)
REWARD: Colour = (248, 200, 72)
SHOWN: Colour = (150, 60, 170)
TRAIL_OLD: Colour = (250, 190, 140)
TRAIL_NEW: Colour = (205, 70, 10)
AGENT: Colour = (30, 30, 34)


@lru_cache(maxsize=16)
def _ground(layout: MazeLayout, spots: tuple[Spot, ...], cell: float, view: View) -> Canvas:
    """What does not change: the arena, the places where the task is done, the walls."""
    canvas = Canvas(SIZE, view[:2], view[2], background=OUTSIDE)
    canvas.rectangle(*ARENA, FLOOR)
    for x, y, radius in spots:
        canvas.disc(x, y, radius, REWARD)
    place = canvas.grid()
    inside: Bools = np.all((place >= ARENA[:2]) & (place <= ARENA[2:]), axis=-1)
    canvas.tint(~inside, OUTSIDE)
    if cell:  # all of a cell is as its centre
        place = ARENA[0] + cell * (np.floor((place - ARENA[0]) / cell) + 0.5)
    canvas.tint(inside & (layout.distance(place) < THRESHOLD), DONE)
    if cell:
        canvas.tint(inside & ~layout.is_free(place), WALL)
        for at in np.arange(ARENA[0], ARENA[2] + cell, cell):
            canvas.line((at, ARENA[1]), (at, ARENA[3]), 0.02, GRID)
            canvas.line((ARENA[0], at), (ARENA[2], at), 0.02, GRID)
    else:
        low, high = ARENA[:2], ARENA[2:]
        for wall in layout.walls:
            (x0, y0), (x1, y1) = np.clip(wall.reshape(2, 2), low, high).tolist()
            canvas.rectangle(x0, y0, x1, y1, WALL)
    return canvas


def maze_frame(
    layout: MazeLayout,
    *,
    trail: Sequence[Point] = (),
    examples: Floats | None = None,
    spots: Sequence[Spot] = (),
    cell: float = 0.0,
    shown: Sequence[Point] = (),
    view: View = WHOLE,
) -> NDArray[np.uint8]:
    """A frame of 512 × 512.

    Walls are as thick as they are for the agent's centre, which is the black dot. Blue ring: start. Green
    ring: goal, in the green region where the task is done; dark dots: `examples`. `trail`: the path so far,
    older parts paler. `spots`: discs of hidden reward as x, y, radius. `cell` cuts the maze into cells this
    long, and `shown` frames those that are observed.
    """
    canvas = _ground(layout, tuple(spots), cell, view).copy()
    stroke = 0.008 * view[2]  # lines are as thick on the page however close the view
    canvas.ring(*layout.start, 0.2, stroke, START)
    canvas.ring(*layout.goal, 0.32, stroke, GOAL)
    for x, y in [] if examples is None else examples.tolist():
        canvas.disc(x, y, min(0.03, stroke), GOAL)
    for i in range(1, len(trail)):
        age = i / (len(trail) - 1)
        r, g, b = (round(old + age * (new - old)) for old, new in zip(TRAIL_OLD, TRAIL_NEW, strict=True))
        canvas.line(trail[i - 1], trail[i], 0.9 * stroke, (r, g, b))
    for x, y in shown:
        half = 0.5 * cell
        canvas.rectangle(x - half, y - half, x + half, y + half, SHOWN, width=stroke)
    if trail:
        canvas.disc(*trail[-1], 0.12, (255, 255, 255))
        canvas.disc(*trail[-1], 0.09, AGENT)
    return canvas.image()
