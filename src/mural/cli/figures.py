"""`mural figure …`, `mural table …`, `mural claims`: the paper's pictures, tables and claims, from results."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from tyro.conf import Positional

from mural.atomic import replacing
from mural.cli.tables import show
from mural.errors import MuralError
from mural.limits import Seed


class UsageError(MuralError, ValueError):
    """The command line lacks something; the message says what."""


@dataclass
class Figure:
    """Make a figure of the paper as SVG, PNG and JSON. `mural figure all` makes every one that has its runs."""

    name: Positional[str] = ""
    """Its label in the paper (fig:comparisons, or comparisons), or `all`."""
    list: bool = False
    """List the figures, and what each is made from."""
    out: Path = Path("figures")
    """Folder for the pictures."""
    results: Path = Path("results")
    """Folder of the results, one folder per study."""
    folders: tuple[Path, ...] = ()
    """Folders of results to use instead, e.g. results/evidence."""
    runs: Path = Path("runs")
    """Run folders, one folder per study, for visits, which result files do not hold."""
    partial: bool = False
    """Draw what there is, and say what is missing."""
    seed: Seed = 0
    """Seed of data and training, for the figures that are made from scratch."""

    def run(self) -> None:
        """Make the pictures, with a line for each."""
        from mural.study.figures import FIGURES

        if self.list:
            show(
                (
                    {
                        "figure": e.label,
                        "shows": e.summary,
                        "from": e.source,
                        "also": ", ".join([*(f"fig:{label}" for label in e.covers), *e.aliases]),
                    }
                    for e in FIGURES
                ),
                as_json=False,
            )
        elif not self.name:
            raise UsageError("which figure? `mural figure --list` has all; `mural figure all` makes them")
        elif self.name != "all":
            self._make(self.name)
        else:
            self._make_all([entry.name for entry in FIGURES])

    def _make_all(self, names: Sequence[str]) -> None:
        missing = 0
        for name in names:
            try:
                self._make(name)
            except MuralError as error:  # runs, a curve or an extra that is not there: the others can be made
                missing += 1
                print(f"fig:{name}: {error}", flush=True)
        print(f"{len(names) - missing} of {len(names)} figures made")

    def _make(self, name: str) -> None:
        from mural.study.figures import make  # loads matplotlib, then what the figure needs
        from mural.study.figures.picture import Ask
        from mural.study.runs import Where

        begun = time.monotonic()
        with Console(stderr=True).status(f"{name} …"):
            ask = Ask(Where(self.results, self.folders), self.runs, self.seed, self.partial)
            drawn, paths = make(name, ask, self.out)
        said = [drawn.said, *([drawn.made_by] if drawn.made_by else [])]
        print(f"{', '.join(map(str, paths))}  ({time.monotonic() - begun:.0f} s)", *said, sep="\n  ", flush=True)


@dataclass
class Table:
    """Print a table of the paper with our values beside it, or the table of results."""

    name: Positional[str] = ""
    """Its label in the paper (tab:meta-nml-runtimes, or meta-nml-runtimes), or another of the list."""
    list: bool = False
    """List the tables."""
    results: Path = Path("results")
    """Folder of the results, one folder per study."""
    folders: tuple[Path, ...] = ()
    """Folders of results to use instead, e.g. results/evidence."""
    partial: bool = False
    """Make do with the runs that there are, and say what is missing."""
    markdown: bool = False
    """Print Markdown."""
    json: bool = False
    """One JSON object per line."""

    def run(self) -> None:
        """Print."""
        from mural.study.runs import Where
        from mural.study.tables import TABLES, find, markdown

        if self.list:
            show(({"table": table.name, "shows": table.summary} for table in TABLES), as_json=self.json)
            return
        if not self.name:
            raise UsageError("which table? `mural table --list` has all")
        rows, note = find(self.name).make(Where(self.results, self.folders), self.partial)
        if self.markdown:
            print(markdown(rows), note, sep="\n\n")
            return
        show(rows, as_json=self.json)
        if not self.json:
            print(note)


@dataclass
class Claims:
    """Judge each claim of the paper by the results that there are, and write docs/claims.md."""

    out: Path = Path("docs/claims.md")
    """The page."""
    results: Path = Path("results")
    """Folder of the results, one folder per study."""
    folders: tuple[Path, ...] = ()
    """Folders of results to use instead, e.g. results/evidence."""
    benchmarks: Path = Path("benchmarks")
    """Folder of the measurements."""
    figures: Path = Path("docs/figures")
    """Folder of the figures that were made, with their numbers."""
    json: bool = False
    """One JSON object per line, and no page."""

    def run(self) -> None:
        """Judge, print and write."""
        from mural.study.claims import Evidence, judge, page
        from mural.study.runs import Where

        for folder in self.folders or (self.results,):
            if not folder.is_dir():
                raise UsageError(f"there is no folder {folder}: call this in a checkout, or name one with --results")
        evidence = Evidence(Where(self.results, self.folders), self.benchmarks, self.figures)
        judged = list(judge(evidence))
        named = (
            {"claim": c.name, "verdict": str(f.verdict), "measured": f.measured, "where": c.place} for c, f in judged
        )
        show(named, as_json=self.json)
        if not self.json:
            with replacing(self.out) as scratch:
                scratch.write_text(page(judged))
            print(self.out)
