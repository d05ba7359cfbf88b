"""Stepping the environments: actions out, rows of the replay in, and nothing broken gets past."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mural.agent.policy import NumpyPolicy
from mural.agent.replay import Rows
from mural.errors import MuralError
from mural.inputs.spaces import Env, Spaces, StepError, validate_reset, validate_step

Floats = NDArray[np.float32]
Act = Callable[[Floats], Floats]

COLUMNS = ("env_reward", "success", "distance", "l2")


class EnvironmentFailure(MuralError, RuntimeError):
    """The environment raised, or gave something that cannot be learned from. The transition is saved."""


class PolicyFailure(MuralError, RuntimeError):
    """The policy's actions are no longer finite: the environment is not to blame."""


def seeds(seed: int, *stream: int, count: int) -> list[int]:
    """`count` independent 31-bit seeds of a stream, e.g. of an epoch."""
    return [int(s) for s in np.random.SeedSequence([seed, *stream]).generate_state(count) & 0x7FFFFFFF]


def reports(info: dict[str, Any], obs: Floats, columns: NDArray[np.int64]) -> tuple[float, float, float, Floats]:
    """success, distance, l2 and place of a transition, as far as the environment tells (else NaN, and the first two
    entries of what the classifier sees for the place)."""
    distance = float(info.get("distance", np.nan))
    l2 = float(info.get("l2", distance))
    told = info.get("is_success", info.get("success"))
    success = np.nan if told is None else float(told)
    xy = info.get("xy")
    if xy is None:
        seen = obs[columns[:2]]
        xy = np.pad(seen, (0, 2 - len(seen)))
    place = np.asarray(xy, np.float32)
    if np.isinf([success, distance, l2]).any() or place.shape != (2,) or not np.isfinite(place).all():
        raise StepError(f"info has success {told}, distance {distance}, l2 {l2}, xy {xy}; finite numbers are needed")
    return success, distance, l2, place


class Collector:
    """Environments in mid-episode. `restart` at an epoch's start makes what follows a function of its seeds alone."""

    def __init__(self, envs: Sequence[Env], spaces: Spaces, failures: Path | None = None) -> None:
        self.envs, self.spaces, self.failures = envs, spaces, failures
        self.obs = np.zeros((len(envs), spaces.obs_size), np.float32)
        self.step = np.zeros(len(envs), np.int32)
        self.episodes: list[dict[str, float]] = []
        self.terminations = 0

    def restart(self, seed_of: Sequence[int]) -> None:
        """Begin a new episode everywhere."""
        for i, seed in enumerate(seed_of):
            self._reset(i, seed)
        self.episodes = []

    def _reset(self, i: int, seed: int | None = None) -> None:
        try:
            self.obs[i] = validate_reset(self.spaces, self.envs[i].reset(seed=seed))
        except Exception as error:
            raise self._failure(i, None, None, error, "reset: ") from error
        self.step[i] = 0

    def collect(self, rows: int, act: Act, *, cut: bool = False, reset: bool = True) -> Rows:
        """`rows` steps of every environment; `cut` ends all episodes with the last row, `reset` begins new ones."""
        n, o, a = len(self.envs), self.spaces.obs_size, self.spaces.action_size
        obs, next_obs = np.empty((rows, n, o), np.float32), np.empty((rows, n, o), np.float32)
        actions, xy = np.empty((rows, n, a), np.float32), np.empty((rows, n, 2), np.float32)
        reported = {name: np.empty((rows, n), np.float32) for name in COLUMNS}
        terminated, last = np.zeros((rows, n), bool), np.zeros((rows, n), bool)
        steps = np.empty((rows, n), np.int32)
        for t in range(rows):
            obs[t], actions[t], steps[t] = self.obs, act(self.obs), self.step
            if not np.isfinite(actions[t]).all():
                raise PolicyFailure(f"the policy's actions are {actions[t].tolist()}")
            for i, env in enumerate(self.envs):
                result: Any = None
                try:
                    result = env.step(self.spaces.to_env(actions[t, i]))
                    after, reward, ended, truncated, info = validate_step(self.spaces, result)
                    success, distance, l2, place = reports(info, after, self.spaces.columns)
                except Exception as error:
                    raise self._failure(i, actions[t, i], result, error) from error
                next_obs[t, i], xy[t, i] = after, place
                for name, value in zip(COLUMNS, (reward, success, distance, l2), strict=True):
                    reported[name][t, i] = value
                terminated[t, i] = ended
                self.terminations += ended
                self.obs[i] = after
                self.step[i] += 1
                if ended or truncated or (cut and t == rows - 1):
                    last[t, i] = True
                    self.episodes.append({"success": success, "distance": distance, "length": float(self.step[i])})
                    if reset and not (cut and t == rows - 1):
                        self._reset(i)
        return Rows(
            obs=obs, action=actions, next_obs=next_obs, xy=xy, **reported,
            reward=np.zeros((rows, n), np.float32), terminated=terminated, last=last, step=steps,
        )  # fmt: skip

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


def random_actions(rng: np.random.Generator, action_size: int) -> Act:
    """Uniform over the whole box."""
    return lambda obs: rng.uniform(-1, 1, (len(obs), action_size)).astype(np.float32)


def policy_actions(policy: NumpyPolicy, rng: np.random.Generator) -> Act:
    """Drawn from the policy."""
    return lambda obs: policy.sample(obs, rng)
