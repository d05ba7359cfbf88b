"""The policy of a run as a small file that runs with NumPy alone, and its learned reward as one of `OutcomeReward`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mural.agent import replay as replay_buffer
from mural.agent.policy import save_policy
from mural.errors import MuralError
from mural.rewards.outcome import OutcomeReward
from mural.settings.config import to_dict
from mural.training.run import Run


class NothingToExportError(MuralError, RuntimeError):
    """A run has not learned yet what was to be written."""


def export_policy(run: Run, path: str | Path) -> None:
    """Write what `mural.load_policy` reads: weights, the bounds of actions, the layout of observations."""
    spaces = run.world.spaces
    save_policy(path, run.policy, spaces.actions.low, spaces.actions.high, spaces.layout)


def export_reward(run: Run, path: str | Path, memory: int = 4096) -> None:
    """Write what `mural.OutcomeReward.load` reads; of the states visited, `memory` ones, drawn uniformly.

    They are needed only to go on learning. A `NotOfStatesError` if the method's reward depends on more than states.
    """
    if not run.learned or run.world.examples is None:
        raise NothingToExportError("there is no learned reward yet: train for more than the random steps")
    filled = int(replay_buffer.filled(run.replay))
    seen = np.asarray(run.replay.rows.next_obs)[:filled].reshape(-1, run.world.spaces.obs_size)
    kept = np.sort(np.random.default_rng([run.config.seed, 8]).permutation(len(seen))[:memory])
    OutcomeReward.learned(
        run.world.examples.states,
        run.config.method,
        to_dict(run.config)["reward"],
        run.parts,
        seen[kept][:, list(run.world.columns)],
        seed=run.config.seed,
        units=run.config.units,
        updates=run.epoch - run.random_epochs,
        seen=len(seen),
        memory=memory,
        waves=run.world.problem.waves,
    ).save(path)
