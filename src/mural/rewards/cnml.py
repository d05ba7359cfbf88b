"""Algorithm 1 of the paper: the reward is p(success | state) by exact CNML, without meta-learning.

Two models for which exact CNML is affordable: one parameter per cell of a grid, where it is a count (Theorem 1), and
logistic regression, where it is two convex problems per state. For small problems, and as the ideal that MURAL is near.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mural.rewards import grid, newton
from mural.rewards.base import Experience, Info, Problem, Term, Transitions, register_method
from mural.rewards.grid import Box
from mural.rewards.newton import Points

WIDEN = 0.5  # how far beyond the first data and the examples the grid reaches, in longest edges of their box
MOST_CELLS = 10**7


class GridSizeError(ValueError):
    """The grid has more cells than there is room for; the message says what to do."""


class CellCounts(NamedTuple):
    """Where the cells are, and what was seen in each."""

    region: Box
    visits: Array  # [bins^d] int32: N
    examples: Array  # [bins^d] int32: G


@dataclass(frozen=True)
class TabularCNML:
    """(G + 1)/(N + G + 2) for a cell with N visits and G success examples."""

    bins: int = 16
    """Cells along each axis of the state."""
    low: float | None = None
    """Where the grid begins on all axes; None: below the first data and the examples."""
    high: float | None = None
    """Where it ends; None: above the first data and the examples. States outside belong to the nearest cell."""
    balanced: bool = False
    """Let all examples together weigh as much as all visits, as in a D of equal halves. False: each example is one."""

    def init(self, problem: Problem, *, key: Array) -> CellCounts:
        """Nothing seen; the region is fixed by the first data, unless set."""
        d = problem.state_size
        if self.bins**d > MOST_CELLS:
            raise GridSizeError(
                f"{self.bins} bins along each of {d} axes are {self.bins**d:.1e} cells, and {MOST_CELLS:.0e} are the "
                "most: use fewer bins, show the classifier fewer columns of the observation, or model 'logistic'"
            )
        none = jnp.zeros(self.bins**d, jnp.int32)
        return CellCounts(grid.box(None, d, self.low, self.high, WIDEN), none, none)

    def learn(
        self, state: CellCounts, problem: Problem, experience: Experience, *, key: Array
    ) -> tuple[CellCounts, Info]:
        """Count all new states, each once; the examples with the first of them."""
        recent, examples = experience.recent.states, jnp.asarray(problem.examples, jnp.float32)
        if not np.asarray(state.visits).any():
            points = np.concatenate([np.asarray(recent), problem.examples])
            region = grid.box(points, problem.state_size, self.low, self.high, WIDEN)
            state = CellCounts(region, state.visits, grid.counted(state.examples * 0, region, self.bins, examples))
        return _count(self, state, recent, examples)

    def label(self, state: CellCounts, batch: Transitions) -> Array:
        """r(s) = p_CNML(success | s)."""
        return self.probability(state, batch.states)

    def probability(self, state: CellCounts, states: Array) -> Array:
        """p_CNML(success) [n] of states [n, d]."""
        cell = grid.cells(state.region, self.bins, states)
        n, g = state.visits[cell].astype(jnp.float32), state.examples[cell].astype(jnp.float32)
        if self.balanced:
            g = g * jnp.maximum(jnp.sum(state.visits), 1) / jnp.maximum(jnp.sum(state.examples), 1)
        return (g + 1) / (n + g + 2)


@partial(jax.jit, static_argnums=0)
def _count(config: TabularCNML, state: CellCounts, recent: Array, examples: Array) -> tuple[CellCounts, Info]:
    state = state._replace(visits=grid.counted(state.visits, state.region, config.bins, recent))
    info = {"cells": jnp.sum(state.visits > 0), "visits": jnp.sum(state.visits)}
    return state, info | _report(config.probability(state, examples), config.probability(state, recent))


class LogisticState(NamedTuple):
    """D as features, how states become features, and the maximum-likelihood weights that every query starts from."""

    mean: Array  # [d]
    edge: Array  # [d]
    data: Points
    weights: Array  # [m]


@dataclass(frozen=True)
class LogisticCNML:
    """Exact CNML of logistic regression: Newton to convergence for each state and label."""

    features: Literal["linear", "quadratic"] = "quadratic"
    """What the logit is linear in: the standardised state, or that and all products of two of its entries."""
    negatives: int = 256
    """Replay states in D, each standing for replay size / this."""
    balanced: bool = False
    """Let all examples together weigh as much as all visits, as in a D of equal halves. False: each example is one."""
    l2: float = 0.01
    """Strength of the penalty that keeps the optimum finite, as in `mural.nml.CNMLClassifier`."""
    max_iter: int = 50
    """The most Newton steps."""

    def init(self, problem: Problem, *, key: Array) -> LogisticState:
        """An empty D, with which every answer is ½."""
        d, n = problem.state_size, self.negatives + len(problem.examples)
        m = self._features(jnp.zeros((1, d))).shape[1]
        data = Points(jnp.zeros((n, m)), jnp.zeros(n), jnp.zeros(n))
        return LogisticState(jnp.zeros(d), jnp.ones(d), data, jnp.zeros(m))

    def learn(
        self, state: LogisticState, problem: Problem, experience: Experience, *, key: Array
    ) -> tuple[LogisticState, Info]:
        """Draw D and fit it."""
        states = experience.sample(self.negatives, key).states
        return _fit(self, states, jnp.asarray(problem.examples, jnp.float32), jnp.asarray(experience.size, jnp.float32))

    def label(self, state: LogisticState, batch: Transitions) -> Array:
        """r(s) = p_CNML(success | s)."""
        return self.probability(state, batch.states)

    def probability(self, state: LogisticState, states: Array) -> Array:
        """p_CNML(success) [n] of states [n, d]."""
        queries = self._features((states - state.mean[None]) / state.edge[None])
        return newton.probability(state.data, state.weights, queries, self.l2, self.max_iter)

    def _features(self, u: Array) -> Array:
        """Features [n, m] of standardised states [n, d], a column of ones first."""
        columns = [jnp.ones((u.shape[0], 1)), u]
        if self.features == "quadratic":
            i, j = np.triu_indices(u.shape[1])
            columns.append(u[:, i] * u[:, j])
        return jnp.concatenate(columns, axis=1)


@partial(jax.jit, static_argnums=0)
def _fit(config: LogisticCNML, states: Array, examples: Array, size: Array) -> tuple[LogisticState, Info]:
    x = jnp.concatenate([states, examples])
    mean, edge = jnp.mean(x, axis=0), jnp.std(x, axis=0)
    edge = jnp.where(edge > 1e-6, edge, 1.0)
    f = config._features((x - mean[None]) / edge[None])
    n, m = states.shape[0], examples.shape[0]
    y = jnp.concatenate([jnp.zeros(n), jnp.ones(m)])
    each = size / max(m, 1) if config.balanced else jnp.ones(())
    represents = jnp.concatenate([jnp.full(n, size / n), jnp.full(m, each)])
    data = Points(f, y, represents)
    weights, steps = newton.fit(data, config.l2, config.max_iter)
    state = LogisticState(mean, edge, data, weights)
    info = {"newton_steps": steps, "loss": newton.objective(data, weights, 0.0) / jnp.sum(represents)}
    p = config.probability(state, x)
    return state, info | _report(p[n:], p[:n])


def _report(p_examples: Array, p_replay: Array) -> Info:
    return {"p_examples": jnp.mean(p_examples), "p_replay": jnp.mean(p_replay)}


@register_method("cnml")
@dataclass(frozen=True)
class CNML:
    """Exact CNML as the reward: counts on a grid, or logistic regression solved for every state and label."""

    model: Literal["tabular", "logistic"] = "tabular"
    """Which of the two."""
    tabular: TabularCNML = field(default_factory=TabularCNML)
    """A parameter for each cell of a grid."""
    logistic: LogisticCNML = field(default_factory=LogisticCNML)
    """Logistic regression."""
    scale: float = 1.0
    """Factor on the probability."""

    def terms(self) -> tuple[Term, ...]:
        """p_CNML."""
        return (Term("classifier", self.scale, self.tabular if self.model == "tabular" else self.logistic),)
