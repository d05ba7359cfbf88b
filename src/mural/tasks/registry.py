"""The nine tasks by name, and those of other packages."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

import gymnasium

from mural import plugins
from mural.errors import ArgumentError, did_you_mean
from mural.tasks.base import INSTALL_ROBOTS, Task, UnknownTaskError


@dataclass(frozen=True)
class TaskSpec:
    """How a task is called, where it is, and what it asks for."""

    name: str
    """Short name, for the command line."""
    id: str
    """Gymnasium id."""
    entry_point: str
    summary: str
    robots: bool = False
    """Whether it needs the extra `robots`."""
    package: str = "mural-rl"
    """The package that brings it."""


TASKS: dict[str, TaskSpec] = {
    spec.name: spec
    for spec in (
        TaskSpec(
            "zigzag-maze",
            "mural/ZigzagMaze-v0",
            "mural.tasks.mazes.tasks:ZigzagMaze",
            "go through an S-shaped corridor",
        ),
        TaskSpec(
            "spiral-maze",
            "mural/SpiralMaze-v0",
            "mural.tasks.mazes.tasks:SpiralMaze",
            "go to the inside of a spiral",
        ),
        TaskSpec(
            "double-maze",
            "mural/DoubleMaze-v0",
            "mural.tasks.mazes.tasks:DoubleMaze",
            "examples on the far left, hidden sparse rewards on the right",
        ),
        TaskSpec(
            "shuffled-maze",
            "mural/ShuffledMaze-v0",
            "mural.tasks.mazes.tasks:ShuffledMaze",
            "the zigzag maze as a grid whose cells are relabelled at random",
        ),
        TaskSpec(
            "sawyer-push",
            "mural/SawyerPush-v0",
            "mural.tasks.robots.sawyer_push:SawyerPush",
            "an arm pushes a puck to a place",
            robots=True,
        ),
        TaskSpec(
            "sawyer-pick",
            "mural/SawyerPick-v0",
            "mural.tasks.robots.sawyer_pick:SawyerPick",
            "an arm raises a ball to a place high above the table",
            robots=True,
        ),
        TaskSpec(
            "sawyer-door",
            "mural/SawyerDoor-v0",
            "mural.tasks.robots.sawyer_door:SawyerDoor",
            "an arm with a hook opens a door to 45°",
            robots=True,
        ),
        TaskSpec(
            "ant-maze",
            "mural/AntMaze-v0",
            "mural.tasks.robots.ant:AntMaze",
            "a quadruped goes around a wall",
            robots=True,
        ),
        TaskSpec(
            "hand-reposition",
            "mural/HandReposition-v0",
            "mural.tasks.robots.hand:HandReposition",
            "a 16-joint hand moves an object across a table",
            robots=True,
        ),
    )
}


def find(name: str) -> TaskSpec:
    """The task with this short name or Gymnasium id, or an `UnknownTaskError` with the nearest name."""
    for spec in TASKS.values():
        if name in (spec.name, spec.id):
            return spec
    names = [*TASKS, *(spec.id for spec in TASKS.values())]
    hint = did_you_mean(name, names, cutoff=0.5)
    raise UnknownTaskError(f"there is no task {name!r}; {hint}there are {', '.join(TASKS)}")


def is_ours(name: str) -> bool:
    """Whether this is the short name or the id of one of these tasks."""
    return short_name(name) in TASKS


def short_name(name: str) -> str:
    """The short name of one of these tasks, given that or its id; the names of other environments as they are."""
    return next((spec.name for spec in TASKS.values() if spec.id == name), name)


def file_name(name: str) -> str:
    """The short name of a task as a part of the name of a file or folder."""
    return short_name(name).replace("/", "-").replace(":", "-")


def describe() -> list[dict[str, str]]:
    """One row per task, for people: its name, id, what it is about, and what has to be installed."""
    missing = any(importlib.util.find_spec(package) is None for package in ("mujoco", "metaworld"))
    extra = INSTALL_ROBOTS if missing else ""
    return [
        {"name": spec.name, "id": spec.id, "summary": spec.summary, "install": extra if spec.robots else ""}
        for spec in TASKS.values()
    ]


def make(name: str, **kwargs: Any) -> Task:
    """The task itself, without Gymnasium's wrappers; `kwargs` go to its constructor."""
    task = gymnasium.make(find(name).id, disable_env_checker=True, **kwargs).unwrapped
    if not isinstance(task, Task):
        raise ArgumentError(f"{name} is a {type(task).__name__}; to be used here it must derive from mural.tasks.Task")
    return task


def add_others() -> None:
    """Tasks of other packages, by their entry points; none of them is imported before it is made."""
    for entry in plugins.found(plugins.TASKS):
        package = plugins.owner(entry)
        if entry.name in TASKS:
            if TASKS[entry.name].package != package:
                plugins.skip(entry, f"{TASKS[entry.name].package} has a task of that name")
        elif not entry.attr:
            plugins.skip(entry, "name the class of the task, as in 'package.module:Class'")
        else:
            id = f"{package}/{entry.attr.rpartition('.')[2]}-v0"
            TASKS[entry.name] = TaskSpec(entry.name, id, entry.value, f"of the package {package}", package=package)


def register_all() -> None:
    """Tell Gymnasium about the tasks. They count their own steps, so no time limit is added."""
    add_others()
    for spec in TASKS.values():
        if spec.id not in gymnasium.registry:
            gymnasium.register(spec.id, entry_point=spec.entry_point)
