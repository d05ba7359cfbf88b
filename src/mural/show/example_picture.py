"""A picture of success examples of any environment, among the states that random actions visit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from mural.atomic import replacing

MOST = 24  # columns that are drawn
VISITED, STARTS, EXAMPLES, DOUBTFUL = "0.75", "tab:blue", "tab:red", "black"


def draw_examples(
    path: Path,
    names: Sequence[str],
    examples: NDArray[Any],
    visited: NDArray[Any],
    started: NDArray[Any],
    title: str,
    doubtful: NDArray[Any],
) -> None:
    """Write a .png: a strip for each column, and the first two columns as a plane.

    In the strips each column is scaled to the range of what is drawn, which is written at its ends. `doubtful` are
    the examples that get a cross.
    """
    shown = min(len(names), MOST)
    plane = len(names) > 1
    figure = Figure(figsize=(13 if plane else 8, max(3.0, 0.42 * shown + 1.6)), layout="constrained")
    axes = figure.subplots(1, 2 if plane else 1, squeeze=False)[0]
    strips, rng = axes[0], np.random.default_rng(0)
    kinds = (
        (visited, VISITED, 0.0, ".", "random steps"),
        (started, STARTS, 0.0, ".", "starts"),
        (examples, EXAMPLES, 0.28, ".", "success"),
        *([(doubtful, DOUBTFUL, 0.28, "x", "success? like random steps")] if len(doubtful) else []),
    )
    everything = np.concatenate([examples, visited, started]).astype(np.float64)
    low, high = everything.min(axis=0), everything.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    for i in range(shown):
        for values, colour, lift, mark, label in kinds:
            x = (values[:, i] - low[i]) / span[i]
            y = i - lift + rng.uniform(-0.1, 0.1, len(x))
            strips.plot(x, y, mark, color=colour, markersize=3, alpha=0.6, label=label if i == 0 else None)
        for place, value, side in ((-0.02, low[i], "right"), (1.02, high[i], "left")):
            strips.text(place, i, f"{value:.3g}", ha=side, va="center", fontsize=7)
    strips.set_yticks(range(shown), names[:shown], fontsize=8)
    strips.tick_params(axis="y", length=0, pad=44)
    strips.set(xlim=(-0.03, 1.03), ylim=(shown - 0.4, -0.7), xticks=[])
    strips.set_title(
        title if shown == len(names) else f"{title} (the first {shown} of {len(names)} columns)", fontsize=10
    )
    strips.spines[:].set_visible(False)
    strips.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=len(kinds), fontsize=8, frameon=False)
    if plane:
        for values, colour, _, mark, _ in kinds:
            axes[1].plot(values[:, 0], values[:, 1], mark, color=colour, markersize=4, alpha=0.6)
        axes[1].set(xlabel=names[0], ylabel=names[1])
    with replacing(path) as scratch, scratch.open("wb") as file:
        figure.savefig(file, format="png", dpi=110)
