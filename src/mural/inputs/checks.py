"""Look at an environment and its success examples before hours go into training on them."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env as gymnasium_check_env

from mural.errors import MuralError
from mural.inputs.doubts import Walks, doubts_about
from mural.inputs.examples import SuccessExamples, load_examples
from mural.inputs.selection import Selection, SpaceError
from mural.inputs.spaces import Env, Floats, Spaces, Step, StepError, horizon_of, validate_reset, validate_step

RESETS, EACH = 20, 50  # episodes that examples are compared with, and the most random steps of each
SECONDS = 10  # that the walks may take; each goes one step at least
STEPS = 200
SCALES = 1000.0  # ratio of ranges from which on a network hardly sees the smaller column

# What Gymnasium's checker says about good environments, or what is of no consequence here: actions are rescaled, and
# observations may be unbounded. What it says of observations outside their space is said better below.
HARMLESS = (
    "is different from the unwrapped version",
    "symmetric and normalized space",
    "observation space m",
    "is not within the observation space",
    "alternative render modes",
)

TERMINATES = (
    "{count} of {episodes} episodes terminated. If no reward followed an end, an agent that is cut off on success "
    "would learn to hover next to the goal, and one that fails would seek the end. Training "
    "therefore takes a terminal state as absorbing: its reward goes on for ever (loop.terminations). Simplest is an "
    "environment whose episodes end by a time limit only."
)


class EnvError(MuralError, ValueError):
    """An environment that cannot be trained on; the message says what is wrong with it."""


class EnvWarning(UserWarning):
    """An environment that can be trained on, with something about it that one should know."""


class ExamplesWarning(UserWarning):
    """Success examples that can be used but look like a mistake."""


@dataclass(frozen=True)
class EnvReport:
    """What `check_env` found."""

    name: str
    layout: tuple[tuple[str, int, int], ...]
    obs_size: int
    action_size: int
    horizon: int | None
    """Steps until an episode is truncated, where that is known."""
    warnings: tuple[str, ...]

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {start}:{stop}" for name, start, stop in self.layout)
        limit = "no time limit known" if self.horizon is None else f"episodes of {self.horizon} steps"
        lines = [f"{self.name}: {self.obs_size} observations ({parts}), {self.action_size} actions, {limit}"]
        lines += [f"  warning: {text}" for text in self.warnings] or ["  ready for training"]
        return "\n".join(lines)


def check_examples(
    env: Env,
    examples: Any,
    classifier_keys: str | list[str] | None = None,
    classifier_slice: Selection | None = None,
    warn: bool = True,
) -> SuccessExamples:
    """The success examples as training reads them, or an `ExamplesError`; resets and steps `env`.

    Warns (`ExamplesWarning`) on what looks like a mistake: few examples, repeated ones, columns that never change,
    examples that look like states in which episodes start, or like those that random actions come to. (Training leaves
    a few of the last kind out.)
    """
    spaces = Spaces.of(env, classifier_keys, classifier_slice)
    loaded = load_examples(examples, spaces, task=env)
    if warn:
        examine(env, spaces, loaded)
    return loaded


def examine(env: Env, spaces: Spaces, examples: SuccessExamples) -> SuccessExamples:
    """Warn (`ExamplesWarning`) of what looks like a mistake in examples; resets and steps `env`.

    Returns them without those that look like states that random actions come to, if these are few.
    """
    found = doubts_about(spaces, examples.states.astype(np.float64), explore(env, spaces))
    for text in found.texts:
        warnings.warn(text, ExamplesWarning, stacklevel=3)
    return examples.without(found.rows)


def explore(env: Env, spaces: Spaces) -> Walks:
    """Random walks from `RESETS` starts: shorter ones where steps take long."""
    rng, deadline = np.random.default_rng(0), time.monotonic() + SECONDS
    started, visited, whole = [], [], True
    for seed in range(RESETS):
        obs = validate_reset(spaces, env.reset(seed=seed))
        started.append(obs)
        visited.append(obs)
        for number in range(EACH):
            step = _random_step(env, spaces, rng)
            visited.append(step.obs)
            late = time.monotonic() > deadline
            if step.terminated or step.truncated or late:
                whole &= not late or number == EACH - 1
                break
    return Walks(np.array(started, np.float64), np.array(visited, np.float64), whole)


def _random_step(env: Env, spaces: Spaces, rng: np.random.Generator) -> Step:
    # Not env.action_space.sample(): the environment's own generators are not ours to advance.
    return validate_step(spaces, env.step(spaces.to_env(rng.uniform(-1, 1, spaces.action_size).astype(np.float32))))


def require_env(env: Any) -> Env:
    """The same environment, or an `EnvError` if it is something else."""
    if isinstance(env, gymnasium.Env):
        return env
    if isinstance(env, gymnasium.vector.VectorEnv):
        raise SpaceError("this is a vector of environments; pass one of them (training makes its own copies)")
    raise EnvError(f"a {type(env).__name__} is no environment; it has to inherit from gymnasium.Env")


def name_of(env: Env) -> str:
    """The id of an environment, or the name of its class where it has none."""
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__


def check_env(
    env: Env,
    classifier_keys: str | Sequence[str] | None = None,
    classifier_slice: Selection | None = None,
) -> EnvReport:
    """Whether `env` can be trained on: an `EnvError` or `SpaceError` if not, an `EnvWarning` for each doubt.

    `STEPS` random steps show what training would stumble over, in its words; then comes Gymnasium's own checker.
    """
    require_env(env)
    spaces = Spaces.of(env, classifier_keys, classifier_slice)
    try:
        walk, ends = _walk(env, spaces, seed=0)
        doubts = list(_gymnasium_doubts(env))
        again, _ = _walk(env, spaces, seed=0)
    except StepError as error:
        raise EnvError(str(error)) from error
    horizon = horizon_of(env)
    if not np.array_equal(walk, again):
        row = int(np.flatnonzero((walk != again).any(axis=1))[0]) if walk.shape == again.shape else 0
        doubts.append(
            f"after reset(seed=0) and the same actions, observations differ from step {row} on. Take all randomness "
            "from self.np_random, or runs cannot be repeated, nor resumed exactly"
        )
    outside = (walk < spaces.obs_low - 1e-5) | (walk > spaces.obs_high + 1e-5)
    for column in np.flatnonzero(outside.any(axis=0))[:5]:
        seen = walk[outside[:, column], column][0]
        doubts.append(
            f"{spaces.column_name(int(column))} was {seen:g}, outside the observation space "
            f"({spaces.obs_low[column]:g} to {spaces.obs_high[column]:g}): widen the space"
        )
    doubts += _scale_doubts(walk, spaces)
    terminated, truncated = (sum(end[i] for end in ends) for i in (0, 1))
    if terminated:
        doubts.append(TERMINATES.format(count=terminated, episodes=len(ends)))
    if horizon is None and not truncated:
        doubts.append(
            f"no time limit was found, and no episode was truncated in {STEPS} steps; wrap the environment with "
            "gymnasium.wrappers.TimeLimit(env, max_episode_steps=…), or the agent may never be reset"
        )
    for text in doubts:
        warnings.warn(text, EnvWarning, stacklevel=2)
    return EnvReport(name_of(env), spaces.layout, spaces.obs_size, spaces.action_size, horizon, tuple(doubts))


def _gymnasium_doubts(env: Env) -> Iterator[str]:
    """What Gymnasium's checker warns about; an `EnvError` where it fails."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            gymnasium_check_env(env, skip_render_check=True, skip_close_check=True)
    except Exception as error:  # its assertions, and whatever the environment raises under it
        text = str(error)
        if "observation space" in text:
            text += " (the shape, the dtype and the bounds all have to be those of the space: obs.astype(space.dtype))"
        kind = "" if isinstance(error, AssertionError) and text else f"{type(error).__name__}: "
        raise EnvError(f"Gymnasium's checker: {kind}{text}") from error
    for warning in caught:
        text = re.sub(r"\x1b\[\d+m|WARN: ", "", str(warning.message))
        if not any(part in text for part in HARMLESS):
            yield f"Gymnasium's checker: {text}"


def _walk(env: Env, spaces: Spaces, seed: int) -> tuple[Floats, list[tuple[bool, bool]]]:
    """Observations on `STEPS` random steps, and how each episode ended (the last one may not have)."""
    rng = np.random.default_rng(seed)
    walk, ends = [_reset(env, spaces, seed)], []
    for number in range(STEPS):
        try:
            step = _random_step(env, spaces, rng)
        except StepError:
            raise
        except Exception as error:
            raise EnvError(f"step() raised {type(error).__name__} after {number} random steps: {error}") from error
        walk.append(step.obs)
        if step.terminated or step.truncated:
            ends.append((step.terminated, step.truncated))
            walk.append(_reset(env, spaces))
    return np.array(walk), ends


def _reset(env: Env, spaces: Spaces, seed: int | None = None) -> Floats:
    try:
        return validate_reset(spaces, env.reset(seed=seed))
    except StepError:
        raise
    except Exception as error:
        raise EnvError(f"reset(seed={seed}) raised {type(error).__name__}: {error}") from error


def _scale_doubts(walk: Floats, spaces: Spaces) -> Iterator[str]:
    ranges = np.ptp(walk.astype(np.float64), axis=0)
    moving = np.flatnonzero(ranges > 0)
    if not len(moving):
        yield "observations never changed in random steps; do actions have an effect?"
        return
    small, large = (int(moving[i]) for i in (ranges[moving].argmin(), ranges[moving].argmax()))
    if ranges[large] > SCALES * ranges[small]:
        yield (
            f"{spaces.column_name(large)} ranges over {ranges[large]:g} and {spaces.column_name(small)} over "
            f"{ranges[small]:g} in random steps; rescale them to similar sizes with "
            "gymnasium.wrappers.TransformObservation, and the success examples with them"
        )
