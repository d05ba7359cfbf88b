"""The policy of a run as a small file that runs with NumPy alone."""

from __future__ import annotations

from pathlib import Path

from mural.agent.policy import save_policy
from mural.training.run import Run


def export_policy(run: Run, path: str | Path) -> None:
    """Write what `mural.load_policy` reads: weights, the bounds of actions, the layout of observations."""
    spaces = run.world.spaces
    save_policy(path, run.policy, spaces.actions.low, spaces.actions.high, spaces.layout)
