"""Files that are there wholly or not at all: written beside their place, brought to the disk, renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mural.errors import MuralError

PLACE = (IsADirectoryError, NotADirectoryError, FileNotFoundError, FileExistsError, PermissionError)


class UnwritableError(MuralError, OSError):
    """No file can be written at this place."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A scratch path to write to. If the block ends well it becomes `path`, durably; otherwise it is removed.

    The scratch file ends like `path`, as some writers choose the format by it.
    """
    require_writable(path)
    scratch = path.with_name(f".part.{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield scratch
        _sync(scratch)
        os.replace(scratch, path)
        sync_folder(path.parent)
    except PLACE as error:
        if error.filename is None or Path(error.filename) not in (scratch, path, *path.parents):
            raise
        raise UnwritableError(f"{path} cannot be written ({error.strerror})") from error
    finally:
        with suppress(OSError):
            scratch.unlink()


def require_writable(path: Path) -> None:
    """Raise an `UnwritableError` for what certainly cannot become a file, before work goes into its content."""
    try:
        if path.is_dir():
            raise UnwritableError(f"{path} is a folder: name a file in it")
        home = next((part for part in path.parents if part.exists()), None)
    except OSError as error:
        if isinstance(error, UnwritableError):
            raise
        raise UnwritableError(f"{path} cannot be written ({error.strerror})") from error
    if home is not None and not home.is_dir():
        raise UnwritableError(f"{path} cannot be written ({home} is a file)")
    if home is not None and not os.access(home, os.W_OK):
        raise UnwritableError(f"{path} cannot be written (you may not write in {home})")


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk: a rename is durable only after this."""
    _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
