"""Claims on what the rewards of four classifiers look like on the maze: sharp, misleading, or aware of what is new."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from mural.study.claims.base import Claim, Evidence, Finding, all_of, decided, nothing
from mural.tasks.mazes.layouts import ZIGZAG

COMMAND = "mural figure classifier-reward-comparisons --out docs/figures"
SUCCESS, AROUND = 0.5, 2.0  # distances on the maze

Maps = dict[str, Any]  # what the figure returns


def on_maps(judge: Callable[[Maps], Finding]) -> Callable[[Evidence], Finding]:
    """A claim on the figure's data: nothing is found where it has not been drawn."""

    @wraps(judge)
    def judged(evidence: Evidence) -> Finding:
        data = evidence.figure("classifier-reward-comparisons")
        return nothing() if data is None else judge(data)

    return judged


@on_maps
def sharp(data: Maps) -> Finding:
    """A converged classifier is nearly sure on most of the maze, and says nearly nothing between."""
    p = np.array(data["maps"]["maximum likelihood"])
    share = float(np.mean((p > 0.05) & (p < 0.95)))
    return Finding(f"{share:.0%} of the maze is between 0.05 and 0.95", decided(share <= 0.1))


@on_maps
def unseen(data: Maps) -> Finding:
    """Meta-NML: little where the agent has been, about a half where nobody has."""
    visited, new = data["at_visits"], data["unseen"]
    tests = {"visited": visited < 0.2, "unseen": 0.3 <= new <= 0.7}
    return Finding(f"mean reward {visited:.2f} at visited states, {new:.2f} in the unseen corridor", all_of(tests))


@on_maps
def misleads(data: Maps) -> Finding:
    """A regularised classifier follows the straight line to the goal more than the way around the walls."""
    straight, around = data["tau"]["regularised"]["straight"], data["tau"]["regularised"]["around"]
    text = f"Kendall's τ of reward and nearness: {straight:.2f} in a straight line, {around:.2f} around the walls"
    return Finding(text, decided(straight > around))


@on_maps
def off_goal(data: Maps) -> Finding:
    """Where a regularised classifier is surest of success, there is none."""
    away, reward = around_goal(data, "regularised")
    far = float(away[np.argmax(reward)])
    text = f"its highest reward is {far:.1f} away from the goal; success is within {SUCCESS:.1f}"
    return Finding(text, decided(far > SUCCESS))


@on_maps
def slopes(data: Maps) -> Finding:
    """Around the examples meta-NML rises towards them; counts, which know cells alone, do not."""
    found = {}
    for name in ("meta-NML, one step", "ideal CNML: counts"):
        away, reward = around_goal(data, name)
        ring = (away > SUCCESS) & (away < AROUND)
        flat = np.ptp(reward[ring]) == 0
        found[name] = 0.0 if flat else float(np.corrcoef(reward[ring], -away[ring])[0, 1])
    ours, counts = found.values()
    text = f"correlation of reward and nearness within {AROUND:.0f} of the goal: {ours:.2f}, counts {counts:.2f}"
    return Finding(text, all_of({"rises": ours > 0.3, "more than counts": ours > counts}))


def around_goal(data: Maps, name: str) -> tuple[Any, Any]:
    """Distances to the goal and rewards of the free cells of a map."""
    reward = np.array(data["maps"][name])
    side, (x0, x1, y0, y1) = round(len(reward) ** 0.5), data["extent"]
    unit = (np.arange(side) + 0.5) / side
    places = np.stack(np.meshgrid(x0 + unit * (x1 - x0), y0 + unit * (y1 - y0), indexing="ij"), axis=-1).reshape(-1, 2)
    free = ZIGZAG.is_free(places)
    return np.linalg.norm(places - np.array(ZIGZAG.goal), axis=1)[free], reward[free]


MAPS = (
    Claim("sharp", "A classifier by maximum likelihood, trained to the end, has a sharp boundary and says little else.",
          "fig:classifier-reward-comparisons", COMMAND, sharp),
    Claim("misleads", "Weight decay, mixup and early stopping make it smooth, and misleading where there are walls.",
          "fig:failclassifier", COMMAND, misleads),
    Claim("off-goal", "So regularised, it does not single out the goal.", "fig:classifier-reward-comparisons", COMMAND,
          off_goal),
    Claim("slopes", "Meta-NML generalises: it rises towards the goal where counts are flat.",
          "fig:classifier-reward-comparisons", COMMAND, slopes),
    Claim("unseen", "Meta-NML gives new states about a half, and states that were visited in vain little.",
          "fig:classifier-reward-comparisons", COMMAND, unseen),
)  # fmt: skip
