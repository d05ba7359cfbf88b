"""Files that are there wholly or not at all: written beside their place, brought to the disk, renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A scratch path to write to. If the block ends well it becomes `path`, durably; otherwise it is removed.

    The scratch file ends like `path`, as some writers choose the format by it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".part.{path.name}")
    try:
        yield scratch
        _sync(scratch)
        os.replace(scratch, path)
        sync_folder(path.parent)
    finally:
        scratch.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk: a rename is durable only after this."""
    _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
