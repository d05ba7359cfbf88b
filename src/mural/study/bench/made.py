"""What made a measurement: the same facts that a run's files and results tell."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from mural.storage.folder import commit, versions
from mural.study.results import machine

Row = dict[str, Any]


def signed(rows: Iterable[Row]) -> Iterator[Row]:
    """Each row with an entry `made`: date, commit, CPU, cores and versions."""
    first, about = commit(), machine() | versions()
    for row in rows:
        yield row | {"made": {"date": time.strftime("%Y-%m-%dT%H:%M:%S%z")} | since(first) | about}


def since(first: dict[str, str]) -> dict[str, str]:
    """The commit that a measurement began with; "+" after it also if the package has changed in the meantime.

    Processes that measure are started one after the other, and each loads the package as it then is.
    """
    if not first or commit() == first:
        return first
    return {"commit": first["commit"].removesuffix("+") + "+"}
