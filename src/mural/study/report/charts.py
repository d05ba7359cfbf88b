"""Curves over steps as small SVG pictures: a panel per task, a line per method with its interval."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mural.study.report.groups import Group, band

# Okabe and Ito's colours, which colour-blind people can tell apart; then the same with dashes.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b5b95", "#000000")
SIZE = (4.2, 2.7)  # inches: a column of the page, or a phone
SHARES = ("eval/success", "coverage", "train/found")
FROM_ZERO = ("eval/distance", "calibration/ece", "calibration/brier")


@dataclass(frozen=True)
class Chart:
    """A picture, and what it shows in words."""

    title: str
    source: str
    """A data URI."""
    words: str


@dataclass(frozen=True)
class Metric:
    """A number over time."""

    name: str
    title: str
    meaning: str


TRUE = (
    Metric("eval/success", "success", "Share of evaluation episodes that end in success."),
    Metric("eval/distance", "distance", "Distance to the goal where evaluation episodes end."),
)
OWN = (
    Metric("eval/return", "learned return", "Sum of the learned reward over an evaluation episode."),
    Metric("train/found", "taken for success", "Share of episode ends that the classifier takes for success."),
    Metric("coverage", "coverage", "Share of the cells of the plane that have been visited."),
)
RELIABILITY = (
    Metric("calibration/ece", "calibration error", "How far stated probabilities are from shares, on average (ECE)."),
    Metric("calibration/brier", "Brier score", "Mean squared error of the stated probability."),
)


def look(index: int) -> tuple[str, str]:
    """Colour and line style of the n-th label."""
    return COLOURS[index % len(COLOURS)], ("solid", "dashed", "dotted")[index // len(COLOURS) % 3]


def chart(groups: Sequence[Group], labels: Sequence[str], metric: Metric, task: str) -> Chart | None:
    """A metric of one task; None if no run has it."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # Text stays text, and a dollar in a stranger's name starts no formula.
    quiet = {"svg.fonttype": "none", "text.parse_math": False, "font.family": "sans-serif", "svg.hashsalt": "mural"}
    with rc_context(quiet):
        figure = Figure(figsize=SIZE, layout="constrained")
        axes: Any = figure.add_subplot()
        told = [line(axes, group, look(labels.index(group.label)), metric) for group in groups]
        if not any(told):
            return None
        if metric.name in SHARES:
            axes.set(ylim=(-0.03, 1.03))
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        elif metric.name in FROM_ZERO:
            axes.set_ylim(bottom=min(0.0, float(axes.dataLim.y0)))
        axes.xaxis.set_major_formatter(lambda value, _: thousands(value))
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color("#99a3ad")
        axes.tick_params(labelsize=9, colors="#4a5560")
        axes.grid(axis="y", color="#e6eaee", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.set_xlabel("environment steps", fontsize=9, color="#4a5560")
        data = io.BytesIO()
        figure.savefig(data, format="svg", transparent=True, metadata={"Date": None})
    source = "data:image/svg+xml;base64," + base64.b64encode(data.getvalue()).decode()
    return Chart(metric.title, source, f"{metric.title}, {task}: {'; '.join(filter(None, told))}")


def line(axes: Any, group: Group, style: tuple[str, str], metric: Metric) -> str:
    """Draw a group: each run thinly, their mean and interval; returns its end in words, '' if there is nothing."""
    colour, dashes = style
    there = [run for run in group.runs if run.curve(metric.name)]
    if not there:
        return ""
    for run in there:
        axes.plot(*zip(*run.curve(metric.name), strict=True), color=colour, linewidth=0.8, alpha=0.35)
    found = band(there, metric.name)
    if found is not None:
        steps, means, low, high = found
        mark = "o" if len(steps) == 1 else None
        axes.plot(steps, means, color=colour, linestyle=dashes, linewidth=2, marker=mark, markersize=4)
        if len(there) > 1:
            axes.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)
    end = group.final(metric.name)
    return f"{group.label} {number(end.value, metric.name)} at the end" if end else ""


def number(value: float, metric: str) -> str:
    """A value as people read it."""
    return f"{value:.0%}" if metric in SHARES else f"{value:.3g}"


def thousands(value: float) -> str:
    """Steps as 0, 500, 20k, 1.5M."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"
