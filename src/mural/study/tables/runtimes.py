"""How long meta-NML takes beside a plain network and naive CNML: our ratios beside the paper's, per input and epoch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mural.errors import MuralError
from mural.settings.presets import resolve
from mural.study.bench.train import DOMAIN
from mural.study.runs import Group, Where
from mural.study.tables.paper import PER_EPOCH, PER_INPUT, Runtime

CLASSIFIER, TRAIN = Path("benchmarks/classifier.jsonl"), Path("benchmarks/train.jsonl")
ADAPT_POINTS, STATES, THREADS = 63, 1, 1  # a state at a time, as the paper asks; on one core
EPOCH = 1000  # steps
BENCH_CLASSIFIER = "mural bench classifier --json"
STUDY = {"zigzag-maze": "mazes", "spiral-maze": "mazes", "ant-maze": "ant", "hand-reposition": "hand"}


class NoBenchmarkError(MuralError, FileNotFoundError):
    """A measurement is not there; the message says how to make it."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class Times:
    """Seconds of one domain, ours and the paper's; None: not measured."""

    domain: str
    paper: Runtime
    feedforward: float | None
    meta: float | None
    naive: float | None
    source: str

    @property
    def meta_ratio(self) -> float | None:
        """Meta-NML / feed-forward."""
        return None if self.meta is None or not self.feedforward else self.meta / self.feedforward

    @property
    def speedup(self) -> float | None:
        """Naive CNML / meta-NML."""
        return None if self.naive is None or not self.meta else self.naive / self.meta


def per_input(path: Path = CLASSIFIER) -> Iterator[Times]:
    """For one state. What differs between domains is the network, of the size that the paper chose."""
    measured = {row["hidden"]: row for row in read(path, BENCH_CLASSIFIER) if asked(row)}
    for paper in PER_INPUT:
        config: Any = resolve(paper.tasks[0], "mural", "paper")
        hidden = config.reward.classifier.hidden[0]
        row = measured.get(hidden, {})
        plain, meta, naive = (row.get(name) for name in ("feedforward_s", "meta_nml_s", "naive_cnml_s_per_state"))
        yield Times(paper.domain, paper, plain, meta, naive, f"{path}: {hidden}², one state, one thread")


def asked(row: dict[str, Any]) -> bool:
    """Whether a measurement is of what the paper measured."""
    return (row.get("adapt_points"), row.get("states"), row.get("threads")) == (ADAPT_POINTS, STATES, THREADS)


def per_epoch(where: Where | None = None, path: Path = TRAIN, classifier: Path = CLASSIFIER) -> Iterator[Times]:
    """For an epoch of 1000 steps of MURAL and of VICE, whose classifier is feed-forward.

    The benchmark counts first: it takes turns in one process, by CPU seconds. Runs come next; they may have met other
    work on their machine. Naive CNML is extrapolated as in the paper: an epoch of VICE, and 1000 states at the price
    of one, with the network that MURAL has there.
    """
    where = where or Where()
    naive = {row["hidden"]: row["naive_cnml_s_per_state"] for row in read(classifier, BENCH_CLASSIFIER) if asked(row)}
    rows = read(path, "mural bench train domains --json")
    measured = {row["env"]: row for row in rows if row["what"] == DOMAIN and row.get("threads") == THREADS}
    for paper in PER_EPOCH:
        found = next((measured[task] for task in paper.tasks if task in measured), None)
        if found:
            vice, mural, source = found["peer"], found["ours"], f"{path}: {found['env']}, in turn, {turns(found)}"
        else:
            vice, mural = (from_runs(where, paper.tasks, method) for method in ("vice", "mural"))
            source = "runs of the studies (seconds per 1000 steps)"
        config: Any = resolve(paper.tasks[0], "mural", "fast")
        one = naive.get(config.reward.classifier.hidden[0])
        long = None if vice is None or one is None else vice + EPOCH * one
        known = vice is not None and mural is not None
        yield Times(paper.domain, paper, vice, mural, long, source if known else "not yet run")


def turns(row: dict[str, Any]) -> str:
    """How many epochs of each were timed."""
    count = row.get("rounds", "some")
    return f"{count} epoch{'s' * (count != 1)} of each"


def from_runs(where: Where, tasks: tuple[str, ...], method: str) -> float | None:
    """Median seconds per 1000 steps of the finished runs; None if none has kept its time."""
    found = []
    for task in tasks:
        group = Group(STUDY.get(task, "arms"), task, method)
        runs = (run for run in where.load(group.study) if where.counts(run, group))
        found += [EPOCH * run["seconds"] / run["steps"] for run in runs if run.get("seconds")]
    return float(np.median(found)) if found else None


def read(path: Path, command: str) -> list[dict[str, Any]]:
    """The rows of a benchmark."""
    if not path.is_file():
        raise NoBenchmarkError(f"{path} is not there: run `{command} > {path}`, or go to the folder of the repository")
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
