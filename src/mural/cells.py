"""Which cell of a regular grid a place is in: one rule, for NumPy arrays and inside JAX's compiled functions."""

from __future__ import annotations

from typing import Any


def cells(x: Any, low: Any, high: Any, bins: int) -> Any:
    """Cell along each axis [..., d] of places x [..., d], of `bins` equal cells from `low` to `high` on every axis.

    An edge belongs to the cell above it; a place outside belongs to the nearest cell.
    """
    array = x.__array_namespace__()
    steps = array.floor((x - low) / ((high - low) / bins))
    return array.clip(steps, 0, bins - 1).astype(array.int32)  # clipped first: far places are too large for int32
