"""Settings that a run finds out itself, from the environment: what the user leaves at None."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from mural.agent.sac import SAC
from mural.inputs.watching import hides_motion, look, waves_of
from mural.inputs.world import World

OPEN = ("gamma", "n_step", "motion", "waves")  # settings that may be left at None
SHORT = 100  # steps of an episode: γ is 0.99 and n is 1 for these and shorter ones
MOST_STEPS = 5  # n of long episodes


def settled(config: SAC, world: World, found: Mapping[str, Any]) -> SAC:
    """The agent's settings with nothing left open: γ and n from the length of an episode, the others from watching it.

    `found` is what the run found when it began, if it goes on: it does not look again.
    """
    known = {name: found[name] for name in OPEN if name in found and getattr(config, name) is None}
    config = dataclasses.replace(config, **known)
    if config.gamma is None:
        config = dataclasses.replace(config, gamma=1 - 1 / max(world.horizon or SHORT, SHORT))
    if config.n_step is None:
        config = dataclasses.replace(config, n_step=min(max((world.horizon or SHORT) // SHORT, 1), MOST_STEPS))
    if config.motion is None or config.waves is None:
        watched = look(world.envs[0], world.spaces)
        motion = hides_motion(watched) if config.motion is None else config.motion
        waves = waves_of(watched) if config.waves is None else config.waves
        config = dataclasses.replace(config, motion=motion, waves=waves)
    return config


def found_by(config: SAC) -> dict[str, Any]:
    """What a settled run has found, for when it goes on."""
    return {name: getattr(config, name) for name in OPEN}


def findings(asked: SAC, found: SAC, horizon: int | None) -> Iterator[str]:
    """What a run has found out, in words; `horizon` is the length of an episode, where that is known."""
    if asked.gamma is None:
        why = "the default: the environment has no time limit" if horizon is None else "from the length of an episode"
        yield f"sac.gamma {found.discount:.4g}, {why}"
    if asked.n_step is None and found.steps_ahead > 1:
        yield f"sac.n_step {found.steps_ahead}, one for every hundred steps of an episode, at most {MOST_STEPS}"
    if asked.motion is None and found.motion:
        yield "sac.motion: the environment moves by itself, so the agent sees the change since the last observation too"
    if asked.waves is None and found.waves:
        yield f"sac.waves {found.waves}: states come back exactly, so networks see sines and cosines of them too"
