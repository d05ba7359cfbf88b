"""When a run cannot go on: numbers that are no longer finite, and an epoch that was broken off."""

from __future__ import annotations

import math
from typing import Any

from mural.errors import MuralError

Row = dict[str, Any]
"""What an epoch reports, by name."""

ADVICE = (
    "The last good checkpoint is kept; go on from it with smaller steps "
    "(`mural resume RUN --set sac.learning_rate=1e-4`) or smaller scales of the reward"
)
NUMBERS = ("sac/critic_loss", "sac/policy_loss", "reward/mean")  # those that are always numbers


class DivergenceError(MuralError, RuntimeError):
    """A loss or a reward is no longer finite."""

    def __init__(self, message: str, row: Row) -> None:
        super().__init__(message)
        self.row = row


class BrokenOffError(MuralError, RuntimeError):
    """An epoch was not finished, so what is in memory is no state to go on from."""


def require_finite(row: Row) -> None:
    """Raise a `DivergenceError` if an epoch's row says that learning has diverged."""
    wrong = [name for name, value in row.items() if isinstance(value, float) and math.isinf(value)]
    wrong += [name for name in NUMBERS if math.isnan(row.get(name, 0.0))]
    if wrong:
        raise DivergenceError(f"epoch {row['epoch']}: {', '.join(wrong)} is no longer finite. {ADVICE}", row)
