"""`mural tasks`, `mural methods`, `mural examples`: what there is, and what your examples look like."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tyro.conf import Positional

from mural.atomic import replacing, require_writable
from mural.cli.folders import Imports, import_modules, plain_warnings
from mural.cli.tables import show
from mural.limits import PositiveInt, Seed, Share


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
        from mural import plugins
        from mural.rewards import METHODS

        plugins.load_methods()
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
    """Make success examples of a task: to a file, as a picture, or both.

    `mural examples check ENV FILE` looks at your own."""

    task: Positional[str]
    """Short name (`zigzag-maze`) or Gymnasium id."""
    n: PositiveInt = 150
    """How many."""
    seed: Seed = 0
    """Seed."""
    wrong: Share = 0.0
    """Share of them that are none: states that random actions came to. To see how wrong examples may be."""
    out: Path | None = None
    """Write them to this .npz file."""
    picture: Path | None = None
    """Draw a grid of 16 of them to this .png file."""

    def run(self) -> None:
        """Make, save and draw."""
        import numpy as np

        from mural.tasks import find, make
        from mural.tasks.picture import examples_picture, require_png

        if self.picture is not None:
            require_png(self.picture)
        out = self.out
        if out is not None:
            out = out if out.suffix == ".npz" else out.with_name(f"{out.name}.npz")
            require_writable(out)
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
        if out is not None:
            with replacing(out) as scratch, scratch.open("wb") as file:
                np.savez_compressed(file, examples=examples)
            print(out)
        if self.picture is not None:
            print(examples_picture(name, self.picture, seed=self.seed))


@dataclass
class CheckExamples:
    """Read success examples as training would, compare them with states of random steps, and say what looks wrong."""

    env: Positional[str]
    """Short name of a task, or any Gymnasium id."""
    examples: Positional[Path]
    """Your file: .npz, .npy, .csv or .parquet."""
    picture: Path | None = None
    """Draw them among the states of random steps to this .png file."""
    classifier_keys: tuple[str, ...] | None = None
    """Entries of a Dict observation that the classifier sees."""
    classifier_slice: str | None = None
    """Columns of the flattened observation that the classifier sees, as 'start:stop' or '0,2'."""
    imports: Imports = ()
    """Import this module first, to register an environment of your own; repeat the flag for more modules."""
    json: bool = False
    """One JSON object per line and column, and no words."""

    def run(self) -> None:
        """Print a table of the columns, then what is doubtful."""
        import numpy as np

        from mural.inputs.checks import explore
        from mural.inputs.doubts import doubts_about, ordinary_rows
        from mural.inputs.examples import load_examples
        from mural.inputs.spaces import Spaces
        from mural.inputs.world import make_env
        from mural.tasks.picture import require_png

        import_modules(self.imports)
        if self.picture is not None:
            require_png(self.picture)
        env = make_env(self.env)
        keys = None if self.classifier_keys is None else list(self.classifier_keys)
        spaces = Spaces.of(env, keys, self.classifier_slice)
        with plain_warnings():
            loaded = load_examples(self.examples, spaces, task=env)
        states = loaded.states.astype(np.float64)
        walks = explore(env, spaces)
        env.close()
        names = [spaces.column_name(int(column)) for column in spaces.columns]
        walked = walks.visited[:, spaces.columns]
        rows = [
            {
                "column": name, "least": float(f"{x.min():.4g}"), "median": float(f"{np.median(x):.4g}"),
                "most": float(f"{x.max():.4g}"), "random steps": f"{y.min():.4g} to {y.max():.4g}",
            }
            for name, x, y in zip(names, states.T, walked.T, strict=True)
        ]  # fmt: skip
        show(rows, as_json=self.json)
        doubts = doubts_about(spaces, states, walks).texts
        if self.picture is not None:
            from mural.show.example_picture import draw_examples

            title = f"{self.env}: {len(states)} examples of success"
            doubtful = states[ordinary_rows(states, walked)]
            draw_examples(self.picture, names, states, walked, walks.started[:, spaces.columns], title, doubtful)
        if not self.json:
            print(f"{len(states)} examples from {loaded.provenance}")
            print("\n".join(f"warning: {text}" for text in doubts) or "nothing looks wrong with them")
            if self.picture is not None:
                print(self.picture)
