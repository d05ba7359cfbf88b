"""The paper's figures, each made from scratch by one function: add a file, and a line to `FIGURES`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mural.study.figures.gradient_steps import gradient_steps
from mural.study.figures.importance_weighting import importance_weighting
from mural.study.figures.reward_classifiers import reward_classifiers

# Each draws to a path, with a seed, and returns a sentence on what it shows.
FIGURES: dict[str, Callable[[Path, int], str]] = {
    "reward-classifiers": reward_classifiers,  # fig:failclassifier and fig:classifier-reward-comparisons of the paper
    "gradient-steps": gradient_steps,  # fig:nml-comparisons-discrete, fig:mle-cnml-diff
    "importance-weighting": importance_weighting,  # fig:importance-weighting-plots
}
