"""`mural bench …`: what is measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from tyro.conf import Positional

from mural.cli.tables import show
from mural.limits import PositiveFloat, PositiveInt, Seed, Widths


@dataclass
class BenchClassifier:
    """Time per state of feed-forward, meta-NML and exact CNML, side by side, with one thread and with two."""

    hidden: Widths = (512, 2048)
    """Widths of the two hidden layers."""
    threads: tuple[PositiveInt, ...] = (1, 2)
    """Compute threads."""
    json: bool = False
    """One JSON object per line."""

    def run(self) -> None:
        """Measure and print."""
        from mural.study.bench.classifier import bench_classifier

        publish(bench_classifier(self.hidden, self.threads), as_json=self.json)


@dataclass
class BenchFidelity:
    """How near meta-NML comes to exact CNML on four data sets; on a fifth, what warm start and kernel are worth."""

    datasets: tuple[Literal["maze", "iris", "wine", "breast-cancer", "growing-maze"], ...] = (
        "maze", "iris", "wine", "breast-cancer", "growing-maze",
    )  # fmt: skip
    """Which data sets."""
    seed: Seed = 0
    """Seed of data, splits and training."""
    json: bool = False
    """One JSON object per line."""

    def run(self) -> None:
        """Measure and print."""
        from mural.study.bench.fidelity import bench_fidelity

        publish(bench_fidelity(self.datasets, self.seed), as_json=self.json)


@dataclass
class BenchOod:
    """Digits of classes held out: AUROC of the regret next to max-softmax and scikit-learn's detectors of outliers."""

    seed: Seed = 0
    """Seed of splits and training."""
    json: bool = False
    """One JSON object per line."""

    def run(self) -> None:
        """Measure and print."""
        from mural.study.bench.ood import bench_ood

        publish(bench_ood(seed=self.seed), as_json=self.json)


@dataclass
class BenchExamples:
    """Success examples some of which are none: how many of them the check names, and how many right ones."""

    tasks: Positional[tuple[str, ...]] = ()
    """Short names; all tasks if none is given."""
    seed: Seed = 0
    """Seed of the examples, right and wrong."""
    json: bool = False
    """One JSON object per line."""

    def run(self) -> None:
        """Measure and print."""
        from mural.study.bench.doubts import bench_doubts

        publish(bench_doubts(self.tasks or None, seed=self.seed), as_json=self.json)


@dataclass
class BenchTasks:
    """Steps per second of the tasks on one core, with other people's environments in the same run."""

    tasks: Positional[tuple[str, ...]] = ()
    """Short names or ids; all tasks if none is given."""
    seconds: PositiveFloat = 1.0
    """CPU seconds per measurement."""
    json: bool = False
    """One JSON object per line."""

    def run(self) -> None:
        """Measure and print."""
        from mural.study.bench.tasks import bench_tasks

        publish(bench_tasks(self.tasks or None, seconds=self.seconds), as_json=self.json)


@dataclass
class BenchTrain:
    """Speed of training: next to SBX and Stable-Baselines3, per method, per domain, and as the replay grows."""

    parts: Positional[tuple[Literal["sac", "epochs", "domains", "methods"], ...]] = (
        "sac", "epochs", "domains", "methods",
    )  # fmt: skip
    """What to measure; everything takes more than half an hour on two idle cores."""
    tasks: tuple[str, ...] = ()
    """Tasks that `domains` is measured on; without any, one of each domain."""
    threads: tuple[PositiveInt, ...] = (1, 2)
    """Compute threads, as many for ours as for the peers."""
    rounds: PositiveInt = 3
    """Turns of every contestant; medians count."""
    peer_python: Path | None = None
    """A Python that has the peers (the extra `bench`), if this one has not."""
    json: bool = False
    """One JSON object per line."""

    def run(self) -> None:
        """Measure and print."""
        from mural.study.bench.train import DOMAINS, bench_train
        from mural.tasks import find

        tasks = [find(task).name for task in self.tasks] or DOMAINS
        rows = bench_train(
            self.parts, threads=self.threads, domains=tasks, rounds=self.rounds, peer_python=self.peer_python
        )
        publish(rows, as_json=self.json)


@dataclass
class BenchSb3:
    """The same task and reward in our loop and in SAC of Stable-Baselines3: steps per second, steps to success."""

    task: str = "zigzag-maze"
    """Short name or id."""
    method: str = "mural"
    """A method that rewards states alone."""
    seeds: tuple[Seed, ...] = (0,)
    """A run of each contestant per seed."""
    steps: PositiveInt = 50_000
    """The most environment steps of a run; it ends when five evaluations in a row succeed nine times in ten."""
    threads: PositiveInt = 1
    """Compute threads of each process. With one, CPU seconds count, so that other work does not."""
    json: bool = False
    """One JSON object per line."""

    def run(self) -> None:
        """Measure and print."""
        from mural.study.bench.loops import bench_loops

        publish(bench_loops(self.task, self.method, self.seeds, self.steps, self.threads), as_json=self.json)


@dataclass
class BenchStart:
    """How soon it starts: `import mural`, `mural --help`, and training, with an empty and with a filled cache."""

    threads: PositiveInt = 1
    """Compute threads. With one, CPU seconds count, so that other work does not."""
    rounds: PositiveInt = 3
    """Starts with a filled cache; medians count."""
    json: bool = False
    """One JSON object per line."""

    def run(self) -> None:
        """Measure and print."""
        from mural.study.bench.start import bench_start

        publish(bench_start(self.threads, self.rounds), as_json=self.json)


@dataclass
class Bench:
    """Measure: every number with its peers in the same run."""

    what: (
        Annotated[BenchClassifier, tyro.conf.subcommand("classifier")]
        | Annotated[BenchFidelity, tyro.conf.subcommand("fidelity")]
        | Annotated[BenchOod, tyro.conf.subcommand("ood")]
        | Annotated[BenchExamples, tyro.conf.subcommand("examples")]
        | Annotated[BenchTasks, tyro.conf.subcommand("tasks")]
        | Annotated[BenchTrain, tyro.conf.subcommand("train")]
        | Annotated[BenchSb3, tyro.conf.subcommand("sb3")]
        | Annotated[BenchStart, tyro.conf.subcommand("start")]
    )

    def run(self) -> None:
        """Run the chosen benchmark."""
        self.what.run()


def publish(rows: Iterable[dict[str, Any]], *, as_json: bool) -> None:
    """Show measurements: for programs, each with what made it, for which a table has no room."""
    from mural.study.bench.made import signed

    show(signed(rows) if as_json else rows, as_json=as_json)
