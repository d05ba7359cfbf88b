"""Pictures of success examples, to see that they are what one means by success."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.image import imsave
from numpy.typing import NDArray

from mural.atomic import replacing, require_writable
from mural.errors import ArgumentError
from mural.tasks.mazes.picture import maze_frame
from mural.tasks.mazes.shuffled import CELL
from mural.tasks.mazes.tasks import MazeTask, ShuffledMaze
from mural.tasks.registry import make
from mural.tasks.robots.mujoco_base import MujocoTask

Image = NDArray[np.uint8]
GAP = 6  # pixels of white between frames
ZOOM = 1.2  # how much of a maze the close-up of its examples shows


def examples_picture(task_name: str, path: str | Path, n: int = 16, seed: int = 0) -> Path:
    """Write a picture of the task's ``success_examples(n, seed)`` as a PNG file.

    Robots: a grid of frames, one per example. Mazes: the map with the examples as points, and a close-up.
    Shuffled maze: the map with the true cells in green and frames around the cells that they are shown as.
    """
    if n < 1:
        raise ArgumentError(f"n is {n}; at least one example is needed")
    require_png(path)
    task = make(task_name, render_mode="rgb_array")
    try:
        if isinstance(task, MazeTask):
            frames = _maze_frames(task, n, seed)
        elif isinstance(task, MujocoTask):
            frames = _robot_frames(task, n, seed)
        else:
            raise ArgumentError(f"there is no way to draw examples of a {type(task).__name__}")
    finally:
        task.close()
    return _write(path, tile(frames))


def scripted_picture(task_name: str, path: str | Path, seed: int = 0) -> Path:
    """Write the frame in which the scripted controller first succeeds (or the last one) as a PNG file."""
    require_png(path)
    task = make(task_name, render_mode="rgb_array")
    try:
        task.reset(seed=seed)
        done = False
        while not done:
            _, _, _, truncated, info = task.step(task.scripted_action())
            done = truncated or info["is_success"]
        frame: Any = task.render()
    finally:
        task.close()
    return _write(path, frame)


def _write(path: str | Path, image: Image) -> Path:
    path = Path(path)
    with replacing(path) as scratch:
        imsave(scratch, image, format="png")
    return path


def require_png(path: str | Path) -> None:
    """Raise a named error unless a PNG file can be written here."""
    if Path(path).suffix.lower() != ".png":
        raise ArgumentError(f"{path}: a picture is a .png file")
    require_writable(Path(path))


def tile(frames: list[Image]) -> Image:
    """Frames of equal size side by side, in about as many rows as columns."""
    columns = int(np.ceil(np.sqrt(len(frames))))
    rows = int(np.ceil(len(frames) / columns))
    height, width = frames[0].shape[:2]
    sheet = np.full((rows * (height + GAP) - GAP, columns * (width + GAP) - GAP, 3), 255, dtype=np.uint8)
    for i, frame in enumerate(frames):
        top, left = i // columns * (height + GAP), i % columns * (width + GAP)
        sheet[top : top + height, left : left + width] = frame
    return sheet


def _maze_frames(task: MazeTask, n: int, seed: int) -> list[Image]:
    examples = task.success_examples(n, seed)
    if isinstance(task, ShuffledMaze):
        shown = sorted({(x, y) for x, y in examples.tolist()})
        return [maze_frame(task.layout, cell=CELL, shown=shown)]
    x, y = task.goal.tolist()
    close = (x - 0.5 * ZOOM, y - 0.5 * ZOOM, ZOOM)
    spots = task._spots()
    return [
        maze_frame(task.layout, examples=examples, spots=spots),
        maze_frame(task.layout, examples=examples, spots=spots, view=close),
    ]


def _robot_frames(task: MujocoTask, n: int, seed: int) -> list[Image]:
    """A frame per example, at half the task's own size."""
    frames: list[Image] = []
    # An example is an observation, from which a robot cannot be drawn: it is made once more, and seen.
    for _ in task._successes(n, np.random.default_rng(seed)):
        frame: Any = task.render()
        height, width = frame.shape[0] // 2, frame.shape[1] // 2
        halves = frame.astype(np.float64).reshape(height, 2, width, 2, 3)
        frames.append(halves.mean(axis=(1, 3)).astype(np.uint8))
    return frames
