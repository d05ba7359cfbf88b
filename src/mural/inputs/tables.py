"""Tables whose columns have names: files with a header, data frames of any library, NumPy's structured arrays."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mural.errors import MuralError
from mural.inputs.selection import choice

if TYPE_CHECKING:
    from mural.inputs.spaces import Spaces


class TableError(MuralError, ValueError):
    """The names of a table's columns do not fit the observations; the message says which."""


class ColumnsWarning(UserWarning):
    """The names of a table's columns say nothing, so that they were taken by position."""


class Named(NamedTuple):
    """A table."""

    names: tuple[str, ...]
    values: NDArray[Any]  # [n, columns]


def named_table(source: Any) -> Named | None:
    """The table in a data frame (pandas, polars: it has `columns` and `to_numpy`) or structured array, or None."""
    if hasattr(source, "columns") and callable(getattr(source, "to_numpy", None)):
        names = tuple(str(name) for name in source.columns)
        return Named(names, np.asarray(source.to_numpy()))
    if isinstance(source, np.ndarray) and source.dtype.names:
        columns = [np.asarray(source[name]).reshape(source.size, -1) for name in source.dtype.names]
        if all(column.shape[1] == 1 for column in columns):
            return Named(source.dtype.names, np.concatenate(columns, axis=1))
    return None


def by_name(table: Named, spaces: Spaces) -> tuple[NDArray[Any], str]:
    """The columns in the order of the observation, and in words whether they were found by name or by position.

    The result has whole observations, or what the classifier sees if the table has no more. If no name fits at all, the
    columns are taken in the order in which they stand, with a `ColumnsWarning`; so are columns that are merely numbered
    (0, 1, 2…), as pandas has them where nobody named them, and of that nothing is said.
    """
    columns = {spaces.column_name(i): i for i in range(spaces.obs_size)}
    names, values = table
    if not set(names) & columns.keys():
        if is_numbering(names):
            return values, "columns by position"
        few = shortened(names)
        seen = list(columns) if len(names) == len(columns) else [spaces.column_name(int(c)) for c in spaces.columns]
        warnings.warn(
            f"none of the columns {few} has a name of the observation: they are taken in this order for "
            f"{shortened(seen)}. Rename them so if that is wrong",
            ColumnsWarning,
            stacklevel=4,
        )
        return values, f"columns by position, as none of {few} is the name of one"
    wrong = next((name for i, name in enumerate(names) if name not in columns or name in names[:i]), None)
    if wrong is not None:
        raise TableError(f"has a column {wrong!r} that is unknown, or repeated; {choice(wrong, list(columns))}")
    place = {columns[name]: i for i, name in enumerate(names)}
    if len(place) == len(columns):
        return values[:, [place[c] for c in range(len(columns))]], "columns by name"
    lacking = [spaces.column_name(int(c)) for c in spaces.columns if int(c) not in place]
    if lacking:
        raise TableError(f"lacks the columns {', '.join(lacking)}, which the classifier sees")
    return values[:, [place[int(c)] for c in spaces.columns]], "columns by name"


def shortened(names: Sequence[str]) -> str:
    """The first few of some names."""
    return ", ".join(names[:6]) + (", …" if len(names) > 6 else "")


def is_numbering(names: Sequence[str]) -> bool:
    """Whether these are 0, 1, 2…"""
    return tuple(names) == tuple(str(i) for i in range(len(names)))
