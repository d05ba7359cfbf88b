"""CNML where every state has a parameter of its own: Theorem 1, and counts on a grid as the ideal reward."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mural.cells import cells
from mural.errors import ArgumentError

Floats = NDArray[np.float64]


def tabular_cnml(visits: ArrayLike, successes: ArrayLike) -> Floats:
    """p(success) = (G + 1)/(N + G + 2) for a state visited N times without and G times with success."""
    n, g = np.asarray(visits, dtype=float), np.asarray(successes, dtype=float)
    if (n < 0).any() or (g < 0).any():
        raise ArgumentError("Counts must be 0 or more.")
    return (g + 1) / (n + g + 2)


def tabular_log_likelihoods(counts: ArrayLike) -> Floats:
    """log p_{θ_y}(y) for counts [..., k]: with y added once, its maximum-likelihood share is (n_y + 1)/(Σn + 1)."""
    n = np.asarray(counts, dtype=float)
    return np.log(n + 1) - np.log(n.sum(-1, keepdims=True) + 1)


@dataclass(frozen=True)
class Grid:
    """A box cut into equal cells: turns states into counts, the discrete ideal of the paper's figures."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    cells: int
    """Cells along each axis."""

    @property
    def cell_size(self) -> Floats:
        """Edge lengths of a cell."""
        return (np.asarray(self.high) - np.asarray(self.low)) / self.cells

    def index(self, x: ArrayLike) -> NDArray[np.int64]:
        """Flat cell index of each state [n, d]; states outside belong to the nearest cell."""
        position = cells(np.asarray(x, dtype=float), np.asarray(self.low), np.asarray(self.high), self.cells)
        return np.ravel_multi_index(tuple(position.T), (self.cells,) * len(self.low))

    def centres(self) -> Floats:
        """Centre of each cell [cells^d, d], in the order of `index`."""
        axes = [low + size * (np.arange(self.cells) + 0.5) for low, size in zip(self.low, self.cell_size, strict=True)]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(self.low))

    def counts(self, x: ArrayLike) -> Floats:
        """How many of the states fall into each cell."""
        return np.bincount(self.index(x), minlength=self.cells ** len(self.low)).astype(float)

    def ideal(self, visits: ArrayLike, successes: ArrayLike) -> Floats:
        """The count-based CNML success probability of each cell."""
        return tabular_cnml(self.counts(visits), self.counts(successes))
