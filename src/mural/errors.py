"""What goes wrong in a way that we foresaw: one base class, and hints with the nearest right name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MuralError(Exception):
    """Base of every error that this package raises on purpose: the message says what is wrong and what to do.

    Each one also derives from the built-in error that fits (`ValueError`, `RuntimeError`, …). The command line shows a
    `MuralError` as one line and everything else as a bug.
    """


class ArgumentError(MuralError, ValueError):
    """An argument has a value that cannot be used; the message names it and says what would do."""


def nearest(name: str, known: Iterable[str], cutoff: float = 0.4) -> str | None:
    """The known name that looks most like `name`, a name that contains it first; None if nothing comes close."""
    names = list(known)
    within = [right for right in names if len(name) > 2 and name in right]
    return next(iter(within or difflib.get_close_matches(name, names, n=1, cutoff=cutoff)), None)


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.4) -> str:
    """``"did you mean 'x'? "`` with the nearest known name, to be put before what else there is to say; else ``""``."""
    near = nearest(name, known, cutoff)
    return "" if near is None else f"did you mean {near!r}? "
