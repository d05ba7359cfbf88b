"""Exact CNML as the reward (Algorithm 1 of the paper): the ideal that meta-NML approximates, for small problems.

`TabularCNML` has a parameter per cell of a grid, where CNML is the counts of Theorem 1. `LogisticCNML` generalises:
logistic regression on bumps over the box of the states, refitted to convergence for every query and label.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mural.errors import MuralError
from mural.limits import NotNegativeInt, PositiveFloat, PositiveInt
from mural.nml.newton import newton
from mural.rewards import grid
from mural.rewards.base import Experience, Info, NMLPart, Problem, Term, register_method
from mural.rewards.grid import Box
from mural.rewards.methods.cnml_kernel import KernelCNML

WIDEN = 0.25  # how far beyond the first data and the examples the box reaches, in longest edges of theirs
MOST_CELLS = 2**22
MOST_FEATURES = 512
CHUNK = 64  # queries solved side by side


class TooManyCellsError(MuralError, ValueError):
    """States have too many numbers for a grid; the message says what to do."""


def region(part: TabularCNML | LogisticCNML, problem: Problem, states: np.ndarray | None) -> Box:
    """The box of the first states and the examples, unless set."""
    points = None if states is None else np.concatenate([states, problem.examples])
    return grid.box(points, problem.state_size, part.low, part.high, WIDEN)


def cells(bins: int, size: int, most: int, what: str) -> int:
    """bins^size, if that is not too many."""
    if bins**size > most:
        raise TooManyCellsError(
            f"{bins} {what} along each of {size} numbers are more than {most}: "
            "take fewer, let the classifier see less of the state, or use --method mural, which needs no grid"
        )
    return bins**size


class TabularState(NamedTuple):
    """Where the cells are, and what was seen in each."""

    region: Box
    visits: Array  # [cells] int32, N
    successes: Array  # [cells] int32, G


@dataclass(frozen=True)
class TabularCNML(NMLPart):
    """(G + 1)/(N + G + 2) for a cell with N visits and G examples."""

    bins: PositiveInt = 51
    """Cells along each axis of the state."""
    balanced: bool = True
    """Give all examples together the weight of all visits. Off: each example counts once, and the reward at the goal
    fades with every visit there."""
    low: float | None = None
    """Where the grid begins on all axes. None: below the first states and the examples."""
    high: float | None = None
    """Where the grid ends. None: above the first states and the examples. States outside count for the nearest cell."""

    def init(self, problem: Problem, *, key: Array) -> TabularState:
        """Nothing was seen, not even the examples: p = 0.5 everywhere."""
        empty = jnp.zeros(cells(self.bins, problem.state_size, MOST_CELLS, "bins"), jnp.int32)
        return TabularState(region(self, problem, None), empty, empty)

    def learn(
        self, state: TabularState, problem: Problem, experience: Experience, *, key: Array
    ) -> tuple[TabularState, Info]:
        """Count all new transitions, each once."""
        recent, where = experience.recent["states"], state.region
        if not np.asarray(state.visits).any():
            where = region(self, problem, np.asarray(recent))
        return _count(self, TabularState(where, state.visits, state.successes), recent, jnp.asarray(problem.examples))

    @property
    def scaled(self) -> bool:
        """Cells stay where they are."""
        return False

    def log_likelihoods(self, state: TabularState, states: Array) -> Array:
        """log p_{θ_y}(y | s) [n, 2]: each label is one more point in the cell."""
        n, g = self._counts(state, states)
        return jnp.log(jnp.stack([n + 1, g + 1], axis=1)) - jnp.log(n + g + 1)[:, None]

    def _counts(self, state: TabularState, states: Array) -> tuple[Array, Array]:
        """N and G [n] in the cells of the states."""
        cell = grid.cells(state.region, self.bins, states)
        n, g = state.visits[cell].astype(jnp.float32), state.successes[cell].astype(jnp.float32)
        if self.balanced:
            g *= jnp.maximum(jnp.sum(state.visits) / jnp.maximum(jnp.sum(state.successes), 1), 1.0)
        return n, g


@partial(jax.jit, static_argnums=0)
def _count(part: TabularCNML, state: TabularState, recent: Array, examples: Array) -> tuple[TabularState, Info]:
    visits = grid.counted(state.visits, state.region, part.bins, recent)
    successes = grid.counted(jnp.zeros_like(visits), state.region, part.bins, examples)
    info = {"cells": jnp.sum(visits > 0), "coverage": jnp.mean(visits > 0), "visits": jnp.sum(visits)}
    return TabularState(state.region, visits, successes), info


class LogisticState(NamedTuple):
    """D as features, and the weights that fit it best: where each query's two problems start."""

    region: Box
    features: Array  # [n, m]
    labels: Array  # [n] 0 or 1
    represents: Array  # [n] points that each stands for
    weights: Array  # [m]


@dataclass(frozen=True)
class LogisticCNML(NMLPart):
    """Logistic regression on bumps, fitted to D and each query with each label by Newton's method."""

    negatives: PositiveInt = 512
    """States of the replay that it is fitted to; each stands for (replay size / this number) states."""
    balanced: bool = True
    """Give all examples together the weight of the replay. Off: each example counts once."""
    centres: NotNegativeInt = 8
    """Gaussian bumps along each axis of the state, evenly spaced. 0: the state itself, scaled to [−1, 1]."""
    low: float | None = None
    """Where the bumps begin on all axes. None: below the first states and the examples."""
    high: float | None = None
    """Where the bumps end. None: above the first states and the examples."""
    l2: PositiveFloat = 0.01
    """Weight of the penalty ½ l2 ‖W‖²; without it, data that can be separated have no best fit."""
    newton_steps: NotNegativeInt = 12
    """Newton steps for each state and label, starting from the best fit without that state."""

    def init(self, problem: Problem, *, key: Array) -> LogisticState:
        """No data: p = 0.5 everywhere."""
        d = problem.state_size
        m = 1 + (cells(self.centres, d, MOST_FEATURES, "centres") if self.centres else d)
        n = self.negatives + len(problem.examples)
        return LogisticState(region(self, problem, None), jnp.zeros((n, m)), jnp.zeros(n), jnp.zeros(n), jnp.zeros(m))

    def learn(
        self, state: LogisticState, problem: Problem, experience: Experience, *, key: Array
    ) -> tuple[LogisticState, Info]:
        """A new D, and its maximum-likelihood weights."""
        where = state.region
        if not np.asarray(state.represents).any():
            where = region(self, problem, np.asarray(experience.recent["states"]))
        states = experience.states(self.negatives, key)
        examples = jnp.asarray(problem.examples, jnp.float32)
        each = max(experience.size / max(len(examples), 1), 1.0) if self.balanced else 1.0
        stand_for = jnp.asarray([experience.size / self.negatives, each], jnp.float32)
        return _fit(self, where, states, examples, stand_for)

    @property
    def scaled(self) -> bool:
        """It scales states to its own box."""
        return False

    def log_likelihoods(self, state: LogisticState, states: Array) -> Array:
        """log p_{θ_y}(y | s) [n, 2]."""
        return jnp.log(jnp.stack(self._likelihoods(state, states), axis=1))

    def _likelihoods(self, state: LogisticState, states: Array) -> tuple[Array, Array]:
        """p_{θ_y}(y | s) [n] of failure and of success."""

        def one(query: Array) -> tuple[Array, Array]:
            return self._likelihood(state, query, 0.0), self._likelihood(state, query, 1.0)

        return jax.lax.map(one, self._features(state.region, states), batch_size=CHUNK)

    def _features(self, region: Box, states: Array) -> Array:
        """Bumps with the width of their spacing, or the scaled states; and a column of ones."""
        scaled = 2 * (states - region.low[None]) / (region.high - region.low)[None] - 1
        if self.centres:
            at = jnp.linspace(-1.0, 1.0, self.centres)
            spacing = 2 / max(self.centres - 1, 1)
            bumps = jnp.exp(-0.5 * ((scaled[:, :, None] - at[None, None, :]) / spacing) ** 2)  # [n, d, centres]
            scaled = bumps[:, 0]
            for axis in range(1, states.shape[1]):
                scaled = (scaled[:, :, None] * bumps[:, axis, None, :]).reshape(len(states), -1)
        return jnp.concatenate([scaled, jnp.ones((len(states), 1))], axis=1)

    def _likelihood(self, state: LogisticState, query: Array, label: float) -> Array:
        """p_θ(label) at the query, with θ fitted to D and the query with this label."""
        features = jnp.concatenate([state.features, query[None]])
        labels = jnp.append(state.labels, label)
        represents = jnp.append(state.represents, 1.0)
        weights, _ = newton(features, labels, represents, self.l2, state.weights, self.newton_steps)
        return jax.nn.sigmoid((2 * label - 1) * (query @ weights))


@partial(jax.jit, static_argnums=0)
def _fit(
    part: LogisticCNML, region: Box, states: Array, examples: Array, stand_for: Array
) -> tuple[LogisticState, Info]:
    features = part._features(region, jnp.concatenate([states, examples]))
    labels = jnp.concatenate([jnp.zeros(len(states)), jnp.ones(len(examples))])
    represents = jnp.where(labels == 1, stand_for[1], stand_for[0])
    weights, gradient = newton(features, labels, represents, part.l2, jnp.zeros(features.shape[1]), 50)
    p = jax.nn.sigmoid(features @ weights)
    loss = -jnp.sum(represents * jnp.log(jnp.where(labels == 1, p, 1 - p) + 1e-30)) / jnp.sum(represents)
    return LogisticState(region, features, labels, represents, weights), {"loss": loss, "gradient": gradient}


@register_method("cnml")
@dataclass(frozen=True)
class CNML:
    """Exact CNML on all data, for small problems: what MURAL's reward would be without approximation."""

    model: Literal["kernel", "tabular", "logistic"] = "kernel"
    """Which model CNML is exact for: kernel counts, counts of cells, or logistic regression on features."""
    kernel: KernelCNML = field(default_factory=KernelCNML)
    """Settings of the kernel counts."""
    tabular: TabularCNML = field(default_factory=TabularCNML)
    """Settings of the counts."""
    logistic: LogisticCNML = field(default_factory=LogisticCNML)
    """Settings of the logistic regression."""
    scale: float = 1.0
    """Factor on the reward."""

    def terms(self) -> tuple[Term, ...]:
        """The classifier chosen."""
        return (Term("classifier", self.scale, getattr(self, self.model)),)
