"""Metrics of a run: one JSON object per line, and the same numbers for TensorBoard.

A line is written by one call and brought to the disk before `append` returns, so a killed run loses at most the
line it was writing. Half a line at the end is therefore expected and dropped; anything else unreadable is an error.
"""

from __future__ import annotations

import json
import math
import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mural.atomic import replacing, sync_folder
from mural.errors import MuralError
from mural.storage import disk

_writers = count()


class MetricsError(MuralError, ValueError):
    """A metrics file has something in it that is no row of metrics, or a row that cannot be written."""


class DamagedLineError(MetricsError):
    """A line of a metrics file is not what was written."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what

    def __str__(self) -> str:
        return f"{self.what}. Remove that line, or start the run anew"


class MetricsSpaceError(disk.OutOfSpaceError):
    """A row does not fit on the disk; the rows before it are intact."""


class MetricsFile:
    """Appends rows to a file; half a line that an earlier process left at its end is removed first."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        new = not self.path.exists()
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            if new:
                sync_folder(self.path.parent)
            whole = sum(len(line) for line, _ in _lines(self.path))
            if whole < os.fstat(self._descriptor).st_size:
                self._cut(whole)
        except BaseException:
            self.close()
            raise

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one row, on the disk when this returns. NaN and infinity become null."""
        data = json.dumps(plain(dict(row)), allow_nan=False).encode() + b"\n"
        before = os.fstat(self._descriptor).st_size
        with _room(self.path, len(data)):
            try:
                disk.write_all(self._descriptor, data)
            except OSError:
                self._cut(before)
                raise

    def close(self) -> None:
        """No more rows."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _cut(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)
        os.fsync(self._descriptor)


def read(path: Path) -> list[dict[str, Any]]:
    """All rows. The last line is left out if it is torn: its writer was killed, or is writing it now."""
    return [row for _, row in _lines(Path(path))]


def truncate_after(path: Path, step: int) -> int:
    """Drop the rows with a ``step`` above `step` and a torn last line; returns how many rows went.

    A run that goes on from an earlier checkpoint writes those rows again. Call this before the file is opened for
    appending: it is replaced, wholly or not at all, by a new file.
    """
    path = Path(path)
    if not path.exists():
        return 0
    lines = _lines(path)
    kept = [line for line, row in lines if (row.get("step") or 0) <= step]
    content = b"".join(kept)
    if len(content) < path.stat().st_size:
        with _room(path, len(content)), replacing(path) as scratch:
            disk.write(scratch, content)
    return len(lines) - len(kept)


def plain(value: Any) -> Any:
    """What JSON can hold: arrays become numbers or lists, NaN and infinity become None.

    A float32 is written as the double it equals, which reads back to the same float32.
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise MetricsError(f"{type(value).__name__} is no metric: use numbers, text, lists or dicts of them")
    return plain(array.tolist())


def _room(path: Path, needed: int) -> AbstractContextManager[None]:
    what = f"the rows in {path.name} are intact, but what follows"
    return disk.room_for(what, needed, path.parent, MetricsSpaceError)


def _lines(path: Path) -> list[tuple[bytes, dict[str, Any]]]:
    """The whole lines of a file and what they say."""
    lines = path.read_bytes().split(b"\n")
    found: list[tuple[bytes, dict[str, Any]]] = []
    for number, line in enumerate(lines[:-1], start=1):  # what follows the last newline is nothing, or torn
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            found.append((line + b"\n", row))
        else:
            raise DamagedLineError(f"line {number} of {path} is damaged: {line[:40]!r}")
    return found


@contextmanager
def _without_torch() -> Iterator[None]:
    """Torch cannot be imported meanwhile: tensorboardX would, for a name in annotations, a second of every start."""
    if "torch" in sys.modules:
        yield
        return
    sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["torch"]


class TensorBoard:
    """Writes rows as scalars, and images, into an event file of its own in `folder`.

    Events are written by the calling thread. tensorboardX's `SummaryWriter` hands them to a thread through a short
    queue: when that thread dies, as it does on a full disk, the run waits for ever.
    """

    def __init__(self, folder: Path, resumed_at: int | None = None) -> None:
        # Imported here: reading metrics needs none of it.
        with _without_torch():
            from tensorboardX import summary
            from tensorboardX.proto.event_pb2 import Event, SessionLog
            from tensorboardX.record_writer import RecordWriter

        self._summary, self._event = summary, Event
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        # TensorBoard reads files in the order of their names; process and number keep names of one second apart.
        name = f"events.out.tfevents.{time.time():.0f}.{socket.gethostname()}.{os.getpid()}.{next(_writers)}"
        self._writer = RecordWriter(str(self._folder / name))
        begin: list[dict[str, Any]] = [{"file_version": "brain.Event:2"}]
        if resumed_at is not None:  # TensorBoard then hides what earlier files have from this step on
            begin.append({"session_log": SessionLog(status=SessionLog.START)})
        self._write(begin, 0 if resumed_at is None else resumed_at + 1)

    def scalars(self, row: Mapping[str, Any], step: int) -> None:
        """Every finite number of a row, by its name; text, lists and ``step`` itself are left out."""
        numbers = {k: v for k, v in plain(dict(row)).items() if isinstance(v, (int, float)) and k != "step"}
        self._write([{"summary": self._summary.scalar(name, float(v))} for name, v in numbers.items()], step)

    def image(self, name: str, picture: ArrayLike, step: int) -> None:
        """A picture [height, width, 3] of bytes."""
        self._write([{"summary": self._summary.image(name, np.asarray(picture), dataformats="HWC")}], step)

    def close(self) -> None:
        """No more events. What a full disk refused is given up: metrics.jsonl is the record of a run."""
        with suppress(OSError):
            self._writer.close()

    def _write(self, contents: list[dict[str, Any]], step: int) -> None:
        with disk.room_for("an event for TensorBoard", 1000, self._folder, disk.OutOfSpaceError):
            for content in contents:
                event = self._event(wall_time=time.time(), step=step, **content)
                self._writer.write(event.SerializeToString())
            self._writer.flush()
