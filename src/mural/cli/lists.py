"""`mural tasks`, `mural methods`, `mural examples`: what there is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from mural.cli.tables import show


@dataclass
class Tasks:
    """List the tasks."""

    def run(self) -> None:
        """Print a table."""
        from mural.tasks import describe

        show(describe(), as_json=False)


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
