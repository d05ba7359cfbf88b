"""Methods and tasks that other packages bring: found by their entry points, loaded when they are asked for.

A package says in its pyproject.toml::

    [project.entry-points."mural.methods"]
    nearness = "my_package.rewards"           # importing this module registers the method

    [project.entry-points."mural.tasks"]
    my-maze = "my_package.envs:MyMaze"        # a class derived from mural.tasks.Task
"""

from __future__ import annotations

import warnings
from importlib.metadata import EntryPoint, entry_points

METHODS, TASKS = "mural.methods", "mural.tasks"
_loaded: set[str] = set()


class PluginWarning(UserWarning):
    """What another package brings cannot be used; the message says which and why. Everything else goes on."""


def found(group: str) -> list[EntryPoint]:
    """The entry points of a group, by name."""
    return sorted(entry_points(group=group), key=lambda entry: entry.name)


def owner(entry: EntryPoint) -> str:
    """The name of the package that an entry point belongs to."""
    return entry.dist.name if entry.dist is not None else entry.value.partition(".")[0]


def load_methods() -> None:
    """Import what the entry points of methods name, once; one that fails is a `PluginWarning`."""
    for entry in found(METHODS):
        if entry.value in _loaded:
            continue
        _loaded.add(entry.value)
        try:
            entry.load()
        except Exception as error:  # whatever the package's own code raises
            skip(entry, f"{type(error).__name__}: {error}")


def skip(entry: EntryPoint, why: str) -> None:
    """Warn that an entry point is not used."""
    message = f"{entry.name!r} of the package {owner(entry)} ({entry.value}) is left out: {why}"
    warnings.warn(message, PluginWarning, stacklevel=3)
