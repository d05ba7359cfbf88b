"""Bytes that are on the disk when a call returns, and what to say when they do not fit."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mural.atomic import replacing
from mural.errors import MuralError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class DamagedFileError(MuralError, ValueError):
    """A file of a run is missing, or is not what was written."""


class OutOfSpaceError(MuralError, OSError):
    """What was to be written does not fit; the message says how much was needed and what to do."""


@contextmanager
def room_for(what: str, needed: int, folder: Path, error: type[OutOfSpaceError]) -> Iterator[None]:
    """Turn a full disk, an exhausted quota or a limit on the size of files into an `error` that says what to do."""
    try:
        yield
    except OSError as reason:
        if reason.errno not in FULL:
            raise
        raise error(f"{_shortage(what, needed, folder, reason.errno)}, then resume the run") from reason


def write(path: Path, data: bytes) -> None:
    """Write a file, or replace its content, and wait until the bytes are on the disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        write_all(descriptor, data)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data` where the descriptor stands, and wait until it is on the disk."""
    rest = memoryview(data)
    while rest:  # one call writes at most 2 GB, and less where the disk ends: the next one then says why
        rest = rest[os.write(descriptor, rest) :]
    os.fsync(descriptor)


def write_json(path: Path, value: Any) -> None:
    """Write a file of JSON, wholly or not at all; arrays become lists, and what JSON cannot hold becomes text."""
    text = json.dumps(value, indent=1, default=lambda x: x.tolist() if isinstance(x, np.ndarray) else str(x)) + "\n"
    with room_for(path.name, len(text), path.parent, OutOfSpaceError), replacing(path) as scratch:
        write(scratch, text.encode())


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file, or a `DamagedFileError`."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise DamagedFileError(f"{path} is missing: bring it back from a backup") from None
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"{path} is damaged ({error}): bring it back from a backup") from None
    if not isinstance(value, dict):
        raise DamagedFileError(f"{path} is damaged (it holds no table): bring it back from a backup")
    return value


def _shortage(what: str, needed: int, folder: Path, reason: int | None) -> str:
    folder = next(parent for parent in (folder, *folder.resolve().parents) if parent.exists())
    free = f"{_size(shutil.disk_usage(folder).free)} are free in {folder}"
    if reason == errno.EFBIG:
        told = f"more than the limit on the size of files allows ({free}). Raise the limit (ulimit -f unlimited)"
    elif reason == errno.EDQUOT:
        told = f"more than the disk quota allows ({free}). Delete files or ask for a larger quota"
    else:
        told = f"and only {free}. Delete files or move the run to a larger disk"
    return f"{what} needs {_size(needed)}, {told}"


def _size(count: int) -> str:
    """1234567 → '1.2 MB'."""
    value, unit = float(count), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
