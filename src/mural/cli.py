"""`mural …`: every command is a typed dataclass; its fields are the flags."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console
from rich.table import Table
from tyro.conf import Positional


@dataclass
class Figure:
    """Make a figure of the paper, from data to picture. `mural figure all` makes every one."""

    name: Positional[Literal["all", "reward-classifiers", "gradient-steps", "importance-weighting"]]
    """Which one."""
    out: Path = Path("figures")
    """Folder for the pictures."""
    seed: int = 0
    """Seed of data and training."""

    def run(self) -> None:
        """Make the pictures, with a line for each."""
        from mural.study.figures import FIGURES  # loads JAX and matplotlib

        for name, spec in FIGURES.items():
            if self.name not in ("all", name):
                continue
            path = self.out / f"{name}.png"
            begun = time.monotonic()
            with Console(stderr=True).status(f"{name} …"):
                finding = spec.make(path, self.seed)
            print(f"{path}  ({time.monotonic() - begun:.0f} s)\n  {finding}", flush=True)


@dataclass
class BenchClassifier:
    """Time per state of feed-forward, meta-NML and exact CNML, side by side, with one thread and with two."""

    hidden: tuple[int, ...] = (512, 2048)
    """Widths of the two hidden layers."""
    threads: tuple[int, ...] = (1, 2)
    """Compute threads."""
    json: bool = False
    """One JSON object per line."""

    def run(self) -> None:
        """Measure and print."""
        from mural.study.bench_classifier import bench_classifier

        show(bench_classifier(self.hidden, self.threads), as_json=self.json)


@dataclass
class BenchFidelity:
    """How near meta-NML comes to exact CNML: errors, rank correlation and calibration on four data sets."""

    datasets: tuple[Literal["maze", "iris", "wine", "breast-cancer"], ...] = ("maze", "iris", "wine", "breast-cancer")
    """Which data sets."""
    seed: int = 0
    """Seed of data, splits and training."""
    json: bool = False
    """One JSON object per line."""

    def run(self) -> None:
        """Measure and print."""
        from mural.study.bench_fidelity import bench_fidelity

        show(bench_fidelity(self.datasets, self.seed), as_json=self.json)


@dataclass
class BenchTasks:
    """Steps per second of the tasks on one core, with other people's environments in the same run."""

    tasks: Positional[tuple[str, ...]] = ()
    """Short names or ids; all tasks if none is given."""
    seconds: float = 1.0
    """CPU seconds per measurement."""
    json: bool = False
    """One JSON object per line."""

    def run(self) -> None:
        """Measure and print."""
        from mural.study.bench_tasks import bench_tasks

        show(bench_tasks(self.tasks or None, seconds=self.seconds), as_json=self.json)


@dataclass
class Bench:
    """Measure: every number with its peers in the same run."""

    what: (
        Annotated[BenchClassifier, tyro.conf.subcommand("classifier")]
        | Annotated[BenchFidelity, tyro.conf.subcommand("fidelity")]
        | Annotated[BenchTasks, tyro.conf.subcommand("tasks")]
    )

    def run(self) -> None:
        """Run the chosen benchmark."""
        self.what.run()


@dataclass
class Tasks:
    """List the tasks."""

    def run(self) -> None:
        """Print a table."""
        from mural.tasks import describe

        show(describe(), as_json=False)


@dataclass
class Examples:
    """Make success examples of a task: to a file, as a picture, or both."""

    task: Positional[str]
    """Short name (`zigzag-maze`) or Gymnasium id."""
    n: int = 150
    """How many."""
    seed: int = 0
    """Seed."""
    out: Path | None = None
    """Write them to this .npz file."""
    picture: Path | None = None
    """Draw a grid of 16 of them to this .png file."""

    def run(self) -> None:
        """Make, save and draw."""
        import numpy as np

        from mural.tasks import find, make
        from mural.tasks.picture import examples_picture

        name = find(self.task).name
        task = make(name)
        examples = task.success_examples(self.n, self.seed)
        worst = float(np.max(task.distance(examples)))
        print(f"{name}: {len(examples)} examples, furthest {worst:.3f} of the {task.success_threshold} allowed")
        task.close()
        if self.out is not None:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            np.savez_compressed(self.out, examples=examples)
            print(self.out)
        if self.picture is not None:
            print(examples_picture(name, self.picture, seed=self.seed))


@dataclass
class Mural:
    """Outcome-driven reinforcement learning: examples of success in, a policy and its learned reward out."""

    command: (
        Annotated[Figure, tyro.conf.subcommand("figure")]
        | Annotated[Tasks, tyro.conf.subcommand("tasks")]
        | Annotated[Examples, tyro.conf.subcommand("examples")]
        | Annotated[Bench, tyro.conf.subcommand("bench")]
    )


def show(rows: Iterable[dict[str, Any]], *, as_json: bool) -> None:
    """Rows as JSON lines, each as soon as it is there, or as one table at the end."""
    rows = waiting(iter(rows), quiet=as_json and not sys.stderr.isatty())
    if as_json:
        for row in rows:
            print(json.dumps(row), flush=True)
        return
    collected = list(rows)
    keys = list(dict.fromkeys(key for row in collected for key in row))
    table = Table(*keys)
    for row in collected:
        table.add_row(*(pretty(row.get(key)) for key in keys))
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def waiting(rows: Iterator[dict[str, Any]], *, quiet: bool) -> Iterator[dict[str, Any]]:
    """The rows, with a sign of life on the terminal while the next one is being made."""
    console = Console(stderr=True, quiet=quiet)
    done = 0
    while True:
        with console.status(f"{done} rows …"):
            row = next(rows, None)
        if row is None:
            return
        done += 1
        yield row


def pretty(value: Any) -> str:
    """A cell of a table."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main(argv: list[str] | None = None) -> None:
    """Entry point of the command `mural`."""
    arguments = tyro.cli(Mural, prog="mural", args=argv, config=(tyro.conf.OmitSubcommandPrefixes,))
    try:
        arguments.command.run()
    except (ValueError, ImportError, RuntimeError, OSError) as error:
        print(f"mural: {error}", file=sys.stderr)
        sys.exit(2)
