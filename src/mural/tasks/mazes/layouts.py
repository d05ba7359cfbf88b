"""The three mazes of the paper: where the walls are, how a point moves among them, how far the goal is.

Everything here is a pure function of positions. The batched `move` and the scalar `move_point` do the same
operations in the same order and give the same bits, so one environment and a thousand agree exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mural.tasks.base import Floats
from mural.tasks.mazes.paths import Bools, ShortestPaths

Point = tuple[float, float]
Box = tuple[float, float, float, float]

ARENA: Box = (-4.0, -4.0, 4.0, 4.0)  # paper A.4.1: both coordinates range over [-4, 4]
AGENT_RADIUS = 0.15  # release; the walls are inflated by it on both sides, so they are 0.3 thick
THRESHOLD = 0.5  # paper A.4.2: success is a maze distance below this
STEP = 0.5  # release: displacement per step at full action
# ours: a step is made of four moves of at most 0.125, far less than the 0.3 of a wall, so nothing tunnels;
# each goes along x and then y, so an agent that runs into a wall slides along it. 0.125 is a power of two, so
# action * SUBSTEP is exact.
SUBSTEPS = 4
SUBSTEP = STEP / SUBSTEPS
CLEARANCE = 0.02  # ours: how far from corners the scripted controller passes


@dataclass(frozen=True)
class MazeLayout:
    """Walls, start and goal of one maze.

    `lines` are the centre-lines of the walls as x0, y0, x1, y1. The agent's position is that of its centre:
    it is free where it is inside the arena and not strictly inside an inflated wall.
    """

    name: str
    lines: tuple[Box, ...]
    start: Point
    goal: Point

    @cached_property
    def walls(self) -> Floats:
        """Inflated walls, [n, 4] as x0, y0, x1, y1; they reach beyond the arena's edge, so no gap is left."""
        grow = AGENT_RADIUS * np.array([-1.0, -1.0, 1.0, 1.0])
        walls = np.array(self.lines) + grow
        walls.setflags(write=False)
        return walls

    @cached_property
    def paths(self) -> ShortestPaths:
        """Shortest paths to the goal."""
        return ShortestPaths(self.walls, ARENA, self.goal)

    @cached_property
    def _boxes(self) -> list[Box]:
        return [tuple(wall) for wall in self.walls.tolist()]

    def is_free(self, xy: ArrayLike) -> Bools:
        """Whether the agent can be at each xy [..., 2]. Touching a wall is allowed."""
        points = np.asarray(xy, dtype=np.float64)
        x, y = points[..., 0], points[..., 1]
        x0, y0, x1, y1 = ARENA
        free: Bools = (x0 <= x) & (x <= x1) & (y0 <= y) & (y <= y1)
        for x0, y0, x1, y1 in self._boxes:
            free = free & ~((x0 < x) & (x < x1) & (y0 < y) & (y < y1))
        return free

    def distance(self, xy: ArrayLike) -> Floats:
        """Length of the shortest path around the walls from each xy [..., 2] to the goal; inf if not free."""
        return self.paths.distance(xy)

    def heading(self, x: float, y: float) -> Point:
        """The action that goes along a shortest path, as far as the next bend (geodesic descent)."""
        tx, ty = self.paths.waypoint(x, y, CLEARANCE)
        ax, ay = (tx - x) / STEP, (ty - y) / STEP
        scale = max(1.0, abs(ax), abs(ay))
        return ax / scale, ay / scale

    def move(self, xy: ArrayLike, action: ArrayLike) -> Floats:
        """Positions [..., 2] one step after actions [..., 2], which are clipped to [-1, 1]."""
        here, act = np.asarray(xy, dtype=np.float64), np.asarray(action, dtype=np.float64)
        here, act = np.broadcast_arrays(here, act)
        x, y = here[..., 0].copy(), here[..., 1].copy()
        dx = np.clip(act[..., 0], -1.0, 1.0) * SUBSTEP
        dy = np.clip(act[..., 1], -1.0, 1.0) * SUBSTEP
        # The face that a move in this direction runs into, per wall.
        x_faces = [np.where(dx > 0.0, x0, x1) for x0, _, x1, _ in self._boxes]
        y_faces = [np.where(dy > 0.0, y0, y1) for _, y0, _, y1 in self._boxes]
        left, low, right, high = ARENA
        for _ in range(SUBSTEPS):
            x = np.clip(x + dx, left, right)
            for (x0, y0, x1, y1), face in zip(self._boxes, x_faces, strict=True):
                x = np.where((x0 < x) & (x < x1) & (y0 < y) & (y < y1), face, x)
            y = np.clip(y + dy, low, high)
            for (x0, y0, x1, y1), face in zip(self._boxes, y_faces, strict=True):
                y = np.where((x0 < x) & (x < x1) & (y0 < y) & (y < y1), face, y)
        return np.stack([x, y], axis=-1)

    def move_point(self, x: float, y: float, ax: float, ay: float) -> Point:
        """`move` of one point, in plain floats: the same bits, without NumPy's cost per call."""
        dx = (-1.0 if ax < -1.0 else 1.0 if ax > 1.0 else ax) * SUBSTEP
        dy = (-1.0 if ay < -1.0 else 1.0 if ay > 1.0 else ay) * SUBSTEP
        left, low, right, high = ARENA
        boxes = self._boxes
        for _ in range(SUBSTEPS):
            x += dx
            x = left if x < left else right if x > right else x
            for x0, y0, x1, y1 in boxes:
                if x0 < x < x1 and y0 < y < y1:
                    x = x0 if dx > 0.0 else x1
            y += dy
            y = low if y < low else high if y > high else y
            for x0, y0, x1, y1 in boxes:
                if x0 < x < x1 and y0 < y < y1:
                    y = y0 if dy > 0.0 else y1
        return x, y


_THIRD = 4.0 / 3.0
# Walls, starts and goals: release.
ZIGZAG = MazeLayout(
    name="zigzag",
    lines=((-_THIRD, -4.0, -_THIRD, 2.0), (_THIRD, -2.0, _THIRD, 4.0)),
    start=(-3.0, -3.0),
    goal=(3.0, 3.0),
)
SPIRAL = MazeLayout(
    name="spiral",
    lines=(
        (-4.0, -2.0, 2.0, -2.0),
        (2.0, -2.0, 2.0, 2.0),
        (-2.0, 2.0, 2.0, 2.0),
        (-2.0, 0.0, -2.0, 2.0),
        (-2.0, 0.0, 0.0, 0.0),
    ),
    start=(-3.0, -3.0),
    goal=(-0.5, 1.25),
)
DOUBLE = MazeLayout(
    name="double",
    lines=(
        (-2.4, -3.0, -2.4, 4.0),
        (-0.8, -4.0, -0.8, 3.0),
        (0.8, -3.0, 0.8, 4.0),
        (2.4, -4.0, 2.4, 3.0),
    ),
    start=(0.0, 0.0),
    goal=(-3.2, 3.0),  # the middle of the box that the release draws its examples from
)
