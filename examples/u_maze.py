"""A maze that is learned in a minute: a U-turn around a wall, with success at the other end."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

GOAL, RADIUS = np.array([-0.6, 0.5]), 0.35


class UMaze(gymnasium.Env):
    """A point in [−1, 1]². A wall keeps the lower half, where it starts, from the upper: the way is on the right.

    The reward is always 0. With `terminates=True` an episode ends where the task is done, else only by the time limit.
    """

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    horizon = 25

    def __init__(self, terminates: bool = False) -> None:
        self.terminates = terminates

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Start in the lower left."""
        super().reset(seed=seed)
        self.place, self.t = self.np_random.uniform([-0.9, -0.7], [-0.5, -0.3]), 0
        return self.place.astype(np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Move; a step that would cross the wall stops in front of it."""
        new = np.clip(self.place + 0.4 * np.clip(action, -1, 1), -1, 1)
        if self.place[1] * new[1] <= 0:  # from one half into the other: where is it at height 0?
            share = self.place[1] / (self.place[1] - new[1]) if self.place[1] != new[1] else 0.0
            if self.place[0] + share * (new[0] - self.place[0]) < 0.2:
                new[1] = 0.01 * np.sign(self.place[1])
        self.place, self.t = new, self.t + 1
        done = bool(np.linalg.norm(new - GOAL) < RADIUS)
        return new.astype(np.float32), 0.0, done and self.terminates, self.t >= self.horizon, {"is_success": done}


def success_examples(n: int = 100, seed: int = 0) -> np.ndarray:
    """States in which the task is done, [n, 2]."""
    rng = np.random.default_rng(seed)
    angle, radius = rng.uniform(0, 2 * np.pi, n), 0.8 * RADIUS * np.sqrt(rng.uniform(0, 1, n))
    return (GOAL + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)).astype(np.float32)


def success_rate(act: Any, episodes: int = 10) -> float:
    """Share of episodes that end in success; `act` takes an observation."""
    env, successes = UMaze(), 0
    for seed in range(episodes):
        obs, _ = env.reset(seed=1000 + seed)
        for _ in range(env.horizon):
            obs, _, _, _, info = env.step(act(obs))
        successes += info["is_success"]
    return successes / episodes
