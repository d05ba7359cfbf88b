"""The callback that writes everything down: metrics, timing, TensorBoard events, checkpoints."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from mural.errors import MuralError
from mural.storage import checkpoint, disk
from mural.storage import metrics as metrics_file
from mural.storage.folder import RunFolder, alone
from mural.training.callbacks import Say
from mural.training.failures import DivergenceError, Row
from mural.training.run import Run


class UnsavedError(MuralError, RuntimeError):
    """Training has ended and its last state could not be saved in the run's folder; the message says what to do."""


class Recorder:
    """Appends to a run's files while it trains; what was written after the last checkpoint is first taken back."""

    def __init__(self, folder: RunFolder, say: Say) -> None:
        self.folder, self.say = folder, say
        self.board: metrics_file.TensorBoard | None = None
        self._unsaved = False
        self._finishes = False  # whether there is a last state to save
        self._unwritten: list[tuple[Row, dict[str, float]]] = []
        self._open = ExitStack()

    def on_start(self, run: Run) -> None:
        """Lock the folder, and bring its records to where the run stands."""
        folder = self.folder
        with ExitStack() as opened:
            opened.callback(os.close, alone(folder.path))
            folder.set_config(run.config)
            metrics_file.truncate_after(folder.metrics_path, run.step)
            self._cut_timing(run.step)
            self._metrics = opened.enter_context(metrics_file.MetricsFile(folder.metrics_path))
            self._timing = opened.enter_context(metrics_file.MetricsFile(folder.timing_path))
            if run.config.watch.tensorboard:
                self.board = metrics_file.TensorBoard(folder.path, run.step or None)
                opened.callback(self.board.close)
            for notice in (gap(folder.rows(), run), folder.changed_packages()):
                if notice:
                    self.say(notice)
            self._open = opened.pop_all()

    def _cut_timing(self, step: int) -> None:
        """As for the metrics; but nothing depends on timing, so a damaged file is put aside."""
        path = self.folder.timing_path
        try:
            metrics_file.truncate_after(path, step)
        except metrics_file.DamagedLineError as error:
            aside = path.with_name(f"{path.name}.damaged")
            os.replace(path, aside)
            self.say(f"{error.what}. Nothing depends on it: the file is now {aside.name}, and a new one begins")

    def on_epoch(self, run: Run, row: Row) -> None:
        """Write the epoch's row. On a full disk it says so, and the training goes on."""
        self._finishes = True
        self._unwritten.append((row, run.timing))
        try:
            while self._unwritten:  # rows that did not fit before come first
                first, timing = self._unwritten[0]
                self._metrics.append(first)
                self._unwritten.pop(0)
                self._timing.append({"step": first["step"], **{k: round(v, 4) for k, v in timing.items()}})
                if self.board is not None:
                    self.board.scalars(first, first["step"])
        except disk.OutOfSpaceError as error:
            self.say(f"{error}")
        if self._unsaved or run.epoch % run.config.watch.checkpoint_every == 0:
            self._try_to_save(run)

    def on_failure(self, run: Run, error: BaseException) -> None:
        """Keep the metrics of an epoch that diverged. What broke off within an epoch is no state to save."""
        self._finishes = self._finishes and not run.midway and not isinstance(error, KeyboardInterrupt)
        if isinstance(error, DivergenceError):
            disk.write_json(self.folder.path / "failure" / "metrics.json", metrics_file.plain(error.row))

    def on_end(self, run: Run) -> None:
        """Save the last state; if it does not fit, save it in the folder for temporary files. Then unlock."""
        with self._open:
            if self._finishes:
                try:
                    self._save(run)
                except checkpoint.CheckpointSpaceError as error:
                    raise UnsavedError(f"{error}. {save_elsewhere(self.folder.path, run)}") from error

    def _try_to_save(self, run: Run) -> None:
        """A checkpoint; if it does not fit, say so and try again after the next epoch."""
        try:
            self._save(run)
        except checkpoint.CheckpointSpaceError as error:
            self._unsaved = True
            self.say(f"{error}. Training goes on, and saving is tried again after the next epoch")

    def _save(self, run: Run) -> None:
        self.folder.save(run.step, run.epoch, run.groups(), run.config.watch.keep)
        self._unsaved = False


def gap(rows: list[dict[str, Any]], run: Run) -> str:
    """Which epochs a run's metrics lack, in words; '' if none. Rows can be lost with the end of a file."""
    there = {row.get("epoch") for row in rows}
    lost = [epoch for epoch in range(1, run.epoch + 1) if epoch not in there]
    if not lost or run.midway:  # within an epoch the count is already that of the next
        return ""
    return f"metrics.jsonl lacks {len(lost)} of the first {run.epoch} epochs (from epoch {lost[0]} on): they are lost"


def save_elsewhere(home: Path, run: Run) -> str:
    """What became of a state that its own folder has no room for."""
    elsewhere = RunFolder(tempfile.mkdtemp(prefix=f"{home.name}-"))
    try:
        saved = elsewhere.save(run.step, run.epoch, run.groups(), 1)
    except OSError:
        shutil.rmtree(elsewhere.path, ignore_errors=True)
        return (
            "It fits nowhere else either: resuming will repeat what came after the last checkpoint, and from "
            "Python agent.save(path) still saves it where there is room"
        )
    into = home / saved.parent.name
    return f"The state of step {run.step} is in {saved}: move that folder into {into}, and the run is whole"
