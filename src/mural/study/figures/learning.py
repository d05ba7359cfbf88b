"""Learning curves of many runs: a panel per task, a line per method with the interval of its interquartile mean."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mural.errors import MuralError
from mural.study import statistics
from mural.study.figures.picture import COLUMN, PAGE, Ask, Drawn, colour, sheet
from mural.study.runs import ABLATED, COMPARISON, Group, Result, Runs, gather, groups, success


class MissingCurveError(MuralError, ValueError):
    """Result files were made before this was kept; the message says which."""


SHUFFLED, DOUBLE = ("mural", "cnml", "vice", "sac-sparse"), ("mural", "vice", "sac")
POINTS = 60  # along a curve
SMOOTH = 5  # evaluations that a point of a success curve is the mean of
TITLES = {
    "eval/success": "success",
    "eval/distance": "distance to the goal",
    "coverage": "coverage",
    "eval/env_return": "hidden reward per episode",
}


def comparisons(ask: Ask) -> Drawn:
    """Success of all methods on all tasks (fig:comparisons), and over the tasks that a method was run on."""
    runs = gather(COMPARISON, ask.where, what="fig:comparisons", partial=ask.partial)
    return drawn(runs, "eval/success", overall=True)


def distances(ask: Ask) -> Drawn:
    """Distance to the goal of all methods on all tasks (fig:distance-metrics)."""
    runs = gather(COMPARISON, ask.where, what="fig:distance-metrics", partial=ask.partial)
    return drawn(runs, "eval/distance")


def ablations(ask: Ask) -> Drawn:
    """MURAL without meta-training, and with its novelty and its classifier apart (fig:ablations)."""
    return of_study(ask, "fig:ablations", ablation_groups())


def shuffled(ask: Ask) -> Drawn:
    """Success where near states are not near places (fig:shuffled-maze-plots)."""
    return of_study(ask, "fig:shuffled-maze-plots", groups("shuffled", ["shuffled-maze"], SHUFFLED))


def double(ask: Ask) -> Drawn:
    """The return of the hidden rewards on the double maze (fig:double-maze-plot)."""
    needed = groups("double", ["double-maze"], DOUBLE)
    return of_study(ask, "fig:double-maze-plot", needed, "eval/env_return")


def coverage(ask: Ask) -> Drawn:
    """The share of the plane that was visited, over time: one half of fig:visitations."""
    return of_study(
        ask, "fig:visitations", groups("mazes", ("zigzag-maze", "spiral-maze"), ("mural", "vice")), "coverage"
    )


def ablation_groups() -> list[Group]:
    """The two ablations of the paper beside MURAL, on a maze and on an arm."""
    without = ("mural-no-meta", "mural-negatives")
    return [
        group
        for task, study in ABLATED.items()
        for group in (Group(study, task, "mural"), *groups("ablations", [task], without))
    ]


def of_study(ask: Ask, label: str, needed: Iterable[Group], metric: str = "eval/success") -> Drawn:
    """Curves of the groups of a figure."""
    return drawn(gather(needed, ask.where, what=label, partial=ask.partial), metric)


def drawn(runs: Runs, metric: str, *, overall: bool = False) -> Drawn:
    """A panel per task; `overall` adds one with the final success over tasks."""
    without = [run["name"] for of in runs.by.values() for run in of if not run["curves"].get(metric)]
    if without:
        raise MissingCurveError(
            f"{', '.join(without[:3])}{' and others' * (len(without) > 3)} kept no {metric}: "
            "collect these runs again, or remove their result files"
        )
    tasks = runs.tasks()
    panels = len(tasks) + (overall and len(tasks) > 1)
    columns = min(panels, 4 if panels > 6 or panels == 4 else 3)
    rows = math.ceil(panels / columns)
    figure = sheet(PAGE if columns > 1 else COLUMN, 1.75 * rows + 0.7)
    axes = np.ravel(figure.subplots(rows, columns, squeeze=False))
    labels = dict.fromkeys(group.label for group in runs.by)
    data: dict[str, Any] = {"metric": metric, "tasks": {}}
    for axis, task in zip(axes, tasks, strict=False):
        data["tasks"][task] = {
            group.label: line(axis, group, of, metric, labels) for group, of in runs.of_task(task).items()
        }
        axis.set_title(task)
        axis.set_xlabel("thousand steps")
        if metric != "eval/distance":
            axis.set_ylim(bottom=-0.03, top=1.03 if metric in ("eval/success", "coverage") else None)
    axes[0].set_ylabel(TITLES.get(metric, metric))
    for axis in axes[panels:]:
        axis.set_axis_off()
    if overall and len(tasks) > 1:
        data["overall"] = draw_overall(axes[panels - 1], runs)
    handles = {line.get_label(): line for axis in axes for line in axis.get_lines() if line.get_label() in labels}
    figure.legend(
        handles.values(), handles.keys(), loc="outside upper center", ncols=min(6, len(handles)), frameon=False
    )
    data |= runs.provenance()
    return Drawn(figure, data, told(data), runs.made_by())


def line(axis: Any, group: Group, runs: Sequence[Result], metric: str, labels: Any) -> dict[str, Any]:
    """One method on one task: its curve, and its final success."""
    curves = [smooth(run["curves"][metric], SMOOTH if metric == "eval/success" else 1) for run in runs]
    steps = np.linspace(0, max(run["config"]["steps"] for run in runs), POINTS + 1)[1:]
    first = max(curve[0][0] for curve in curves)
    steps = steps[steps >= first]
    points = statistics.efficiency({group.task: curves}, steps)
    shade, dash = colour(group.label, labels)
    axis.plot(steps / 1000, [p.value for p in points], dash, color=shade, label=group.label,
              linewidth=1.8 if group.label == "mural" else 1.1, zorder=3 if group.label == "mural" else 2)  # fmt: skip
    axis.fill_between(steps / 1000, [p.low for p in points], [p.high for p in points], color=shade, alpha=0.15, lw=0)
    ends = [success(run) for run in runs] if metric == "eval/success" else [curve[-1][1] for curve in curves]
    final = statistics.iqm({group.task: ends})
    return {
        "runs": len(runs), "seeds": [run["seed"] for run in runs], "steps": steps, "final": final.plain(),
        "value": [p.value for p in points], "low": [p.low for p in points], "high": [p.high for p in points],
    }  # fmt: skip


def smooth(curve: Sequence[Sequence[float]], over: int) -> list[list[float]]:
    """Each value as the mean of itself and those before it."""
    values = [value for _, value in curve]
    return [[step, float(np.mean(values[max(0, i - over + 1) : i + 1]))] for i, (step, _) in enumerate(curve)]


def draw_overall(axis: Any, runs: Runs) -> dict[str, Any]:
    """Final success over the tasks of each method: interquartile mean and interval."""
    found = {}
    for label, (method, variant) in runs.methods().items():
        scores = runs.success(method, variant)
        found[label] = statistics.iqm(scores), len(scores)
    ranked = sorted(found, key=lambda label: found[label][0].value)
    for i, label in enumerate(ranked):
        estimate, _ = found[label]
        axis.plot([estimate.low, estimate.high], [i, i], color=colour(label)[0], linewidth=2.5, alpha=0.4)
        axis.plot(estimate.value, i, "o", color=colour(label)[0], markersize=4)
    axis.set_yticks(range(len(ranked)), [f"{label} ({found[label][1]})" for label in ranked], fontsize=6)
    axis.set(xlim=(-0.03, 1.03), xlabel="final success, IQM")
    axis.set_title("over (n) tasks")
    return {label: estimate.plain() | {"tasks": tasks} for label, (estimate, tasks) in found.items()}


def told(data: dict[str, Any]) -> str:
    """Where each method ends on each task: success over the last ten evaluations, else the last value."""
    return "; ".join(
        f"{task}: " + ", ".join(f"{label} {value['final']['value']:.2f}" for label, value in methods.items())
        for task, methods in data["tasks"].items()
    )
