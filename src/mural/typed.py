"""Frozen dataclasses of settings from plain values: nested names, the types of the annotations, the nearest right name.

Every room that has settings stands on this; it knows none of them.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import numpy as np

from mural.errors import MuralError, did_you_mean, nearest

_hints: Callable[[Any], dict[str, Any]] = functools.cache(typing.get_type_hints)  # most of the work of `build`
WORDS = {int: "a whole number", float: "a number", str: "text", bool: "True or False", type(None): "None"}
TABLE = "a table of settings by name"


class ConfigError(MuralError, ValueError):
    """Settings that do not fit together, or are not known; the message says which and what would do."""


class UnknownSettingError(ConfigError):
    """There is no setting of this name."""

    def __init__(self, name: str, hint: str) -> None:
        super().__init__(name, hint)  # what it can be made again from, in another process
        self.name, self.hint = name, hint

    def __str__(self) -> str:
        return f"there is no setting {self.name}; {self.hint}"


def table(value: Any, name: str) -> Mapping[str, Any]:
    """Settings by name (None: none), or a `ConfigError`."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ConfigError(f"{name} is {value!r}; it must be {TABLE}, such as {{'NAME': VALUE}}")
    return value


def merge(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the entries of `over`, nested ones entry by entry; dotted names ('sac.gamma') are nested too."""
    result = dict(base)
    for name, value in over.items():
        head, _, rest = name.partition(".")
        value = {rest: value} if rest else value
        old = result.get(head)
        result[head] = merge(old if isinstance(old, dict) else {}, value) if isinstance(value, Mapping) else value
    return result


def leaves(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Nested settings by dotted names."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def build(base: Any, values: Mapping[str, Any], where: str = "") -> Any:
    """A dataclass with some values replaced, within dataclasses that it holds one by one; checked by annotations."""
    hints = _hints(type(base))
    known = {f.name for f in dataclasses.fields(base) if f.init}
    changes = {}
    for name, value in values.items():
        if name not in known:
            near = nearest(name, sorted(known), cutoff=0.6)
            hint = f"did you mean {where}{near}?" if near else f"known are {', '.join(sorted(known))}"
            raise UnknownSettingError(f"{where}{name}", hint)
        old = getattr(base, name)
        if dataclasses.is_dataclass(old) and isinstance(value, Mapping):
            changes[name] = build(old, value, f"{where}{name}.")
        else:
            changes[name] = convert(hints[name], value, f"{where}{name}")
    return dataclasses.replace(base, **changes)


def hint_of(base: Any, name: str) -> Any:
    """The annotation of a setting by its dotted name, in a dataclass that has it."""
    head, _, rest = name.partition(".")
    return hint_of(getattr(base, head), rest) if rest else _hints(type(base))[name]


def plain(value: Any) -> Any:
    """A NumPy number as Python's own, also inside tuples and settings: JSON knows no others. Else the same object."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return tuple(map(plain, value)) if any(plain(item) is not item for item in value) else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        before = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
        changes = {name: plain(old) for name, old in before.items() if plain(old) is not old}
        return dataclasses.replace(value, **changes) if changes else value
    return value


def convert(hint: Any, value: Any, where: str) -> Any:
    """A JSON value as the annotated type, or a `ConfigError`."""
    origin, arguments, value = typing.get_origin(hint), typing.get_args(hint), plain(value)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint) and isinstance(value, Mapping):
        return build(hint(), value, f"{where}.")
    if origin is Literal:
        if value in arguments:
            return value
    elif origin in (typing.Union, types.UnionType):
        for option in arguments:
            try:
                return convert(option, value, where)
            except ConfigError:
                continue
    elif origin is tuple and isinstance(value, list | tuple):
        kinds = [arguments[0]] * len(value) if arguments[1:] == (...,) else arguments
        if len(kinds) == len(value):
            return tuple(convert(kind, item, where) for kind, item in zip(kinds, value, strict=True))
    elif hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    elif hint is int and isinstance(value, float) and value.is_integer():
        return int(value)
    elif hint in (int, str, bool) and type(value) is hint:
        return value
    elif hint is type(None) and value is None:
        return None
    near = did_you_mean(value, choices(hint), cutoff=0.6) if isinstance(value, str) else ""
    raise ConfigError(f"{where} is {value!r}; {near}it must be {wanted(hint)}")


def wanted(hint: Any) -> str:
    """What a value of this type is, in words."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return f"one of {', '.join(map(repr, arguments))}" if arguments[1:] else repr(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(wanted, arguments))
    if origin is tuple:
        every = f", each of it {wanted(arguments[0])}"
        return "a list" + (every if arguments[1:] == (...,) else f" of {len(arguments)}")
    if dataclasses.is_dataclass(hint) or getattr(hint, "_is_protocol", False):  # `Method`, which is all its dataclasses
        return TABLE
    return WORDS.get(hint, f"of type {getattr(hint, '__name__', hint)}")


def choices(hint: Any) -> list[str]:
    """The words that a value of this type may be."""
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is Literal:
        return [word for word in arguments if isinstance(word, str)]
    return [word for option in arguments for word in choices(option)]
