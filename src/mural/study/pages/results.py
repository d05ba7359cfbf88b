"""docs/results.md: every method on every task, curves, the other studies, and what did not hold. Refuses nothing."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mural.errors import MuralError, did_you_mean
from mural.study.claims import CLAIMS
from mural.study.claims.base import Claim, Finding, Verdict
from mural.study.results import commit
from mural.study.runs import COMPARISON, ONE_ROLLOUT, TUNED, Group, Result, Runs, Where, available
from mural.study.sweep import spec
from mural.study.tables import markdown
from mural.study.tables.outcomes import by_task, over_tasks

Studies = Mapping[str, Sequence[spec.Run]]
"""The planned runs of each study."""
CURVES = "comparisons"  # the figure that is shown
REASONS = Path("docs", "reasons.toml")
UNKNOWN = "not yet understood"

HEAD = f"""# Results

`mural results` wrote this page from the result files under `results/`; nobody types a number here. Success of a run is
the mean of its last ten evaluations (20 episodes each, most likely actions; {ONE_ROLLOUT});
*success* is the interquartile mean over seeds with a 95 % interval of a stratified bootstrap. Steps and minutes to 0.9
are medians over seeds of the first evaluation that reaches it, and *never* if fewer than half of the runs do. Minutes
are of one process per core, on the machine that each result file names, shared with other work. Settings were chosen
on seeds from 100 on, none of which is counted here, but result seeds have been looked at on the way: seed 10 with
earlier defaults, the doors of seeds 11 to 13, which led to the rule `loop.rest`, the hands of seeds 10 and 14, which
led to a mended λ, and two rivals on seeds 10 to 12 ([experiments](experiments.md)). The same seed gives other luck on
another processor, whose sums differ in the last digit, or with other versions: each file names both. The
[ledger](claims.md) judges every claim of the paper by the same runs."""


class ReasonsError(MuralError, ValueError):
    """docs/reasons.toml explains a claim that there is not."""


def results_page(root: Path, where: Where, judged: list[tuple[Claim, Finding]]) -> str:
    """The whole page."""
    runs = available(COMPARISON, where)
    planned = {path.stem: spec.plan(spec.load(path)) for path in sorted((root / "studies").glob("*.toml"))}
    parts = [
        HEAD,
        "## How far the runs are",
        markdown(list(progress(planned, where))),
        "## Over all tasks",
        *overall(runs),
        "## Task by task",
        *tasks(runs),
        *curves(root, runs),
        "## Other studies",
        *others(planned, where),
        "## What did not hold",
        *failures(root, judged),
    ]
    return "\n\n".join(parts) + "\n"


def groups_of(study: str, planned: Iterable[spec.Run]) -> list[Group]:
    """The groups of a study, in its order."""
    return list(dict.fromkeys(Group(study, run.task, run.method, run.variant) for run in planned))


def progress(studies: Studies, where: Where) -> Iterator[dict[str, Any]]:
    """A row per study: how many of its runs are done."""
    for study, planned in studies.items():
        runs = available(groups_of(study, planned), where)
        names = {run["name"] for of in runs.by.values() for run in of}
        done = sum(run.name in names for run in planned)
        yield {
            "study": study,
            "finished": f"{done} of {len(planned)} runs",
            "not yet run": ("all" if not runs.by else runs.absent()) if runs.missing else "",
            "command": f"`mural sweep studies/{study}.toml`",
        }


def overall(runs: Runs) -> Iterator[str]:
    """A row per method, with the number of its tasks."""
    rows = [{"method": row["method"], "tasks": row.pop("task").removeprefix("all "), **row} for row in over_tasks(runs)]
    if not rows:
        yield "Not yet run."
        return
    yield markdown(rows)
    if len({row["tasks"] for row in rows}) > 1:
        yield "Not all methods were run on the same tasks: the tables below compare those of a task."
    yield f"Made from {runs.made_by()}."


def tasks(runs: Runs) -> Iterator[str]:
    """A table per task, and which methods are missing."""
    found = dict(zip(runs.by, by_task(runs), strict=True))
    for task in dict.fromkeys(group.task for group in COMPARISON):
        yield f"### [{task}](tasks/{task}.md)"
        rows = [cells(found[group], of) for group, of in runs.of_task(task).items()]
        if rows:
            yield markdown(rows)
        missing = [group for group in runs.missing if group.task == task]
        if missing:
            labels = "anything" if not rows else ", ".join(group.label for group in missing)
            yield f"Not yet run: {labels} (`mural sweep studies/{missing[0].study}.toml`)."


def cells(row: dict[str, Any], runs: Iterable[Result]) -> dict[str, Any]:
    """A row of a task, with seeds and commits."""
    runs = list(runs)
    row = {key: value for key, value in row.items() if key not in ("task", "runs")}
    seeds = ", ".join(str(run["seed"]) for run in runs)
    return row | {"seeds": seeds, "commit": ", ".join(sorted({commit(run)[:7] or "unknown" for run in runs}))}


def curves(root: Path, runs: Runs) -> list[str]:
    """The picture of the comparison, if it was drawn."""
    picture = Path("docs", "figures", f"{CURVES}.png")
    if not runs.by or not (root / picture).is_file():
        return ["No curves are drawn yet."]
    return [
        f"![Success over steps of every method on every task](figures/{CURVES}.png)",
        f"*Interquartile means over seeds, and 95 % intervals. `mural figure {CURVES} --partial --out docs/figures`.*",
    ]


def others(studies: Studies, where: Where) -> Iterator[str]:
    """The studies beside the comparison: a table of what there is. Tuning has its own in docs/experiments.md."""
    compared = {TUNED, *(group.study for group in COMPARISON)}
    for study, planned in studies.items():
        if study in compared:
            continue
        runs = available(groups_of(study, planned), where)
        yield f"### {study}"
        if runs.by:
            rows = zip(by_task(runs), runs.by.items(), strict=True)
            yield markdown([{"task": group.task, **cells(row, of)} for row, (group, of) in rows])
        if runs.missing:
            yield f"Not yet run: {runs.absent() if runs.by else 'all of it'} (`mural sweep studies/{study}.toml`)."


def failures(root: Path, judged: list[tuple[Claim, Finding]]) -> list[str]:
    """The claims that do not hold, only in part, or are undecided, with the reason that we believe."""
    why = reasons(root)
    rows = [
        {
            "claim": claim.words,
            "where": claim.place,
            "verdict": str(finding.verdict),
            "measured": finding.measured,
            "why, we believe": why.get(claim.name, UNKNOWN),
        }
        for claim, finding in judged
        if finding.verdict in (Verdict.FAILS, Verdict.PART, Verdict.UNDECIDED)
    ]
    untold = sum(finding.verdict == Verdict.OPEN for _, finding in judged)
    rest = f"Of {len(judged)} claims, ours among them, {untold} are not judged yet, as their runs are missing."
    return [markdown(rows) if rows else "Nothing so far.", f"{rest} The [ledger](claims.md) has all."]


def reasons(root: Path) -> dict[str, str]:
    """What docs/reasons.toml says of claims, by their names."""
    path = root / REASONS
    try:
        found = tomllib.loads(path.read_text()) if path.is_file() else {}
    except tomllib.TOMLDecodeError as error:
        raise ReasonsError(f"{REASONS} is not TOML: {error}") from None
    known = [claim.name for claim in CLAIMS]
    for name in found:
        if name not in known:
            raise ReasonsError(f"{REASONS} explains {name!r}, which is no claim; {did_you_mean(name, known)}see "
                               "`mural claims --json`")  # fmt: skip
    return {name: str(text) for name, text in found.items()}
