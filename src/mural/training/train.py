"""Epoch after epoch until the steps are used up, with everything recorded, and a clean end when interrupted."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from mural.storage.folder import Recorder, RunFolder, Say
from mural.training.run import DivergenceError, Row, Run

LAST = 5  # evaluations that `stop_at_success` looks at


class Display(Protocol):
    """Who shows the progress."""

    def begin(self, run: Run, target: int) -> None:
        """Training is about to go on until step `target`."""

    def progress(self, step: int) -> None:
        """So many steps are done."""

    def row(self, row: Row, timing: dict[str, float]) -> None:
        """An epoch is done."""

    def say(self, message: str) -> None:
        """Something the user should know."""

    def end(self) -> None:
        """Training is over."""


class Silent:
    """Shows nothing, and warns of what must be known."""

    def begin(self, run: Run, target: int) -> None:
        """Nothing."""

    def progress(self, step: int) -> None:
        """Nothing."""

    def row(self, row: Row, timing: dict[str, float]) -> None:
        """Nothing."""

    def say(self, message: str) -> None:
        """A warning."""
        import warnings

        warnings.warn(message, stacklevel=2)

    def end(self) -> None:
        """Nothing."""


def train(run: Run, target: int, folder: RunFolder | None, display: Display) -> list[Row]:
    """Advance `run` to step `target`; returns the rows of the epochs. With a folder, all is recorded there."""
    rows: list[Row] = []
    recorder = Recorder(folder, run, display.say) if folder is not None else None
    past = folder.rows() if folder is not None else []
    display.begin(run, target)
    warned = False
    try:
        with interruptible(display.say) as interrupted:
            while run.step < target and not interrupted() and not solved(run, past + rows):
                try:
                    row = run.advance(display.progress)
                except DivergenceError as error:
                    if recorder is not None:
                        recorder.failure(error.row)
                    raise
                rows.append(row)
                if run.collector.terminations and not warned:
                    warned = True
                    display.say(termination_notice(run))
                display.row(row, run.timing)
                if recorder is not None:
                    recorder.record(row)
            if recorder is not None and rows:
                recorder.finish()
        if interrupted():
            raise KeyboardInterrupt
    finally:
        display.end()
        if recorder is not None:
            recorder.close()
    return rows


def solved(run: Run, rows: list[Row]) -> bool:
    """Whether the success asked for has been held over the last evaluations."""
    wanted = run.config.stop_at_success
    found = [row["eval/success"] for row in rows if "eval/success" in row][-LAST:]
    return wanted is not None and len(found) == LAST and sum(found) / LAST >= wanted


def termination_notice(run: Run) -> str:
    """What the environment's terminations mean in this run."""
    meaning = {
        "absorb": "their last reward is taken to go on for ever",
        "stop": "nothing is earned after them",
        "bootstrap": "they are treated like a time limit",
    }[run.config.terminations]
    return f"the environment terminates episodes; {meaning} (loop.terminations={run.config.terminations})"


@contextmanager
def interruptible(say: Say) -> Iterator[Callable[[], bool]]:
    """Within it, the first Ctrl-C only asks for an end after the current epoch; the second one ends at once."""
    asked = threading.Event()

    def on_signal(number: int, frame: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        say("stopping after this epoch, with a checkpoint; Ctrl-C again stops at once")

    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return
    before = signal.signal(signal.SIGINT, on_signal)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, before)
