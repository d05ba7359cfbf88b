"""What hears of a run while it trains: a user's functions and objects, and our own that stop it or keep the best.

A callback is a function ``(run, row)``, called after every epoch, or an object with any of these methods:

- ``on_start(run)`` before the first epoch;
- ``on_epoch(run, row)`` after every epoch, with its row of metrics;
- ``on_failure(run, error)`` when an epoch or a callback raises;
- ``on_end(run)`` when training is over, however it ended.

`on_start` and `on_epoch` (or the function) stop the training by returning False.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from mural.errors import MuralError
from mural.settings.stopping import succeeded
from mural.storage import checkpoint
from mural.storage.folder import RunFolder
from mural.training.export import export_policy
from mural.training.failures import Row
from mural.training.run import Run

HOOKS = ("on_start", "on_epoch", "on_failure", "on_end")
Say = Callable[[str], None]
Rows = Callable[[], Sequence[Row]]


class CallbackError(MuralError, TypeError):
    """What was passed as a callback has none of the methods that are called."""


class Display(Protocol):
    """A callback that shows progress: it also hears of steps within an epoch, and of messages."""

    def on_start(self, run: Run) -> None:
        """Training begins; it goes on to step `run.config.steps`."""

    def on_epoch(self, run: Run, row: Row) -> None:
        """An epoch is done."""

    def on_end(self, run: Run) -> None:
        """Training is over."""

    def progress(self, step: int) -> None:
        """The run has reached this step, within an epoch."""

    def say(self, message: str) -> None:
        """Something that the user should know."""


class Silent:
    """Shows nothing; messages become warnings."""

    def on_start(self, run: Run) -> None:
        """Nothing."""

    def on_epoch(self, run: Run, row: Row) -> None:
        """Nothing."""

    def on_end(self, run: Run) -> None:
        """Nothing."""

    def progress(self, step: int) -> None:
        """Nothing."""

    def say(self, message: str) -> None:
        """Warn."""
        warnings.warn(message, stacklevel=2)


def as_list(callback: Any) -> list[Any]:
    """What a user passed as `callback` (None, one, or several) as a list, or a `CallbackError`."""
    if callback is None:
        return []
    found = list(callback) if isinstance(callback, Iterable) and not _hears(callback) else [callback]
    for one in found:
        if isinstance(one, type):
            raise CallbackError(f"the callback {one.__name__} is a class; pass an object of it: {one.__name__}()")
        if not _hears(one) and not callable(one):
            raise CallbackError(
                f"the callback {one!r} is never called: pass a function (run, row), or an object with any of "
                f"{', '.join(HOOKS)}"
            )
    return found


def call(callback: Any, hook: str, run: Run, *more: Any) -> bool:
    """Call one hook, if the callback has it; whether training may go on."""
    method = getattr(callback, hook, None)
    if method is None and hook == "on_epoch" and not _hears(callback):
        method = callback
    answer = None if method is None else method(run, *more)
    return not (isinstance(answer, bool | np.bool_) and not answer)


def _hears(callback: Any) -> bool:
    return any(callable(getattr(callback, hook, None)) for hook in HOOKS)


class StopAtSuccess:
    """Stops when the success that the settings ask for has been held; also looks at the epochs before this start."""

    def __init__(self, past: Rows) -> None:
        self._past = past
        self._rows: list[Row] = []

    def on_start(self, run: Run) -> bool:
        """Read what earlier processes recorded: the run may have succeeded already."""
        self._rows = list(self._past())
        return not succeeded(self._rows, run.config.stop_at_success)

    def on_epoch(self, run: Run, row: Row) -> bool:
        """Add the epoch and decide."""
        self._rows.append(row)
        return not succeeded(self._rows, run.config.stop_at_success)


class TerminationNotice:
    """Says once what the environment's terminations mean in this run."""

    def __init__(self, say: Say) -> None:
        self._say, self._said = say, False

    def on_epoch(self, run: Run, row: Row) -> None:
        """Look for the first termination."""
        if not run.collector.terminations or self._said:
            return
        self._said = True
        meaning = {
            "absorb": "their last reward is taken to go on for ever",
            "stop": "nothing is earned after them",
            "bootstrap": "they are treated like a time limit",
        }[run.config.terminations]
        self._say(f"the environment terminates episodes; {meaning} (loop.terminations={run.config.terminations})")


class KeepBest:
    """Keeps the checkpoint and the policy with the best evaluation in the run's folder, under `best/`."""

    def __init__(self, folder: RunFolder, say: Say) -> None:
        self._folder, self._say = folder, say
        self._best: tuple[float, ...] = ()

    def on_start(self, run: Run) -> None:
        """Read what is kept. A process that died between an evaluation and keeping it is made up for."""
        kept = self._folder.best()
        self._best = () if kept is None else tuple(kept.meta["score"])
        rows = self._folder.rows()
        if rows and rows[-1]["step"] == run.step:
            self.on_epoch(run, rows[-1])

    def on_epoch(self, run: Run, row: Row) -> None:
        """Keep this state if no earlier evaluation was better; of equals the later one is kept."""
        found = score(row)
        if not found or found < self._best:
            return
        try:
            export_policy(run, self._folder.best_path / "policy.npz")
            meta = {"epoch": run.epoch, "score": list(found)}
            checkpoint.save(self._folder.best_path, run.step, run.groups(), meta, keep=1, only=True)
        except OSError as error:
            self._say(f"the best state so far was not kept: {error}")
        else:
            self._best = found


def score(row: Row) -> tuple[float, ...]:
    """How good an evaluation was: by success, then by distance; by the return where neither is reported; () if none."""
    success, distance = row.get("eval/success"), row.get("eval/distance")
    if success is not None or distance is not None:
        return (0.0 if success is None else success, 0.0 if distance is None else -distance)
    return (row["eval/return"],) if row.get("eval/return") is not None else ()
