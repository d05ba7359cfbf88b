"""Reading success examples from files."""

from __future__ import annotations

import csv
import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np

from mural.errors import MuralError
from mural.inputs.datasets import read_parquet
from mural.inputs.spaces import Spaces
from mural.inputs.tables import Named, TableError, by_name, is_numbering


class ExamplesError(MuralError, ValueError):
    """Success examples that cannot be used; the message says which and why."""


def read_examples(path: Path, spaces: Spaces) -> tuple[Any, str]:
    """What is in a file, and its provenance. Files are data: nothing in them is executed."""
    data = read_bytes(path)
    provenance = f"{path} (sha256 {hashlib.sha256(data).hexdigest()})"
    if path.suffix == ".csv":
        values, how = _parse_csv(data, path, spaces)
        return values, f"{provenance}, {how}" if how else provenance
    if path.suffix == ".parquet":
        table = read_parquet(data, path)
        values, how = _by_name(table, path, spaces)
        return values, f"{provenance}, {how}"
    if path.suffix not in (".npz", ".npy"):
        raise ExamplesError(
            f"{str(path)!r} is of no known kind; success examples are read from .npz, .npy, .csv and .parquet"
        )
    try:
        found = np.load(io.BytesIO(data), allow_pickle=False)
        content = {name: found[name] for name in found.files} if isinstance(found, np.lib.npyio.NpzFile) else found
    except Exception as error:  # a damaged archive fails in a dozen ways, all of which mean the same
        raise ExamplesError(
            f"cannot read the success examples {str(path)!r}: it is damaged, or has Python objects in it, which are "
            f"never loaded; write it with np.savez(path, examples=array) and an array of numbers ({error})"
        ) from error
    if isinstance(content, dict) and "examples" in content and "provenance" in content:  # our own file
        provenance += f", which is from: {content.pop('provenance')}"
    return content, provenance


def _parse_csv(data: bytes, path: Path, spaces: Spaces) -> tuple[Any, str]:
    """Rows of numbers, and how the columns were found if there is a header with names."""
    try:
        lines = [line for line in data.decode("utf-8-sig").splitlines() if line.strip() and not line.startswith("#")]
        delimiter = next((mark for mark in ",;\t" if lines and mark in lines[0]), ",")
        table = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter)]
    except (UnicodeDecodeError, csv.Error):
        raise ExamplesError(f"{str(path)!r} is no table; write the examples as comma-separated numbers") from None
    header: list[str] = []
    if table and (not all(map(_is_number, table[0])) or _is_numbering(table)):
        header = table.pop(0)
    for number, row in enumerate(table, 1):
        if len(row) != len(table[0]) or not all(map(_is_number, row)) or (header and len(row) != len(header)):
            raise ExamplesError(
                f"{str(path)!r}: row {number} is {row[:8]}; needed are numbers, as many as in the other rows"
            )
    values = np.array([[float(cell) for cell in row] for row in table])
    if header and header[0] == "":
        raise ExamplesError(f"{str(path)!r} starts with a column of row numbers; write it with index=False")
    if not header or not len(values) or is_numbering(header):
        return values, ""
    return _by_name(Named(tuple(header), values), path, spaces)


def _by_name(table: Named, path: Path, spaces: Spaces) -> tuple[Any, str]:
    try:
        return by_name(table, spaces)
    except TableError as error:
        raise ExamplesError(f"{str(path)!r} {error}") from None


def read_bytes(path: Path) -> bytes:
    """The content of a file of examples."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ExamplesError(f"cannot read the success examples {str(path)!r}: {error.strerror or error}") from error


def _is_numbering(table: list[list[str]]) -> bool:
    """Whether the first row is what pandas writes above columns without names (0, 1, 2…), and not an example."""
    first, others = table[0], (cell for row in table[1:] for cell in row)
    return len(first) > 1 and is_numbering(first) and any("." in cell for cell in others)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
