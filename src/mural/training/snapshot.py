"""A run as named arrays, and back: what a checkpoint holds. Agent, reward, visits, replay; nothing random is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from mural import trees
from mural.agent import replay as replay_buffer
from mural.agent.replay import Replay, Rows
from mural.rewards import total
from mural.training import compiled

if TYPE_CHECKING:
    from mural.training.run import Run

Groups = dict[str, dict[str, np.ndarray]]


def take(run: Run) -> Groups:
    """All that is needed to go on, beside settings and examples."""
    filled = int(replay_buffer.filled(run.replay))
    rows = jax.tree.map(lambda column: np.asarray(column)[:filled], run.replay.rows)  # JAX would compile the slice
    waiting = sum(len(block.step) for block in run.recent)
    return {
        "agent": trees.flatten(run.agent),
        "reward": trees.flatten({"states": run.parts, "visits": run.diagnostics.state()}),
        "replay": trees.flatten({"rows": rows})
        | {"count": np.asarray(run.replay.written), "waiting": np.array([waiting])},
    }


def restore(run: Run, groups: Groups) -> None:
    """Put what `take` returned into a fresh run."""
    run.agent = trees.restore(run.agent, groups["agent"])
    template = {"states": run.parts, "visits": run.diagnostics.state()}
    reward = trees.restore(template, groups["reward"], total.NEWER)
    run.parts = reward["states"]
    run.diagnostics.set_state(reward["visits"])
    stored = dict(groups["replay"])
    count, waiting = jnp.asarray(stored.pop("count")), int(stored.pop("waiting")[0])
    filled = int(min(int(count), replay_buffer.capacity(run.replay)))
    columns = jax.tree.map(lambda column: np.asarray(column)[:filled], run.replay.rows)
    rows = trees.restore({"rows": columns}, stored)["rows"]
    run.replay = compiled.insert(run.replay, rows)._replace(written=count)
    run.recent = recent_rows(run.replay, waiting)


def recent_rows(replay: Replay, count: int) -> list[Rows]:
    """The last `count` rows of the replay, as one block: what the reward has not learned from yet."""
    rows = replay_buffer.capacity(replay)
    index = (int(replay.written) - count + np.arange(count)) % rows
    return [jax.tree.map(lambda column: np.asarray(column)[index], replay.rows)] if count else []
