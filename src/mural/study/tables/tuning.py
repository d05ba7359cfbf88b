"""What tuning the rivals came to: a row per task, method and variant of studies/tuning.toml, the best of each named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mural.study.runs import TUNED, Group, Result, Runs, Where, gather, steps_to_solved, success
from mural.study.statistics import NEVER
from mural.study.sweep import spec

STUDY = Path("studies", f"{TUNED}.toml")
NAMES = ("task", "method", "seed")  # not settings of a variant


def tuning(where: Where, *, partial: bool = False, study: Path = STUDY) -> tuple[list[dict[str, Any]], str]:
    """Rows, and what they were made from."""
    runs = gather(planned(study), where, what="the table of tuning", partial=partial)
    note = "best: of a method on a task, by success, then by the nearest that an evaluation came to the goal"
    return list(rows(runs)), f"{note}; {runs.made_by()}"


def planned(study: Path) -> list[Group]:
    """What the study is to run: by task, then by method, each in the order of the file."""
    groups = list(dict.fromkeys(Group(TUNED, r.task, r.method, r.variant) for r in spec.plan(spec.load(study))))
    tasks, methods = (list(dict.fromkeys(group[i] for group in groups)) for i in (1, 2))
    return sorted(groups, key=lambda group: (tasks.index(group.task), methods.index(group.method)))


def rows(runs: Runs) -> Iterator[dict[str, Any]]:
    """A row per variant. Each has one run; of several, the first seed counts."""
    firsts = {group: of[0] for group, of in runs.by.items()}
    for group, run in firsts.items():
        rivals = {other: one for other, one in firsts.items() if other[1:3] == group[1:3]}
        default = firsts.get(group._replace(variant=""))
        distance, solved = best_distance(run), steps_to_solved(run)
        yield {
            "task": group.task,
            "method": group.method,
            "variant": group.variant or "default",
            "changed": changed(run["config"], default["config"]) if default and group.variant else "",
            "success": f"{success(run):.2f}",
            "best distance": "not kept" if distance is None else f"{distance:.3g}",
            "thousand steps to 0.9": "never" if solved == NEVER else f"{solved / 1000:.0f}",
            "best": "best" if len(rivals) > 1 and group == min(rivals, key=lambda one: rank(rivals[one])) else "",
        }


def best_distance(run: Result) -> float | None:
    """The least mean distance of an evaluation; None if the task has none."""
    return min((value for _, value in run["curves"].get("eval/distance", ())), default=None)


def rank(run: Result) -> tuple[float, float]:
    """Better runs come first."""
    distance = best_distance(run)
    return -success(run), NEVER if distance is None else distance


def changed(config: Mapping[str, Any], default: Mapping[str, Any]) -> str:
    """The settings that differ, each with the default in brackets."""
    ours, theirs = spec.flat(config), spec.flat(default)
    return ", ".join(
        f"{name} {value} ({theirs.get(name)})"
        for name, value in ours.items()
        if name not in NAMES and not spec.same(name, value, theirs.get(name))
    )
