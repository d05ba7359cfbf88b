"""Rows for people (a table) or for programs (JSON lines)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text


def show(rows: Iterable[dict[str, Any]], *, as_json: bool) -> None:
    """Rows as JSON lines, each as soon as it is there, or as one table at the end."""
    rows = waiting(iter(rows), quiet=as_json and not sys.stderr.isatty())
    if as_json:
        for row in rows:
            print(json.dumps(row), flush=True)
        return
    collected = list(rows)
    keys = list(dict.fromkeys(key for row in collected for key in row))
    table = Table()
    for key in keys:  # as Text: rich takes [brackets] in a str for its own marks
        table.add_column(Text(key))
    for row in collected:
        table.add_row(*(Text(pretty(row.get(key))) for key in keys))
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def waiting(rows: Iterator[dict[str, Any]], *, quiet: bool) -> Iterator[dict[str, Any]]:
    """The rows, with a sign of life on the terminal while the next one is being made."""
    console = Console(stderr=True, quiet=quiet)
    done = 0
    while True:
        with console.status(f"{done} rows …"):
            row = next(rows, None)
        if row is None:
            return
        done += 1
        yield row


def pretty(value: Any) -> str:
    """A cell of a table."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
