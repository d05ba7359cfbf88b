"""The paper's figures by the labels that they have there: add a function from `Ask` to `Drawn`, and a line here."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mural.errors import MuralError, did_you_mean

if TYPE_CHECKING:  # they load matplotlib, some of them JAX
    from mural.study.figures.picture import Ask, Drawn


class UnknownFigureError(MuralError, ValueError):
    """There is no figure of this name; the message has the nearest."""


@dataclass(frozen=True)
class Entry:
    """A figure that can be made."""

    name: str
    """Its label in the paper without `fig:`, or a name of ours."""
    function: str
    """Where it is made: `module.function` in this folder."""
    summary: str
    source: str
    """What it is made from: studies, or nothing but the package."""
    aliases: tuple[str, ...] = ()
    """Shorter names."""
    covers: tuple[str, ...] = ()
    """Other labels of the paper whose pictures are in this one."""
    ours: bool = False
    """Whether the paper has no such figure."""

    @property
    def label(self) -> str:
        """As in the paper."""
        return self.name if self.ours else f"fig:{self.name}"


SCRATCH = "made from scratch"
FIGURES = (
    Entry("comparisons", "learning.comparisons", "success of all methods on all tasks", "mazes, arms, hand, ant",
          ("evidence",)),
    Entry("profiles", "profiles.profiles", "performance profiles and sample efficiency over tasks",
          "mazes, arms, hand, ant", ours=True),
    Entry("distance-metrics", "learning.distances", "distance to the goal of all methods", "mazes, arms, hand, ant"),
    Entry("ablations", "learning.ablations", "without meta-training; novelty and classifier apart",
          "mazes, arms, ablations"),
    Entry("rules", "rules.rules", "what each rule of the default is worth", "mazes, arms, ablations", ours=True),
    Entry("visitations", "visits.visitations", "visits and coverage over time, MURAL and VICE", "mazes, run folders"),
    Entry("shuffled-maze-plots", "learning.shuffled", "success where near states are not near places", "shuffled",
          ("shuffled",)),
    Entry("double-maze-plot", "learning.double", "hidden rewards found on the double maze", "double", ("double",)),
    Entry("double-maze-visitations", "visits.double", "visits of the double maze, MURAL and VICE",
          "double, run folders"),
    Entry("zigzag-over-time", "lapse.zigzag", "reward and visits over time, MURAL and VICE", "run folders of mazes",
          ours=True),
    Entry("spiral-over-time", "lapse.spiral", "reward and visits over time, MURAL and VICE", "run folders of mazes",
          ours=True),
    Entry("classifier-reward-comparisons", "reward_classifiers.reward_classifiers", "four classifiers as rewards",
          SCRATCH, ("reward-classifiers",), ("failclassifier",)),
    Entry("nml-comparisons-discrete", "gradient_steps.gradient_steps", "more gradient steps per query, and the ideal",
          SCRATCH, ("gradient-steps",), ("mle-cnml-diff",)),
    Entry("importance-weighting-plots", "importance_weighting.importance_weighting", "the query in every batch",
          SCRATCH, ("importance-weighting",)),
    Entry("shaping", "shaping.shaping", "reward of pick at several heights, MURAL and maximum likelihood", SCRATCH),
    Entry("meta-nml-flow", "meta_nml.flow", "a query of meta-NML, with both labels", SCRATCH),
    Entry("meta-nml", "meta_nml.training", "meta-training, and how near it comes to the ideal", SCRATCH),
    Entry("envs", "scenes.envs", "the seven tasks", SCRATCH,
          covers=("s-maze-pic", "spiral-maze-pic", "push-pic", "pnp-pic", "door-pic", "ant-pic", "hand-pic")),
    Entry("double-maze-layout", "scenes.double_layout", "the double maze: examples and hidden rewards", SCRATCH),
    Entry("main-fig", "scenes.main_figure", "examples and visits become a reward", SCRATCH),
    Entry("default", "default.default", "the rules of the default for the reward", SCRATCH, ours=True),
    Entry("default-agent", "default_agent.default_agent", "the rules of the default for the agent", SCRATCH, ours=True),
    Entry("two-moons", "two_moons.two_moons", "what classifiers say where there are no data", SCRATCH, ours=True),
)  # fmt: skip


def find(name: str) -> Entry:
    """The figure of this name, with or without `fig:`, or an `UnknownFigureError`."""
    plain = name.removeprefix("fig:")
    for entry in FIGURES:
        if plain in (entry.name, *entry.aliases, *entry.covers):
            return entry
    known = [one for entry in FIGURES for one in (entry.name, *entry.aliases, *entry.covers)]
    raise UnknownFigureError(f"there is no figure {name!r}; {did_you_mean(plain, known)}`mural figure --list` has all")


def make(name: str, ask: Ask, out: Path) -> tuple[Drawn, list[Path]]:
    """Draw a figure and write it: OUT/NAME.svg, .png and .json."""
    import matplotlib

    from mural.study.figures.picture import STYLE, save

    entry = find(name)
    module, _, function = entry.function.rpartition(".")
    with matplotlib.rc_context(STYLE):
        drawn: Drawn = getattr(importlib.import_module(f"{__name__}.{module}"), function)(ask)
        return drawn, save(drawn, out / entry.name)
