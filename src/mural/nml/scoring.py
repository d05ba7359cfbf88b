"""Answers for any number of states in bounded memory, with a progress bar when it takes a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

LEAST = 64  # rows are padded up to this many: one state alone gets the same bits as in a batch of 64
PATIENCE_S = 3.0  # work that is over sooner shows no bar


@contextmanager
def progress_bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """A function that reports `done` units; a bar appears only once the work has gone on for a few seconds."""
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(label, total=total)
    begun, started = time.monotonic(), False

    def report(done: int) -> None:
        nonlocal started
        if not started and time.monotonic() - begun > PATIENCE_S and bar.console.is_terminal:
            bar.start()
            started = True
        bar.update(task, completed=done)

    try:
        yield report
    finally:
        if started:
            bar.stop()


def tracked(items: Iterable[int], label: str, total: int) -> Iterator[int]:
    """The items, reported to a progress bar as they are done."""
    with progress_bar(label, total) as report:
        for done, item in enumerate(items):
            yield item
            report(done + 1)


def in_chunks(score: Callable[[np.ndarray], np.ndarray], rows: np.ndarray, chunk: int, label: str) -> np.ndarray:
    """`score` of all rows, at most `chunk` at a time.

    Sizes are padded up to powers of two, so that a compiled `score` meets only a few shapes however it is called.
    """
    parts = []
    starts = range(0, len(rows), chunk)
    for start in tracked(starts, label, len(starts)):
        part = rows[start : start + chunk]
        size = min(chunk, max(LEAST, 1 << (len(part) - 1).bit_length()))
        padded = np.concatenate([part, np.broadcast_to(part[:1], (size - len(part), *part.shape[1:]))])
        parts.append(np.asarray(score(padded))[: len(part)])
    return np.concatenate(parts)
