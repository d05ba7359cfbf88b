"""What a number may be, written beside the setting that it limits.

    learning_rate: PositiveFloat = 3e-4
    momentum: Annotated[float, Limit("be below 1", lambda x: x < 1)] = 0.9

Python, mypy and tyro read such a field as a plain number; `broken` finds the values that break a limit. A number that
is NaN breaks every limit, written or not.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from mural.errors import ArgumentError

MOST_SEED = 2**63 - 1  # what JAX takes


@dataclass(frozen=True)
class Limit:
    """A condition on a number, and how to ask for it: "it must …"."""

    words: str
    holds: Callable[[float], bool]


POSITIVE = Limit("be positive", lambda x: 0 < x < math.inf)
POSITIVE_OR_INFINITE = Limit("be positive", lambda x: x > 0)
SEED = Limit("be from 0 to 2⁶³ − 1", lambda x: 0 <= x <= MOST_SEED)
NOT_NEGATIVE = Limit("not be negative", lambda x: x >= 0)
SHARE = Limit("be from 0 to 1", lambda x: 0 <= x <= 1)
BELOW_ONE = Limit("be at least 0 and below 1", lambda x: 0 <= x < 1)
ABOVE_ZERO_TO_ONE = Limit("be above 0 and at most 1", lambda x: 0 < x <= 1)
FINITE = Limit("be finite", math.isfinite)
ENTROPY = Limit(
    "be finite and below log 2 = 0.69, the entropy of a uniform action", lambda x: -math.inf < x < math.log(2)
)
NUMBER = Limit("be a number", lambda x: not math.isnan(x))

PositiveInt = Annotated[int, POSITIVE]
PositiveFloat = Annotated[float, POSITIVE]
PositiveOrInfinite = Annotated[float, POSITIVE_OR_INFINITE]
NotNegativeInt = Annotated[int, NOT_NEGATIVE]
NotNegativeFloat = Annotated[float, NOT_NEGATIVE]
Seed = Annotated[int, SEED]
Share = Annotated[float, SHARE]
Widths = tuple[PositiveInt, ...]

# Reading annotations is most of the work, and a sweep checks hundreds of settings.
_hints: Callable[[Any], dict[str, Any]] = functools.cache(functools.partial(typing.get_type_hints, include_extras=True))


def broken(settings: Any, where: str = "") -> Iterator[tuple[str, Any, str]]:
    """Dotted name, value and "it must …" of each setting of a dataclass, and of those that it holds, that is wrong."""
    hints = _hints(type(settings))
    for field in dataclasses.fields(settings):
        value, name = getattr(settings, field.name), f"{where}{field.name}"
        if dataclasses.is_dataclass(value):
            yield from broken(value, f"{name}.")
        else:
            words = [limit.words for limit, number in _limited(hints[field.name], value) if not limit.holds(number)]
            if words:
                yield name, value, words[0]


def whole(value: Any, name: str, least: int, most: int | None = None) -> int:
    """A whole number from `least` to `most`, also written as 1e3 or by NumPy, or an `ArgumentError`."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value % 1 or value < least:
        raise ArgumentError(f"{name} is {value!r}; it must be a whole number, at least {least}")
    if most is not None and value > most:
        raise ArgumentError(f"{name} is {value!r}; it must be a whole number, at most {most}")
    return int(value)


def _limited(hint: Any, value: Any) -> Iterator[tuple[Limit, float]]:
    """Each number in a value, with each limit that its annotation sets."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        yield from _limited(arguments[0], value)
        if _is_number(value):
            yield from ((limit, value) for limit in arguments[1:] if isinstance(limit, Limit))
    elif origin in (typing.Union, types.UnionType):
        for option in arguments:
            yield from _limited(option, value)
    elif origin is tuple and isinstance(value, tuple | list):
        kinds = [arguments[0]] * len(value) if arguments[1:] == (...,) else arguments
        for kind, item in zip(kinds, value, strict=False):
            yield from _limited(kind, item)
    elif _is_number(value):
        yield NUMBER, value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
