"""Waves of each number beside it: what a network needs to tell neighbours apart.

Networks learn smooth functions first. On a grid whose cells are labelled at random, what is right in one cell is wrong
in the next; with sin πkx and cos πkx, k = 1 … waves, beside each number x such a function is learned as quickly as a
smooth one. Half as many waves as a number has values suffice.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

from mural.nml.mlp import Params
from mural.nml.proposals import Proposal
from mural.nml.weights import Data


def width(numbers: int, waves: int) -> int:
    """How many numbers stand there with so many waves of each."""
    return numbers * (1 + 2 * waves)


def beside(x: Array, waves: int) -> Array:
    """x [n, d] with its waves beside it, [n, (1 + 2·waves)·d]: first all x, then all sines, then all cosines."""
    if waves == 0:
        return x
    angles = (x[:, :, None] * (jnp.pi * jnp.arange(1, waves + 1))[None, None]).reshape(x.shape[0], -1)
    return jnp.concatenate([x, jnp.sin(angles), jnp.cos(angles)], axis=-1)


def count(params: Params, x: Array) -> int:
    """How many waves of each number of x [n, d] a network was made for."""
    return (int(params[0].w.shape[0]) // x.shape[1] - 1) // 2


def seen_by(params: Params, x: Array) -> Array:
    """x [n, d] with as many waves as a network was made for."""
    return beside(x, count(params, x))


@dataclass(frozen=True)
class Without:
    """A kernel's feature map that looks at the numbers and not at their waves."""

    waves: int

    def __call__(self, x: Array) -> Array:
        """[n, (1 + 2·waves)·d] ↦ [n, d]."""
        return x[:, : x.shape[1] // (1 + 2 * self.waves)]


@dataclass(frozen=True)
class Proposed:
    """A proposal for numbers with waves: new numbers, with the waves that belong to them."""

    proposal: Proposal
    waves: int

    def __call__(self, key: Array, data: Data, count: int) -> Array:
        """Inputs [count, (1 + 2·waves)·d] outside D."""
        return beside(self.proposal(key, data._replace(x=Without(self.waves)(data.x)), count), self.waves)
