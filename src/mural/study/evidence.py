"""Evidence: train tasks × methods × seeds, each in a process of its own, and make small result files of the runs.

    python -m mural.study.evidence run --tasks zigzag-maze spiral-maze --methods mural vice --seeds 0 1 2
    python -m mural.study.evidence collect          # runs/evidence/* → results/evidence/*.json
    python -m mural.study.evidence figure           # → docs/pictures/evidence.png
    python -m mural.study.evidence table            # results as a table in Markdown
    python -m mural.study.evidence lapse --runs runs/evidence/zigzag-maze-{mural,vice}-0 --out docs/pictures/zigzag.png

Called again, `run` skips the runs that are finished and resumes the interrupted ones. Each process has one thread.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from tyro.conf import UseAppendAction

from mural.settings.stopping import succeeded
from mural.storage import metrics
from mural.study.processes import environment

CURVES = ("eval/success", "eval/distance", "train/success", "train/distance", "coverage", "reward/mean")
RUNS, RESULTS = Path("runs/evidence"), Path("results/evidence")
SOLVED = 0.9


@dataclass
class Run:
    """Train all combinations of tasks, methods and seeds, `jobs` of them at once."""

    tasks: tuple[str, ...] = ("zigzag-maze", "spiral-maze")
    """Tasks to train on."""
    methods: tuple[str, ...] = ("mural", "vice", "vice-count", "sac-sparse", "sac-distance")
    """Methods to train with."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Seeds to train with. Seeds from 100 on are for tuning, the others for results."""
    steps: int = 100_000
    """Environment steps of a run, at most."""
    flags: Annotated[tuple[str, ...], UseAppendAction] = ()
    """Further flags of `mural train`, e.g. --flags=--loop.stale."""
    variant: str = ""
    """Name for runs with further flags; it becomes part of their folders' names."""
    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    """Processes at once."""
    out: Path = RUNS
    """Folder that the runs are written to."""

    def run(self) -> None:
        """Start processes as others end."""
        waiting = [self.command(t, m, s) for s in self.seeds for t in self.tasks for m in self.methods]
        waiting = [(name, command) for name, command in waiting if not finished(self.out / name)]
        running: dict[str, subprocess.Popen[bytes]] = {}
        while waiting or running:
            while waiting and len(running) < self.jobs:
                name, command = waiting.pop(0)
                self.out.mkdir(parents=True, exist_ok=True)
                with (self.out / f"{name}.log").open("ab") as log:
                    running[name] = subprocess.Popen(command, stdout=log, stderr=log, env=environment(threads=1))
                print(f"{time.strftime('%H:%M:%S')} {name}: {' '.join(command[2:])}", flush=True)
            time.sleep(1.0)
            for name, process in list(running.items()):
                if process.poll() is not None:
                    del running[name]
                    print(
                        f"{time.strftime('%H:%M:%S')} {name}: exit {process.returncode}, {len(waiting)} left",
                        flush=True,
                    )

    def command(self, task: str, method: str, seed: int) -> tuple[str, list[str]]:
        """Name and command of one run."""
        name = "-".join(filter(None, (task, method, self.variant, str(seed))))
        mural = [sys.executable, "-m", "mural"]
        folder = self.out / name
        if (folder / "config.json").is_file():
            return name, [*mural, "resume", str(folder)]
        return name, [
            *mural, "train", task, "--method", method, "--seed", str(seed), "--steps", str(self.steps),
            "--stop-at-success", str(SOLVED), "--out", str(folder), *self.flags,
        ]  # fmt: skip


@dataclass
class Collect:
    """Turn run folders into small files: curves, settings, versions, the command."""

    runs: Path = RUNS
    """The run folders."""
    out: Path = RESULTS
    """Where the results go."""

    def run(self) -> None:
        """A file per run."""
        self.out.mkdir(parents=True, exist_ok=True)
        for folder in sorted(path.parent for path in self.runs.glob("*/config.json")):
            result = summary(folder)
            (self.out / f"{folder.name}.json").write_text(json.dumps(result) + "\n")
            end = f"success {result['final_success']}, solved at {result['solved_at']}"
            print(f"{folder.name}: {result['steps']} steps, {end}")


@dataclass
class Figure:
    """Success over steps: a panel per task, a line per method, the range of the seeds."""

    results: Path = RESULTS
    """The collected results."""
    out: Path = Path("docs/pictures/evidence.png")
    """The picture."""

    def run(self) -> None:
        """Draw."""
        from mural.study.figures.evidence import draw  # loads matplotlib

        print(draw(self.results, self.out))


@dataclass
class Table:
    """Print results in Markdown: when each seed first succeeded, when it had five evaluations in a row, and the end."""

    results: Path = RESULTS
    """The collected results."""

    def run(self) -> None:
        """A row per task, method and variant."""
        groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
        for result in load(self.results):
            groups.setdefault((result["task"], result["method"], variant(result)), []).append(result)
        print("| task | method | variant | seed: first success → solved (thousand steps) | coverage then |")
        print("|---|---|---|---|---|")
        for (task, method, name), runs in groups.items():
            ends = "; ".join(f"{run['seed']}: {course(run)}" for run in sorted(runs, key=lambda run: run["seed"]))
            coverage = ", ".join(f"{run['curves']['coverage'][-1][1]:.2f}" for run in runs)
            print(f"| {task} | {method} | {name} | {ends} | {coverage} |")


@dataclass
class Lapse:
    """Reward and visits over time: a row per run, a column per moment."""

    runs: tuple[Path, ...]
    """Run folders."""
    out: Path
    """The picture."""

    def run(self) -> None:
        """Draw."""
        from mural.study.figures.lapse import draw  # loads matplotlib

        print(draw(self.runs, self.out))


def finished(folder: Path) -> bool:
    """Whether a run has used up its steps, or solved its task."""
    if not (folder / "config.json").is_file():
        return False
    result = summary(folder)
    return bool(result["steps"] >= result["config"]["steps"] or result["stopped"])


def summary(folder: Path) -> dict[str, Any]:
    """The compact result of a run."""
    rows = metrics.read(folder / "metrics.jsonl")
    config = json.loads((folder / "config.json").read_text())
    success = [row["eval/success"] for row in rows if "eval/success" in row]
    steps = [row["step"] for row in rows if "eval/success" in row]
    solved = next((step for step, s in zip(steps, success, strict=True) if s >= SOLVED), None)
    return {
        "task": config["task"], "method": config["method"], "seed": config["seed"], "name": folder.name,
        "steps": rows[-1]["step"] if rows else 0,
        "stopped": succeeded(rows, SOLVED),
        "final_success": float(np.mean(success[-5:])) if success else None,
        "success_of_last_ten": float(np.mean(success[-10:])) if success else None,
        "final_distance": rows[-1].get("eval/distance") if rows else None,
        "solved_at": solved,
        "curves": {name: curve(rows, name) for name in CURVES},
        "config": config,
        "versions": json.loads((folder / "versions.json").read_text()),
        "command": f"mural train {config['task']} --config c.json, where c.json holds the entry `config` of this file",
    }  # fmt: skip


def variant(result: dict[str, Any]) -> str:
    """What stands between method and seed in the name of a run."""
    return str(result["name"][len(f"{result['task']}-{result['method']}") : -len(f"-{result['seed']}")].lstrip("-"))


def course(result: dict[str, Any]) -> str:
    """First success and what became of it."""
    first = "–" if result["solved_at"] is None else f"{result['solved_at'] / 1000:.0f}"
    end = f"{result['steps'] / 1000:.0f}"
    return f"{first} → {end}" if result["stopped"] else f"{first} → {result['final_success']:.1f} at {end}"


def curve(rows: list[dict[str, Any]], name: str) -> list[list[float]]:
    """[step, value] of each row that has it."""
    return [[row["step"], round(row[name], 4)] for row in rows if row.get(name) is not None]


def load(results: Path) -> Iterator[dict[str, Any]]:
    """All collected results."""
    for path in sorted(results.glob("*.json")):
        yield json.loads(path.read_text())


def main(argv: list[str] | None = None) -> None:
    """Entry point."""
    tyro.extras.subcommand_cli_from_dict(
        {"run": Run, "collect": Collect, "figure": Figure, "table": Table, "lapse": Lapse}, args=argv
    ).run()


if __name__ == "__main__":
    main()
