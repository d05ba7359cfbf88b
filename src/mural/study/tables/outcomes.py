"""What each method reaches on each task: success with its interval, steps and minutes to the first 0.9."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mural.study import statistics
from mural.study.results import SOLVED
from mural.study.runs import COMPARISON, Result, Runs, Where, gather, minutes_to_solved, steps_to_solved, success

OURS = "mural"


def outcomes(where: Where, *, partial: bool = False) -> tuple[list[dict[str, Any]], str]:
    """Rows by task and method, then by method over all of its tasks; and what they were made from."""
    runs = gather(COMPARISON, where, what="the table of results", partial=partial)
    return [*by_task(runs), *over_tasks(runs)], runs.made_by()


def by_task(runs: Runs) -> Iterator[dict[str, Any]]:
    """A row per task and method."""
    for group, of in runs.by.items():
        scores = [success(run) for run in of]
        yield {
            "task": group.task,
            "method": group.label,
            "runs": len(of),
            "thousand steps run": between(run["steps"] / 1000 for run in of),
            "success (IQM)": statistics.iqm({group.task: scores}).text(),
            "solved": solved(scores),
            **times({group.task: of}),
            "P(mural is better)": better(runs, group.method, group.variant, (group.task,)),
        }


def between(lengths: Iterable[float]) -> str:
    """How long runs were: one number, or the shortest and the longest."""
    ordered = sorted(lengths)
    return " to ".join(dict.fromkeys(f"{length:.0f}" for length in (ordered[0], ordered[-1])))


def over_tasks(runs: Runs) -> Iterator[dict[str, Any]]:
    """A row per method."""
    for label, (method, variant) in runs.methods().items():
        scores = runs.success(method, variant)
        of = {group.task: found for group, found in runs.by.items() if group[2:] == (method, variant)}
        yield {
            "task": f"all {len(scores)}",
            "method": label,
            "runs": sum(map(len, scores.values())),
            "success (IQM)": statistics.iqm(scores).text(),
            "solved": solved([score for of in scores.values() for score in of]),
            **times(of),
            "P(mural is better)": better(runs, method, variant, tuple(scores)),
        }


def solved(scores: Sequence[float]) -> str:
    """How many runs end at 0.9 or above, whatever the rounding of a mean of ten."""
    return f"{sum(score >= SOLVED - 1e-9 for score in scores)} of {len(scores)}"


def times(runs: Mapping[str, Sequence[Result]]) -> dict[str, str]:
    """The median over all runs, by task, of the steps and of the minutes to the first 0.9."""
    steps = {task: [steps_to_solved(run) / 1000 for run in of] for task, of in runs.items()}
    minutes = {task: [minutes_to_solved(run) for run in of] for task, of in runs.items()}
    known = {task: [m for m in of if m is not None] for task, of in minutes.items()}
    kept = known == minutes
    return {
        "thousand steps to 0.9": statistics.median_time(steps).text(digits=0),
        "minutes to 0.9": statistics.median_time(known).text(digits=1) if kept else "not kept",
    }


def better(runs: Runs, method: str, variant: str, tasks: tuple[str, ...]) -> str:
    """How probable it is that a run of MURAL beats one of this method on the tasks that both were run on."""
    ours, theirs = runs.success(OURS, tasks=tasks), runs.success(method, variant, tasks=tasks)
    both = [task for task in theirs if task in ours]
    if (method, variant) == (OURS, "") or not both:
        return ""
    return statistics.improvement({t: ours[t] for t in both}, {t: theirs[t] for t in both}).text()
