"""The rules of the default about goals that differ, and about wrong examples, each in a picture."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from mural.inputs.checks import explore
from mural.inputs.doubts import doubts_about
from mural.inputs.spaces import Spaces
from mural.rewards import metric
from mural.rewards.relations import measured_from
from mural.show.axes import furnish
from mural.study.figures.maze_axes import PLANE
from mural.study.wrong_examples import wrong_examples
from mural.tasks import make

Floats = NDArray[np.floating]
OLD, NEW, GREY = "#0072B2", "#D55E00", "0.75"
EPISODES, STEPS, NEAR = 10, 100, 0.05
WRONG = 0.2


@cache
def goals(seed: int) -> tuple[Floats, Floats]:
    """Visits and examples, each a place and a goal: a walk past goals that differ from episode to episode."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(0, 0.1, (EPISODES, STEPS)).cumsum(axis=1)
    goal = np.repeat(rng.uniform(-1, 1, EPISODES), STEPS)
    target = rng.uniform(-1, 1, 150)
    examples = np.stack([target + rng.uniform(-NEAR, NEAR, 150), target], axis=1)
    return np.stack([np.tanh(steps).ravel(), goal], axis=1).astype(np.float32), examples.astype(np.float32)


def relation(ax: Any, seed: int) -> dict[str, Any]:
    """Where visits and examples lie, as place and goal: only together do the two tell success."""
    visits, examples = goals(seed)
    ax.scatter(*visits.T, s=2, color=GREY, linewidths=0, label="visits")
    ax.scatter(*examples.T, s=3, color=NEW, linewidths=0, label="examples")
    ax.set(title="success is that two are near", xlabel="place", ylabel="goal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    ax.legend(fontsize=5, loc="upper left")
    return {"correlation": float(np.corrcoef(*examples.T)[0, 1])}


def counting(ax: Any, seed: int) -> dict[str, Any]:
    """What each number tells by itself, and what the goal tells when it is measured from the place."""
    visits, examples = goals(seed)
    alone = np.asarray(metric.apart(jnp.asarray(visits), jnp.asarray(examples))[1])
    seen, shown = jnp.asarray(visits), jnp.asarray(examples)
    found = metric.measure("spread", metric.raw(2), seen, seen, seen[::STEPS], shown)
    measured = [measured_from(x, found.partner, found.slope) for x in (seen, shown)]
    told = float(metric.apart(*measured)[1][1])
    values = {"place": float(alone[0]), "goal": float(alone[1]), "goal − place": told}
    ax.bar(list(values), [max(value, 0.0) for value in values.values()], color=[OLD, OLD, NEW])
    ax.tick_params(axis="x", rotation=30)
    ax.set(title="how much each tells", ylim=(0, 1.1))
    return values


def wrong(ax: Any, seed: int) -> dict[str, Any]:
    """Examples a fifth of which are ordinary states, among the states that random actions come to."""
    task = make("zigzag-maze")
    spaces = Spaces.of(task)
    examples = wrong_examples(task, 150, WRONG, seed)
    walks = explore(task, spaces)
    right = task.is_success(examples)
    task.close()
    rows = doubts_about(spaces, examples.astype(np.float64), walks).rows
    ax.scatter(*walks.visited.T, s=1, color=GREY, linewidths=0, label="random steps")
    ax.scatter(*examples.T, s=5, color=NEW, linewidths=0, label="examples")
    ax.scatter(*examples[rows].T, s=12, facecolors="none", edgecolors=OLD, linewidths=0.6, label="left out")
    furnish(ax, PLANE, "wrong examples are left out")
    ax.legend(loc="center right", fontsize=5)
    return {
        "wrong": int((~right).sum()),
        "left out": int((~right[rows]).sum()),
        "right left out": int(right[rows].sum()),
    }
