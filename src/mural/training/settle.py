"""Settings that a run finds out itself, from the environment: what the user leaves at None."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from mural.agent.sac import SAC
from mural.inputs.momentum import hides_motion
from mural.inputs.world import World

SHORT = 100  # steps of an episode: γ is 0.99 for these and shorter ones


def settled(config: SAC, world: World, found: Mapping[str, Any]) -> SAC:
    """The agent's settings with nothing left open: γ from the length of an episode, motion from letting go.

    `found` is what the run found when it began, if it goes on: it does not look again.
    """
    gamma, motion = config.gamma, config.motion
    if gamma is None:
        gamma = found.get("gamma", 1 - 1 / max(world.horizon or SHORT, SHORT))
    if motion is None:
        motion = found["motion"] if "motion" in found else hides_motion(world.envs[0], world.spaces)
    return dataclasses.replace(config, gamma=gamma, motion=motion)


def findings(asked: SAC, found: SAC) -> Iterator[str]:
    """What a run has found out, in words."""
    if asked.gamma is None:
        yield f"sac.gamma {found.discount:.4g}, from the length of an episode"
    if asked.motion is None and found.motion:
        yield "sac.motion: the environment moves by itself, so the agent sees the change since the last observation too"
