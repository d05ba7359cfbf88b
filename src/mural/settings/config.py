"""The settings of a run: typed, printed, saved, and read back without running any code."""

from __future__ import annotations

import dataclasses
import json
import math
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mural.agent.replay import Terminations
from mural.agent.sac import SAC
from mural.errors import MuralError, nearest
from mural.rewards import Method, find_method

# Settings of rewards by name, in whichever part they are; a part's own default is always allowed.
POSITIVE = {
    "hidden", "steps", "batch_size", "learning_rate", "negatives", "kernel_width", "counts_cap", "train_points",
    "adapt_points", "outer_points", "updates_per_epoch", "queries_per_update", "bins", "l2", "outputs", "features",
    "latent", "draws",
}  # fmt: skip
NOT_NEGATIVE = {
    "positives", "first_epochs", "epochs", "query_weight", "step_size", "weight_decay", "mixup", "clip", "centres",
    "newton_steps", "power",
}  # fmt: skip
SHARES = {"outside_share", "beta"}


class ConfigError(MuralError, ValueError):
    """Settings that do not fit together, or are not known; the message says which and what would do."""


@dataclass(frozen=True)
class Loop:
    """How collecting, labelling and learning alternate."""

    epoch_steps: int | None = None
    """Environment steps per epoch; rewards learn once per epoch. None: 1000, or one episode where that is longer."""
    random_steps: int = 1000
    """Steps with uniformly random actions before anything is learned; rounded up to whole epochs."""
    steps_per_call: int = 50
    """Environment steps between two compiled calls; all updates of those steps are fused in one call."""
    updates_per_step: float = 1.0
    """SAC updates per environment step."""
    environments: int = 1
    """Environments stepped side by side."""
    replay_size: int = 500_000
    """Transitions that the replay holds; then the oldest are overwritten."""
    pool: int = 16_384
    """At most so many old states are labelled anew per epoch, and the epoch's batches are drawn from them."""
    stale: bool = False
    """Keep each reward as it was when its state was visited, as the released code does."""
    terminations: Literal["auto", "absorb", "stop", "bootstrap"] = "auto"
    """What an environment's termination means: its last reward for ever, nothing more, or a mere time limit.
    auto: absorb for learned rewards, stop for the environment's own."""
    held_out: float = 0.1
    """Share of the user's examples that is kept back, to measure how well the classifier is calibrated."""


@dataclass(frozen=True)
class Watch:
    """What is looked at along the way, and how often."""

    eval_episodes: int = 5
    """Episodes per evaluation, with the policy's most likely actions and the same starts each time."""
    eval_every: int = 1
    """Epochs between evaluations."""
    checkpoint_every: int = 5
    """Epochs between checkpoints."""
    keep: int = 2
    """Checkpoints that are kept."""
    keep_best: bool = False
    """Keep the checkpoint and the policy with the best evaluation, in the folder best/ of the run."""
    picture_every: int = 10
    """Epochs between pictures of reward and visits (states of two dimensions); 0: none."""
    tensorboard: bool = True
    """Write TensorBoard events."""


@dataclass(frozen=True)
class RunConfig:
    """All settings of one run."""

    task: str = "zigzag-maze"
    """Short name of a task, or any Gymnasium id."""
    method: str = "mural"
    """Where the reward comes from; `mural methods` lists them."""
    preset: Literal["fast", "paper"] = "fast"
    """Sizes for a CPU, or those of the paper."""
    seed: int = 0
    """Seed of everything."""
    steps: int = 100_000
    """Environment steps, the random ones included."""
    stop_at_success: float | None = None
    """Stop when the success of the last 5 evaluations is at least this. None: use all steps."""
    examples: str | None = None
    """File of success examples (.npz or .csv). None: the task's own."""
    num_examples: int = 150
    """How many of its own examples a task makes."""
    classifier_keys: tuple[str, ...] | None = None
    """Entries of a Dict observation that the classifier sees. None: the task's choice, or all."""
    classifier_slice: str | None = None
    """Columns of the flattened observation that the classifier sees, as 'start:stop' or '0,2'."""
    reward: Method = field(default_factory=lambda: find_method("mural").config())
    """Settings of the method."""
    sac: SAC = field(default_factory=SAC)
    """Settings of the agent."""
    loop: Loop = field(default_factory=Loop)
    """Settings of the loop."""
    watch: Watch = field(default_factory=Watch)
    """Evaluation, checkpoints, pictures."""

    @property
    def terminations(self) -> Terminations:
        """What a termination means in this run."""
        if self.loop.terminations != "auto":
            return self.loop.terminations
        return "stop" if find_method(self.method).needs == ("env_reward",) else "absorb"


def validate(config: RunConfig) -> RunConfig:
    """The same settings, or a `ConfigError` that names the first that cannot be."""
    loop, sac = config.loop, config.sac
    positive = {
        "steps": config.steps, "num_examples": config.num_examples, "sac.batch_size": sac.batch_size,
        "sac.n_step": sac.n_step, "sac.learning_rate": sac.learning_rate,
        "sac.initial_temperature": sac.initial_temperature, **{f"sac.hidden[{i}]": h for i, h in enumerate(sac.hidden)},
        "loop.steps_per_call": loop.steps_per_call,
        "loop.environments": loop.environments, "loop.replay_size": loop.replay_size, "loop.pool": loop.pool,
        "watch.eval_episodes": config.watch.eval_episodes, "watch.eval_every": config.watch.eval_every,
        "watch.checkpoint_every": config.watch.checkpoint_every, "watch.keep": config.watch.keep,
    }  # fmt: skip
    for name, value in positive.items():
        if not (math.isfinite(value) and value > 0):
            raise ConfigError(f"{name} is {value}; it must be positive")
    for name, value in {"sac.gamma": sac.gamma, "loop.held_out": loop.held_out}.items():
        if not 0 <= value < 1:
            raise ConfigError(f"{name} is {value}; it must be at least 0 and below 1")
    if not 0 < sac.tau <= 1:
        raise ConfigError(f"sac.tau is {sac.tau}; it must be above 0 and at most 1")
    if sac.temperature is not None and not sac.temperature >= 0:
        raise ConfigError(f"sac.temperature is {sac.temperature}; it must not be negative")
    if loop.pool < sac.n_step:
        raise ConfigError(f"loop.pool ({loop.pool}) must be at least sac.n_step ({sac.n_step})")
    if loop.updates_per_step and not round(loop.steps_per_call * loop.updates_per_step):
        raise ConfigError(
            f"loop.updates_per_step ({loop.updates_per_step}) is less than one update per call: raise it, or "
            f"loop.steps_per_call ({loop.steps_per_call})"
        )
    if loop.updates_per_step < 0 or loop.random_steps < 0 or config.seed < 0:
        raise ConfigError("loop.updates_per_step, loop.random_steps and seed must not be negative")
    if loop.steps_per_call % loop.environments:
        raise ConfigError(
            f"loop.steps_per_call ({loop.steps_per_call}) must be a multiple of loop.environments ({loop.environments})"
        )
    if loop.epoch_steps is not None and loop.epoch_steps % loop.steps_per_call:
        raise ConfigError(
            f"loop.epoch_steps ({loop.epoch_steps}) must be a multiple of loop.steps_per_call ({loop.steps_per_call})"
        )
    validate_part(config.reward, "reward")
    return config


def validate_part(part: Any, where: str) -> None:
    """Raise a `ConfigError` for the first setting of a reward, or of a part of it, that cannot be."""
    for f in dataclasses.fields(part):
        value, name = getattr(part, f.name), f"{where}.{f.name}"
        if dataclasses.is_dataclass(value):
            validate_part(value, name)
        elif value != f.default:
            for number in value if isinstance(value, tuple) else (value,):
                if isinstance(number, int | float) and not isinstance(number, bool):
                    wrong = complaint(f.name, number)
                    if wrong:
                        raise ConfigError(f"{name} is {value}; it must {wrong}")


def complaint(name: str, number: float) -> str:
    """What a number of this name must be and is not, or ''."""
    if math.isnan(number):
        return "be a number"
    if name in POSITIVE and number <= 0:
        return "be positive"
    if name in NOT_NEGATIVE and number < 0:
        return "not be negative"
    return "be from 0 to 1" if name in SHARES and not 0 <= number <= 1 else ""


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
            near = nearest(name, sorted(known), cutoff=0.6)
            hint = f"; did you mean {where}{near}?" if near else f"; known are {', '.join(sorted(known))}"
            raise ConfigError(f"there is no setting {where}{name}{hint}")
        old = getattr(base, name)
        if dataclasses.is_dataclass(old) and isinstance(value, Mapping):
            changes[name] = build(old, value, f"{where}{name}.")
        else:
            changes[name] = convert(hints[name], value, f"{where}{name}")
    return dataclasses.replace(base, **changes)


def convert(hint: Any, value: Any, where: str) -> Any:
    """A value from JSON, Python or NumPy as the annotated type, or a `ConfigError`; 1e3 is a whole number."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
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
    elif hint in (int, str, bool) and type(value) is hint:
        return value
    elif hint is int and isinstance(value, float) and value.is_integer():
        return int(value)
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
