"""Dynamical distance learning (Hartikainen et al. 2020): the reward is minus the steps that the goal is away."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mural.errors import MuralError
from mural.nml import descent, mlp
from mural.nml.descent import Fit
from mural.nml.mlp import Params
from mural.rewards.base import Experience, Info, Problem, Term, Transitions, register_method


class GoalError(MuralError, ValueError):
    """The method needs to know the goal; the message says what to do."""


class DistanceState(NamedTuple):
    """The distance network and the state that distances are measured to."""

    network: Fit
    goal: Array  # [d]


@dataclass(frozen=True)
class DynamicalDistance:
    """d(s, s'): how many steps the policies so far took from s to s'. The reward is −d(s, goal)."""

    hidden: tuple[int, ...] = (256, 256)
    """Widths of the hidden layers."""
    steps: int = 31
    """Gradient steps per epoch: N_d = 2 for every 64 environment steps, in epochs of 1000."""
    batch_size: int = 256
    """Pairs of states per step."""
    learning_rate: float = 3e-4
    """Of Adam."""

    def init(self, problem: Problem, *, key: Array) -> DistanceState:
        """A fresh network of two states."""
        if problem.goal is None:
            raise GoalError("dynamical distances are measured to the true goal, and this problem names none: set goal")
        network = mlp.init((2 * problem.state_size, *self.hidden, 1), key=key)
        return DistanceState(descent.start(network), jnp.asarray(problem.goal, jnp.float32))

    def learn(
        self, state: DistanceState, problem: Problem, experience: Experience, *, key: Array
    ) -> tuple[DistanceState, Info]:
        """Regress the steps between states of the same episode."""
        pairs = experience.pairs(self.steps * self.batch_size, key)
        network, info = _learn(self, state.network, pairs)
        return DistanceState(network, state.goal), info

    def label(self, state: DistanceState, batch: Transitions) -> Array:
        """−d(s, goal)."""
        goal = jnp.broadcast_to(state.goal, batch.states.shape)
        return -distance(state.network.params, batch.states, goal)


def distance(params: Params, first: Array, last: Array) -> Array:
    """d(s, s') [n] from states [n, d] to states [n, d]."""
    return mlp.forward(params, jnp.concatenate([first, last], axis=1))[:, 0]


def loss(params: Params, first: Array, last: Array, gap: Array) -> Array:
    """½ E (d(s_i, s_j) − (j − i))²."""
    return 0.5 * jnp.mean((distance(params, first, last) - gap) ** 2)


@partial(jax.jit, static_argnums=0)
def _learn(config: DynamicalDistance, network: Fit, pairs: tuple[Array, Array, Array]) -> tuple[Fit, Info]:
    def step_loss(params: Params, batch: tuple[Array, Array, Array]) -> tuple[Array, dict[str, Array]]:
        value = loss(params, *batch)
        return value, {"loss": value}

    first, last, gap = pairs
    batches = tuple(descent.stacked(x, config.steps) for x in (first, last, gap.astype(jnp.float32)))
    return descent.descend(step_loss, network, batches, config.learning_rate)


@register_method("ddl", needs=("examples", "distance"))
@dataclass(frozen=True)
class DDL:
    """Minus the learned number of steps to the true goal, which a user would have to know."""

    distance: DynamicalDistance = field(default_factory=DynamicalDistance)
    """The learned distance."""
    scale: float = 1.0
    """Factor on its reward."""

    def terms(self) -> tuple[Term, ...]:
        """−d(s, goal)."""
        return (Term("distance", self.scale, self.distance),)
