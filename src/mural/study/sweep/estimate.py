"""How long a sweep will take, from measured steps per second; what was never measured is said to be unknown."""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from mural.errors import MuralError
from mural.settings.config import to_dict
from mural.settings.presets import resolve
from mural.study import results
from mural.study.sweep.spec import Run
from mural.typed import leaves

BENCH = Path("benchmarks/train.jsonl")
EPOCH = 1000  # steps of the epochs that were measured
SIZES = ("sac.hidden", "sac.batch_size", "reward.classifier.hidden", "reward.classifier.outer_points", "loop.precision")
Key = tuple[str, str, str]
"""Task, method and preset."""


class Speed(NamedTuple):
    """Steps per second, and where they were measured."""

    steps_per_second: float
    source: str


class Speeds:
    """Measured speeds: of runs in folders first, then of result files, then of benchmarks."""

    def __init__(self, runs: Iterable[Path] = (), files: Iterable[Path] = (), bench: Path | None = BENCH) -> None:
        self.found: dict[Key, Speed] = {}
        for source, measured in (
            ("benchmarks", benched(bench) if bench else ()),
            ("results", filed(files)),
            ("runs", timed(runs)),
        ):
            by_key: dict[Key, list[float]] = {}
            for key, speed in measured:
                by_key.setdefault(key, []).append(speed)
            self.found |= {key: Speed(median(speeds), f"{source}, {len(speeds)}") for key, speeds in by_key.items()}

    def of(self, task: str, method: str, preset: str) -> Speed | None:
        """The speed of such a run; None if none was measured."""
        return self.found.get((task, method, preset))


def speeds_for(runs: Sequence[Run]) -> Speeds:
    """What was measured in the folders that a sweep writes to, and beside them."""
    folders = sorted({path.parent for run in runs[:1] for path in run.folder.parent.glob("*/timing.jsonl")})
    files = sorted({path for run in runs[:1] for path in run.results.parent.glob("*/*.json")})
    return Speeds(folders, files)


def timed(folders: Iterable[Path]) -> Iterable[tuple[Key, float]]:
    """Speeds of runs, finished or not."""
    for folder in folders:
        clock = results.seconds(folder)
        try:
            config = json.loads((folder / "config.json").read_text())
        except (OSError, ValueError):
            continue
        if clock and clock[max(clock)] > 0 and whole_size(config):
            yield (config["task"], config["method"], config["preset"]), max(clock) / clock[max(clock)]


def whole_size(config: Mapping[str, Any]) -> bool:
    """Whether a run has what makes its preset slow: variants of `paper` and `release` may be smaller."""
    preset = config.get("preset", "fast")
    if preset == "fast":
        return True
    try:
        own = dict(leaves(to_dict(resolve(config["task"], config["method"], preset))))
    except MuralError:  # a task or method of somebody's own
        return False
    found = dict(leaves(config))
    return all(found.get(name, own.get(name)) == own.get(name) for name in SIZES)


def filed(paths: Iterable[Path]) -> Iterable[tuple[Key, float]]:
    """Speeds that result files tell."""
    for path in paths:
        for result in results.load(path):
            if result["steps_per_second"] and whole_size(result["config"]):
                key = (result["task"], result["method"], result["config"].get("preset", "fast"))
                yield key, result["steps_per_second"]


def benched(path: Path) -> Iterable[tuple[Key, float]]:
    """Speeds from `mural bench train methods`: CPU seconds of epochs with one thread."""
    for line in path.read_text().splitlines() if path.is_file() else ():
        row = json.loads(line)
        found = re.fullmatch("epoch of ([a-z-]+)", row["what"])
        if found and row.get("threads") == 1:
            yield (row["env"], found[1], "fast"), EPOCH / row["ours"]


def wall(seconds: Sequence[float], jobs: int) -> float:
    """How long jobs at once need for runs of these lengths, each started as another ends."""
    ends = [0.0] * max(jobs, 1)
    for length in seconds:
        heapq.heapreplace(ends, ends[0] + length)
    return max(ends)
