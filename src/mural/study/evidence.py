"""Evidence: curves, tables and pictures over time of the results that `mural sweep` has collected.

python -m mural.study.evidence figure           # → docs/pictures/evidence.png
python -m mural.study.evidence table            # results as a table in Markdown
python -m mural.study.evidence lapse --runs runs/evidence/zigzag-maze-{mural,vice}-0 --out docs/pictures/zigzag.png
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from mural.study.results import group, load

RESULTS = Path("results/evidence")


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
        print("| task | method | variant | seed: first success → solved (thousand steps) | coverage then |")
        print("|---|---|---|---|---|")
        for (task, method, name), runs in group(load(self.results)).items():
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


def course(result: dict[str, Any]) -> str:
    """First success and what became of it."""
    first = "–" if result["solved_at"] is None else f"{result['solved_at'] / 1000:.0f}"
    end = f"{result['steps'] / 1000:.0f}"
    return f"{first} → {end}" if result["stopped"] else f"{first} → {result['final_success']:.1f} at {end}"


def main(argv: list[str] | None = None) -> None:
    """Entry point."""
    tyro.extras.subcommand_cli_from_dict({"figure": Figure, "table": Table, "lapse": Lapse}, args=argv).run()


if __name__ == "__main__":
    main()
