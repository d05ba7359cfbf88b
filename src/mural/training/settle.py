"""Settings that a run finds out itself, from the environment: what the user leaves at None."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from mural.agent.sac import SAC
from mural.inputs.momentum import hides_motion
from mural.inputs.world import World

SHORT = 100  # steps of an episode: γ is 0.99 for these and shorter ones


def settled(config: SAC, world: World) -> SAC:
    """The agent's settings with nothing left open: γ from the length of an episode, motion from letting go."""
    gamma, motion = config.gamma, config.motion
    if gamma is None:
        gamma = 1 - 1 / max(world.horizon or SHORT, SHORT)
    if motion is None:
        motion = hides_motion(world.envs[0], world.spaces)
    return dataclasses.replace(config, gamma=gamma, motion=motion)


def findings(asked: SAC, found: SAC) -> Iterator[str]:
    """What a run has found out, in words."""
    if asked.gamma is None:
        yield f"sac.gamma {found.discount:.4g}, from the length of an episode"
    if asked.motion is None and found.motion:
        yield "sac.motion: the environment moves by itself, so the agent sees the change since the last observation too"
