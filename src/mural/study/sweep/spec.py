"""What a sweep is to run: a TOML file (or flags) becomes a list of runs with checked settings, in their order."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from mural import tasks
from mural.errors import MuralError, did_you_mean
from mural.inputs.world import require_known
from mural.rewards import UnknownMethodError, find_method
from mural.settings import presets
from mural.settings.config import RunConfig, read, validate
from mural.typed import ConfigError, build, hint_of

PRESETS = typing.get_args(presets.Preset)
PLAIN = ""  # the name of no variant
# And so they are on tasks of 100 steps that come to rest and are no grid.
BEFORE = {"sac.gamma": 0.99, "sac.n_step": 1, "sac.motion": False, "sac.waves": 0}
OTHERWISE = {"ant-maze": tuple(BEFORE), "shuffled-maze": ("sac.waves",)}  # where a task settles on something else


class SpecError(MuralError, ValueError):
    """A sweep that cannot be run as it is written; the message says which entry and what would do."""


@dataclass(frozen=True)
class Block:
    """Tasks × methods × seeds × variants. What is empty is as in [sweep]."""

    tasks: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    variants: tuple[str, ...] = (PLAIN,)


@dataclass(frozen=True)
class VariantTable:
    """A table [variants.NAME]: only for these tasks, methods and seeds, if any are named."""

    tasks: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    preset: str | None = None


@dataclass(frozen=True)
class Variant(VariantTable):
    """Changed settings under a name."""

    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SweepTable:
    """The table [sweep]: where runs and results go, and what blocks and variants start from."""

    name: str = "sweep"
    out: str = ""
    results: str = ""
    preset: str = "fast"
    imports: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    methods: tuple[str, ...] = ("mural",)
    seeds: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Sweep(SweepTable):
    """All that a file says."""

    steps: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    variants: Mapping[str, Variant] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True)
class Run:
    """One run of a sweep."""

    name: str
    task: str
    method: str
    variant: str
    seed: int
    config: RunConfig
    words: tuple[str, ...]
    """What follows `mural train`, but for --out."""
    folder: Path
    results: Path
    imports: tuple[str, ...] = ()

    @property
    def log(self) -> Path:
        """What its processes printed."""
        return self.folder.with_name(f"{self.name}.log")

    @property
    def result(self) -> Path:
        """Its result file."""
        return self.results / f"{self.name}.json"


def load(path: Path) -> Sweep:
    """The sweep in a file; nothing of its tasks, methods and settings is looked at yet."""
    if path.suffix != ".toml":
        raise SpecError(f"{path}: a sweep is a .toml file; docs/clusters.md has an example")
    try:
        return parse(read(path), str(path), path.stem)
    except ConfigError as error:
        raise SpecError(str(error)) from None


def parse(values: Mapping[str, Any], where: str = "sweep", name: str = "sweep") -> Sweep:
    """A sweep from nested values."""
    unknown(values, ("sweep", "variants", "block"), where)
    table = {"name": name, **as_table(values.get("sweep", {}), f"{where}: [sweep]")}
    steps, settings = table.pop("steps", {}), as_table(table.pop("set", {}), f"{where}: sweep.set")
    sweep = checked(SweepTable(), table, f"{where}: sweep.")
    variants = {}
    for title, entry in as_table(values.get("variants", {}), f"{where}: [variants]").items():
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", title):
            raise SpecError(f"{where}: variants.{title!r} is part of file names: use letters, digits, '.', '_', '-'")
        own = as_table(entry, f"{where}: [variants.{title}]")
        changed = flat(as_table(own.pop("set", {}), f"{where}: variants.{title}.set"))
        variants[title] = Variant(**vars(checked(VariantTable(), own, f"{where}: variants.{title}.")), settings=changed)
    blocks = tuple(checked(Block(), entry, f"{where}: block.") for entry in values.get("block", ()))
    for used in {name for block in blocks for name in block.variants} - {PLAIN}:
        if used not in variants:
            hint = did_you_mean(used, variants)
            raise SpecError(
                f"{where}: a block names the variant {used!r}, which is not there; {hint}add [variants.{used}]"
            )
    budgets = {"*": steps} if isinstance(steps, int) else as_table(steps, f"{where}: sweep.steps")
    places = {"out": sweep.out or f"runs/{sweep.name}", "results": sweep.results or f"results/{sweep.name}"}
    return Sweep(**vars(sweep) | places, steps=budgets, settings=flat(settings), variants=variants, blocks=blocks)


def plan(sweep: Sweep, only: str = "*", part: str = "1/1") -> list[Run]:
    """All runs, seed by seed, and for each seed in the order of the file: methods, then tasks.

    `only` chooses by name (a glob); `part` is I/N: the I-th of N shares, for N machines.
    """
    for task in sweep.steps:  # not while the file is read, as its imports may register them
        known_task(task, f"{sweep.name}: sweep.steps")
    runs: dict[str, Run] = {}
    for block in sweep.blocks or (Block(variants=(PLAIN, *sweep.variants)),):
        for run in combinations(sweep, block):
            other = runs.setdefault(run.name, run)
            if (other.method, other.variant) != (run.method, run.variant):
                raise SpecError(
                    f"{run.name} would be the name of {run.method} with variant {run.variant!r} and of {other.method} "
                    f"with variant {other.variant!r}: rename the variant"
                )
    if not runs:
        raise SpecError(f"{sweep.name} has no runs: name tasks, methods and seeds in [sweep] or in a [[block]]")
    ordered = sorted(runs.values(), key=lambda run: run.seed)
    share, shares = numbers(part)
    chosen = [run for run in ordered[share - 1 :: shares] if fnmatchcase(run.name, only)]
    if not chosen and only != "*":
        hint = did_you_mean(only.strip("*"), runs)
        raise SpecError(
            f"--only {only} fits none of the {len(ordered[share - 1 :: shares])} runs; {hint}`--dry-run` lists them"
        )
    return chosen


def combinations(sweep: Sweep, block: Block) -> Iterator[Run]:
    """The runs of a block: variants, methods, tasks, seeds, in this order."""
    for title in block.variants:
        variant = sweep.variants.get(title, Variant())
        for method in chosen(block.methods or sweep.methods, variant.methods, bool(block.methods)):
            for task in chosen(block.tasks or sweep.tasks, variant.tasks, bool(block.tasks)):
                for seed in chosen(block.seeds or sweep.seeds, variant.seeds, bool(block.seeds)):
                    yield one(sweep, title, variant, method, task, seed)


def chosen(all_: Sequence[Any], some: Sequence[Any], own: bool) -> Sequence[Any]:
    """A variant's own list takes the place of the sweep's; a block's own list is cut down to it."""
    return [entry for entry in all_ if entry in some] if own and some else some or all_


def one(sweep: Sweep, title: str, variant: Variant, method: str, task: str, seed: int) -> Run:
    """A run, its settings checked."""
    where = f"{sweep.name}{f', variant {title}' if title else ''}"
    known_task(task, where)
    known_method(method, where)
    short = tasks.file_name(task)
    preset = variant.preset or sweep.preset
    if preset not in PRESETS:
        raise SpecError(f"{where}: there is no preset {preset!r}; there are {', '.join(PRESETS)}")
    budget = sweep.steps.get(task, sweep.steps.get("*"))
    given = {**({} if budget is None else {"steps": budget}), **sweep.settings, **variant.settings}
    settings = {name: filled(value, task=short, seed=seed) for name, value in given.items()}
    try:
        config = validate(presets.resolve(task, method, preset, {**settings, "seed": seed}))
    except ConfigError as error:
        raise SpecError(f"{where}, {task} with {method}: {error}") from None
    words = [task, "--method", method, "--seed", str(seed), *(["--preset", preset] if preset != "fast" else [])]
    words += [word for name, value in settings.items() for word in flag(config, name, value)]
    words += [word for module in sweep.imports for word in ("--import", module)]
    name = "-".join(filter(None, (short, method, title, str(seed))))
    out, results = Path(sweep.out), Path(sweep.results)
    return Run(name, task, method, title, seed, config, tuple(words), out / name, results, sweep.imports)


def filled(value: Any, **names: object) -> Any:
    """A setting's value with {task} and {seed} put in; "None" is None, which TOML has no word for."""
    if not isinstance(value, str):
        return value
    for name, text in names.items():
        value = value.replace(f"{{{name}}}", str(text))
    return None if value == "None" else value


def flag(config: RunConfig, name: str, value: Any) -> list[str]:
    """A setting as words of the command line. One that may also be None takes True or False as a value."""
    above, dot, last = name.replace("_", "-").rpartition(".")
    if hint_of(config, name) is bool:
        return [f"--{above}{dot}{last if value else f'no-{last}'}"]
    return [f"--{above}{dot}{last}", *(map(str, value) if isinstance(value, list | tuple) else [str(value)])]


def same(name: str, one: Any, other: Any, task: str = "") -> bool:
    """Whether two values of a setting are one. What a run now settles itself (None), runs had fixed before.

    Not on tasks of long episodes or with hidden velocities, where a run would settle it otherwise.
    """
    if one == other:
        return True
    return name in BEFORE and name not in OTHERWISE.get(task, ()) and {one, other} == {None, BEFORE[name]}


def flat(values: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Nested tables by dotted names."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= flat(value, f"{above}{name}.") if isinstance(value, Mapping) else {f"{above}{name}": value}
    return found


def known_task(name: str, where: str) -> None:
    """An error with the nearest name, if there is no such task."""
    try:
        if name != "*":
            require_known(name)
    except tasks.UnknownTaskError as error:
        raise SpecError(f"{where}: {error}") from None


def known_method(name: str, where: str) -> None:
    """An error with the nearest name, if there is no such method."""
    try:
        find_method(name)
    except UnknownMethodError as error:
        raise SpecError(f"{where}: {error}") from None


def unknown(values: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    """An error for the first entry that is not known."""
    for name in values:
        if name not in known:
            raise SpecError(
                f"{where}: there is no table {name!r}; {did_you_mean(name, known)}there are {', '.join(known)}"
            )


def as_table(values: Any, where: str) -> dict[str, Any]:
    """A table of its own, or an error."""
    if not isinstance(values, Mapping):
        raise SpecError(f"{where} must be a table, not {values!r}")
    return dict(values)


def checked(base: Any, values: Any, where: str) -> Any:
    """A dataclass filled from a table, or a `SpecError`."""
    try:
        return build(base, as_table(values, where), where)
    except ConfigError as error:
        raise SpecError(str(error)) from None


def numbers(part: str) -> tuple[int, int]:
    """I and N of I/N."""
    found = re.fullmatch(r"(\d+)/(\d+)", part)
    share, shares = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= share <= shares:
        raise SpecError(f"--part {part}: write it as I/N with I from 1 to N, e.g. --part 1/4")
    return share, shares
