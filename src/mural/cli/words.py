"""Which words of a command line are values of flags, and which one is the task."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import tyro

Flag = typing.Literal[0, 1] | Callable[[str], Any]
"""How many values a flag takes; for a list of values, what turns a word into one."""


def flags_of(settings: type, above: str = "") -> Iterator[tuple[str, Flag]]:
    """The flags that tyro makes of a dataclass of settings, and what follows each of them."""
    plain, marked = (typing.get_type_hints(settings, include_extras=extras) for extras in (False, True))
    for field in dataclasses.fields(settings):
        hint, marks = plain[field.name], getattr(marked[field.name], "__metadata__", ())
        name = next((mark.name for mark in marks if getattr(mark, "name", None)), field.name)
        flag = f"--{above}{name}".replace("_", "-")
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            yield from flags_of(hint, f"{above}{name}.")
        elif hint is bool:
            yield flag, 0
            yield f"--{above}no-{name}".replace("_", "-"), 0
        elif tyro.conf.UseAppendAction in marks:
            yield flag, 1
        else:
            yield flag, next((kind for kind in map(item, options(hint)) if kind is not None), 1)


def options(hint: Any) -> tuple[Any, ...]:
    """The members of a union, or the type itself."""
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def item(hint: Any) -> Callable[[str], Any] | None:
    """What turns a word into an item of a tuple of any length; None if this is no such tuple."""
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is not tuple or arguments[1:] != (...,):
        return None
    return arguments[0] if arguments[0] in (int, float) else str


def task_place(argv: Sequence[str], flags: Mapping[str, Flag], is_task: Callable[[str], bool]) -> int | None:
    """Where the task stands: the first word that is neither a flag nor a value of one.

    A list of text takes every word that follows; then its last word is the task, if that names one.
    """
    last_of_text: int | None = None
    i = 0
    while i < len(argv):
        if not argv[i].startswith("-"):
            return i
        name, equals, _ = argv[i].partition("=")
        takes = 0 if equals or name in ("-h", "--help") else flags.get(name.replace("_", "-"), 1)
        i += 1
        if isinstance(takes, int):
            i += takes
            continue
        while i < len(argv) and not argv[i].startswith("--") and fits(argv[i], takes):
            last_of_text = i if takes is str else None
            i += 1
    return last_of_text if last_of_text is not None and is_task(argv[last_of_text]) else None


def fits(word: str, kind: Callable[[str], Any]) -> bool:
    """Whether a word is a value of this kind, or the word for no value."""
    try:
        kind(word)
    except ValueError:
        return word == "None"
    return True
