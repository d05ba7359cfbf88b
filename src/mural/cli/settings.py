"""The flags of `mural train`: all settings of a run, with the defaults of the task, method and preset asked for."""

from __future__ import annotations

import dataclasses
import inspect
import math
import typing
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import tyro

from mural import tasks
from mural.cli import words
from mural.cli.folders import Imports, import_modules
from mural.errors import MuralError, did_you_mean
from mural.inputs.world import require_known
from mural.rewards import find_method
from mural.settings import presets
from mural.settings.config import ConfigError, RunConfig, epoch_steps, read, to_dict, validate
from mural.typed import leaves

TASK = tyro.conf.arg(metavar="TASK", help_behavior_hint="(required, unless --config names it)")
PRESETS = typing.get_args(typing.get_type_hints(RunConfig)["preset"])


class NoTaskError(MuralError, ValueError):
    """No task was named."""


@dataclass(frozen=True)
class Flags(RunConfig):
    """Learn a task from examples of success.

    A setting that is not given here is taken from --config, then from the preset of the task and method (`mural methods
    --task TASK` lists it), then from the defaults. The settings under "reward" are those of the chosen method: give
    --method together with --help to see them.
    """

    task: Annotated[str, tyro.conf.Positional, TASK] = "zigzag-maze"
    """Short name of a task, or any Gymnasium id."""
    out: Path | None = None
    """Folder of the run. None: runs/TASK-METHOD-SEED."""
    config: Path | None = None
    """File of settings (.json or .toml), such as the config.json of another run; flags override it."""
    keep_best: bool = False
    """Keep the checkpoint and the policy with the best evaluation, in best/; short for --watch.keep-best."""
    imports: Imports = ()
    """Import this module first, to register your own methods or environments; repeat the flag for more modules."""


@dataclass(frozen=True)
class Parsed:
    """What a user asked for."""

    config: RunConfig
    out: Path
    changed: tuple[tuple[str, Any, str], ...]
    """(setting, value, where it comes from) of all settings that differ from the defaults."""


def parse(argv: Sequence[str]) -> Parsed:
    """Settings from flags over a file over presets over defaults. Exits for --help, as tyro does."""
    import_modules(values_of(argv, "--import"))
    given = {name: values_of(argv, f"--{name}")[-1:] for name in ("method", "preset", "config")}
    file = read_settings(Path(given["config"][0])) if given["config"] else {}
    if given["preset"] and file.get("preset", given["preset"][0]) != given["preset"][0]:
        raise ConfigError(
            f"{given['config'][0]} is of the {file['preset']} preset and would override what --preset "
            f"{given['preset'][0]} sets: leave out --preset, or --config"
        )
    method = (given["method"] or [file.get("method", "mural")])[0]
    preset = (given["preset"] or [file.get("preset", "fast")])[0]
    over = {name: value for name, value in file.items() if name not in ("task", "method", "preset")}
    if method != file.get("method", method):  # settings of another method mean nothing to this one
        over = {name: value for name, value in over.items() if name.partition(".")[0] != "reward"}
    argv, task = task_first(argv, method, file.get("task"))
    known = preset if preset in PRESETS else "fast"  # tyro refuses a wrong one below, with its flag
    start = presets.resolve(task, method, known, over)
    flags = tyro.cli(
        flags_of(method), default=as_flags(start, method), args=argv, prog="mural train",
        description=inspect.cleandoc(Flags.__doc__ or ""), config=(tyro.conf.HelptextFromCommentsOff,),
    )  # fmt: skip
    settings = {f.name: getattr(flags, f.name) for f in dataclasses.fields(RunConfig)}
    if flags.keep_best:
        settings["watch"] = dataclasses.replace(flags.watch, keep_best=True)
    config = validate(RunConfig(**settings))
    require_known(config.task)
    warn_if_random(config)
    layers = {"preset": presets.resolve(task, method, known), "file": start, "flag": config}
    return Parsed(config, flags.out or default_folder(config), tuple(changes(config, layers)))


def read_settings(path: Path) -> dict[str, Any]:
    """The settings of a file, or a `ConfigError` if what decides about all others is not a known name."""
    values = read(path)
    for name in ("task", "method", "preset"):
        if name in values and not isinstance(values[name], str):
            raise ConfigError(f"{path}: {name} is {values[name]!r}; it must be text")
    preset = values.get("preset", "fast")
    if preset not in PRESETS:
        hint = did_you_mean(preset, PRESETS)
        raise ConfigError(f"{path}: there is no preset {preset!r}; {hint}there are {', '.join(PRESETS)}")
    return values


def values_of(argv: Sequence[str], flag: str) -> list[str]:
    """The word after each occurrence of a flag; `--flag=value` too."""
    spread = [part for word in argv for part in (word.split("=", 1) if word.startswith(f"{flag}=") else [word])]
    return [value for word, value in pairwise(spread) if word == flag and not value.startswith("-")]


def warn_if_random(config: RunConfig) -> None:
    """Warn if all steps have random actions, which come in whole epochs."""
    epoch = epoch_steps(config, horizon=None)
    random_steps = max(1, math.ceil(config.loop.random_steps / epoch)) * epoch
    if config.steps <= random_steps:
        warnings.warn(
            f"all of the {config.steps} steps have random actions: nothing will be learned; ask for more than "
            f"{random_steps} (--steps), or for fewer random ones (--loop.random-steps, --loop.epoch-steps)",
            stacklevel=2,
        )


def task_first(argv: Sequence[str], method: str, default: str | None) -> tuple[list[str], str]:
    """The arguments with the task in front, as a list of values would swallow it; and the task.

    With --help they are without it: tyro leaves out of the help what was given.
    """
    place = words.task_place(argv, dict(words.flags_of(flags_of(method))), is_task)
    asks = bool({"-h", "--help"} & set(argv))
    if place is not None:
        return [*([] if asks else [argv[place]]), *argv[:place], *argv[place + 1 :]], argv[place]
    if default is not None or asks:
        return list(argv), default or "zigzag-maze"
    raise NoTaskError(
        "name a task: `mural train zigzag-maze`, for instance (before lists such as --classifier-keys a b); "
        "`mural tasks` lists them"
    )


def is_task(name: str) -> bool:
    """Whether there is a task, or an environment, of this name."""
    try:
        require_known(name)
    except MuralError:
        return False
    return True


def flags_of(method: str) -> type[Flags]:
    """`Flags` with the settings of one method."""
    config = find_method(method).config
    reward = dataclasses.field(default_factory=config)
    return dataclasses.make_dataclass("Flags", [("reward", config, reward)], bases=(Flags,), frozen=True)


def as_flags(config: RunConfig, method: str) -> Flags:
    """Settings as the defaults of flags."""
    return flags_of(method)(**{f.name: getattr(config, f.name) for f in dataclasses.fields(RunConfig)})


def default_folder(config: RunConfig) -> Path:
    """runs/TASK-METHOD-SEED."""
    return Path("runs") / f"{tasks.file_name(config.task)}-{config.method}-{config.seed}"


def changes(config: RunConfig, layers: Mapping[str, RunConfig]) -> Iterator[tuple[str, Any, str]]:
    """What differs from the defaults, and the layer that says so."""
    plain = RunConfig(task=config.task, method=config.method, reward=find_method(config.method).config())
    before = dict(leaves(to_dict(plain)))
    origin = dict.fromkeys(before, "default")
    for layer, settings in layers.items():
        now = dict(leaves(to_dict(settings)))
        origin |= {name: layer for name, value in now.items() if value != before.get(name)}
        before = now
    for name, value in before.items():
        if origin[name] != "default" and name not in ("task", "method"):
            yield name, value, origin[name]
