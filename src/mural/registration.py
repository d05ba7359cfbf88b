"""Makes Gymnasium know our tasks after `import mural`, without importing Gymnasium before the user does.

Gymnasium takes a fifth of a second to import and is not installed on every robot, so `import mural` must not need it.
If it is already there, the tasks are registered at once; otherwise when it is first imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class WhenImported:
    """A finder of modules that only watches: once `gymnasium` has been executed, our tasks are registered."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders give, with a loader that registers the tasks in the end."""
        if name != "gymnasium":
            return None
        sys.meta_path.remove(self)  # or the search below would come here again
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_register(module: ModuleType) -> None:
            execute(module)
            importlib.import_module("mural.tasks")

        spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


def register_tasks() -> None:
    """Register the tasks now, or as soon as Gymnasium is imported."""
    if sys.modules.get("gymnasium") is not None:
        importlib.import_module("mural.tasks")
    elif not any(isinstance(finder, WhenImported) for finder in sys.meta_path):
        sys.meta_path.insert(0, WhenImported())
