"""The sum: all parts of a method, each under its own name. The one path from states, or transitions, to rewards."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from mural.agent.replay import COLUMNS
from mural.rewards.base import (
    PAIRS,
    POLICY,
    STATES,
    Classifier,
    Experience,
    Info,
    MethodError,
    NMLPart,
    Part,
    PartState,
    Problem,
    Term,
)

PartStates = dict[str, PartState]
Terms = tuple[Term, ...]

SPECIAL = {PAIRS, POLICY}
BLOCK = 512  # states per compiled call: one shape, and so the same bits, whoever asks
REPORTED = frozenset({"env_reward", *(name for name, column in COLUMNS.items() if column.report)})


def init(terms: Sequence[Term], problem: Problem, *, key: Array) -> PartStates:
    """The state of every part."""
    check(terms)
    keys = jax.random.split(key, max(len(terms), 1))
    return {term.name: term.part.init(problem, key=k) for term, k in zip(terms, keys, strict=False)}


def first_keys(seed: int) -> tuple[Array, Array]:
    """Keys of the first weights of the agent and of the reward."""
    agent, reward = jax.random.split(jax.random.fold_in(jax.random.key(seed), 2**31 - 1))
    return agent, reward


def epoch_keys(seed: int, epoch: int) -> tuple[Array, Array, Array]:
    """Keys of an epoch: what the reward learns, what is drawn for the agent, what the agent learns."""
    learn, plan, updates = jax.random.split(jax.random.fold_in(jax.random.key(seed), epoch), 3)
    return learn, plan, updates


def check(terms: Sequence[Term]) -> None:
    """Raise a `MethodError` for what is not a part, or names a column that there is not."""
    known = {*COLUMNS, STATES}
    for name, _, part in terms:
        if not isinstance(part, Part):
            raise MethodError(f"the part {name!r} is a {type(part).__name__}, it must derive from mural.rewards.Part")
        for where, wanted, there in (("reads", part.reads, known), ("learns_from", part.learns_from, known | SPECIAL)):
            for column in wanted:
                if column not in there:
                    near = difflib.get_close_matches(column, there, n=1)
                    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(there))}"
                    raise MethodError(f"{where} of the part {name!r} has {column!r}, which is no column; {hint}")


def learn(
    terms: Sequence[Term], parts: PartStates, problem: Problem, experience: Experience, *, key: Array
) -> tuple[PartStates, Info]:
    """Let every part learn; what they report gets the name of the part in front."""
    keys = jax.random.split(key, max(len(terms), 1))
    after: PartStates = {}
    info: Info = {}
    for term, k in zip(terms, keys, strict=False):
        after[term.name], report = term.part.learn(parts[term.name], problem, experience, key=k)
        info |= {f"{term.name}/{name}": value for name, value in report.items()}
    return after, info


def reads(terms: Sequence[Term]) -> frozenset[str]:
    """The columns that the rewards depend on."""
    return frozenset(name for term in terms for name in term.part.reads)


def learns_from(terms: Sequence[Term]) -> frozenset[str]:
    """What the parts ask for when they learn."""
    return frozenset(name for term in terms for name in term.part.learns_from)


def learned(terms: Sequence[Term]) -> Terms:
    """The terms that are more than what the environment reports."""
    return tuple(term for term in terms if not REPORTED & set(term.part.reads))


def label(terms: Sequence[Term], parts: PartStates, columns: Mapping[str, Array]) -> dict[str, Array]:
    """scale × reward [n] of every part."""
    return {
        term.name: term.scale * term.part.label(parts[term.name], *(columns[name] for name in term.part.reads))
        for term in terms
    }


def total(labels: Mapping[str, Array], n: int) -> Array:
    """Σ of the parts [n]; zero if there are none."""
    return sum(labels.values(), jnp.zeros(n, jnp.float32))


@partial(jax.jit, static_argnums=0)
def _rewards(terms: Terms, parts: PartStates, columns: dict[str, Array]) -> Array:
    return total(label(terms, parts, columns), BLOCK)


@partial(jax.jit, static_argnums=0)
def _probability(part: Classifier, state: PartState, states: Array) -> Array:
    return part.probability(state, states)


@partial(jax.jit, static_argnums=0)
def _regret(part: NMLPart, state: PartState, states: Array) -> Array:
    return part.regret(state, states)


def rewards(terms: Terms, parts: PartStates, columns: Mapping[str, NDArray[np.float32]], n: int) -> NDArray[np.float32]:
    """The current reward [n] of n states or transitions: the sum of the terms, in blocks of one shape."""
    needed = reads(terms)
    found = [np.zeros(0, np.float32)]
    for index in blocks(n):
        block = {name: np.asarray(columns[name], np.float32)[index] for name in needed}
        found.append(np.asarray(_rewards(terms, parts, block)))
    return np.concatenate(found)[:n]


def probability(term: Term, parts: PartStates, states: NDArray[np.float32]) -> NDArray[np.float32]:
    """p(success) [n] of states [n, d] by a term that is a classifier."""
    assert isinstance(term.part, Classifier)
    found = [_probability(term.part, parts[term.name], states[index]) for index in blocks(len(states))]
    return np.concatenate(found)[: len(states)]


def regret(term: Term, parts: PartStates, states: NDArray[np.float32]) -> NDArray[np.float32]:
    """log Σ_y p_{θ_y}(y | s) [n] of states [n, d] by a term that is an `NMLPart`."""
    assert isinstance(term.part, NMLPart)
    found = [_regret(term.part, parts[term.name], states[index]) for index in blocks(len(states))]
    return np.concatenate(found)[: len(states)]


def blocks(n: int) -> list[NDArray[np.int64]]:
    """Indices of n rows, in blocks of one length; the last one begins again."""
    return [np.resize(np.arange(start, min(start + BLOCK, n)), BLOCK) for start in range(0, n, BLOCK)]


def find(terms: Sequence[Term], kind: type) -> Term | None:
    """The term of this kind that is called "classifier", or the first one; None if there is none."""
    found = [term for term in terms if isinstance(term.part, kind)]
    return next((term for term in found if term.name == "classifier"), found[0] if found else None)
