"""What a sweep will do and how long it will take; `mural sweep cost`: what the paper's comparison would take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mural.cli.tables import show
from mural.limits import PositiveInt

if TYPE_CHECKING:
    from mural.study.sweep.spec import Run
    from mural.study.sweep.state import Look


@dataclass
class SweepCost:
    """Compute from measured speeds what the paper's comparison costs: 7 tasks × 8 methods × seeds × steps."""

    seeds: PositiveInt = 5
    """Seeds of every task and method (paper: 5)."""
    steps: PositiveInt = 1_000_000
    """Environment steps of a run (paper: a million)."""
    preset: Literal["fast", "paper", "release"] = "fast"
    """fast: our networks. paper, release: theirs; then a lower bound, as their classifier was not measured."""
    cores: tuple[PositiveInt, ...] = (2, 100, 1000)
    """Print the wall time on each of these numbers of cores."""
    runs: tuple[Path, ...] = ()
    """Folders of runs whose speeds count too, beside those of all result files in results/."""
    json: bool = False
    """One JSON object per line."""

    def run(self) -> None:
        """A row per task, then the sums."""
        from mural.study.sweep import cost
        from mural.study.sweep.estimate import Speeds

        folders = sorted(path.parent for runs in self.runs for path in runs.glob("*/timing.jsonl"))
        speeds = Speeds(folders, sorted(Path("results").glob("*/*.json")), bench=None)
        rows = cost.cost(cost.Prices(speeds), seeds=self.seeds, steps=self.steps, preset=self.preset)
        total = {"task": "all"} | {name: sum(row[name] for row in rows) for name in ("runs", "core-hours")}
        total |= {"longest": max(row["longest"] for row in rows), "from": [s for row in rows for s in row["from"]]}
        walls = {f"hours on {cores} cores": cost.hours(rows, cores) for cores in self.cores}
        shown = [*rows, total | walls] if self.json else [*rows, total]
        show(({**row, "from": told(row["from"])} for row in map(without_lengths, shown)), as_json=self.json)
        if not self.json:
            bound = "" if self.preset == "fast" else "At least "
            print(
                f"{bound}{total['core-hours']:,.0f} core-hours: " + ", ".join(f"{h:,.1f} {n}" for n, h in walls.items())
            )
            print("; ".join(f"{name}: {words}" for name, words in cost.SOURCES.items() if name in total["from"]))


def without_lengths(row: dict[str, Any]) -> dict[str, Any]:
    """A row as it is shown."""
    return {name: value for name, value in row.items() if name != "lengths"}


def told(sources: Sequence[str]) -> str:
    """'7 parts, 1 runs'."""
    return ", ".join(f"{sources.count(source)} {source}" for source in dict.fromkeys(sources))


def tell(looks: Sequence[tuple[Run, Look]]) -> None:
    """What is skipped, and why."""
    print(counted(looks), flush=True)
    for run, look in looks:
        if look.state == "differs":
            print(f"  {run.name} is left alone: {look.note}", flush=True)
        elif look.state == "running":
            print(f"  {run.name} is left alone: another process trains it", flush=True)


def counted(looks: Sequence[tuple[Run, Look]]) -> str:
    """'9 runs: 3 done, 6 waiting'."""
    states = [look.state for _, look in looks]
    return f"{len(looks)} runs: " + ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))


def print_plan(looks: Sequence[tuple[Run, Look]], jobs: int) -> None:
    """What would be run, in which order, and how long it would take."""
    from mural.study.sweep import cost, estimate, state
    from mural.study.sweep.board import duration

    prices = cost.Prices(estimate.speeds_for([run for run, _ in looks]))
    rows, lengths, unknown = [], [], 0
    for run, look in looks:
        left = 0 if look.state in (*state.FINISHED, "differs", "running") else max(0, run.config.steps - look.step)
        speed = prices.speed(run.task, run.method, run.config.preset)
        time = left / speed.steps_per_second if speed else None
        lengths += [time] if left and time is not None else []
        unknown += bool(left) and time is None
        rows.append({
            "run": run.name, "state": look.state, "steps to go": left,
            "steps/s": f"{speed.steps_per_second:.0f} ({speed.source})" if speed else "unknown",
            "time": ("unknown" if time is None else duration(time)) if left else "",
            "note": first_line(look.note),
        })  # fmt: skip
    show(rows, as_json=False)
    print(counted(looks))
    print(f"{sum(lengths) / 3600:.1f} core-hours, {duration(estimate.wall(lengths, jobs))} with {jobs} at once", end="")
    print(f"; and {unknown} runs whose speed was never measured" if unknown else "")


def first_line(text: str) -> str:
    """The first line of a text."""
    return text.partition("\n")[0]
