"""Success over steps for each task: a line per method (mean of the seeds), their range, dots where runs were solved."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

COLOURS = {
    "mural": "#d1495b", "vice": "#30638e", "vice-count": "#66a61e", "sac-sparse": "#8d96a3", "sac-distance": "#edae49",
}  # fmt: skip


def draw(results: Path, out: Path) -> str:
    """Draw all results whose name has no variant in it; returns one sentence per task."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from mural.study.results import load

    groups: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for result in load(results):
        if result["name"] == f"{result['task']}-{result['method']}-{result['seed']}":
            groups[result["task"]][result["method"]].append(result)
    figure, axes = plt.subplots(1, len(groups), figsize=(4.6 * len(groups), 3.4), squeeze=False, layout="constrained")
    sentences = []
    for axis, (task, methods) in zip(axes[0], sorted(groups.items()), strict=True):
        for method, runs in sorted(methods.items()):
            steps, values = curves(runs)
            colour = COLOURS.get(method, "black")
            axis.plot(steps / 1000, values.mean(axis=0), color=colour, label=f"{method} ({len(runs)})")
            axis.fill_between(steps / 1000, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.15, lw=0)
            for run in runs:
                if run["stopped"]:
                    axis.plot(run["steps"] / 1000, run["final_success"], "o", color=colour, ms=5, clip_on=False)
        ends = ", ".join(
            f"{method} {np.mean([r['final_success'] for r in runs]):.2f}" for method, runs in sorted(methods.items())
        )
        sentences.append(f"{task}: final success {ends}")
        axis.set(title=task, xlabel="thousand steps", ylim=(-0.03, 1.03))
        axis.legend(frameon=False, fontsize=8)
    axes[0, 0].set_ylabel("success of the evaluation")
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=130)
    plt.close(figure)
    return "\n".join([str(out), *sentences])


def curves(runs: list[dict[str, Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Success on common steps, averaged over five evaluations; a run that stopped early keeps its last value."""
    end = max(run["config"]["steps"] for run in runs)
    steps = np.arange(1000, end + 1, 1000)
    values = []
    for run in runs:
        at, success = np.array(run["curves"]["eval/success"]).T
        smooth = np.array([success[max(0, i - 4) : i + 1].mean() for i in range(len(success))])
        values.append(np.interp(steps, at, smooth, left=0.0))
    return steps, np.array(values)
