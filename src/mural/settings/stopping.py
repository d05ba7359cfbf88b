"""When a run has succeeded and may stop. Needs nothing: `mural watch` asks it without loading JAX."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

EVALUATIONS = 5
"""The last evaluations that have to succeed on average."""


def succeeded(rows: Iterable[Mapping[str, Any]], wanted: float | None) -> bool:
    """Whether the mean success of the last `EVALUATIONS` evaluations is at least `wanted`; None: never."""
    found = [row["eval/success"] for row in rows if row.get("eval/success") is not None][-EVALUATIONS:]
    return wanted is not None and len(found) == EVALUATIONS and sum(found) / EVALUATIONS >= wanted
