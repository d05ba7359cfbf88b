"""The paper's environments as Gymnasium environments, with their success examples and distance metrics.

Importing this module registers ``mural/ZigzagMaze-v0`` and the others with Gymnasium.
"""

from mural.tasks.base import ActionError, DisplayError, MissingExtraError, Task, UnknownTaskError
from mural.tasks.plane import Plane
from mural.tasks.registry import TASKS, TaskSpec, describe, file_name, find, is_ours, make, register_all, short_name

register_all()

__all__ = [
    "TASKS",
    "ActionError",
    "DisplayError",
    "MissingExtraError",
    "Plane",
    "Task",
    "TaskSpec",
    "UnknownTaskError",
    "describe",
    "file_name",
    "find",
    "is_ours",
    "make",
    "short_name",
]
