"""Runs that differ in their seeds alone, and what they say together: means with intervals, methods × tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mural.study.report.reading import RunData

Floats = NDArray[np.floating]
SUCCESS, DISTANCE = "eval/success", "eval/distance"
RESAMPLES = 2000
# Settings that do not make two runs different things: when they end, and what is recorded of them.
IGNORED = ("seed", "steps", "stop_at_success", "examples", "watch.")


@dataclass(frozen=True)
class Estimate:
    """The interquartile mean over seeds, with a bootstrap interval of 95 % where there are at least two."""

    value: float
    low: float | None
    high: float | None
    count: int


@dataclass
class Group:
    """Runs of one task, method and variant."""

    task: str
    label: str
    runs: list[RunData] = field(default_factory=list)

    def final(self, metric: str) -> Estimate | None:
        """Over the runs' means of their last ten evaluations."""
        values = [value for run in self.runs if (value := run.final(metric)) is not None]
        return estimate(values) if values else None

    def repeated(self) -> str:
        """A sentence if a seed is there twice, else ''."""
        seeds = [run.seed for run in self.runs]
        twice = sorted({seed for seed in seeds if seeds.count(seed) > 1})
        return f"{self.task}, {self.label}: more than one run has seed {', '.join(twice)}." if twice else ""


def estimate(values: Sequence[float]) -> Estimate:
    """The interquartile mean of seeds and the interval of its bootstrap."""
    array = np.asarray(values, np.float64)
    if len(array) < 2:
        return Estimate(float(array[0]), None, None, len(array))
    drawn = np.random.default_rng(0).integers(len(array), size=(RESAMPLES, len(array)))
    low, high = np.percentile(iqm(array[drawn]), [2.5, 97.5])
    return Estimate(float(iqm(array[None])[0]), float(low), float(high), len(array))


def iqm(samples: Floats) -> Floats:
    """Means of rows [m, n] without their lowest and highest quarter; of fewer than four values, none is left out."""
    cut = samples.shape[1] // 4
    return np.sort(samples, axis=1)[:, cut : samples.shape[1] - cut].mean(axis=1)


def band(runs: Sequence[RunData], metric: str) -> tuple[Floats, Floats, Floats, Floats] | None:
    """Steps, means, lower and upper ends of intervals, as far as all runs go; None if a run has no such metric."""
    curves = [np.array(run.curve(metric)) for run in runs]
    if not curves or any(len(curve) == 0 for curve in curves):
        return None
    first, last = max(curve[0, 0] for curve in curves), min(curve[-1, 0] for curve in curves)
    steps = np.unique(np.concatenate([curve[:, 0] for curve in curves]))
    steps = steps[(steps >= first) & (steps <= last)]
    if not len(steps):
        return None
    found = [estimate(column) for column in np.stack([np.interp(steps, *curve.T) for curve in curves], axis=1)]
    ends = [(e.value if e.low is None else e.low, e.value if e.high is None else e.high) for e in found]
    low, high = np.array(ends).T
    return steps, np.array([e.value for e in found]), low, high


def group(runs: Sequence[RunData]) -> list[Group]:
    """Groups in the order of tasks and labels; runs with other settings are variants, never seeds of one another."""
    found: dict[tuple[str, str], Group] = {}
    for run in runs:
        peers = [peer for peer in runs if (peer.task, peer.method) == (run.task, run.method)]
        label = " · ".join(filter(None, (run.method, run.variant or difference(run, peers))))
        found.setdefault((run.task, label), Group(run.task, label)).runs.append(run)
    for entry in found.values():
        entry.runs.sort(key=lambda run: (len(run.seed), run.seed, run.name))
    return [found[key] for key in sorted(found)]


def difference(run: RunData, peers: Sequence[RunData]) -> str:
    """The settings of a run that its peers of the same task and method do not share; '' if there are none."""
    with_settings = [peer.settings for peer in peers if peer.settings]
    names = sorted({name for settings in with_settings for name in settings if not name.startswith(IGNORED)})
    differing = [name for name in names if len({settings.get(name) for settings in with_settings}) > 1]
    if not run.settings or not differing:
        return ""
    told = [f"{name} {run.settings.get(name, '–')}" for name in differing[:2]]
    return ", ".join(told) + (f", and {len(differing) - 2} more" if len(differing) > 2 else "")


def shared(tables: Sequence[dict[str, str]]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Entries that all tables have in common, and the values of the others, a dash where a table has none."""
    names = list(dict.fromkeys(name for table in tables for name in table))
    values = {name: [table.get(name, "–") for table in tables] for name in names}
    same = {name: found[0] for name, found in values.items() if len(set(found)) == 1}
    return same, {name: found for name, found in values.items() if name not in same}
