"""Dynamical distance learning (Hartikainen et al. 2020): the reward is minus the steps that the goal is away."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mural.errors import MuralError
from mural.limits import PositiveFloat, PositiveInt, Widths
from mural.nml import descent, mlp
from mural.nml.descent import Fit
from mural.nml.mlp import Params
from mural.rewards.base import PAIRS, Experience, Info, Part, Problem, Term, register_method


class GoalError(MuralError, ValueError):
    """The method needs to know the goal; the message says what to do."""


class DistanceState(NamedTuple):
    """The distance network and the state that distances are measured to."""

    network: Fit
    goal: Array  # [d]


@dataclass(frozen=True)
class DynamicalDistance(Part):
    """d(s, s'): how many steps the policies so far took from s to s'. The reward is −d(s, goal)."""

    learns_from = (PAIRS,)

    hidden: Widths = (256, 256)
    """Widths of the hidden layers."""
    steps: PositiveInt = 31
    """Gradient steps per epoch; 31 is the paper's 2 for every 64 environment steps."""
    batch_size: PositiveInt = 256
    """Pairs of states per gradient step."""
    learning_rate: PositiveFloat = 3e-4
    """Learning rate of Adam."""

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

    def label(self, state: DistanceState, states: Array) -> Array:
        """−d(s, goal)."""
        return -distance(state.network.params, states, jnp.broadcast_to(state.goal, states.shape))


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
    """Dynamical distance learning: minus the learned number of steps to the goal, which the environment must report."""

    distance: DynamicalDistance = field(default_factory=DynamicalDistance)
    """The learned distance."""
    scale: float = 1.0
    """Factor on the reward, minus the distance."""

    def terms(self) -> tuple[Term, ...]:
        """−d(s, goal)."""
        return (Term("distance", self.scale, self.distance),)
