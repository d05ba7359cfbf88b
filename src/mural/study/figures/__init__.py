"""The paper's figures, each made from scratch by one function: add a file, and a line to `FIGURES`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mural.study.figures.gradient_steps import gradient_steps
from mural.study.figures.importance_weighting import importance_weighting
from mural.study.figures.reward_classifiers import reward_classifiers


@dataclass(frozen=True)
class FigureSpec:
    """A figure: where it stands in the paper, and the function (path, seed) that makes it and says what it shows."""

    make: Callable[[Path, int], str]
    paper: str


FIGURES: dict[str, FigureSpec] = {
    "reward-classifiers": FigureSpec(reward_classifiers, "fig:failclassifier, fig:classifier-reward-comparisons"),
    "gradient-steps": FigureSpec(gradient_steps, "fig:nml-comparisons-discrete, fig:mle-cnml-diff"),
    "importance-weighting": FigureSpec(importance_weighting, "fig:importance-weighting-plots"),
}
