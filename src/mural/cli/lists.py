"""`mural tasks`, `mural methods`, `mural examples`: what there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from tyro.conf import Positional

from mural.cli.folders import import_modules
from mural.cli.tables import show


@dataclass
class Tasks:
    """List the tasks."""

    def run(self) -> None:
        """Print a table."""
        from mural.tasks import describe

        show(describe(), as_json=False)


@dataclass
class Methods:
    """List the methods; with --task, what the preset sets for each of them, and why."""

    task: str | None = None
    """Short name of a task, or any Gymnasium id."""
    preset: Literal["fast", "paper"] = "fast"
    """Which preset."""
    imports: Annotated[tuple[str, ...], tyro.conf.arg(name="import")] = ()
    """Modules to import first: those that register methods of your own."""
    json: bool = False
    """One JSON object per line."""

    def run(self) -> None:
        """Print a table."""
        from mural.rewards import METHODS

        import_modules(self.imports)
        if self.task is not None:
            show(preset_rows(self.task, self.preset), as_json=self.json)
            return
        rows = [
            {"name": spec.name, "needs": ", ".join(spec.needs), "summary": spec.summary} for spec in METHODS.values()
        ]
        show(rows, as_json=self.json)


def preset_rows(task: str, preset: str) -> Iterator[dict[str, Any]]:
    """What a preset sets for a task: methods, setting, value, source. Later rows override earlier ones."""
    from mural.rewards import METHODS
    from mural.training.presets import matching

    rules = {method: matching(task, method, preset) for method in METHODS}
    order = list({id(rule): rule for found in rules.values() for rule in found}.values())
    for rule in order:
        methods = [method for method, found in rules.items() if rule in found]
        for name, value in rule.values.items():
            yield {
                "methods": "all" if len(methods) == len(METHODS) else ", ".join(methods),
                "setting": name,
                "value": value,
                "source": rule.source,
            }


@dataclass
class Examples:
    """Make success examples of a task: to a file, as a picture, or both."""

    task: Positional[str]
    """Short name (`zigzag-maze`) or Gymnasium id."""
    n: int = 150
    """How many."""
    seed: int = 0
    """Seed."""
    out: Path | None = None
    """Write them to this .npz file."""
    picture: Path | None = None
    """Draw a grid of 16 of them to this .png file."""

    def run(self) -> None:
        """Make, save and draw."""
        import numpy as np

        from mural.tasks import find, make
        from mural.tasks.picture import examples_picture

        name = find(self.task).name
        task = make(name)
        examples = task.success_examples(self.n, self.seed)
        worst = float(np.max(task.distance(examples)))
        print(f"{name}: {len(examples)} examples, furthest {worst:.3f} of the {task.success_threshold} allowed")
        task.close()
        if self.out is not None:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            np.savez_compressed(self.out, examples=examples)
            print(self.out)
        if self.picture is not None:
            print(examples_picture(name, self.picture, seed=self.seed))
