"""Rewards that a user does not have: the environment's own, and those that know the goal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import jax.numpy as jnp
from jax import Array

from mural.rewards.base import Part, Term, register_method


@dataclass(frozen=True)
class Reported(Part):
    """A part that learns nothing: what the environment reports with each transition."""

    what: Literal["env_reward", "success", "distance", "l2"] = "env_reward"
    """Which report."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The report."""
        return (self.what,)

    learns_from = ()

    def label(self, state: None, report: Array) -> Array:
        """The report itself."""
        return jnp.asarray(report, jnp.float32)


@register_method("sac", needs=("env_reward",), reward="told", terminations="stop")
@dataclass(frozen=True)
class EnvReward:
    """Plain SAC on the environment's own reward; nothing is learned about success."""

    scale: float = 1.0
    """Factor on the reward."""

    def terms(self) -> tuple[Term, ...]:
        """env_reward."""
        return (Term("environment", self.scale, Reported("env_reward")),)


@register_method("sac-sparse", needs=("success",), reward="told")
@dataclass(frozen=True)
class Sparse:
    """Oracle: reward 1 where the environment reports success, 0 elsewhere."""

    scale: float = 1.0
    """Factor on the reward."""

    def terms(self) -> tuple[Term, ...]:
        """1[success]."""
        return (Term("success", self.scale, Reported("success")),)


@register_method("sac-distance", needs=("distance",), reward="told")
@dataclass(frozen=True)
class Distance:
    """Oracle: minus the distance to the goal that the environment reports."""

    scale: float = 1.0
    """Factor on the distance."""
    metric: Literal["l2", "task"] = "l2"
    """l2: straight through walls, as in the paper. task: as the task measures it, around walls."""

    def terms(self) -> tuple[Term, ...]:
        """−distance."""
        return (Term("distance", -self.scale, Reported("l2" if self.metric == "l2" else "distance")),)
