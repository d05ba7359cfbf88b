"""A small world and small networks: every test that trains uses these, so that they share what JAX has compiled."""

from typing import Any

import gymnasium
import numpy as np

SAC = {"sac.hidden": [16, 16], "sac.batch_size": 16}
LOOP = {"loop.epoch_steps": 60, "loop.random_steps": 60, "loop.steps_per_call": 20, "loop.replay_size": 300}
WATCH = {
    "watch.eval_episodes": 1, "watch.eval_every": 1, "watch.checkpoint_every": 1, "watch.tensorboard": False,
    "watch.picture_every": 0,
}  # fmt: skip
SETTINGS: dict[str, Any] = SAC | LOOP | WATCH | {"loop.updates_per_step": 0.2}

CLASSIFIER = {
    "hidden": [8], "negatives": 32, "positives": 32, "train_points": 16, "adapt_points": 32, "outer_points": 8,
    "first_epochs": 2, "epochs": 1, "updates_per_epoch": 2, "queries_per_update": 4,
}  # fmt: skip
CNML = {"kernel.negatives": 128, "kernel.positives": 32}
MURAL = SETTINGS | {f"reward.classifier.{name}": value for name, value in CLASSIFIER.items()}


class Field(gymnasium.Env):
    """A point in [−1, 1]² that actions move; the goal is the upper right corner. Episodes take 15 steps."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    horizon = 15
    terminates_at: int | None = None

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.t = self.np_random.uniform(-1, 0, 2), 0
        return self.place.astype(np.float32), {}

    def step(self, action: np.ndarray) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.place = np.clip(self.place + 0.2 * action, -1, 1)
        self.t += 1
        distance = float(np.linalg.norm(self.place - 1))
        info = {"distance": distance, "is_success": distance < 0.3}
        return self.place.astype(np.float32), -distance, self.t == self.terminates_at, self.t == self.horizon, info


def examples(n: int = 40) -> np.ndarray:
    """Places near the goal."""
    return np.random.default_rng(0).uniform(0.8, 1, (n, 2)).astype(np.float32)
