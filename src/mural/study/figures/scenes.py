"""What the tasks look like (fig:envs, fig:double-maze-layout), and what all of it is for (fig:main-fig)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.patches import Circle
from numpy.typing import NDArray

from mural import tasks
from mural.nml import MetaNMLClassifier
from mural.show.axes import furnish
from mural.study.figures.maze_axes import PLANE, draw_map, map_points
from mural.study.figures.picture import COLUMN, Ask, Drawn, from_scratch, sheet, stacked
from mural.study.maze_data import zigzag_data
from mural.study.tables.paper import METRICS
from mural.tasks.mazes.tasks import HIDDEN_RADIUS, HIDDEN_REWARDS

SHOWN = 0.5  # a scripted episode is shown after this share of its steps


def envs(ask: Ask) -> Drawn:
    """The seven tasks, each in the middle of an episode of its scripted controller."""
    figure = sheet(COLUMN, 2.2)
    found = {}
    axes = figure.subplots(2, 4).ravel()
    for axis in axes:
        axis.set_axis_off()
    for axis, task in zip(axes, METRICS, strict=False):
        frame, found[task] = scene(task, ask.seed)
        axis.imshow(square(frame))
        axis.set_title(task, fontsize=6.5)
    said = "; ".join(
        f"{task}: {about['observation']} numbers seen, {about['action']} done" for task, about in found.items()
    )
    return Drawn(figure, found, said, from_scratch(ask.seed, ": scripted episodes"))


def scene(name: str, seed: int) -> tuple[NDArray[Any], dict[str, Any]]:
    """A frame of a task, and its sizes."""
    task = tasks.make(name, render_mode="rgb_array")
    try:
        task.reset(seed=seed)
        for _ in range(round(SHOWN * task.horizon)):
            task.step(task.scripted_action())
        frame: Any = task.render()
        sizes = {
            "observation": int(np.prod(task.observation_space.shape)),
            "action": int(np.prod(task.action_space.shape)),
        }
        return frame, sizes | {"horizon": task.horizon, "threshold": task.success_threshold}
    finally:
        task.close()


def square(frame: NDArray[Any]) -> NDArray[Any]:
    """The middle of a frame."""
    side = min(frame.shape[:2])
    top, left = ((size - side) // 2 for size in frame.shape[:2])
    return frame[top : top + side, left : left + side]


def double_layout(ask: Ask) -> Drawn:
    """The double maze: where it starts, the examples on the left, the hidden rewards on the right."""
    task = tasks.make("double-maze")
    plane, examples = task.plane, np.asarray(task.success_examples(5, ask.seed))
    task.close()
    assert plane is not None
    figure = sheet(COLUMN, COLUMN)
    axis = figure.subplots()
    for place in HIDDEN_REWARDS:
        axis.add_patch(Circle(place, HIDDEN_RADIUS, color="#E69F00"))
    furnish(axis, plane, "stars: examples; discs: hidden rewards", examples)
    axis.title.set_fontsize("medium")
    axis.spines[:].set_visible(True)
    data = {"walls": plane.walls, "start": plane.start, "examples": examples, "hidden": HIDDEN_REWARDS}
    return Drawn(
        figure, data, f"{len(examples)} examples, {len(HIDDEN_REWARDS)} hidden rewards", from_scratch(ask.seed)
    )


def main_figure(ask: Ask) -> Drawn:
    """Examples and visits go in, a reward that knows what it does not know comes out; tasks that it serves."""
    data = zigzag_data(ask.seed)
    model = MetaNMLClassifier((128, 128), kernel_width=0.5, standardize=False, meta_epochs=30, random_state=ask.seed)
    reward = model.fit(data.x, data.y).predict_proba(map_points())[:, 1]
    figure = sheet(COLUMN, 3.2)
    upper, lower = stacked(figure, 1.6, 1.2)
    (given, learned), used = upper.subplots(1, 2), lower.subplots(1, 3)
    given.scatter(*data.visits.T, s=0.6, c="#0072B2", linewidths=0, rasterized=True)
    furnish(given, PLANE, "visits and examples …", data.examples)
    given.title.set_fontsize("medium")
    given.set(xlabel="", ylabel="")
    draw_map(learned, reward, "… become a reward …")
    for axis, task in zip(used, ("sawyer-pick", "ant-maze", "hand-reposition"), strict=True):
        axis.imshow(square(scene(task, ask.seed)[0]))
        axis.set_axis_off()
    lower.suptitle("… for tasks that nobody wrote one for", fontsize="medium")
    levels = {"visited": data.visits, "examples": data.examples}
    means = {name: float(model.predict_proba(states)[:, 1].mean()) for name, states in levels.items()}
    said = "mean reward: " + ", ".join(f"{name} {value:.2f}" for name, value in means.items())
    return Drawn(figure, {"reward": reward, "means": means}, said, from_scratch(ask.seed))
