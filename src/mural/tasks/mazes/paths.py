"""Exact shortest paths around axis-aligned rectangular walls.

A shortest path among polygons is a taut string: straight pieces that bend only at convex corners of the
obstacles. So the distance from any point is a minimum over the few corners (and the goal) that it can see,
each with its own known distance to the goal. That visibility graph is exact, has no resolution to choose, and
with a handful of walls is faster than interpolating a grid; a fine grid would be approximate near corners and
walls, just where an agent spends its time.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mural.tasks.base import Floats

Bools = NDArray[np.bool_]

# ours: walls are shrunk by this for lines of sight, so that a state that touches a wall and was rounded to
# float32 (steps of 2.4e-7 at the edge of a maze) is not taken to be inside it. Path lengths move by no more.
SIGHT_TOLERANCE = 1e-6
_BLOCK = 16_384  # points per pass: bounds the memory for a whole replay buffer


class ShortestPaths:
    """Distances to one goal, around rectangles, within an arena.

    `walls` is [n, 4] and `arena` [4], both as x0, y0, x1, y1. Walls are open sets: touching one is allowed. A
    wall that ends at the arena's edge must reach beyond it, or there would be a path along the edge.
    """

    def __init__(self, walls: ArrayLike, arena: ArrayLike, goal: ArrayLike) -> None:
        boxes = np.asarray(walls, dtype=np.float64).reshape(-1, 4)
        shrink = SIGHT_TOLERANCE * np.array([1.0, 1.0, -1.0, -1.0])
        # Centre and half extents: the separating-axis test below needs no division, so no special cases.
        inner = boxes + shrink
        self._walls: list[tuple[float, float, float, float]] = [
            (0.5 * (x0 + x1), 0.5 * (y0 + y1), 0.5 * (x1 - x0), 0.5 * (y1 - y0)) for x0, y0, x1, y1 in inner.tolist()
        ]
        x0, y0, x1, y1 = map(float, np.asarray(arena, dtype=np.float64))
        pad = SIGHT_TOLERANCE
        self._arena: tuple[float, float, float, float] = (x0 - pad, y0 - pad, x1 + pad, y1 + pad)
        self._vertices = self._graph(boxes, np.asarray(goal, dtype=np.float64))

    def _graph(self, boxes: Floats, goal: Floats) -> list[tuple[float, float, float]]:
        """(x, y, distance to the goal) of the goal and of every corner that paths bend at, nearest first."""
        corners = {
            (x, y): (out_x, out_y)
            for x0, y0, x1, y1 in boxes.tolist()
            for x, out_x in ((x0, -1.0), (x1, 1.0))
            for y, out_y in ((y0, -1.0), (y1, 1.0))
            if self._inside_arena(x, y) and not self._inside_wall(x, y)
        }
        points = [(float(goal[0]), float(goal[1])), *sorted(corners)]
        self._outward: dict[tuple[float, float], tuple[float, float]] = corners | {points[0]: (0.0, 0.0)}
        # Dijkstra without a heap: there are at most a few dozen corners.
        length = dict.fromkeys(points, math.inf)
        length[points[0]] = 0.0
        settled: list[tuple[float, float, float]] = []
        while length:
            x, y = min(length, key=lambda p: length[p])
            reached = length.pop((x, y))
            if reached == math.inf:
                break
            settled.append((x, y, reached))
            for other, old in length.items():
                if self._visible(x, y, *other):
                    length[other] = min(old, reached + math.dist((x, y), other))
        return settled

    def _inside_arena(self, x: float, y: float) -> bool:
        x0, y0, x1, y1 = self._arena
        return x0 <= x <= x1 and y0 <= y <= y1

    def _inside_wall(self, x: float, y: float) -> bool:
        return any(abs(x - cx) < hx and abs(y - cy) < hy for cx, cy, hx, hy in self._walls)

    def _visible(self, px: float, py: float, qx: float, qy: float) -> bool:
        """Whether the segment pq meets no wall (separating axes: x, y and the segment's normal)."""
        mx, my = 0.5 * (px + qx), 0.5 * (py + qy)
        ex, ey = 0.5 * (qx - px), 0.5 * (qy - py)
        ax, ay = abs(ex), abs(ey)
        for cx, cy, hx, hy in self._walls:
            dx, dy = mx - cx, my - cy
            if abs(dx) < hx + ax and abs(dy) < hy + ay and abs(ex * dy - ey * dx) < hx * ay + hy * ax:
                return False
        return True

    def distance_point(self, x: float, y: float) -> float:
        """`distance` of one point, in plain floats: the same bits, without NumPy's cost per call."""
        if not self._inside_arena(x, y):
            return math.inf
        best = math.inf
        for vx, vy, beyond in self._vertices:
            if beyond >= best:  # sorted: nothing further can be shorter
                break
            dx, dy = vx - x, vy - y
            length = math.sqrt(dx * dx + dy * dy) + beyond
            if length < best and self._visible(x, y, vx, vy):
                best = length
        return best

    def distance(self, xy: ArrayLike) -> Floats:
        """Length of the shortest path from each xy [..., 2]; inf inside walls and outside the arena."""
        points = np.asarray(xy, dtype=np.float64)
        flat = points.reshape(-1, 2)
        out = np.empty(len(flat))
        for i in range(0, len(flat), _BLOCK):
            out[i : i + _BLOCK] = self._distances(flat[i : i + _BLOCK, 0], flat[i : i + _BLOCK, 1])
        return out.reshape(points.shape[:-1])

    def _distances(self, x: Floats, y: Floats) -> Floats:
        best = np.full(x.shape, np.inf)
        for vx, vy, beyond in self._vertices:
            dx, dy = vx - x, vy - y
            length = np.sqrt(dx * dx + dy * dy) + beyond
            closer = np.flatnonzero(length < best)  # the walls are looked at only where it can matter
            seen = closer[self._visible_batch(x[closer], y[closer], vx, vy)]
            best[seen] = length[seen]
        x0, y0, x1, y1 = self._arena
        best[~((x0 <= x) & (x <= x1) & (y0 <= y) & (y <= y1))] = np.inf
        return best

    def _visible_batch(self, px: Floats, py: Floats, qx: float, qy: float) -> Bools:
        mx, my = 0.5 * (px + qx), 0.5 * (py + qy)
        ex, ey = 0.5 * (qx - px), 0.5 * (qy - py)
        ax, ay = np.abs(ex), np.abs(ey)
        clear = np.ones(px.shape, dtype=np.bool_)
        for cx, cy, hx, hy in self._walls:
            dx, dy = mx - cx, my - cy
            blocked = (np.abs(dx) < hx + ax) & (np.abs(dy) < hy + ay)
            blocked &= np.abs(ex * dy - ey * dx) < hx * ay + hy * ax
            clear &= ~blocked
        return clear

    def waypoint(self, x: float, y: float, clearance: float = 0.0) -> tuple[float, float]:
        """Where a shortest path from (x, y) bends next, or the goal if it is in sight.

        Corners are passed at `clearance` along x and y: an agent that aims at the corner itself may come to
        stand short of it by a rounding error, where the wall still stops it.
        """
        best, target = math.inf, (x, y)
        # From the goal outwards: of equally short continuations the one furthest along is kept, so that at a
        # corner the answer is the next corner and not the same one.
        for vx, vy, beyond in self._vertices:
            length = math.dist((x, y), (vx, vy)) + beyond
            if length < best - SIGHT_TOLERANCE and self._visible(x, y, vx, vy):
                out_x, out_y = self._outward[vx, vy]
                best, target = length, (vx + clearance * out_x, vy + clearance * out_y)
        return target
