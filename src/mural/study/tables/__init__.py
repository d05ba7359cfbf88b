"""The paper's tables with our values beside them, and the table of results: rows of words for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from mural.errors import MuralError, did_you_mean
from mural.study.runs import Where
from mural.study.tables.paper import TUNED

Rows = list[dict[str, Any]]


class UnknownTableError(MuralError, ValueError):
    """There is no table of this name; the message has the nearest."""


@dataclass(frozen=True)
class Table:
    """A table that can be printed."""

    name: str
    summary: str
    make: Callable[[Where, bool], tuple[Rows, str]]
    """From where results are, and whether some may be missing, to rows and a note."""


def find(name: str) -> Table:
    """The table of this name, with or without `tab:`, or an `UnknownTableError`."""
    plain = name.removeprefix("tab:")
    for table in TABLES:
        if plain == table.name:
            return table
    hint = did_you_mean(plain, [table.name for table in TABLES])
    raise UnknownTableError(f"there is no table {name!r}; {hint}`mural table --list` has all")


def _runtimes(where: Where, partial: bool) -> tuple[Rows, str]:
    from mural.study.tables import runtimes

    return _times(
        runtimes.per_input(), 4
    ), "seconds for one state: the paper's on a GPU (Titan X), ours on one CPU core"


def _runtimes_per_epoch(where: Where, partial: bool) -> tuple[Rows, str]:
    from mural.study.tables import runtimes

    note = (
        "seconds for 1000 steps of RL; ours with the networks of the fast preset on one core; naive CNML extrapolated"
    )
    return _times(runtimes.per_epoch(where), 1), note


def _times(rows: Iterable[Any], digits: int) -> Rows:
    def seconds(x: float | None) -> str:
        return "not measured" if x is None else f"{x:,.{digits}f}"

    def ratio(x: float | None) -> str:
        return "not measured" if x is None else f"{x:,.1f}" if x < 100 else f"{x:,.0f}"

    return [
        {
            "domain": t.domain,
            "feed-forward": seconds(t.feedforward), "(paper)": seconds(t.paper.feedforward),
            "meta-NML": seconds(t.meta), "(paper) ": seconds(t.paper.meta),
            "naive CNML": seconds(t.naive), "(paper)  ": seconds(t.paper.naive),
            "meta / feed-forward": ratio(t.meta_ratio), "(paper)   ": ratio(t.paper.meta / t.paper.feedforward),
            "naive / meta": ratio(t.speedup), "(paper)    ": ratio(t.paper.naive / t.paper.meta),
            "from": t.source,
        }
        for t in rows
    ]  # fmt: skip


def _hyper(task: str | None) -> Callable[[Where, bool], tuple[Rows, str]]:
    def make(where: Where, partial: bool) -> tuple[Rows, str]:
        from mural.study.tables import settings

        rows = settings.general() if task is None else settings.of_task(task)
        return [
            {
                "": row.section, "setting": row.name, "paper tried": ", ".join(map(str, row.tried)), "paper": row.paper,
                "preset paper": "built in" if row.ours is None else row.ours,
                "preset fast": "built in" if row.ours is None else row.fast,
                "same": "yes" if row.same else row.reason or "no",
            }
            for row in rows
        ], "`same` compares the paper with our preset of that name"  # fmt: skip

    return make


def _metrics(where: Where, partial: bool) -> tuple[Rows, str]:
    from mural.study.tables import settings

    return [
        {"task": m.task, "paper": m.paper, "threshold": m.threshold, "ours": m.ours, "our threshold": m.our_threshold}
        for m in settings.metrics()
    ], "success: the distance is below the threshold"


def _results(where: Where, partial: bool) -> tuple[Rows, str]:
    from mural.study.tables.outcomes import outcomes

    return outcomes(where, partial=partial)


def _tuning(where: Where, partial: bool) -> tuple[Rows, str]:
    from mural.study.tables.tuning import tuning

    return tuning(where, partial=partial)


TABLES = (
    Table("results", "success, steps and minutes to 0.9, of every method on every task", _results),
    Table("tuning", "what each setting of the rivals' grids does, on seeds that no result uses", _tuning),
    Table("meta-nml-runtimes", "seconds for one state, per domain", _runtimes),
    Table("meta-nml-runtimes-per-epoch", "seconds for an epoch, per domain", _runtimes_per_epoch),
    Table("metrics", "distance metrics and success thresholds (A.4.2)", _metrics),
    Table("hyperparameters", "general hyper-parameters (A.6.1)", _hyper(None)),
    *(Table(f"hyperparameters-{task}", f"hyper-parameters of {task} (A.6)", _hyper(task)) for task in TUNED),
)


def markdown(rows: Rows) -> str:
    """Rows as a table in Markdown."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    lines = [
        [key.strip() for key in keys],
        ["---"] * len(keys),
        *([str(row.get(key, "")) for key in keys] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
