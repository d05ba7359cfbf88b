"""The runs that a figure, a table or a claim is made of: which there are, which are missing, what made them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mural.errors import MuralError
from mural.study.results import Result as Result
from mural.study.results import load
from mural.study.statistics import NEVER

COUNTED = range(10, 100)  # seeds of results: 0 to 2 were looked at while tuning, those from 100 on are for tuning
TUNED = "tuning"  # the study of the settings of the rivals, whose seeds are such
MINIMUM = 3  # runs of a group before anything is concluded from it
LAST = 10  # evaluations whose mean is the success of a run


ONE_ROLLOUT = (
    "on the mazes, the hand and the ant all 20 episodes of an evaluation start at one place and take the most likely "
    "actions, so that they are one rollout (n = 1)"
)


class MissingRunsError(MuralError, FileNotFoundError):
    """What was asked for needs runs that are not there; the message names the sweep that makes them."""

    def __str__(self) -> str:
        return str(self.args[0])


class Group(NamedTuple):
    """Runs that differ in their seed only."""

    study: str
    task: str
    method: str
    variant: str = ""

    @property
    def name(self) -> str:
        """As people say it."""
        return f"{self.task} {self.label}"

    @property
    def label(self) -> str:
        """Method and variant."""
        return f"{self.method} ({self.variant})" if self.variant else self.method


MAZES, ARMS = ("zigzag-maze", "spiral-maze"), ("sawyer-push", "sawyer-pick", "sawyer-door")
OTHERS = ("ddl", "rce", "icm", "icm:with-vice", "vae-density", "sac-sparse", "sac-distance")
MAZE_METHODS = ("mural", "vice", "cnml", "vice-count", "vice-rnd", *OTHERS)
ARM_METHODS = ("mural", "vice", "cnml", "vice-rnd", *OTHERS)


def groups(study: str, tasks: Iterable[str], methods: Iterable[str], variants: Iterable[str] = ("",)) -> list[Group]:
    """All combinations. METHOD:VARIANT is a method with one variant, whatever `variants` are."""
    named = [method.partition(":")[::2] for method in methods]
    return [Group(study, task, name, own or one) for task in tasks for name, own in named for one in variants]


COMPARISON = (
    *groups("mazes", MAZES, MAZE_METHODS),
    *groups("arms", ARMS, ARM_METHODS),
    *groups("hand", ["hand-reposition"], ("mural", "vice", "cnml", "vice-rnd", "sac-distance")),
    *groups("ant", ["ant-maze"], ("mural", "vice", "sac-distance")),
)


ABLATED = {"zigzag-maze": "mazes", "sawyer-push": "arms"}  # tasks of the ablations, and the studies with MURAL itself
RULES = (
    "no-kernel", "no-counts", "stored-rewards", "white-noise", "raw-units", "random-draw", "uniform-batches",
    "whole-values", "probability", "log-odds", "motion",
)  # fmt: skip


@dataclass(frozen=True)
class Where:
    """Where results are looked for."""

    results: Path = Path("results")
    """Has a folder for each study."""
    folders: tuple[Path, ...] = ()
    """Folders to read instead, whatever study their runs belong to."""

    def load(self, study: str) -> list[Result]:
        """The results of a study."""
        return load(*(self.folders or (self.results / study,)))

    def counts(self, run: Result, group: Group) -> bool:
        """Whether a run counts for a group: finished, and with a seed that nothing was tuned on.

        Of a folder that was named, all seeds count but those for tuning.
        """
        same = (run["task"], run["method"], run["variant"]) == group[1:]
        seeds = range(COUNTED.stop) if self.folders else COUNTED
        fair = run["seed"] in seeds or group.study == TUNED
        return same and fair and (run["steps"] >= run["config"]["steps"] or stopped_early(run))


@dataclass(frozen=True)
class Runs:
    """Finished runs by group, and the groups without any."""

    by: Mapping[Group, list[Result]]
    missing: Sequence[Group] = field(default=())

    def tasks(self) -> list[str]:
        """Those with runs, in the order asked for."""
        return list(dict.fromkeys(group.task for group in self.by))

    def of_task(self, task: str) -> dict[Group, list[Result]]:
        """The groups of a task."""
        return {group: runs for group, runs in self.by.items() if group.task == task}

    def methods(self) -> dict[str, tuple[str, str]]:
        """Method and variant by their label, in the order asked for."""
        return {group.label: (group.method, group.variant) for group in self.by}

    def success(self, method: str, variant: str = "", tasks: Iterable[str] | None = None) -> dict[str, list[float]]:
        """The success of each run of a method, by task."""
        wanted = None if tasks is None else set(tasks)
        return {
            group.task: [success(run) for run in runs]
            for group, runs in self.by.items()
            if group[2:] == (method, variant) and (wanted is None or group.task in wanted)
        }

    def made_by(self) -> str:
        """The small print: runs, seeds, commits, and what is missing."""
        runs = [run for group in self.by.values() for run in group]
        seeds = sorted({run["seed"] for run in runs})
        commits = sorted({str(run.get("versions", {}).get("commit", "unknown"))[:7] for run in runs})
        words = [f"{len(runs)} runs", f"seeds {', '.join(map(str, seeds))}", f"commits {', '.join(commits)}"]
        most = {task: max(map(len, self.of_task(task).values())) for task in self.tasks()}
        fewer = [f"{group.name} {len(of)}" for group, of in self.by.items() if len(of) < min(MINIMUM, most[group.task])]
        words += [f"fewer than {MINIMUM} runs: {', '.join(fewer)}"] * bool(fewer)
        early, dirty = sum(stopped_early(run) for run in runs), sum(bool(run.get("dirty")) for run in runs)
        words += [f"{early} stopped once solved"] * bool(early) + [f"{dirty} with uncommitted changes"] * bool(dirty)
        if self.missing:
            words.append(f"missing: {self.absent()}")
        return "; ".join(words)

    def absent(self) -> str:
        """What is missing, by task: all of it, or some methods."""
        told = []
        for task in dict.fromkeys(group.task for group in self.missing):
            labels = ", ".join(group.label for group in self.missing if group.task == task)
            told.append(f"{task} ({labels})" if self.of_task(task) else task)
        return ", ".join(told)

    def provenance(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "runs": [run["name"] for group in self.by.values() for run in group],
            "seeds": sorted({run["seed"] for group in self.by.values() for run in group}),
            "commits": sorted({str(run.get("versions", {}).get("commit")) for g in self.by.values() for run in g}),
            "missing": [group.name for group in self.missing],
        }


def gather(needed: Iterable[Group], where: Where, *, what: str, partial: bool = False) -> Runs:
    """The finished runs of these groups; a `MissingRunsError` if one has none, unless `partial`."""
    runs = available(needed, where)
    found, missing = runs.by, runs.missing
    if missing and not (partial and found):
        sweeps = " and ".join(
            f"`mural sweep studies/{s}.toml`" for s in dict.fromkeys(group.study for group in missing)
        )
        names = ", ".join(group.name for group in missing[:3]) + (f" and {len(missing) - 3} more" * (len(missing) > 3))
        rest = "; --partial makes do with what is there" if found else ""
        raise MissingRunsError(f"{what} has no finished runs of {names}: run {sweeps}{rest}")
    return runs


def available(needed: Iterable[Group], where: Where) -> Runs:
    """The finished runs of these groups, and the groups without any."""
    needed = list(needed)
    loaded = {study: where.load(study) for study in dict.fromkeys(group.study for group in needed)}
    found: dict[Group, list[Result]] = {}
    for group in needed:
        runs = [run for run in loaded[group.study] if where.counts(run, group)]
        if runs:
            found[group] = sorted({run["seed"]: run for run in runs}.values(), key=lambda run: run["seed"])
    return Runs(found, [group for group in needed if group not in found])


def stopped_early(run: Result) -> bool:
    """Whether a run was told to stop once it had succeeded, and did."""
    asked = run["config"].get("stop_at_success") is not None
    return bool(asked and run["stopped"] and run["steps"] < run["config"]["steps"])


def success(run: Result) -> float:
    """The mean of the last ten evaluations."""
    if run.get("success_of_last_ten") is not None:
        return float(run["success_of_last_ten"])
    values = [value for _, value in run["curves"]["eval/success"][-LAST:]]
    return float(np.mean(values)) if values else 0.0


def steps_to_solved(run: Result) -> float:
    """Steps until the first evaluation of at least 0.9, or `NEVER`."""
    return NEVER if run["solved_at"] is None else float(run["solved_at"])


def minutes_to_solved(run: Result) -> float | None:
    """The same in minutes of training; None if the time was not kept."""
    if run["solved_at"] is None:
        return NEVER
    seconds = run.get("seconds_to_solved")
    return None if seconds is None else float(seconds) / 60
