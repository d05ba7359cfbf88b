"""What a sweep shows of itself: a live table on a terminal, a line per event elsewhere."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from mural.study.sweep import state
from mural.study.sweep.spec import Run

EVERY = 2.0  # seconds between two looks at the runs' files


@dataclass
class Line:
    """A run at work, as it is shown."""

    run: Run
    place: str
    begun: float
    first: int
    """The step it began with."""
    step: int = 0
    success: float | None = None

    @property
    def speed(self) -> float | None:
        """Steps per second of this process, starting included."""
        done = self.step - self.first
        return done / (time.monotonic() - self.begun) if done > 0 else None


class Board:
    """Shows runs that start, advance and end. A context manager: the live table is there within it."""

    def __init__(self, total: int, console: Console | None = None) -> None:
        self.console = console or Console(file=sys.stdout, soft_wrap=True)
        self.total, self.over, self.waiting = total, 0, 0
        self.lines: dict[str, Line] = {}
        self._live = Live(console=self.console, auto_refresh=False) if self.console.is_terminal else None
        self._looked = 0.0

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def say(self, text: str) -> None:
        """A line that stays."""
        self.console.print(Text(f"{time.strftime('%H:%M:%S')} {text}"))

    def started(self, run: Run, place: str, tried: int) -> None:
        """A process has been started."""
        step, success = state.progress(run.folder)
        self.lines[run.name] = Line(run, place, time.monotonic(), step, step, success)
        again = f", try {tried}" if tried > 1 else ""
        self.say(f"{run.name}: started on {place}" + (f" from step {step}" if step else "") + again)

    def ended(self, run: Run, words: str) -> None:
        """A process has ended."""
        self.lines.pop(run.name, None)
        self.over += "again" not in words
        self.say(f"{run.name}: {words} ({self.over} of {self.total} over)")

    def refresh(self, waiting: int) -> None:
        """Look at the runs' files and draw the table, now and then."""
        self.waiting = waiting
        if self._live and time.monotonic() - self._looked >= EVERY:
            for line in self.lines.values():
                line.step, line.success = state.progress(line.run.folder)
            self._looked = time.monotonic()
            self._live.update(self.table(), refresh=True)

    def table(self) -> RenderableType:
        """The runs at work."""
        table = Table("run", "where", "step", "of", "success", "steps/s", "to go", box=None, pad_edge=False)
        for line in self.lines.values():
            steps, speed = line.run.config.steps, line.speed
            table.add_row(
                Text(line.run.name), line.place, f"{line.step:,}", f"{steps:,}",
                "–" if line.success is None else f"{line.success:.0%}",
                "–" if speed is None else f"{speed:.0f}",
                "–" if speed is None else duration((steps - line.step) / speed),
            )  # fmt: skip
        counts = f"{self.over} over, {len(self.lines)} at work, {self.waiting} waiting; Ctrl-C saves and stops"
        return Group(table, Text(counts, style="dim"))


def duration(seconds: float) -> str:
    """4000 → '1 h 07 min'."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
