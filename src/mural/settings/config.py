"""The settings of a run: typed, printed, saved, and read back without running any code."""

from __future__ import annotations

import dataclasses
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from mural.agent.replay import Terminations
from mural.agent.sac import SAC
from mural.limits import BELOW_ONE, FINITE, NotNegativeFloat, NotNegativeInt, PositiveInt, Seed, Share, broken
from mural.nml.products import Precision
from mural.rewards import Method, Term, find_method
from mural.rewards.methods.oracle import Reported
from mural.rewards.metric import Units
from mural.typed import ConfigError as ConfigError
from mural.typed import build, merge, plain


@dataclass(frozen=True)
class Loop:
    """How collecting, labelling and learning alternate."""

    epoch_steps: PositiveInt | None = None
    """Environment steps per epoch; the reward learns once per epoch. None: at least 1000, in whole episodes where that
    takes at most 2000; else the last one is cut short."""
    random_steps: NotNegativeInt = 1000
    """Steps with random actions before learning starts; rounded up to whole epochs."""
    steps_per_call: PositiveInt = 50
    """Environment steps between two learning calls; one compiled call makes all updates that these steps are due."""
    noise_correlation: Annotated[float, BELOW_ONE] = 0.0
    """Share of the exploration noise that is carried over to the next step: 0 is white noise."""
    updates_per_step: Annotated[NotNegativeFloat, FINITE] = 1.0
    """SAC updates per environment step."""
    environments: PositiveInt = 1
    """Environments that are stepped side by side."""
    replay_size: PositiveInt = 500_000
    """Transitions that the replay holds; when it is full, new ones overwrite the oldest."""
    pool: PositiveInt = 16_384
    """An epoch learns from this many old transitions at most, and from its own steps; it gives new rewards to them
    and to those that their n-step returns need."""
    rich: Share = 0.0
    """Share of the old transitions in a batch that is drawn by the rank of the reward, high ones first: what is new or
    good is rare in the replay, and there the values have to be learned. 0: all are drawn uniformly."""
    rest: Share = 1.0
    """While more than this share of the latest training episodes ends in what the classifier takes for success, the
    reward stays as it is (what is visited then is no longer failure), and the agent makes the fewer updates, the fewer
    episodes fail. 1: both always learn."""
    stale: bool = False
    """Never renew a reward: keep the one that a state was given when it was visited, as the released code does."""
    terminations: Literal["auto", "absorb", "stop", "bootstrap"] = "auto"
    """What follows when the environment terminates an episode. absorb: the last reward goes on for ever. stop: no more
    reward. bootstrap: as at a time limit, the critic estimates what would have followed. auto: absorb if the reward is
    learned, stop if it is the environment's own."""
    precision: Precision = "float32"
    """How exactly a CPU multiplies layers of 48 and wider. bfloat16 rounds the factors to 8 binary digits and adds up
    in single precision: several times as fast for networks of 512 and wider where the processor has instructions for
    it (AVX-512 BF16 or AMX, see /proc/cpuinfo), slower elsewhere. A GPU multiplies as JAX is set. An exported reward
    or policy is computed in single precision."""
    held_out: Annotated[float, BELOW_ONE] = 0.1
    """Share of your examples that is not learned from: it measures how well the classifier is calibrated."""


@dataclass(frozen=True)
class Watch:
    """What a run evaluates, saves and draws while it trains, and how often."""

    eval_episodes: PositiveInt = 20
    """Episodes per evaluation. The policy takes its most likely actions; the starts are the same each time."""
    eval_every: PositiveInt = 2
    """Epochs between evaluations."""
    checkpoint_every: PositiveInt = 5
    """Epochs between checkpoints."""
    keep: PositiveInt = 2
    """Checkpoints to keep; older ones are deleted."""
    keep_best: bool = False
    """Keep the checkpoint and the policy with the best evaluation, in the folder best/ of the run."""
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
    preset: Literal["fast", "paper", "release"] = "fast"
    """fast: learns on a CPU in minutes. paper: the settings of the paper. release: those of its code of 2021."""
    seed: Seed = 0
    """Seed of all random numbers."""
    steps: PositiveInt = 100_000
    """Environment steps to train for, including the random ones at the start."""
    stop_at_success: Share | None = None
    """Stop early when the mean success of the last 5 evaluations is at least this. None: use all steps."""
    examples: str | None = None
    """File of success examples (.npz, .npy, .csv or .parquet). None: the task makes its own."""
    num_examples: PositiveInt = 150
    """How many examples a task makes, if it makes its own."""
    keep_ordinary: bool = False
    """Learn from examples of yours that look like states that random actions come to, too. False: where they are a
    few, and more likely mistakes than luck, they are left out, with a warning that names them."""
    classifier_keys: tuple[str, ...] | None = None
    """Entries of a Dict observation that the classifier sees. None: the task decides, or all."""
    classifier_slice: str | None = None
    """Columns of the flattened observation that the classifier sees, as 'start:stop' or '0,2'."""
    units: Units = "spread"
    """What the classifier measures distances in: each number of a state by its spread, or raw units."""
    env_scale: Annotated[float, FINITE] = 0.0
    """Factor on the environment's own reward, added to the method's (the double maze hides some). 0: none."""
    reward: Method = field(default_factory=lambda: find_method("mural").config())
    """Settings of the reward, which depend on --method."""
    sac: SAC = field(default_factory=SAC)
    """Settings of the agent, soft actor-critic."""
    loop: Loop = field(default_factory=Loop)
    """How collecting, labelling and learning alternate."""
    watch: Watch = field(default_factory=Watch)
    """How often to evaluate, save and draw."""

    @property
    def terms(self) -> tuple[Term, ...]:
        """The summands of the reward: the method's, and the environment's own if asked for."""
        own = (Term("environment", self.env_scale, Reported("env_reward")),) if self.env_scale else ()
        return (*self.reward.terms(), *own)

    @property
    def terminations(self) -> Terminations:
        """What a termination means in this run."""
        if self.loop.terminations != "auto":
            return self.loop.terminations
        return find_method(self.method).terminations


def validate(config: RunConfig) -> RunConfig:
    """The settings as plain Python values, or a `ConfigError` that names the first one that is wrong, and why."""
    config = plain(config)
    for name, value, words in broken(config):
        raise ConfigError(f"{name} is {value}; it must {words}")
    loop = config.loop
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


def epoch_steps(config: RunConfig, horizon: int | None) -> int:
    """Steps per epoch: as set, or at least 1000 in whole episodes and whole calls.

    Where that would take more than 2000, the last episode is cut short.
    """
    if config.loop.epoch_steps is not None:
        return config.loop.epoch_steps
    episode, call = (horizon or 1000) * config.loop.environments, config.loop.steps_per_call
    both = math.lcm(episode, call)
    if both <= 2000:
        return math.ceil(1000 / both) * both
    return math.ceil(math.ceil(1000 / episode) * episode / call) * call


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
