"""The settings of a run: typed, printed, saved, and read back without running any code."""

from __future__ import annotations

import dataclasses
import difflib
import json
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from mural.agent.replay import Terminations
from mural.agent.sac import SAC
from mural.limits import BELOW_ONE, FINITE, NotNegativeFloat, NotNegativeInt, PositiveInt, broken
from mural.rewards import Method, find_method


class ConfigError(ValueError):
    """A setting is unknown or wrong, or two do not fit together; the message names it and says what is allowed."""


@dataclass(frozen=True)
class Loop:
    """How collecting, labelling and learning alternate."""

    epoch_steps: PositiveInt | None = None
    """Environment steps per epoch; the reward learns once per epoch. None: 1000, or one episode if that is longer."""
    random_steps: NotNegativeInt = 1000
    """Steps with random actions before learning starts; rounded up to whole epochs."""
    steps_per_call: PositiveInt = 50
    """Environment steps between two learning calls; one compiled call makes all updates that these steps are due."""
    updates_per_step: Annotated[NotNegativeFloat, FINITE] = 1.0
    """SAC updates per environment step."""
    environments: PositiveInt = 1
    """Environments that are stepped side by side."""
    replay_size: PositiveInt = 500_000
    """Transitions that the replay holds; when it is full, new ones overwrite the oldest."""
    pool: PositiveInt = 16_384
    """Each epoch gives new rewards to this many old transitions at most; it learns from them and from its own steps."""
    stale: bool = False
    """Never renew a reward: keep the one that a state was given when it was visited, as the released code does."""
    terminations: Literal["auto", "absorb", "stop", "bootstrap"] = "auto"
    """What follows when the environment terminates an episode. absorb: the last reward goes on for ever. stop: no more
    reward. bootstrap: as at a time limit, the critic estimates what would have followed. auto: absorb if the reward is
    learned, stop if it is the environment's own."""
    held_out: Annotated[float, BELOW_ONE] = 0.1
    """Share of your examples that is not learned from: it measures how well the classifier is calibrated."""


@dataclass(frozen=True)
class Watch:
    """What a run evaluates, saves and draws while it trains, and how often."""

    eval_episodes: PositiveInt = 5
    """Episodes per evaluation. The policy takes its most likely actions; the starts are the same each time."""
    eval_every: PositiveInt = 1
    """Epochs between evaluations."""
    checkpoint_every: PositiveInt = 5
    """Epochs between checkpoints."""
    keep: PositiveInt = 2
    """Checkpoints to keep; older ones are deleted."""
    picture_every: NotNegativeInt = 10
    """Epochs between pictures of reward and visits, for tasks that have a plane; 0: draw none."""
    tensorboard: bool = True
    """Write TensorBoard events."""


@dataclass(frozen=True)
class RunConfig:
    """All settings of one run."""

    task: str = "zigzag-maze"
    """Short name of a task, or any Gymnasium id."""
    method: str = "mural"
    """What the reward is; `mural methods` lists the choices."""
    preset: Literal["fast", "paper"] = "fast"
    """fast: networks and batches sized for a CPU. paper: the sizes of the paper."""
    seed: NotNegativeInt = 0
    """Seed of all random numbers."""
    steps: PositiveInt = 100_000
    """Environment steps to train for, including the random ones at the start."""
    stop_at_success: float | None = None
    """Stop early when the mean success of the last 5 evaluations is at least this. None: use all steps."""
    examples: str | None = None
    """File of success examples (.npz or .csv). None: the task makes its own."""
    num_examples: PositiveInt = 150
    """How many examples a task makes, if it makes its own."""
    classifier_keys: tuple[str, ...] | None = None
    """Entries of a Dict observation that the classifier sees. None: the task decides, or all."""
    classifier_slice: str | None = None
    """Columns of the flattened observation that the classifier sees, as 'start:stop' or '0,2'."""
    reward: Method = field(default_factory=lambda: find_method("mural").config())
    """Settings of the reward, which depend on --method."""
    sac: SAC = field(default_factory=SAC)
    """Settings of the agent, soft actor-critic."""
    loop: Loop = field(default_factory=Loop)
    """How collecting, labelling and learning alternate."""
    watch: Watch = field(default_factory=Watch)
    """How often to evaluate, save and draw."""

    @property
    def terminations(self) -> Terminations:
        """What a termination means in this run."""
        if self.loop.terminations != "auto":
            return self.loop.terminations
        return "stop" if find_method(self.method).needs == ("env_reward",) else "absorb"


def validate(config: RunConfig) -> RunConfig:
    """The settings as plain Python values, or a `ConfigError` that names the first one that is wrong, and why."""
    config = plain(config)
    for name, value, words in broken(config):
        raise ConfigError(f"{name} is {value}; it must {words}")
    loop, sac = config.loop, config.sac
    if loop.pool < sac.n_step:
        raise ConfigError(f"loop.pool ({loop.pool}) must be at least sac.n_step ({sac.n_step})")
    if loop.updates_per_step and not round(loop.steps_per_call * loop.updates_per_step):
        raise ConfigError(
            f"loop.updates_per_step ({loop.updates_per_step}) is less than one update per call: raise it, or "
            f"loop.steps_per_call ({loop.steps_per_call})"
        )
    if loop.steps_per_call % loop.environments:
        raise ConfigError(
            f"loop.steps_per_call ({loop.steps_per_call}) must be a multiple of loop.environments ({loop.environments})"
        )
    if loop.epoch_steps is not None and loop.epoch_steps % loop.steps_per_call:
        raise ConfigError(
            f"loop.epoch_steps ({loop.epoch_steps}) must be a multiple of loop.steps_per_call ({loop.steps_per_call})"
        )
    return config


def plain(value: Any) -> Any:
    """A NumPy number as Python's own, also inside tuples and settings: JSON knows no others. Else the same object."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        return tuple(map(plain, value)) if any(plain(item) is not item for item in value) else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        before = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
        changes = {name: plain(old) for name, old in before.items() if plain(old) is not old}
        return dataclasses.replace(value, **changes) if changes else value
    return value


def to_dict(config: Any) -> dict[str, Any]:
    """Nested plain values, as JSON has them."""
    return json.loads(json.dumps(dataclasses.asdict(config)))


def from_dict(values: Mapping[str, Any]) -> RunConfig:
    """Settings from nested values; what is missing has the method's default, what is unknown is an error."""
    method = find_method(str(values.get("method", "mural")))
    return validate(build(RunConfig(reward=method.config()), values))


def overlay(config: RunConfig, values: Mapping[str, Any]) -> RunConfig:
    """The settings with some nested values replaced."""
    return from_dict(merge(to_dict(config), values))


def merge(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the entries of `over`, nested ones entry by entry; dotted names ('sac.gamma') are nested too."""
    result = dict(base)
    for name, value in over.items():
        head, _, rest = name.partition(".")
        value = {rest: value} if rest else value
        old = result.get(head)
        result[head] = merge(old if isinstance(old, dict) else {}, value) if isinstance(value, Mapping) else value
    return result


def build(base: Any, values: Mapping[str, Any], where: str = "") -> Any:
    """A dataclass with some values replaced, within dataclasses that it holds one by one; checked by annotations."""
    hints = typing.get_type_hints(type(base))
    known = {f.name for f in dataclasses.fields(base) if f.init}
    changes = {}
    for name, value in values.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {where}{near[0]}?" if near else f"; known are {', '.join(sorted(known))}"
            raise ConfigError(f"there is no setting {where}{name}{hint}")
        old = getattr(base, name)
        if dataclasses.is_dataclass(old) and isinstance(value, Mapping):
            changes[name] = build(old, value, f"{where}{name}.")
        else:
            changes[name] = convert(hints[name], value, f"{where}{name}")
    return dataclasses.replace(base, **changes)


def convert(hint: Any, value: Any, where: str) -> Any:
    """A JSON value as the annotated type, or a `ConfigError`."""
    origin, arguments, value = typing.get_origin(hint), typing.get_args(hint), plain(value)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint) and isinstance(value, Mapping):
        return build(hint(), value, f"{where}.")
    if origin is Literal:
        if value in arguments:
            return value
    elif origin in (typing.Union, types.UnionType):
        for option in arguments:
            try:
                return convert(option, value, where)
            except ConfigError:
                continue
    elif origin is tuple and isinstance(value, list | tuple):
        kinds = [arguments[0]] * len(value) if arguments[1:] == (...,) else arguments
        if len(kinds) == len(value):
            return tuple(convert(kind, item, where) for kind, item in zip(kinds, value, strict=True))
    elif hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    elif hint is int and isinstance(value, float) and value.is_integer():
        return int(value)
    elif hint in (int, str, bool) and type(value) is hint:
        return value
    elif hint is type(None) and value is None:
        return None
    raise ConfigError(f"{where} is {value!r}; that is not {getattr(hint, '__name__', hint)}")


def read(path: Path) -> dict[str, Any]:
    """Nested values from a .json or .toml file."""
    try:
        text = path.read_text()
        values = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except FileNotFoundError:
        raise ConfigError(f"there is no file {path}") from None
    except ValueError as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{path} must hold a table of settings")
    return values
