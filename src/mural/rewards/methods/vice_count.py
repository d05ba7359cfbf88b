"""VICE with an oracle's exploration bonus: exact visit counts over a grid of true places."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mural.errors import MuralError
from mural.limits import NotNegativeFloat, PositiveInt
from mural.rewards import grid
from mural.rewards.base import Experience, Info, Part, Problem, Term, register_method
from mural.rewards.grid import Box
from mural.rewards.methods.vice import ViceClassifier

WIDEN = 2.0  # how far beyond the first data the grid reaches, in longest edges of their box


class PlaceError(MuralError, ValueError):
    """There is nothing to count: the environment does not say where the agent is."""


class Counts(NamedTuple):
    """Where the cells are, and how often each was visited."""

    region: Box
    visits: Array  # [bins²] int32


@dataclass(frozen=True)
class CountBonus(Part):
    """1/N(cell)^power for the cell that a transition leads to; 1 for a cell never visited."""

    reads = learns_from = ("xy",)

    bins: PositiveInt = 51
    """Cells along each of the two axes."""
    low: float | None = None
    """Where the grid begins on both axes. None: where the task's plane does, or well below the first places visited."""
    high: float | None = None
    """Where the grid ends. None: as above. Places outside count for the nearest cell."""
    power: NotNegativeFloat = 0.5
    """The bonus is 1/N^power. 0.5 is 1/√N, as in the released code; 1 is 1/N, as in the paper's text."""

    def init(self, problem: Problem, *, key: Array) -> Counts:
        """No visits; the region is as set, the task's plane, or else fixed by the first data."""
        return Counts(self._region(problem, None), jnp.zeros(self.bins**2, jnp.int32))

    def _region(self, problem: Problem, places: np.ndarray | None) -> Box:
        if problem.plane is not None:
            return grid.box(problem.plane, 2, self.low, self.high, 0.0)
        return grid.box(places, 2, self.low, self.high, WIDEN)

    def learn(self, state: Counts, problem: Problem, experience: Experience, *, key: Array) -> tuple[Counts, Info]:
        """Count all new transitions, each once."""
        places = np.asarray(experience.recent["xy"])
        if not np.isfinite(places).all():
            raise PlaceError("counts need the agent's place: have the environment report it as info['xy'], two numbers")
        region = state.region
        if not np.asarray(state.visits).any():
            region = self._region(problem, places)
        return _learn(self, Counts(region, state.visits), experience.recent["xy"])

    def label(self, state: Counts, xy: Array) -> Array:
        """The bonus of the places that the transitions lead to."""
        visits = state.visits[grid.cells(state.region, self.bins, xy)]
        return jnp.maximum(visits, 1).astype(jnp.float32) ** -self.power


@partial(jax.jit, static_argnums=0)
def _learn(config: CountBonus, state: Counts, places: Array) -> tuple[Counts, Info]:
    visits = grid.counted(state.visits, state.region, config.bins, places)
    info = {"cells": jnp.sum(visits > 0), "coverage": jnp.mean(visits > 0), "visits": jnp.sum(visits)}
    return Counts(state.region, visits), info


@register_method("vice-count")
@dataclass(frozen=True)
class ViceCount:
    """VICE plus a bonus for rarely visited places, by exact counts of the true places (an oracle)."""

    classifier: ViceClassifier = field(default_factory=lambda: ViceClassifier(weight_decay=0.0))
    """The classifier."""
    classifier_scale: float = 0.25
    """Factor on the classifier's reward."""
    bonus: CountBonus = field(default_factory=CountBonus)
    """The bonus for places that were rarely visited."""
    bonus_scale: float = 1.0
    """Factor on the bonus."""

    def terms(self) -> tuple[Term, ...]:
        """Classifier and bonus."""
        return (
            Term("classifier", self.classifier_scale, self.classifier),
            Term("bonus", self.bonus_scale, self.bonus),
        )
