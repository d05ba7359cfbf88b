"""A policy in its task, ready to play: of a run in training, or of a file, without anything that trains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mural.agent.policy import NumpyPolicy, load_policy
from mural.errors import MuralError
from mural.inputs.spaces import Env, Spaces, horizon_of
from mural.inputs.world import make_env
from mural.training.collect import starts
from mural.training.evaluate import evaluate
from mural.training.run import Run

LONGEST = 2000  # steps of an episode, where the environment sets no limit


class MisfitError(MuralError, ValueError):
    """A policy file that was made for other observations or actions than the task has."""


@dataclass(frozen=True, eq=False)
class Player:
    """All that an episode needs."""

    task: str
    env: Env
    spaces: Spaces
    policy: NumpyPolicy
    seed: int
    longest: int

    @classmethod
    def of(cls, run: Run) -> Player:
        """The current policy of a run."""
        world = run.world
        return cls(run.config.task, world.envs[0], world.spaces, run.policy, run.config.seed, run.longest)

    def starts(self, episodes: int) -> list[int]:
        """Seeds of the first episodes of an evaluation: those that a run of this seed is evaluated from."""
        return starts(self.seed, episodes)

    def evaluate(self, episodes: int) -> dict[str, Any]:
        """Means over episodes with the most likely actions: success, distance, best_distance, length, …"""
        found = evaluate(self.env, self.spaces, self.policy, self.starts(episodes), None, self.longest)
        return {name.removeprefix("eval/"): value for name, value in found.items()}


@contextmanager
def playing(task: str, file: str | Path, seed: int) -> Iterator[Player]:
    """The policy of a file in its task, as the run of this seed was evaluated; closes the environment."""
    loaded = load_policy(file)
    env = make_env(task)
    try:
        spaces = Spaces.of(env)
        same = (loaded.actions.low.shape, loaded.layout) == (spaces.actions.low.shape, tuple(spaces.layout))
        if not same or not all(
            np.array_equal(getattr(loaded.actions, end), getattr(spaces.actions, end)) for end in ("low", "high")
        ):
            raise MisfitError(
                f"{file} is no policy for {task}: it sees {loaded.layout} and acts in {loaded.actions.low.shape}; the "
                f"task has {tuple(spaces.layout)} and {spaces.actions.low.shape}. Export it again from a run of this "
                "version"
            )
        yield Player(task, env, spaces, loaded.policy, seed, horizon_of(env) or LONGEST)
    finally:
        env.close()
