"""The sum: all parts of a method, each under its own name."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import Array

from mural.rewards.base import Experience, Info, PartState, Problem, Term, Transitions

States = dict[str, PartState]


def init(terms: Sequence[Term], problem: Problem, *, key: Array) -> States:
    """The state of every part."""
    keys = jax.random.split(key, max(len(terms), 1))
    return {term.name: term.part.init(problem, key=k) for term, k in zip(terms, keys, strict=False)}


def learn(
    terms: Sequence[Term], states: States, problem: Problem, experience: Experience, *, key: Array
) -> tuple[States, Info]:
    """Let every part learn; what they report gets the name of the part in front."""
    keys = jax.random.split(key, max(len(terms), 1))
    after: States = {}
    info: Info = {}
    for term, k in zip(terms, keys, strict=False):
        after[term.name], report = term.part.learn(states[term.name], problem, experience, key=k)
        info |= {f"{term.name}/{name}": value for name, value in report.items()}
    return after, info


def label(terms: Sequence[Term], states: States, batch: Transitions) -> dict[str, Array]:
    """scale × reward [n] of every part."""
    return {term.name: term.scale * term.part.label(states[term.name], batch) for term in terms}


def total(parts: dict[str, Array], batch: Transitions) -> Array:
    """Σ of the parts [n]; zero if there are none."""
    return sum(parts.values(), jnp.zeros(batch.env_reward.shape, jnp.float32))
