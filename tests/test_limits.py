"""Limits beside settings: found in nested settings, unions and tuples, and unseen by everyone else."""

import math
from dataclasses import dataclass, field
from typing import Literal, get_type_hints

import pytest
import tyro

from mural.limits import FINITE, NotNegativeFloat, PositiveInt, PositiveOrInfinite, Share, Widths, broken


@dataclass(frozen=True)
class Inner:
    """Settings inside settings."""

    widths: Widths = (8, 8)
    """Widths of the layers."""
    width: PositiveOrInfinite | None = None
    """How wide."""


@dataclass(frozen=True)
class Outer:
    """Settings."""

    count: PositiveInt = 1
    """How many."""
    share: Share = 0.5
    """Which part."""
    free: float = 0.0
    """Whatever you like."""
    name: Literal["a", "b"] = "a"
    """Which."""
    inner: Inner = field(default_factory=Inner)
    """More."""


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        (Outer(), []),
        (Outer(count=0), [("count", 0, "be positive")]),
        (Outer(share=1.5, count=-1), [("count", -1, "be positive"), ("share", 1.5, "be from 0 to 1")]),
        (Outer(inner=Inner(widths=(8, 0))), [("inner.widths", (8, 0), "be positive")]),
        (Outer(inner=Inner(widths=(), width=math.inf)), []),
        (Outer(inner=Inner(width=0.0)), [("inner.width", 0.0, "be positive")]),
        (Outer(free=-math.inf), []),
    ],
)
def test_broken_limits_are_found(settings, found):
    assert list(broken(settings)) == found


@pytest.mark.parametrize("settings", [Outer(share=math.nan), Outer(free=math.nan), Outer(inner=Inner(width=math.nan))])
def test_nan_breaks_every_limit(settings):
    (one,) = broken(settings, "here.")
    assert one[0].startswith("here.")
    assert one[2] == "be a number"


def test_others_read_plain_types(capsys):
    assert get_type_hints(Outer)["count"] is int
    assert get_type_hints(Inner) == {"widths": tuple[int, ...], "width": float | None}
    assert tyro.cli(Outer, args=["--count", "3", "--inner.widths", "4", "--inner.width", "2"]) == Outer(
        3, inner=Inner((4,), 2.0)
    )
    with pytest.raises(SystemExit):
        tyro.cli(Outer, args=["--help"])
    told = capsys.readouterr().out
    assert "--count INT" in told
    assert "{None}|FLOAT" in told
    assert "Limit" not in told


def test_limits_are_inclusive_where_they_say_so():
    assert NotNegativeFloat.__metadata__[0].holds(0.0)
    assert not FINITE.holds(math.inf)
    assert not PositiveInt.__metadata__[0].holds(math.inf)
