"""`mural sweep …`: run the runs of a file, look at them, collect their results."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from mural.cli.folders import import_modules
from mural.cli.plans import SweepCost, counted, first_line, print_plan, tell
from mural.cli.tables import show
from mural.cli.training import INTERRUPTED, setting
from mural.errors import MuralError
from mural.limits import PositiveInt, Seed

if TYPE_CHECKING:
    from mural.study.sweep.spec import Run, Sweep

VERBS = ("run", "status", "collect", "cost")
Spec = Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[SPEC]")]


class SweepError(MuralError, RuntimeError):
    """Some runs of a sweep were not done; the message says which, and why."""


@dataclass
class Chosen:
    """What `run` and `status` share: which runs."""

    spec: Spec = None
    """A .toml file: tasks, methods, seeds, variants (studies/ has some). Without it, the flags say what to run."""
    tasks: tuple[str, ...] = ()
    """Tasks, instead of those of [sweep] in the file."""
    methods: tuple[str, ...] = ()
    """Methods, instead of those of [sweep] in the file."""
    seeds: tuple[Seed, ...] = ()
    """Seeds, instead of those of [sweep] in the file."""
    steps: PositiveInt | None = None
    """Environment steps of every run, instead of those of the file and of the preset."""
    changes: Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="NAME=VALUE"), tyro.conf.UseAppendAction] = ()
    """Change a setting of every run, e.g. --set loop.stale=true; repeat for more."""
    out: Path | None = None
    """Folder of the runs, instead of the file's."""
    results: Path | None = None
    """Folder of the result files, instead of the file's."""
    only: str = "*"
    """Only the runs whose names fit this pattern, e.g. --only 'zigzag-*-mural-*'."""
    part: str = "1/1"
    """I/N: only the I-th of N shares of the runs, for N machines that share no cluster."""

    def sweep(self) -> Sweep:
        """What the file and the flags say."""
        from mural.study.sweep import spec

        found = spec.load(self.spec) if self.spec else spec.parse({})
        over: dict[str, Any] = {
            "tasks": self.tasks, "methods": self.methods, "seeds": self.seeds,
            "out": self.out and str(self.out), "results": self.results and str(self.results),
            "steps": self.steps and {"*": self.steps},
            "settings": self.changes and {**found.settings, **dict(map(setting, self.changes))},
        }  # fmt: skip
        if found.blocks and (self.tasks or self.methods or self.seeds):
            raise spec.SpecError(f"{self.spec} has blocks of its own: choose among its runs with --only")
        import_modules(found.imports)
        return dataclasses.replace(found, **{name: value for name, value in over.items() if value})

    def runs(self) -> list[Run]:
        """The runs, checked and in their order."""
        from mural.study.sweep.spec import plan

        return plan(self.sweep(), self.only, self.part)


@dataclass
class SweepRun(Chosen):
    """Run what is not done yet. The word `run` may be left out: `mural sweep studies/mazes.toml`."""

    dry_run: bool = False
    """Only print the plan, with the time that it will take."""
    jobs: PositiveInt | None = None
    """Processes at once, with one thread each. None: as many as there are cores."""
    ray: Annotated[str | None, tyro.conf.arg(metavar="ADDRESS")] = None
    """HOST:PORT of a Ray cluster to run on instead of this machine, or `auto` on one of its nodes."""

    def run(self) -> None:
        """Start what is to be done; tell what was not."""
        from mural.study import results
        from mural.study.processes import cores_here
        from mural.study.sweep import cluster, local, state
        from mural.study.sweep.board import Board

        looks = [(run, state.look(run)) for run in self.runs()]
        if self.dry_run:
            print_plan(looks, self.jobs or len(cores_here()))
            return
        todo = [run for run, look in looks if look.state in ("waiting", "half done", "failed")]
        tell(looks)
        for run in [run for run, look in looks if look.state == "done" and not run.result.is_file()]:
            results.write(run.folder, run.results, run.variant)
            print(f"{run.name}: was done, and is collected now")
        if todo:
            board = Board(len(todo))
            outcome = cluster.sweep(todo, self.ray, board) if self.ray else local.sweep(todo, self.jobs, board)
            for name, why in outcome.failed.items():
                print(f"\n{name}: {why}", file=sys.stderr)
            if outcome.stopped:
                print("stopped; the same command goes on", flush=True)
                sys.exit(INTERRUPTED)
            if outcome.failed:
                raise SweepError(
                    f"{len(outcome.failed)} of {len(todo)} runs failed ({', '.join(outcome.failed)}); the ends of "
                    "their logs are above. The same command tries them again"
                )
        differing = [run.name for run, look in looks if look.state == "differs"]
        if differing:
            raise SweepError(
                f"{len(differing)} runs were left alone, as their settings are not those of the spec (above)"
            )


@dataclass
class SweepStatus(Chosen):
    """Show how far the runs are."""

    json: bool = False
    """One JSON object per line."""

    def run(self) -> None:
        """A row per run."""
        from mural.study.sweep import state

        looks = [(run, state.look(run)) for run in self.runs()]
        rows = (
            {"run": run.name, "state": look.state, "step": look.step, "of": run.config.steps, "success": look.success,
             "note": first_line(look.note)}
            for run, look in looks
        )  # fmt: skip
        show(rows, as_json=self.json)
        if not self.json:
            print(counted(looks))


@dataclass
class SweepCollect:
    """Write the result files of runs, finished or not. (A sweep does it for each run as it finishes.)"""

    source: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="SPEC")]
    """The .toml file of a sweep, or a folder of runs."""
    results: Path | None = None
    """Folder of the result files. None: the file's; for a folder of runs, results/NAME."""

    def run(self) -> None:
        """A file per run."""
        from mural.storage.folder import commit
        from mural.study import results

        if self.source.is_dir():
            out = self.results or Path("results") / self.source.resolve().name
            found: list[tuple[Path, str | None, Path]] = [
                (path.parent, None, out) for path in sorted(self.source.glob("*/config.json"))
            ]
        else:
            planned = Chosen(self.source, results=self.results).runs()
            found = [
                (run.folder, run.variant, run.results) for run in planned if (run.folder / "config.json").is_file()
            ]
        if not found:
            raise SweepError(f"there are no runs of {self.source} yet: `mural sweep {self.source}` makes them")
        dirty = 0
        for folder, variant, out in found:
            result = results.write(folder, out, variant)
            dirty += result["dirty"]
            end = f"success {result['success_of_last_ten']}, solved at {result['solved_at']}"
            print(f"{out / folder.name}.json: {result['steps']} steps, {end}{' (dirty)' if result['dirty'] else ''}")
        if dirty:
            print(f"warning: {dirty} runs were made with uncommitted changes of the package: no commit can repeat them")
        if commit().get("commit", "").endswith("+"):
            print("warning: the package has uncommitted changes now, as these results are collected")


@dataclass
class SweepCommand:
    """Run tasks × methods × seeds × variants: `mural sweep SPEC`. What is done is skipped, what is begun goes on.

    `mural sweep run --help` explains what can be chosen; the word `run` may be left out where a SPEC or a flag follows.
    """

    what: (
        Annotated[SweepRun, tyro.conf.subcommand("run")]
        | Annotated[SweepStatus, tyro.conf.subcommand("status")]
        | Annotated[SweepCollect, tyro.conf.subcommand("collect")]
        | Annotated[SweepCost, tyro.conf.subcommand("cost")]
    )

    def run(self) -> None:
        """Run what was chosen."""
        self.what.run()


def with_verb(words: Sequence[str]) -> list[str]:
    """`sweep SPEC …` as `sweep run SPEC …`, and nothing but `sweep` as a question for help."""
    if list(words) == ["sweep"]:
        return ["sweep", "--help"]
    if words[:1] == ["sweep"] and words[1:] and words[1] not in (*VERBS, "-h", "--help"):
        return ["sweep", "run", *words[1:]]
    return list(words)
