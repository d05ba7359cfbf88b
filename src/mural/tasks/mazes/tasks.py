"""The four maze tasks. They need no MuJoCo."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from mural.tasks.base import Floats, Task, require_display
from mural.tasks.mazes.layouts import ARENA, DOUBLE, SPIRAL, THRESHOLD, ZIGZAG, MazeLayout
from mural.tasks.mazes.shuffled import CELL, ShuffledGrid
from mural.tasks.plane import Plane

EXAMPLE_RADIUS = 0.05  # release: examples lie within this of the goal
DOUBLE_EXAMPLES = ((-3.4, 2.8), (-3.0, 3.2))  # release: corners of the box of the double maze's examples
HIDDEN_REWARDS = ((2.75, 0.5), (2.75, -0.5), (3.75, 0.5), (3.75, -0.5), (3.25, 0.0))  # release
HIDDEN_RADIUS = 0.3  # release: the reward is 1 within this of one of them


class MazeTask(Task):
    """A point among walls: the observation is its xy, the action its velocity (a full step is 0.5)."""

    layout: ClassVar[MazeLayout]
    varies = False
    horizon = 100  # release
    success_threshold = THRESHOLD

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(render_mode=render_mode)
        low, high = np.array(ARENA[:2]), np.array(ARENA[2:])
        self.observation_space = spaces.Box(low, high, dtype=np.float64)
        self.action_space = spaces.Box(-1.0, 1.0, (2,), dtype=np.float32)
        self.goal = np.array(self.layout.goal)
        self._x, self._y = self.layout.start
        self._trail: list[tuple[float, float]] = []  # positions of this episode, kept only when rendering
        self._window: Any = None

    def _reset(self) -> None:
        self._x, self._y = self.layout.start  # release: every episode starts in the same place
        self._trail = [(self._x, self._y)]

    def _advance(self, action: Floats) -> None:
        ax, ay = action.tolist()
        self._x, self._y = self.layout.move_point(self._x, self._y, ax, ay)
        if self.render_mode is not None:
            self._trail.append((self._x, self._y))

    def observe(self) -> Floats:
        """The position, [2]."""
        return self.xy()

    def distance(self, obs: ArrayLike) -> Floats:
        """Length of the shortest path around the walls to the goal, for positions [..., 2]."""
        return self.layout.distance(obs)

    def _distance_now(self, obs: Floats) -> float:
        return self.layout.paths.distance_point(self._x, self._y)

    def _straight(self, distance: float) -> float:
        return math.hypot(self._x - self.layout.goal[0], self._y - self.layout.goal[1])

    def xy(self) -> Floats:
        """The true place, [2]."""
        return np.array([self._x, self._y])

    @property
    def plane(self) -> Plane:
        """The maze from above. An observation is a place, and a place an observation."""
        return Plane(
            ARENA[:2], ARENA[2:], places=self._true_places, observations=self._seen_at, start=self.layout.start,
            walls=tuple((x0, y0, x1, y1) for x0, y0, x1, y1 in self.layout.walls.tolist()),
        )  # fmt: skip

    def _true_places(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Where the agent is when it makes these observations [n, 2]."""
        return observations

    def _seen_at(self, places: NDArray[Any]) -> NDArray[Any]:
        """What the agent observes in these places [n, 2]."""
        return places

    def scripted_action(self) -> Floats:
        """Straight along the shortest path."""
        return np.array(self.layout.heading(self._x, self._y))

    def _make_examples(self, n: int, rng: np.random.Generator) -> Floats:
        radius = EXAMPLE_RADIUS * np.sqrt(rng.uniform(size=n))  # uniform over the disc
        angle = rng.uniform(0.0, 2.0 * np.pi, size=n)
        offsets: Floats = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        return self.goal + offsets

    def render(self) -> NDArray[np.uint8] | None:
        """A frame of 512 × 512 (``rgb_array``), or an update of the window (``human``)."""
        if self.render_mode is None:
            return None
        frame = self._frame()
        if self.render_mode == "rgb_array":
            return frame
        if self._window is None:
            require_display()
            from mural.tasks.window import FrameWindow

            self._window = FrameWindow(type(self).__name__, self.metadata["render_fps"])
        self._window.show(frame)
        return None

    def _frame(self) -> NDArray[np.uint8]:
        from mural.tasks.mazes.picture import maze_frame  # drawing is no part of stepping

        examples = self.success_examples(50)
        return maze_frame(self.layout, trail=self._trail, examples=examples, spots=self._spots())

    def _spots(self) -> list[tuple[float, float, float]]:
        """Discs of hidden reward, for pictures."""
        return []

    def close(self) -> None:
        """Close the window, if there is one; the environment itself stays usable."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_window": None}  # a window belongs to its process


class ZigzagMaze(MazeTask):
    """Go through an S-shaped corridor from (-3, -3) to (3, 3)."""

    layout = ZIGZAG


class SpiralMaze(MazeTask):
    """Go around and into a spiral, from (-3, -3) to (-0.5, 1.25)."""

    layout = SPIRAL


class DoubleMaze(MazeTask):
    """Start in the middle: examples are on the far left; on the right, nearer, are rewards nobody mentions.

    The reward is 1 within 0.3 of any of five places, else 0. Success is about the examples, not the rewards.
    """

    layout = DOUBLE

    def hidden_reward(self) -> float:
        """1 near one of the five places, else 0."""
        x, y = self._x, self._y
        near = any((x - rx) ** 2 + (y - ry) ** 2 < HIDDEN_RADIUS**2 for rx, ry in HIDDEN_REWARDS)
        return 1.0 if near else 0.0

    def _make_examples(self, n: int, rng: np.random.Generator) -> Floats:
        low, high = DOUBLE_EXAMPLES
        return rng.uniform(low, high, size=(n, 2))

    def _spots(self) -> list[tuple[float, float, float]]:
        return [(x, y, HIDDEN_RADIUS) for x, y in HIDDEN_REWARDS]


class ShuffledMaze(MazeTask):
    """The zigzag maze on a 16 × 16 grid whose cells are relabelled: near observations are not near places.

    The agent is in a cell; half a full action or more along an axis goes one cell that way (a full step of
    the continuous maze is just one cell), less stays. The observation is the centre of the cell that the
    current one is shown as, under a permutation of all 256 cells that depends on `permutation_seed` only:
    training, evaluation and examples share it. `info["xy"]` is the true place.
    """

    layout = ZIGZAG

    def __init__(self, render_mode: str | None = None, permutation_seed: int = 0) -> None:
        super().__init__(render_mode=render_mode)
        self.grid = ShuffledGrid(self.layout, permutation_seed)
        self._enter(int(self.grid.cell_at(self.layout.start)))

    def _enter(self, cell: int) -> None:
        self._cell = cell
        self._x, self._y = self.grid.centres[cell].tolist()

    def _reset(self) -> None:
        self._enter(int(self.grid.cell_at(self.layout.start)))
        self._trail = [(self._x, self._y)]

    def _advance(self, action: Floats) -> None:
        self._enter(int(self.grid.move(self._cell, action)))
        if self.render_mode is not None:
            self._trail.append((self._x, self._y))

    def observe(self) -> Floats:
        """Centre of the cell that the current one is shown as, [2]."""
        shown: Floats = self.grid.centres[self.grid.label[self._cell]]
        return shown.copy()

    def distance(self, obs: ArrayLike) -> Floats:
        """Maze distance of the true cells behind observations [..., 2]; inf for cells in walls."""
        distances: Floats = self.grid.distance[self.grid.unlabel[self.grid.cell_at(obs)]]
        return distances

    def _distance_now(self, obs: Floats) -> float:
        return float(self.grid.distance[self._cell])

    def _true_places(self, observations: NDArray[Any]) -> NDArray[Any]:
        known = np.isfinite(observations).all(axis=-1, keepdims=True)
        cells = self.grid.unlabel[self.grid.cell_at(np.where(known, observations, 0.0))]
        return np.where(known, self.grid.centres[cells], np.nan)

    def _seen_at(self, places: NDArray[Any]) -> NDArray[Any]:
        shown: Floats = self.grid.centres[self.grid.label[self.grid.cell_at(places)]]
        return shown

    def scripted_action(self) -> Floats:
        """The move after which the fewest moves are left, of those the one that ends nearest to the goal."""
        after = self.grid.next[self._cell]
        left = self.grid.moves_to_go[after] + 1e-3 * self.grid.distance[after]
        i, j = np.unravel_index(np.argmin(left), left.shape)
        return np.array([i - 1.0, j - 1.0])

    def _make_examples(self, n: int, rng: np.random.Generator) -> Floats:
        # The goal is a corner of the grid: the four cells around it are within the threshold.
        done = np.flatnonzero(self.grid.distance < self.success_threshold)
        examples: Floats = self.grid.centres[self.grid.label[rng.choice(done, size=n)]]
        return examples

    def _examples_key(self) -> tuple[Any, ...]:
        return (self.grid.permutation_seed,)

    def _frame(self) -> NDArray[np.uint8]:
        from mural.tasks.mazes.picture import maze_frame

        x, y = self.observe().tolist()
        return maze_frame(self.layout, trail=self._trail, cell=CELL, shown=[(x, y)])
