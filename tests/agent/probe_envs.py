"""Environments so small that the right values are known: each isolates one part of the algorithm."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np


class Probe(gymnasium.Env):
    """Observation and action are one number each; `length` steps, then termination or a time limit.

    `reward(observation, action)` is paid by the observation before the step. Step t begins at observation `places[t]`;
    without places it is drawn from −1 and 1.
    """

    observation_space = gymnasium.spaces.Box(-2, 2, (1,), np.float32)

    def __init__(
        self,
        reward: Callable[[float, float], float],
        *,
        length: int = 1,
        terminates: bool = True,
        places: tuple[float, ...] | None = (0.0,),
        low: float = -1.0,
        high: float = 1.0,
    ) -> None:
        self.reward, self.length, self.terminates, self.places = reward, length, terminates, places
        self.action_space = gymnasium.spaces.Box(low, high, (1,), np.float32)
        self.horizon = length

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.t = 0
        return self._place(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        assert self.action_space.contains(action), action
        paid = self.reward(self.now, float(action[0]))
        self.t += 1
        over = self.t == self.length
        return self._place(), paid, over and self.terminates, over and not self.terminates, {}

    def _place(self) -> np.ndarray:
        if self.places is None:
            self.now = float(self.np_random.choice([-1.0, 1.0]))
        else:
            self.now = self.places[min(self.t, len(self.places) - 1)]
        return np.array([self.now], np.float32)
