"""For on-policy learners such as PPO, and for any loop: a Gymnasium environment whose reward is the learned one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from mural.adapters.endings import checked_endings, require_reward, require_width, with_endings
from mural.agent.replay import Terminations
from mural.errors import ArgumentError
from mural.inputs.selection import Selection
from mural.inputs.spaces import Env, Spaces, validate_reset, validate_step
from mural.rewards.outcome import OutcomeReward


class OutcomeRewardWrapper(gymnasium.Wrapper[Any, Any, Any, Any]):
    """The same environment with the reward of an `OutcomeReward`, which learns from the states on the way.

    Copies that are stepped in one process may share a reward; in processes of their own each would learn apart.

    Parameters
    ----------
    env : any environment with a Box, or a Dict of Boxes, for observations; actions may be of any kind.
    reward : the `mural.OutcomeReward`.
    every : steps between two of its updates. Before the first, all rewards are 0.
    classifier_keys, classifier_slice : what the reward sees of an observation; None: what the task says, or all.
    terminations : what follows when the environment terminates an episode. "absorb": the last reward goes on for
        ever, so it is paid at once, r / (1 − γ); "stop": nothing; "bootstrap": the end is reported as a truncation.
    gamma : the discount that the agent learns with.

    `info["env_reward"]` has what the environment itself paid.
    """

    def __init__(
        self,
        env: Env,
        reward: OutcomeReward,
        every: int = 1000,
        classifier_keys: str | Sequence[str] | None = None,
        classifier_slice: Selection | None = None,
        terminations: Terminations = "absorb",
        gamma: float = 0.99,
    ) -> None:
        super().__init__(env)
        if every < 1:
            raise ArgumentError(f"every is {every}; it must be at least one step")
        self.terminations, self.gamma = checked_endings(terminations, gamma)
        self.learned_reward, self.every = require_reward(reward), every
        self.spaces = Spaces.of(env, classifier_keys, classifier_slice, acts=False)
        require_width(reward, len(self.spaces.columns))
        self.report: dict[str, float] = {}
        """What the last update reported."""
        self._visited: list[NDArray[np.float32]] = []
        self._starts: list[NDArray[np.float32]] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """As the environment does it, checked."""
        obs, info = self.env.reset(seed=seed, options=options)
        self._starts.append(validate_reset(self.spaces, (obs, info))[self.spaces.columns])
        return obs, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """As the environment does it, but for the reward, and for terminations that are to be bootstrapped."""
        result = self.env.step(action)
        flat, paid, terminated, truncated, info = validate_step(self.spaces, result)
        state = flat[self.spaces.columns]
        self._visited.append(state)
        if len(self._visited) >= self.every:
            self.report = self.learned_reward.update(np.stack(self._visited), self._starts)
            self._visited, self._starts = [], []
        value = self.learned_reward(state[None], few=True) if self.learned_reward.updates else np.zeros(1, np.float32)
        worth = with_endings(np.asarray(value, np.float32), np.array([terminated]), self.terminations, self.gamma)
        if self.terminations == "bootstrap":
            terminated, truncated = False, truncated or terminated
        return result[0], float(worth[0]), terminated, truncated, {**info, "env_reward": paid}
