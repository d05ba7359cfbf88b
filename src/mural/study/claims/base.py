"""What a claim is: a sentence, where it stands, the command that tests it, and how evidence becomes a verdict."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from mural.study import statistics
from mural.study.runs import MINIMUM, Group, Result, Where, success
from mural.study.statistics import Estimate

WORTH = 0.1  # a smaller gain in success is none
ROUNDING = 1e-9


class Verdict(StrEnum):
    """Computed, never typed."""

    HOLDS = "holds"
    PART = "in part"
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    OPEN = "not yet run"


@dataclass(frozen=True)
class Finding:
    """What was measured, and what follows."""

    measured: str
    verdict: Verdict


@dataclass
class Evidence:
    """Everything that claims are judged by; read when asked for, and once."""

    where: Where = field(default_factory=Where)
    benchmarks: Path = Path("benchmarks")
    figures: Path = Path("docs/figures")
    """Figures that were made, with their numbers."""
    _loaded: dict[str, list[Result]] = field(default_factory=dict)

    def runs(self, group: Group) -> list[Result]:
        """The finished runs of a group; none if they are too few to conclude from."""
        if group.study not in self._loaded:
            self._loaded[group.study] = self.where.load(group.study)
        found = {run["seed"]: run for run in self._loaded[group.study] if self.where.counts(run, group)}
        return list(found.values()) if len(found) >= MINIMUM else []

    def success(self, group: Group) -> list[float]:
        """The success of each run."""
        return [success(run) for run in self.runs(group)]

    def last(self, group: Group, metric: str, count: int = 1) -> list[float]:
        """The mean of the last `count` values of a curve of each run; none if a run has not kept it."""
        curves = [run["curves"].get(metric) for run in self.runs(group)]
        if None in curves or [] in curves:
            return []
        return [float(np.mean([value for _, value in curve[-count:]])) for curve in curves]

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a benchmark; none if it was not made."""
        path = self.benchmarks / f"{name}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines() if line] if path.is_file() else []

    def figure(self, name: str) -> dict[str, Any] | None:
        """The numbers of a figure; None if it was not made."""
        path = self.figures / f"{name}.json"
        return dict(json.loads(path.read_text())["data"]) if path.is_file() else None


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper, or of ours."""

    name: str
    words: str
    place: str
    """Where in the paper."""
    command: str
    """What makes the evidence."""
    judge: Callable[[Evidence], Finding]
    ours: bool = False


def nothing(what: str = "") -> Finding:
    """No evidence yet."""
    return Finding(what or "–", Verdict.OPEN)


def all_of(tests: Mapping[str, Verdict | bool]) -> Verdict:
    """Of a claim that says several things: all hold, some do, none does; open while one was not run."""
    found = {decided(test) if isinstance(test, bool) else test for test in tests.values()}
    if not found or Verdict.OPEN in found:
        return Verdict.OPEN
    if found == {Verdict.HOLDS}:
        return Verdict.HOLDS
    if Verdict.HOLDS in found:
        return Verdict.PART
    return Verdict.UNDECIDED if Verdict.UNDECIDED in found else Verdict.FAILS


def decided(holds: bool) -> Verdict:
    """A claim that says one thing."""
    return Verdict.HOLDS if holds else Verdict.FAILS


def above(estimate: Estimate | None, margin: float, worth: float = 0.0) -> Verdict:
    """Whether a number is above a margin, by its interval: undecided if that has the margin inside.

    An interval that goes beyond the margin by no more than what is `worth` naming says no.
    """
    if estimate is None:
        return Verdict.OPEN
    if estimate.low > margin:
        return Verdict.HOLDS
    return Verdict.FAILS if estimate.high <= margin + worth else Verdict.UNDECIDED


def between(estimate: Estimate | None, low: float, high: float) -> Verdict:
    """Whether a number is above one margin and not above another."""
    found = (above(estimate, low), opposite(above(estimate, high)))
    return next((one for one in (Verdict.OPEN, Verdict.FAILS, Verdict.UNDECIDED) if one in found), Verdict.HOLDS)


def opposite(verdict: Verdict) -> Verdict:
    """Of the contrary."""
    return {Verdict.HOLDS: Verdict.FAILS, Verdict.FAILS: Verdict.HOLDS}.get(verdict, verdict)


def better(
    evidence: Evidence, ours: Group, theirs: Group, margin: float = 0.0, worth: float = WORTH
) -> tuple[Verdict, Estimate | None]:
    """Whether the difference in success is above `margin`; open if there are too few runs."""
    first, second = evidence.success(ours), evidence.success(theirs)
    if not first or not second:
        return Verdict.OPEN, None
    gap = statistics.difference({ours.task: first}, {theirs.task: second})
    return above(gap, margin, worth), gap


def versus(
    evidence: Evidence, pairs: Sequence[tuple[Group, Group]], margin: float = 0.0, worth: float = WORTH
) -> Finding:
    """Ours against theirs, pair by pair: the difference in success with its interval."""
    tests: dict[str, Verdict] = {}
    told = []
    for ours, theirs in pairs:
        name = f"{theirs.label} on {ours.task}"
        tests[name], gap = better(evidence, ours, theirs, margin, worth)
        told.append(f"{name}: not yet run" if gap is None else f"{name}: {signed(gap)}")
    known = any(test != Verdict.OPEN for test in tests.values())
    head = f"success of {pairs[0][0].label} minus that of " if known else ""
    return Finding(head + "; ".join(told) if known else "–", all_of(tests))


def reached(evidence: Evidence, ones: Iterable[Group], level: float = 0.9) -> tuple[dict[str, Verdict], list[str]]:
    """Whether the interquartile mean of the success of each group is at least `level`; and that in words."""
    tests: dict[str, Verdict] = {}
    told = []
    for group in ones:
        scores = evidence.success(group)
        estimate = statistics.iqm({group.task: scores}) if scores else None
        tests[group.name] = above(estimate, level - ROUNDING)
        told.append(f"{group.name} {'not yet run' if estimate is None else estimate.text()}")
    return tests, told


def signed(estimate: Estimate) -> str:
    """A difference, with its sign."""
    return f"{estimate.value:+.2f} [{estimate.low:+.2f}, {estimate.high:+.2f}]"
