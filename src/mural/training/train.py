"""Epoch after epoch until the steps are used up or a callback stops it, with a clean end when interrupted."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from mural.training.callbacks import Display, Say, Silent, call
from mural.training.failures import Row
from mural.training.run import Run


def train(run: Run, callbacks: Sequence[Any], display: Display | None = None) -> list[Row]:
    """Advance `run` to the steps of its settings; returns the rows of the epochs.

    The callbacks (see `training.callbacks`) start in their order and end in the opposite one. The display hears of
    steps and messages; to hear of epochs too it has to be one of the callbacks.
    """
    show = Silent() if display is None else display
    rows: list[Row] = []
    with interruptible(show.say) as interrupted, ExitStack() as endings:
        going = True
        started: list[Any] = []
        try:
            for callback in callbacks:
                going &= call(callback, "on_start", run)
                started.append(callback)
                endings.callback(call, callback, "on_end", run)
            while going and run.step < run.config.steps and not interrupted():
                row = run.advance(show.progress)
                rows.append(row)
                for callback in callbacks:  # all hear of it, also of an epoch that is the last
                    going &= call(callback, "on_epoch", run, row)
        except BaseException as error:
            for callback in started:
                call(callback, "on_failure", run, error)
            raise
    if interrupted():
        raise KeyboardInterrupt
    return rows


@contextmanager
def interruptible(say: Say) -> Iterator[Callable[[], bool]]:
    """Within it, the first Ctrl-C only asks for an end after the current epoch; the second one ends at once.

    SIGTERM, which batch systems and containers send, is the same. One of each is no second one: whoever started this
    process may have been told to stop as well, and pass it on.
    """
    asked: set[int] = set()

    def on_signal(number: int, frame: Any) -> None:
        if number in asked:
            raise KeyboardInterrupt
        asked.add(number)
        if len(asked) == 1:
            say("stopping after this epoch, with a checkpoint; Ctrl-C again stops at once")

    if threading.current_thread() is not threading.main_thread():
        yield lambda: bool(asked)
        return
    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            if handler is not None:  # None: it was not installed by Python, which cannot bring it back
                signal.signal(number, handler)
