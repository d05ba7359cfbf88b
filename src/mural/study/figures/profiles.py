"""All tasks together: performance profiles, and success over the share of the budget (sample efficiency)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mural.study import statistics
from mural.study.figures.picture import PAGE, Ask, Drawn, colour, sheet
from mural.study.runs import COMPARISON, Runs, gather

THRESHOLDS = np.linspace(0, 1, 21)
SHARES = np.linspace(0, 1, 31)[1:]


def profiles(ask: Ask) -> Drawn:
    """Both, for the methods that were run on the same tasks as MURAL; the others stand in the small print."""
    runs = gather(COMPARISON, ask.where, what="the figure of profiles", partial=ask.partial)
    tasks = common(runs)
    methods = {label: pair for label, pair in runs.methods().items() if tasks <= set(runs.success(*pair))}
    figure = sheet(PAGE, 2.6)
    share, sooner = figure.subplots(1, 2)
    data: dict[str, Any] = {"tasks": sorted(tasks), "thresholds": THRESHOLDS, "shares": SHARES, "methods": {}}
    for label, pair in methods.items():
        above = statistics.profile(runs.success(*pair, tasks=tasks), THRESHOLDS)
        curves = {group.task: [in_shares(run) for run in of] for group, of in runs.by.items()
                  if group.label == label and group.task in tasks}  # fmt: skip
        risen = statistics.efficiency(curves, SHARES)
        for axis, x, points in ((share, THRESHOLDS, above), (sooner, SHARES, risen)):
            shade, dash = colour(label)
            axis.plot(x, [p.value for p in points], color=shade, linestyle=dash, label=label, linewidth=1.3)
            axis.fill_between(x, [p.low for p in points], [p.high for p in points], color=shade, alpha=0.12, lw=0)
        data["methods"][label] = {"profile": [p.plain() for p in above], "efficiency": [p.plain() for p in risen]}
    share.set(xlabel="success τ", ylabel="share of runs above τ", ylim=(-0.03, 1.03))
    sooner.set(xlabel="share of the budget", ylabel="success, IQM over tasks", ylim=(-0.03, 1.03))
    figure.legend(*share.get_legend_handles_labels(), loc="outside upper center", ncols=6, frameon=False)
    data |= runs.provenance()
    half = {method: of["profile"][10]["value"] for method, of in data["methods"].items()}
    said = f"{len(tasks)} tasks; runs with success above a half: " + ", ".join(f"{m} {v:.0%}" for m, v in half.items())
    return Drawn(figure, data, said, f"{', '.join(sorted(tasks))}; {runs.made_by()}")


def common(runs: Runs) -> set[str]:
    """The tasks that MURAL and VICE, which are run on all, have both been run on."""
    return set(runs.success("mural")) & set(runs.success("vice")) or set(runs.tasks())


def in_shares(run: dict[str, Any]) -> list[list[float]]:
    """The success curve of a run over the share of its budget."""
    return [[step / run["config"]["steps"], value] for step, value in run["curves"]["eval/success"]]
