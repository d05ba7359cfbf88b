"""Few runs, honestly: interquartile means, stratified-bootstrap intervals, probability of improvement, profiles.

Scores are given per task, one number per run. A bootstrap draws runs anew within each task (Agarwal et al. 2021), so
that an interval speaks of other seeds on the same tasks. Where all tasks have as many runs, the numbers are those of
the library `rliable`; with unequal numbers, every run counts alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mural.errors import ArgumentError

Floats = NDArray[np.float64]
Scores = Mapping[str, ArrayLike]
Curve = Sequence[Sequence[float]]  # [step, value], …
Statistic = Callable[[Sequence[Floats]], Floats]  # samples [repeats, runs] of each task → [repeats]

REPEATS, CONFIDENCE = 2000, 0.95
NEVER = math.inf


@dataclass(frozen=True)
class Estimate:
    """A number with its interval. Without one (one run per task, or on one side of a comparison) its ends are NaN."""

    value: float
    low: float
    high: float
    runs: int

    def text(self, unit: str = "", digits: int = 2) -> str:
        """For people: `0.93 [0.81, 1.00]`; what never came is `never`."""
        value, low, high = (_number(x, digits) for x in (self.value, self.low, self.high))
        return f"{value}{unit} (no interval)" if math.isnan(self.low) else f"{value}{unit} [{low}, {high}]"

    def plain(self) -> dict[str, float | int | None]:
        """For JSON, which knows neither NaN nor infinity."""
        ends = {name: getattr(self, name) for name in ("value", "low", "high")}
        return {name: x if math.isfinite(x) else None for name, x in ends.items()} | {"runs": self.runs}


def iqm(scores: Scores, *, seed: int = 0) -> Estimate:
    """The interquartile mean over all runs of all tasks: the mean without the lowest and the highest quarter."""
    return bootstrap(scores, lambda samples: _iqm(np.concatenate(samples, axis=1)), seed=seed)


def mean(scores: Scores, *, seed: int = 0) -> Estimate:
    """The mean over all runs of all tasks."""
    return bootstrap(scores, lambda samples: np.concatenate(samples, axis=1).mean(axis=1), seed=seed)


def median_time(times: Scores, *, seed: int = 0) -> Estimate:
    """The median of times of which some may be `NEVER`: the least time by which half of the runs are done."""
    return bootstrap(times, lambda samples: _lower_median(np.concatenate(samples, axis=1)), seed=seed)


def improvement(ours: Scores, theirs: Scores, *, seed: int = 0) -> Estimate:
    """How probable it is that a run of ours beats one of theirs on the same task (ties count half), mean over tasks."""
    if set(ours) != set(theirs):
        raise ArgumentError(f"compare the same tasks: {sorted(ours)} are not {sorted(theirs)}")
    tasks = sorted(ours)
    both = {f"{side} {task}": of[task] for side, of in (("ours", ours), ("theirs", theirs)) for task in tasks}

    def statistic(samples: Sequence[Floats]) -> Floats:
        pairs = zip(samples[: len(tasks)], samples[len(tasks) :], strict=True)
        return np.mean([_wins(x, y) for x, y in pairs], axis=0)

    return compared(both, statistic, seed)


def difference(ours: Scores, theirs: Scores, *, seed: int = 0) -> Estimate:
    """The difference of the two interquartile means, each drawn anew on its own."""
    both = {f"ours {task}": x for task, x in ours.items()} | {f"theirs {task}": x for task, x in theirs.items()}

    def statistic(samples: Sequence[Floats]) -> Floats:
        first, second = samples[: len(ours)], samples[len(ours) :]
        return _iqm(np.concatenate(first, axis=1)) - _iqm(np.concatenate(second, axis=1))

    return compared(both, statistic, seed)


def compared(both: Scores, statistic: Statistic, seed: int) -> Estimate:
    """A comparison of two sides. A side of one run on a task says nothing of other runs: no interval then."""
    estimate = bootstrap(both, statistic, seed=seed)
    alone = any(np.size(scores) == 1 for scores in both.values())
    return replace(estimate, low=math.nan, high=math.nan) if alone else estimate


def profile(scores: Scores, thresholds: ArrayLike, *, seed: int = 0) -> list[Estimate]:
    """The performance profile: the share of runs that score more than each threshold."""

    def above(threshold: float) -> Statistic:
        return lambda samples: np.asarray((np.concatenate(samples, axis=1) > threshold).mean(axis=1))

    return [bootstrap(scores, above(float(t)), seed=seed) for t in np.asarray(thresholds, float)]


def efficiency(curves: Mapping[str, Sequence[Curve]], steps: ArrayLike, *, seed: int = 0) -> list[Estimate]:
    """The sample-efficiency curve: the interquartile mean at each of these steps; `curves` are lists by task."""
    at = np.asarray(steps, float)
    values = {task: np.array([on_steps(curve, at) for curve in runs]) for task, runs in curves.items()}
    return [iqm({task: runs[:, i] for task, runs in values.items()}, seed=seed) for i in range(len(at))]


def on_steps(curve: Curve, steps: ArrayLike, before: float = 0.0) -> Floats:
    """The latest value of a curve at each step: `before` the first one; the last one goes on."""
    at, values = np.asarray(curve, float).reshape(-1, 2).T
    place = np.searchsorted(at, np.asarray(steps, float), side="right")
    return np.concatenate([[before], values])[place]


def bootstrap(
    scores: Scores, statistic: Statistic, *, repeats: int = REPEATS, confidence: float = CONFIDENCE, seed: int = 0
) -> Estimate:
    """A statistic of the scores, with the percentile interval of its values on runs drawn anew within each task."""
    tasks = [np.asarray(x, np.float64).reshape(-1) for x in scores.values()]
    if not tasks or any(len(x) == 0 for x in tasks):
        raise ArgumentError("every task needs a score: leave out the tasks without runs")
    if any(np.isnan(x).any() for x in tasks):
        raise ArgumentError("a score is NaN: leave out the runs that have none")
    value = float(statistic([x[None] for x in tasks])[0])
    runs = sum(map(len, tasks))
    if all(len(x) == 1 for x in tasks):
        return Estimate(value, math.nan, math.nan, runs)
    rng = np.random.default_rng(seed)
    drawn = statistic([x[rng.integers(len(x), size=(repeats, len(x)))] for x in tasks])
    # By rank where there are infinite times: between two of those one cannot interpolate.
    how: Any = "linear" if np.isfinite(drawn).all() else "inverted_cdf"
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], method=how)
    return Estimate(value, float(low), float(high), runs)


def _iqm(samples: Floats) -> Floats:
    """Of each row."""
    ranked, cut = np.sort(samples, axis=1), samples.shape[1] // 4
    return np.asarray(ranked[:, cut : samples.shape[1] - cut].mean(axis=1))


def _lower_median(samples: Floats) -> Floats:
    return np.asarray(np.sort(samples, axis=1)[:, (samples.shape[1] - 1) // 2])


def _wins(x: Floats, y: Floats) -> Floats:
    """The share of pairs of each row in which x is higher."""
    gap = x[:, :, None] - y[:, None, :]
    return np.asarray(((gap > 0) + 0.5 * (gap == 0)).mean(axis=(1, 2)))


def _number(x: float, digits: int) -> str:
    return "never" if x == NEVER else f"{x:.{digits}f}"
