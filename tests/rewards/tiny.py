"""A room of one step's reach: small enough that every method trains on it in seconds."""

from __future__ import annotations

import dataclasses
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

GOAL = np.array([0.6, 0.6])
SMALL = {
    "hidden": [16], "steps": 20, "negatives": 64, "positives": 64, "adapt_points": 64, "train_points": 32,
    "outer_points": 16, "first_epochs": 8, "epochs": 1, "queries_per_update": 4, "updates_per_epoch": 8,
    "outputs": 8, "features": 4, "latent": 2, "draws": 2, "bins": 9, "batch_size": 32, "learning_rate": 3e-3,
    "kernel_width": 0.3, "centres": 3, "newton_steps": 4,
}  # fmt: skip


class TinyRoom(gymnasium.Env[dict[str, np.ndarray], np.ndarray]):
    """Move in [−1, 1]² from the middle; the observation also has an entry that the classifier must not see."""

    horizon = 10

    def __init__(self) -> None:
        box = spaces.Box(-1.0, 1.0, (2,), np.float64)
        self.observation_space = spaces.Dict({"noise": spaces.Box(-9.0, 9.0, (1,), np.float64), "place": box})
        self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)

    def xy(self) -> np.ndarray:
        """Where the agent is."""
        return self.place.copy()

    def _observe(self) -> dict[str, np.ndarray]:
        return {"noise": self.np_random.normal(size=1).clip(-9, 9), "place": self.place.copy()}

    def _info(self) -> dict[str, Any]:
        distance = float(np.linalg.norm(self.place - GOAL))
        return {"distance": distance, "l2": distance, "is_success": distance < 0.3, "xy": self.xy()}

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.elapsed = np.zeros(2), 0
        return self._observe(), self._info()

    def step(self, action: np.ndarray) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        self.place = np.clip(self.place + 0.3 * np.asarray(action), -1.0, 1.0)
        self.elapsed += 1
        info = self._info()
        return self._observe(), -info["distance"], False, self.elapsed >= self.horizon, info


def examples(n: int = 40) -> dict[str, np.ndarray]:
    """Whole observations at the goal."""
    rng = np.random.default_rng(0)
    return {"noise": rng.normal(size=(n, 1)), "place": GOAL + rng.uniform(-0.1, 0.1, (n, 2))}


def shrink(settings: Any) -> Any:
    """The same settings with every size made small."""
    if not dataclasses.is_dataclass(settings):
        return settings
    changes = {}
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        small = SMALL.get(field.name, value)
        if field.name == "kernel_width" or not dataclasses.is_dataclass(value):
            changes[field.name] = tuple(small) if isinstance(small, list) else small
        else:
            changes[field.name] = shrink(value)
    return dataclasses.replace(settings, **changes)
