"""`mural tasks`, `mural methods`, `mural examples`: what there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tyro.conf import Positional

from mural.atomic import replacing
from mural.cli.folders import Imports, import_modules
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
    """List the methods. With --task: list what the preset sets for each method, and why."""

    task: str | None = None
    """Short name of a task, or any Gymnasium id."""
    preset: Literal["fast", "paper", "release"] = "fast"
    """Which preset."""
    imports: Imports = ()
    """Import this module first, to register methods of your own; repeat the flag for more modules."""
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
    """What a preset sets for a task: methods, setting, value, source; only what no later rule overrides."""
    from mural.inputs.world import require_known
    from mural.rewards import METHODS
    from mural.settings.presets import RULES, matching

    require_known(task)
    place = {id(rule): i for i, rule in enumerate(RULES)}
    holders: dict[tuple[str, int], list[str]] = {}
    for method in METHODS:
        in_force = {name: place[id(rule)] for rule in matching(task, method, preset) for name in rule.values}
        for held in in_force.items():
            holders.setdefault(held, []).append(method)
    for (name, i), methods in sorted(holders.items()):
        yield {
            "setting": name,
            "value": RULES[i].values[name],
            "methods": "all" if len(methods) == len(METHODS) else ", ".join(methods),
            "source": RULES[i].source,
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
    wrong: float = 0.0
    """Share of them that are none: states that random actions came to. To see how wrong examples may be."""
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
        if self.wrong:
            from mural.study.wrong_examples import wrong_examples

            examples = wrong_examples(task, self.n, self.wrong, self.seed)
            told = f", {np.sum(~task.is_success(examples))} of them wrong"
        else:
            examples, told = task.success_examples(self.n, self.seed), ""
        worst = float(np.max(task.distance(examples)))
        print(f"{name}: {len(examples)} examples{told}, furthest {worst:.3f} of the {task.success_threshold} allowed")
        task.close()
        if self.out is not None:
            out = self.out if self.out.suffix == ".npz" else self.out.with_name(f"{self.out.name}.npz")
            with replacing(out) as scratch, scratch.open("wb") as file:
                np.savez_compressed(file, examples=examples)
            print(out)
        if self.picture is not None:
            print(examples_picture(name, self.picture, seed=self.seed))
