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
from mural.study.figures.picture import COLUMN, PAGE, Ask, Drawn, sheet
from mural.study.maze_data import zigzag_data
from mural.study.tables.paper import METRICS
from mural.tasks.mazes.tasks import HIDDEN_RADIUS, HIDDEN_REWARDS

SHOWN = 0.5  # a scripted episode is shown after this share of its steps


def envs(ask: Ask) -> Drawn:
    """The seven tasks, each in the middle of an episode of its scripted controller."""
    figure = sheet(PAGE, 1.4)
    found = {}
    for axis, task in zip(figure.subplots(1, len(METRICS)), METRICS, strict=True):
        frame, found[task] = scene(task, ask.seed)
        axis.imshow(frame)
        axis.set_axis_off()
        axis.set_title(task, fontsize=6)
    said = "; ".join(
        f"{task}: {about['observation']} numbers seen, {about['action']} done" for task, about in found.items()
    )
    return Drawn(figure, found, said, f"scripted episodes, seed {ask.seed}")


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
    return Drawn(figure, data, f"{len(examples)} examples, {len(HIDDEN_REWARDS)} hidden rewards", f"seed {ask.seed}")


def main_figure(ask: Ask) -> Drawn:
    """Examples and visits go in, a reward that knows what it does not know comes out; tasks that it serves."""
    data = zigzag_data(ask.seed)
    model = MetaNMLClassifier((128, 128), kernel_width=0.5, standardize=False, meta_epochs=30, random_state=ask.seed)
    reward = model.fit(data.x, data.y).predict_proba(map_points())[:, 1]
    figure = sheet(PAGE, 2.0)
    given, learned, *used = figure.subplots(1, 5, width_ratios=[1.2, 1.2, 1, 1, 1])
    given.scatter(*data.visits.T, s=0.6, c="#0072B2", linewidths=0, rasterized=True)
    furnish(given, PLANE, "visits and examples …", data.examples)
    given.title.set_fontsize("medium")
    draw_map(learned, reward, "… become a reward …")
    for axis, task in zip(used, ("sawyer-pick", "ant-maze", "hand-reposition"), strict=True):
        axis.imshow(scene(task, ask.seed)[0])
        axis.set_axis_off()
    used[1].set_title("… for tasks that nobody wrote one for")
    levels = {"visited": data.visits, "examples": data.examples}
    means = {name: float(model.predict_proba(states)[:, 1].mean()) for name, states in levels.items()}
    said = "mean reward: " + ", ".join(f"{name} {value:.2f}" for name, value in means.items())
    return Drawn(figure, {"reward": reward, "means": means}, said, f"made from scratch with seed {ask.seed}")
