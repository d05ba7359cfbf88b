"""What a run shows of itself: a live view on a terminal, a line per epoch elsewhere. `mural watch` draws the same."""

from __future__ import annotations

import itertools
import statistics
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from mural.training.callbacks import Display
    from mural.training.run import Run

Row = Mapping[str, Any]

RECENT = 5  # epochs that the speed is taken from
SPARKS = "▁▂▃▄▅▆▇█"
ALARM = (
    "the learned reward rises and true success does not: the policy may have found states that the classifier mistakes "
    "for success. Look at the pictures, and bring more varied examples"
)


class Field(NamedTuple):
    """A number of the metrics that people look at."""

    label: str
    key: str
    form: str
    width: int


FIELDS = (
    Field("success", "eval/success", ".0%", 4),
    Field("distance", "eval/distance", ".2f", 5),
    Field("return", "eval/return", ".1f", 6),
    Field("reward", "reward/mean", ".3f", 6),
    Field("classifier loss", "classifier/loss", ".3f", 6),
    Field("critic loss", "sac/critic_loss", ".3g", 7),
    Field("policy loss", "sac/policy_loss", ".3g", 7),
    Field("entropy", "sac/entropy", ".2f", 5),
    Field("temperature", "sac/temperature", ".2g", 7),
    Field("coverage", "coverage", ".0%", 4),
)
SHORT = {"critic loss": "critic", "policy loss": "policy", "temperature": "α"}
LINE = ("success", "distance", "reward", "critic loss", "policy loss", "entropy", "temperature", "coverage")


def number(row: Row, field: Field) -> str:
    """A value as text; a dash where there is none."""
    value = row.get(field.key)
    return "–" if value is None else format(value, field.form)


def clock(seconds: float) -> str:
    """Seconds as 0:07, 12:30 or 3:05:00."""
    whole = max(0, round(seconds))
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """The course of a value in at most `width` characters, each the mean of its share of the values."""
    if not values:
        return ""
    cells = min(width, len(values))
    cuts = [round(i * len(values) / cells) for i in range(cells + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(cuts)]
    low, high = min(means), max(means)
    room = (high - low) or 1.0
    return "".join(SPARKS[min(int((mean - low) / room * len(SPARKS)), len(SPARKS) - 1)] for mean in means)


def speed(rows: Sequence[Row], timings: Sequence[Row]) -> float | None:
    """Steps per second of a typical recent epoch that learned; None before the second (the first compiles)."""
    seconds = {timing.get("step"): timing.get("total") for timing in timings}
    learned = [row for row in rows if "sac/critic_loss" in row and seconds.get(row["step"])]
    rates = [row["step"] / row["epoch"] / seconds[row["step"]] for row in learned[-RECENT:]]
    return statistics.median_high(rates) if len(learned) > 1 else None


def line(row: Row, target: int, per_second: float | None) -> str:
    """An epoch in one line."""
    epochs = -(-target * row["epoch"] // row["step"])
    parts = [f"{row['step']:>{len(str(target))}}/{target}", f"epoch {row['epoch']:>{len(str(epochs))}}"]
    for field in FIELDS:
        if field.label in LINE:
            parts.append(f"{SHORT.get(field.label, field.label)} {number(row, field):>{field.width}}")
    if per_second:
        parts.append(f"{per_second:.0f} steps/s")
        parts.append(f"{clock((target - row['step']) / per_second)} left")
    return "  ".join(parts)


def view(rows: Sequence[Row], per_second: float | None = None, title: str | None = None) -> RenderableType:
    """The last values and the course of everything that people look at."""
    table = Table(box=None, pad_edge=False, show_header=False, title=title, title_justify="left")
    table.add_column(style="cyan")
    table.add_column(justify="right")
    table.add_column(style="dim")
    if rows:
        table.add_row("epoch", str(rows[-1]["epoch"]), "")
    for field in FIELDS:
        found = [row for row in rows if row.get(field.key) is not None]
        if found:
            table.add_row(field.label, number(found[-1], field), sparkline([row[field.key] for row in found]))
    if per_second:
        table.add_row("steps/s", f"{per_second:.0f}", "")
    alarmed = bool(rows) and rows[-1].get("alarm") == 1
    return Group(table, Text(f"alarm: {ALARM}", style="bold red")) if alarmed else table


class Plain:
    """A line per epoch on standard output."""

    def on_start(self, run: Run) -> None:
        """Remember where the run is to end: with an epoch."""
        self._target, self._alarmed = -(-run.config.steps // run.epoch_steps) * run.epoch_steps, False
        self._rows: list[Row] = []
        self._timings: list[Row] = []

    def progress(self, step: int) -> None:
        """Nothing: lines come with epochs."""

    def on_epoch(self, run: Run, row: Row) -> None:
        """Print the epoch."""
        self._rows.append(row)
        self._timings.append({"step": row["step"], **run.timing})
        print(line(row, self._target, speed(self._rows, self._timings)), flush=True)
        alarm = row.get("alarm") == 1
        if alarm and not self._alarmed:
            self.say(f"alarm: {ALARM}")
        self._alarmed = alarm

    def say(self, message: str) -> None:
        """Print the message."""
        print(message, flush=True)

    def on_end(self, run: Run) -> None:
        """Nothing."""


class Lively:
    """A bar and the course of the metrics, redrawn in place; messages stay above."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def on_start(self, run: Run) -> None:
        """Start drawing."""
        self._rows: list[Row] = []
        self._timings: list[Row] = []
        self._random = run.random_epochs * run.epoch_steps
        self._step, self._target = run.step, run.config.steps
        self._bar = Progress(
            SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TextColumn("steps  {task.fields[note]}"),
            console=self._console,
        )  # fmt: skip
        self._task = self._bar.add_task("", total=self._target, completed=run.step, note=self._note())
        self._live = Live(get_renderable=self._draw, console=self._console, refresh_per_second=4)
        self._live.start()

    def progress(self, step: int) -> None:
        """Move the bar."""
        self._step = step
        self._bar.update(self._task, completed=min(step, self._target), note=self._note())

    def on_epoch(self, run: Run, row: Row) -> None:
        """Add an epoch."""
        self._rows.append(row)
        self._timings.append({"step": row["step"], **run.timing})
        self.progress(row["step"])

    def say(self, message: str) -> None:
        """Print above the bar."""
        self._console.print(Text(message, style="yellow"))

    def on_end(self, run: Run) -> None:
        """Leave the last view on the screen."""
        self._live.stop()

    def _note(self) -> str:
        if self._step < self._random:
            return "random actions"
        if not any("sac/critic_loss" in row for row in self._rows):
            return "compiling"
        per_second = speed(self._rows, self._timings)
        return f"{clock((self._target - self._step) / per_second)} left" if per_second else ""

    def _draw(self) -> RenderableType:
        return Group(view(self._rows, speed(self._rows, self._timings)), self._bar)


def terminal_display() -> Display:
    """A live view where standard output is a terminal, plain lines where it is not."""
    console = Console()
    return Lively(console) if sys.stdout.isatty() and not console.is_dumb_terminal else Plain()
