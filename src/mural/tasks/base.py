"""What every task is: a Gymnasium environment without a reward, with examples of success and a metric."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from mural.errors import ArgumentError, MuralError
from mural.tasks.plane import Plane

Floats = NDArray[np.float64]

INSTALL_ROBOTS = "pip install 'mural-rl[robots]'"

# Examples per (task class, what it was constructed with, n, seed). Robots take seconds to make theirs.
_EXAMPLES: dict[tuple[Any, ...], Floats] = {}


class ActionError(MuralError, ValueError):
    """An action of the wrong shape, or with NaN or infinite entries."""


class UnknownTaskError(MuralError, ValueError):
    """There is no task of this name; the message has the nearest ones that there are."""


class MissingExtraError(MuralError, ImportError):
    """A task needs a package that is not installed; the message says which extra brings it."""

    @classmethod
    def robots(cls, task: str, package: str) -> MissingExtraError:
        """The error for a robot task."""
        return cls(f"{task} needs the robot extra ({package} is not installed): {INSTALL_ROBOTS}")


class DisplayError(MuralError, RuntimeError):
    """A window was asked for where there is no display."""


def has_display() -> bool:
    """Whether a window can be opened."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def require_display() -> None:
    """Raise `DisplayError` where no window can be opened."""
    if not has_display():
        raise DisplayError('render_mode="human" opens a window and there is no display; use render_mode="rgb_array"')


class Task(gymnasium.Env[Floats, NDArray[Any]], ABC):
    """A task of the paper.

    `step` returns reward 0 (the problem has no reward; the double maze overrides `hidden_reward`), never
    terminates, and truncates at `horizon`. `info` has ``distance`` (the task's metric), ``is_success``, ``l2`` (the
    distance in a straight line, through walls), and ``xy``: the place of the agent or of what it moves, over which
    coverage is counted.
    Finite actions outside the box are clipped to it; others raise `ActionError`.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array", "human"], "render_fps": 10}  # type: ignore[misc]

    varies: ClassVar[bool] = True
    """Whether one episode differs from the next though all actions are the same."""
    horizon: int
    """Steps until truncation."""
    success_threshold: float
    """A state is a success if its distance is below this."""
    goal: Floats
    """What the distance is measured to."""
    observation_space: spaces.Box[Any]
    action_space: spaces.Box[Any]

    _elapsed: int | None = None  # steps since reset; None before the first

    def __init__(self, render_mode: str | None = None) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            known = ", ".join(self.metadata["render_modes"])
            raise ArgumentError(f"render_mode is {render_mode!r}; known are {known} and None")
        self.render_mode = render_mode

    # What a task gives

    @abstractmethod
    def _reset(self) -> None:
        """Start an episode. All randomness comes from ``self.np_random``."""

    @abstractmethod
    def _advance(self, action: Floats) -> None:
        """One control step; `action` is valid and inside the box."""

    @abstractmethod
    def observe(self) -> Floats:
        """The current observation, as a new array."""

    @abstractmethod
    def distance(self, obs: Floats) -> Floats:
        """The task's metric for observations [..., d]."""

    @abstractmethod
    def xy(self) -> Floats:
        """The current place of the agent, or of what it moves, [2], as a new array."""

    @abstractmethod
    def scripted_action(self) -> Floats:
        """What a hand-written controller does now: proof that the task can be done as built."""

    @abstractmethod
    def _make_examples(self, n: int, rng: np.random.Generator) -> Floats:
        """`n` states in which the task is done, [n, d], without touching the running episode."""

    @property
    def plane(self) -> Plane | None:
        """The plane over which `xy` is counted and drawn; None: there is none worth drawing."""
        return None

    def classifier_view(self, obs: Floats) -> Floats:
        """What the success classifier sees of observations [..., d]: all of it, unless overridden."""
        return np.asarray(obs, dtype=np.float64)

    def hidden_reward(self) -> float:
        """The environment's own reward in the current state."""
        return 0.0

    def _distance_now(self, obs: Floats) -> float:
        """`distance` of the current observation; for tasks with a faster way to it."""
        return float(self.distance(obs))

    def _straight(self, distance: float) -> float:
        """Distance to the goal in a straight line, for tasks whose metric goes around walls."""
        return distance

    def _examples_key(self) -> tuple[Any, ...]:
        """The constructor arguments that examples depend on."""
        return ()

    # What all tasks share

    def is_success(self, obs: Floats) -> NDArray[np.bool_]:
        """Whether the task is done in observations [..., d]."""
        return np.asarray(self.distance(obs) < self.success_threshold)

    def success_examples(self, n: int = 150, seed: int = 0) -> Floats:
        """`n` observations in which the task is done: the same bytes for the same arguments."""
        if n < 1:
            raise ArgumentError(f"n is {n}; at least one example is needed")
        key = (type(self), *self._examples_key(), n, seed)
        if key not in _EXAMPLES:
            _EXAMPLES[key] = self._make_examples(n, np.random.default_rng(seed))
        return _EXAMPLES[key].copy()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """Start an episode; there are no options."""
        super().reset(seed=seed)
        self._reset()
        self._elapsed = 0
        obs = self.observe()
        if self.render_mode == "human":
            self.render()
        return obs, self._info(obs)

    def step(self, action: ArrayLike) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """One control step."""
        valid = self._valid(action)
        if self._elapsed is None:
            raise gymnasium.error.ResetNeeded("call reset() before the first step()")
        self._advance(valid)
        self._elapsed += 1
        obs = self.observe()
        if self.render_mode == "human":
            self.render()
        return obs, self.hidden_reward(), False, self._elapsed >= self.horizon, self._info(obs)

    def _info(self, obs: Floats) -> dict[str, Any]:
        distance = self._distance_now(obs)
        success = distance < self.success_threshold
        return {"distance": distance, "is_success": success, "xy": self.xy(), "l2": self._straight(distance)}

    def _valid(self, action: ArrayLike) -> Floats:
        """`action` as floats inside the box, or an `ActionError`."""
        shape = self.action_space.shape
        try:
            values = np.asarray(action, dtype=np.float64)
        except (TypeError, ValueError):
            raise ActionError(f"the action {action!r} is not an array of {shape} numbers") from None
        if values.shape != shape:
            raise ActionError(f"the action has shape {values.shape}; this task needs {shape}")
        if not np.isfinite(values).all():
            raise ActionError(f"the action {values.tolist()} is not finite; entries in [-1, 1] are needed")
        return np.minimum(np.maximum(values, -1.0), 1.0)
