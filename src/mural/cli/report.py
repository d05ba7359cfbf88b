"""`mural report`: one page of runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from mural.cli.folders import RUNS, Imports, import_modules, plain_warnings
from mural.errors import ArgumentError


@dataclass
class Report:
    """Make one self-contained HTML page of runs: success, reward maps over time, reliability, policies, settings."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUNS")] = ()
    """Folders of runs, their names in runs/, folders with runs or results in them. None: all of runs/."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("report.html")
    """The page."""
    title: str = ""
    """Its title. Empty: what was run."""
    details: int = 12
    """Runs that are shown one by one, with a slider over time: the first seed of everything first."""
    strips: bool = True
    """Show frames of the final policies; that runs an episode of each."""
    imports: Imports = ()
    """Import this module first, to register your own environments; repeat the flag for more modules."""

    def run(self) -> None:
        """Read, draw, write."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        from mural.study.report.page import write

        if self.details < 0:
            raise ArgumentError(f"--details is {self.details}; it must be at least 0")
        import_modules(self.imports)
        what = TextColumn("{task.description}", markup=False)  # names come from folders
        with (
            plain_warnings(),
            Progress(what, BarColumn(), MofNCompleteColumn(), console=Console(stderr=True), transient=True) as bar,
        ):
            task = bar.add_task("reading", total=None)
            runs = write(
                [path if path.exists() else RUNS / path for path in self.runs] or [RUNS],
                self.out,
                title=self.title,
                details=self.details,
                strips=self.strips,
                progress=lambda what, done, total: bar.update(task, description=what, completed=done, total=total),
            )
        amiss = sum(bool(run.problems) for run in runs)
        told = f"{len(runs)} runs" if len(runs) != 1 else "1 run"
        told += f"; {amiss} with something missing, as the page says" if amiss else ""
        print(f"{self.out}  ({self.out.stat().st_size / 1e6:.1f} MB): {told}. Open it in a browser", flush=True)
