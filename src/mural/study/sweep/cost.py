"""What the paper's comparison would cost, computed from measured speeds: core-hours, and hours on so many cores."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from mural.errors import MuralError
from mural.settings.config import epoch_steps
from mural.settings.presets import resolve
from mural.study.sweep.estimate import Speed, Speeds, wall

TASKS = (
    "zigzag-maze", "spiral-maze", "sawyer-push", "sawyer-pick", "sawyer-door", "ant-maze", "hand-reposition",
)  # fmt: skip
METHODS = ("mural", "vice", "ddl", "icm", "vae-density", "sac-sparse", "sac-distance")
COUNTED = ("zigzag-maze", "spiral-maze", "ant-maze")  # VICE has a bonus by counts there, by RND elsewhere
LIKE = "zigzag-maze"  # the task that all methods were measured on
HORIZONS = {"ant-maze": 400}  # steps of an episode; the others have 100
VARIED = ("sawyer-push", "sawyer-pick", "sawyer-door")  # tasks whose episodes differ
AGENTS = {"paper": (512, 1024), "release": (256, 256)}  # hidden units of a layer, and batch
SOURCES = {
    "runs": "measured runs",
    "ratio": "a measured run of MURAL × the ratio of epochs",
    "parts": "benchmarks of the parts on an idle core, a lower bound: `mural sweep` one run to know better",
}


class CostError(MuralError, ValueError):
    """The cost cannot be computed from what was measured; the message says what is missing."""


class Cost(NamedTuple):
    """Seconds of one core per training step, and what they were computed from."""

    seconds: float
    source: str


def grid() -> Iterator[tuple[str, str]]:
    """The paper's comparison: tasks and methods of its figure of success."""
    for task in TASKS:
        for method in (*METHODS, "vice-count" if task in COUNTED else "vice-rnd"):
            yield task, method


class Prices:
    """Seconds per step of any task and method of the grid."""

    def __init__(self, speeds: Speeds, benchmarks: Path = Path("benchmarks")) -> None:
        self.speeds = speeds
        self.bench = Speeds(bench=benchmarks / "train.jsonl")
        self.steps = env_steps(benchmarks / "tasks.jsonl")
        self.agents = {
            preset: sac_steps(benchmarks / "train.jsonl", hidden, batch) for preset, (hidden, batch) in AGENTS.items()
        }

    def of(self, task: str, method: str, preset: str = "fast") -> Cost:
        """A measured run counts first; then a run of MURAL on the task, times what this method's epochs are longer.

        Else the sum of the parts: an epoch of the method on a maze, and the task's simulation instead of the maze's.
        For `paper` and `release` the updates of their large agents come on top; those of their classifiers are missing.
        """
        measured = self.speeds.of(task, method, preset)
        if measured is not None:
            return Cost(1 / measured.steps_per_second, "runs")
        epoch, reference = (self.epoch(name) for name in (method, "mural"))
        known = self.speeds.of(task, "mural", preset)
        if known is not None:
            return Cost(epoch / reference / known.steps_per_second, "ratio")
        try:
            simulation = steps_per_step(task) / self.steps[task] - steps_per_step(LIKE) / self.steps[LIKE]
        except KeyError as error:
            raise CostError(
                f"the speed of {error} is not in benchmarks/tasks.jsonl: go to the folder of the repository, or "
                "measure it with `mural bench tasks`"
            ) from None
        return Cost(epoch + simulation + (self.agent(preset) if preset in AGENTS else 0.0), "parts")

    def speed(self, task: str, method: str, preset: str = "fast") -> Speed | None:
        """Steps per second: measured, else estimated (our networks only) and said so; None: nothing to go by."""
        measured = self.speeds.of(task, method, preset)
        if measured is not None or preset != "fast":
            return measured
        try:
            price = self.of(task, method, preset)
        except CostError:
            return None
        return Speed(1 / price.seconds, f"estimate by {price.source}")

    def epoch(self, method: str) -> float:
        """Seconds per step of a method on the maze."""
        found = self.bench.of(LIKE, method, "fast")
        if found is None:
            raise CostError(
                f"epochs of {method} are not in benchmarks/train.jsonl: go to the folder of the repository, or measure "
                "them with `mural bench train methods`"
            )
        return 1 / found.steps_per_second

    def agent(self, preset: str) -> float:
        """Seconds per step of the agent of the paper or of its release."""
        speed, (hidden, batch) = self.agents[preset], AGENTS[preset]
        if speed is None:
            raise CostError(
                f"SAC at {hidden}², batch {batch} is not in benchmarks/train.jsonl: `mural bench train sac`"
            )
        return 1 / speed


def steps_per_step(task: str) -> float:
    """Environment steps per training step, with those of evaluations: 20 episodes, or the two that are run where all
    are alike, every second epoch."""
    config, horizon = resolve(task), HORIZONS.get(task, 100)
    every = config.watch.eval_every * epoch_steps(config, horizon)
    return 1 + (config.watch.eval_episodes if task in VARIED else 2) * horizon / every


def cost(prices: Prices, *, seeds: int, steps: int, preset: str) -> list[dict[str, Any]]:
    """A row per task: its methods, runs, core-hours, the longest run, and what they were computed from."""
    rows: dict[str, dict[str, Any]] = {}
    for task, method in grid():
        seconds, source = prices.of(task, method, preset)
        row = rows.setdefault(
            task, {"task": task, "runs": 0, "core-hours": 0.0, "longest": 0.0, "from": [], "lengths": []}
        )
        row["runs"] += seeds
        row["lengths"] += [steps * seconds] * seeds
        row["core-hours"] += seeds * steps * seconds / 3600
        row["longest"] = max(row["longest"], steps * seconds / 3600)
        row["from"].append(source)
    return list(rows.values())


def hours(rows: Sequence[dict[str, Any]], cores: int) -> float:
    """Wall time on so many cores, the longest runs first. A run has one core: more cores than runs change nothing."""
    return wall(sorted((length for row in rows for length in row["lengths"]), reverse=True), cores) / 3600


def env_steps(path: Path) -> dict[str, float]:
    """Steps per second of each task alone, on one core."""
    found = _lines(path)
    return {row["task"]: row["steps_per_s"] for row in found if row.get("mode") == "single" and "task" in row}


def sac_steps(path: Path, hidden: int, batch: int) -> float | None:
    """Steps per second of our SAC with networks and batches of this size, with one thread."""
    wanted = {"what": "SAC steps per second", "hidden": hidden, "batch": batch, "threads": 1}
    found = [row["ours"] for row in _lines(path) if wanted.items() <= row.items()]
    return median(found) if found else None


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
