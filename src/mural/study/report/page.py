"""The page: what runs say, put into one HTML file that needs nothing from outside and lets nothing in."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mural.atomic import replacing
from mural.errors import MuralError
from mural.study.report import charts
from mural.study.report.groups import DISTANCE, SUCCESS, Estimate, Group, group, shared
from mural.study.report.moments import Moments, moments_of
from mural.study.report.reading import ReportError, RunData, read_all
from mural.study.report.strips import Strip, StripError, strip_of

HERE = Path(__file__).parent
DETAILED = 12  # runs that are shown one by one


class MissingTemplateEngineError(MuralError, ImportError):
    """The package that fills in the page is not installed."""


@dataclass
class Detail:
    """A run by itself."""

    run: RunData
    label: str
    moments: Moments
    strip: Strip | None = None
    why_not: str = ""
    """Why there is no strip; '' if none was asked for."""


@dataclass
class Cell:
    """A field of methods × tasks."""

    success: Estimate | None
    distance: Estimate | None

    @property
    def tint(self) -> int:
        """Success in tenths, for the colour of the field."""
        return 0 if self.success is None else round(10 * min(max(self.success.value, 0.0), 1.0))


def write(
    paths: Sequence[Path],
    out: Path,
    *,
    title: str = "",
    details: int = DETAILED,
    strips: bool = True,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> list[RunData]:
    """Make the page of these runs, wholly or not at all; returns what was read. `progress` hears what is being done."""
    if out.is_dir():
        raise ReportError(f"{out} is a folder: name a file, e.g. -o {out / 'report.html'}")
    require_jinja()
    runs = read_all(paths)
    groups = group(runs)
    chosen = choose(groups, details)
    shown = []
    for done, (label, run) in enumerate(chosen):
        progress(run.name, done, len(chosen))
        shown.append(detail(run, label, strips))
    progress("the page", len(chosen), len(chosen))
    page = render(title, runs, groups, shown)
    with replacing(out) as scratch:
        scratch.write_text(page, encoding="utf-8")
    return runs


def choose(groups: Sequence[Group], most: int) -> list[tuple[str, RunData]]:
    """Runs to be shown one by one: the first seed of every group, then the second, …"""
    longest = max((len(entry.runs) for entry in groups), default=0)
    turns = [(entry.label, entry.runs[i]) for i in range(longest) for entry in groups if i < len(entry.runs)]
    chosen = [turn for turn in turns if turn[1].path.is_dir()][:most]
    order = {id(run): place for place, run in enumerate(run for entry in groups for run in entry.runs)}
    return sorted(chosen, key=lambda turn: order[id(turn[1])])


def detail(run: RunData, label: str, strips: bool) -> Detail:
    """Look at a run by itself."""
    found = Detail(run, label, moments_of(run))
    if not strips:
        return found
    try:
        found.strip = strip_of(run)
    except StripError as error:
        found.why_not = str(error)
    return found


def render(title: str, runs: Sequence[RunData], groups: Sequence[Group], details: Sequence[Detail]) -> str:
    """The HTML. Every text is escaped by the template engine; the policy of the page allows our script alone."""
    import jinja2

    style, script = (HERE / "page.css").read_text(), (HERE / "page.js").read_text()
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"thousands": charts.thousands, "amount": charts.number, "duration": duration}
    labels = list(dict.fromkeys(entry.label for entry in groups))
    tasks = list(dict.fromkeys(entry.task for entry in groups))
    settings, other_settings = shared([run.settings for run in runs if run.settings])
    versions, other_versions = shared([run.versions for run in runs if run.versions])
    return environment.get_template("page.html.jinja").render(
        title=title or heading(runs, tasks, labels),
        style=style, script=script, style_hash=digest(style), script_hash=digest(script),
        runs=runs, groups=groups, details=details, labels=labels, tasks=tasks,
        looks={label: i for i, label in enumerate(labels)},
        matrix=[[cell(groups, task, label) for task in tasks] for label in labels],
        success=any(run.curve(SUCCESS) for run in runs),
        panels=panels(groups, labels, tasks, charts.TRUE) + panels(groups, labels, untold(runs, tasks), charts.OWN),
        reliability=panels(groups, labels, tasks, charts.RELIABILITY),
        untold=untold(runs, tasks),
        repeated=list(filter(None, (entry.repeated() for entry in groups))),
        left_out=sum(run.path.is_dir() for run in runs) - len(details),
        settings=settings, other_settings=other_settings, versions=versions, other_versions=other_versions,
        with_settings=[run.name for run in runs if run.settings],
        with_versions=[run.name for run in runs if run.versions],
    )  # fmt: skip


def heading(runs: Sequence[RunData], tasks: Sequence[str], labels: Sequence[str]) -> str:
    """A title from what was run."""
    if len(runs) == 1:
        return f"{runs[0].task}, {runs[0].method}, seed {runs[0].seed}"
    methods = {run.method for run in runs}
    where = tasks[0] if len(tasks) == 1 else f"{len(tasks)} tasks"
    how = labels[0] if len(labels) == 1 else min(methods) if len(methods) == 1 else f"{len(methods)} methods"
    return f"{where}, {how}: {len(runs)} runs"


def untold(runs: Sequence[RunData], tasks: Sequence[str]) -> list[str]:
    """The tasks of which no run knows true success."""
    known = {run.task for run in runs if run.curve(SUCCESS)}
    with_rows = {run.task for run in runs if run.rows}
    return [task for task in tasks if task not in known and task in with_rows]


def panels(
    groups: Sequence[Group], labels: Sequence[str], tasks: Sequence[str], metrics: Sequence[charts.Metric]
) -> list[tuple[str, list[tuple[charts.Metric, charts.Chart]]]]:
    """The charts of each task that has any."""
    found = []
    for task in tasks:
        here = [entry for entry in groups if entry.task == task]
        drawn = [(metric, charts.chart(here, labels, metric, task)) for metric in metrics]
        kept = [(metric, chart) for metric, chart in drawn if chart is not None]
        if kept:
            found.append((task, kept))
    return found


def cell(groups: Sequence[Group], task: str, label: str) -> Cell | None:
    """What a method reached on a task; None if it was not run there."""
    for entry in groups:
        if (entry.task, entry.label) == (task, label):
            return Cell(entry.final(SUCCESS), entry.final(DISTANCE))
    return None


def duration(seconds: float | None) -> str:
    """Seconds as people say them."""
    if seconds is None:
        return "–"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def digest(content: str) -> str:
    """The hash by which a page's policy knows its own script and style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def require_jinja() -> Any:
    """Jinja, or an error that says how to install it."""
    try:
        import jinja2
    except ModuleNotFoundError:
        raise MissingTemplateEngineError("a report needs Jinja: pip install 'mural-rl[report]'") from None
    return jinja2
