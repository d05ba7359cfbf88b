"""Stepping the environments: actions out, rows of the replay in, and nothing broken gets past."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mural.agent import view as views
from mural.agent.policy import NumpyPolicy
from mural.agent.replay import COLUMNS, Rows, empty_rows
from mural.agent.view import View
from mural.errors import MuralError
from mural.inputs.spaces import Env, Spaces, StepError, validate_reset, validate_step
from mural.inputs.world import World

Floats = NDArray[np.float32]
Act = Callable[[Floats, Floats], Floats]
"""(observations, those one step before) → actions."""

EVALUATION = (0, 3)  # the stream of seeds of the episodes of evaluations
WANDER = 1.5  # tanh(1.5 n) of a normal n is spread over all of (−1, 1)


class EnvironmentFailure(MuralError, RuntimeError):
    """The environment raised, or gave something that cannot be learned from. The transition is saved."""


class PolicyFailure(MuralError, RuntimeError):
    """The policy's actions are no longer finite: the environment is not to blame."""


def seeds(seed: int, *stream: int, count: int) -> list[int]:
    """`count` independent 31-bit seeds of a stream, e.g. of an epoch."""
    return [int(s) for s in np.random.SeedSequence([seed, *stream]).generate_state(count) & 0x7FFFFFFF]


def starts(seed: int, episodes: int) -> list[int]:
    """Seeds of the episodes that a run of this seed is evaluated from: the same ones each time."""
    return seeds(seed, *EVALUATION, count=episodes)


def reports(info: dict[str, Any], obs: Floats, columns: NDArray[np.int64]) -> dict[str, Any]:
    """What the environment tells of a transition, by the names of the replay's columns: NaN where it does not, and the
    first two entries of what the classifier sees for the place."""
    told: dict[str, Any] = {}
    for name, column in COLUMNS.items():
        if column.report:
            value = next((info[entry] for entry in column.report if entry in info), None)
            told[name] = np.nan if value is None else float(value)
    xy = info.get("xy")
    if xy is None:
        seen = obs[columns[:2]]
        xy = np.pad(seen, (0, 2 - len(seen)))
    place = np.asarray(xy, np.float32)
    if np.isinf(list(told.values())).any() or place.shape != (2,) or not np.isfinite(place).all():
        found = ", ".join(f"{name} {value}" for name, value in {**told, "xy": xy}.items())
        raise StepError(f"info has {found}; finite numbers are needed")
    return told | {"xy": place}


class Ending(NamedTuple):
    """How an episode ended."""

    obs: Floats  # [o] what was observed last
    success: float
    distance: float
    length: float
    cut: bool  # by the end of an epoch, not by the environment


class Collector:
    """Environments in mid-episode. `restart` at an epoch's start makes what follows a function of its seeds alone."""

    def __init__(self, envs: Sequence[Env], spaces: Spaces, failures: Path | None = None) -> None:
        self.envs, self.spaces, self.failures = envs, spaces, failures
        self.obs = np.zeros((len(envs), spaces.obs_size), np.float32)
        self.before = self.obs.copy()
        self.step = np.zeros(len(envs), np.int32)
        self.ended: list[Ending] = []
        self.terminations = 0

    def restart(self, seed_of: Sequence[int]) -> None:
        """Begin a new episode everywhere."""
        for i, seed in enumerate(seed_of):
            self._reset(i, seed)
        self.ended = []

    @property
    def episodes(self) -> list[Ending]:
        """How the episodes since `restart` ended; those that were only cut short count if there are no others."""
        return [one for one in self.ended if not one.cut] or self.ended

    def report(self) -> dict[str, float]:
        """What these ended with, in the mean; what the environment does not report is left out."""
        names = {"success": "train/success", "distance": "train/distance", "length": "train/length"}
        found = self.episodes
        row = {new: float(np.mean([getattr(one, old) for one in found])) for old, new in names.items() if found}
        return {name: value for name, value in row.items() if not np.isnan(value)}

    def _reset(self, i: int, seed: int | None = None) -> None:
        try:
            self.obs[i] = validate_reset(self.spaces, self.envs[i].reset(seed=seed))
        except Exception as error:
            raise self._failure(i, None, None, error, "reset: ") from error
        self.before[i] = self.obs[i]
        self.step[i] = 0

    def collect(self, rows: int, act: Act, *, cut: bool = False, reset: bool = True) -> Rows:
        """`rows` steps of every environment; `cut` ends all episodes with the last row, `reset` begins new ones."""
        block = empty_rows((rows, len(self.envs)), self.spaces.obs_size, self.spaces.action_size, np.zeros)
        for t in range(rows):
            block.obs[t], block.action[t], block.step[t] = self.obs, act(self.obs, self.before), self.step
            if not np.isfinite(block.action[t]).all():
                raise PolicyFailure(f"the policy's actions are {block.action[t].tolist()}")
            for i, env in enumerate(self.envs):
                result: Any = None
                try:
                    result = env.step(self.spaces.to_env(block.action[t, i]))
                    after, reward, ended, truncated, info = validate_step(self.spaces, result)
                    told = reports(info, after, self.spaces.columns)
                except Exception as error:
                    raise self._failure(i, block.action[t, i], result, error) from error
                for name, value in told.items():
                    getattr(block, name)[t, i] = value
                block.next_obs[t, i], block.env_reward[t, i], block.terminated[t, i] = after, reward, ended
                self.terminations += ended
                self.before[i], self.obs[i] = self.obs[i], after
                self.step[i] += 1
                if ended or truncated or (cut and t == rows - 1):
                    block.last[t, i] = True
                    length, short = float(self.step[i]), not (ended or truncated)
                    self.ended.append(Ending(after, told["success"], told["distance"], length, short))
                    if reset and not (cut and t == rows - 1):
                        self._reset(i)
        return block

    def _failure(
        self, i: int, action: Floats | None, result: Any, error: Exception, when: str = ""
    ) -> EnvironmentFailure:
        """The named error, with what was going on saved to files."""
        where = ""
        if self.failures is not None:
            self.failures.mkdir(parents=True, exist_ok=True)
            path = self.failures / "transition.npz"
            found = [] if result is None else [repr(result)]
            np.savez(
                path,
                obs=self.obs[i],
                action=np.zeros(0, np.float32) if action is None else self.spaces.to_env(action),
                step=self.step[i],
                returned=np.array(found, dtype=np.str_),
            )
            trace = self.failures / "traceback.txt"
            trace.write_text("".join(traceback.format_exception(error)))
            where = f" The transition is in {path}, the traceback in {trace}."
        named = [] if isinstance(error, StepError) else [type(error).__name__]
        why = ": ".join([*named, str(error)] if str(error) else named)
        return EnvironmentFailure(
            f"environment {i} failed at step {int(self.step[i])} of its episode: {when}{why}.{where}"
        )


class Noise:
    """Standard normal draws [n, a], each correlated with the one before: n ← ρ n + √(1 − ρ²) ξ. ρ = 0 is white."""

    def __init__(self, rng: np.random.Generator, environments: int, action_size: int, correlation: float) -> None:
        self.rng, self.shape, self.correlation = rng, (environments, action_size), np.float32(correlation)
        self.fresh = np.sqrt(np.float32(1.0) - self.correlation**2)
        self.now = self._draw() if correlation else np.zeros(self.shape, np.float32)

    def _draw(self) -> Floats:
        return self.rng.standard_normal(self.shape, dtype=np.float32)

    def __call__(self) -> Floats:
        """The next draw."""
        self.now = self.correlation * self.now + self.fresh * self._draw()
        return self.now


def random_actions(noise: Noise) -> Act:
    """Without a policy: uniform over the whole box, or, if the noise is correlated, its own wanderings in it."""
    if noise.correlation:
        return lambda obs, before: np.tanh(np.float32(WANDER) * noise())
    return lambda obs, before: noise.rng.uniform(-1, 1, noise.shape).astype(np.float32)


def policy_actions(policy: NumpyPolicy, noise: Noise) -> Act:
    """Drawn from the policy, with this noise."""
    return lambda obs, before: policy.perturbed(obs, noise(), before)


def first_view(world: World, blocks: Sequence[Rows]) -> View:
    """What one is, for the agent's networks: by the space's bounds, the first transitions and the examples."""
    spaces, examples = world.spaces, world.problem.example_obs
    if examples is None and len(world.problem.examples):
        examples = np.full((len(world.problem.examples), spaces.obs_size), np.nan, np.float32)
        examples[:, list(world.columns)] = world.problem.examples
    obs, next_obs = (
        np.concatenate([np.asarray(getattr(block, name)).reshape(-1, spaces.obs_size) for block in blocks])
        for name in ("obs", "next_obs")
    )
    return views.measure(obs, next_obs, examples, spaces.obs_low, spaces.obs_high)
