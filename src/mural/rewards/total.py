"""The sum: all parts of a method, each under its own name. The one path from states, or transitions, to rewards."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from mural.agent.replay import COLUMNS
from mural.errors import did_you_mean
from mural.rewards import metric as metrics
from mural.rewards.base import (
    PAIRS,
    POLICY,
    STATES,
    Classifier,
    Experience,
    Info,
    MethodError,
    Names,
    NMLPart,
    Part,
    PartState,
    Problem,
    Recent,
    Term,
)
from mural.rewards.metric import Metric, Units

PartStates = dict[str, PartState]
"""The state of every part by its name, and the metric that they share."""
Terms = tuple[Term, ...]

METRIC = "metric"  # a name that no part may have
NEWER = tuple(
    f"{METRIC}.{name}" for name in ("first", "usual", "aside", "arrived", "partner", "slope")
)  # what earlier files do not have: nothing is remembered then
METRIC_STREAM = 2**30  # of the random numbers that the metric's states are drawn by
SPECIAL = {PAIRS, POLICY}
ROUND = 64  # starts of episodes are brought into the metric's units in a multiple of so many rows
BLOCK = 512  # states per compiled call: one shape, and so the same bits, whoever asks
REPORTED = frozenset({"env_reward", *(name for name, column in COLUMNS.items() if column.report)})


def init(terms: Sequence[Term], problem: Problem, *, key: Array) -> PartStates:
    """The state of every part."""
    check(terms)
    keys = jax.random.split(key, max(len(terms), 1))
    parts = {term.name: term.part.init(problem, key=k) for term, k in zip(terms, keys, strict=False)}
    return parts | {METRIC: metrics.raw(problem.state_size)}


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
        if name == METRIC:
            raise MethodError(f"a part is called {METRIC!r}, which the states' units are: give it another name")
        if not isinstance(part, Part):
            raise MethodError(f"the part {name!r} is a {type(part).__name__}, it must derive from mural.rewards.Part")
        for where, wanted, there in (("reads", part.reads, known), ("learns_from", part.learns_from, known | SPECIAL)):
            for column in wanted:
                if column not in there:
                    hint = did_you_mean(column, sorted(there)).rstrip() or f"there are {', '.join(sorted(there))}"
                    raise MethodError(f"{where} of the part {name!r} has {column!r}, which is no column; {hint}")


def learn(
    terms: Sequence[Term],
    parts: PartStates,
    problem: Problem,
    experience: Experience,
    units: Units = "spread",
    *,
    key: Array,
) -> tuple[PartStates, Info]:
    """Measure the states anew, then let every part learn; what they report gets the name of the part in front."""
    keys = jax.random.split(key, max(len(terms), 1))
    after: PartStates = {METRIC: parts[METRIC]}
    info: Info = {}
    if any(term.part.scaled and STATES in term.part.learns_from for term in terms):
        visited = experience.states(metrics.STATES, jax.random.fold_in(key, METRIC_STREAM))
        recent, examples = experience.recent[STATES], jnp.asarray(problem.examples)
        held = experience.size if experience.held is None else experience.held
        metric = metrics.measure(
            units, parts[METRIC], visited, recent, experience.starts, examples, experience.abreast, held
        )
        after[METRIC] = metric
        info[f"{METRIC}/width"] = metric.width
        if metric.aside.any():
            info |= {f"{METRIC}/aside": metric.aside.sum(), f"{METRIC}/arrived": metric.arrived}
        if metric.slope.any():
            info[f"{METRIC}/related"] = jnp.sum(metric.slope != 0).astype(jnp.float32)
    for term, k in zip(terms, keys, strict=False):
        seen = scaled(after[METRIC], problem, experience) if term.part.scaled else (problem, experience)
        after[term.name], report = term.part.learn(parts[term.name], *seen, key=k)
        info |= {f"{term.name}/{name}": value for name, value in report.items()}
    return after, info


def scaled(metric: Metric, problem: Problem, experience: Experience) -> tuple[Problem, Experience]:
    """What is known and what was seen, in units of the metric."""

    def known(states: np.ndarray) -> np.ndarray:
        return np.asarray(_apply(metric, jnp.asarray(np.atleast_2d(states)))).reshape(states.shape)

    def draw(n: int, key: Array, names: Names) -> tuple[Array, ...]:
        found = experience.draw(n, key, names)
        return tuple(_apply(metric, c) if name == STATES else c for name, c in zip(names, found, strict=True))

    def pairs(n: int, key: Array) -> tuple[Array, Array, Array]:
        first, second, gap = experience.pairs(n, key)
        return _apply(metric, first), _apply(metric, second), gap

    recent = Recent({n: _apply(metric, c) if n == STATES else c for n, c in experience.recent.items()})
    goal = None if problem.goal is None else known(problem.goal)
    there = dataclasses.replace(problem, examples=known(problem.examples), goal=goal)
    starts = experience.starts
    if len(starts):  # as many as a block has: each number of them would be compiled anew
        rows = np.resize(np.asarray(starts), (-(-len(starts) // ROUND) * ROUND, starts.shape[1]))
        starts = jnp.asarray(np.asarray(_apply(metric, jnp.asarray(rows)))[: len(starts)])
    seen = dataclasses.replace(experience, draw=draw, recent=recent, pairs=pairs, width=metric.width, starts=starts)
    return there, seen


_apply = jax.jit(Metric.apply)


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
    found = {}
    for name, scale, part in terms:
        arguments = [in_units(part, parts, columns[c]) if c == STATES else columns[c] for c in part.reads]
        found[name] = scale * part.label(parts[name], *arguments)
    return found


def in_units(part: Part, parts: PartStates, states: Array) -> Array:
    """States [n, d] as a part sees them."""
    metric: Metric = parts[METRIC]
    return metric.apply(states) if part.scaled else states


def total(labels: Mapping[str, Array], n: int) -> Array:
    """Σ of the parts [n]; zero if there are none."""
    return sum(labels.values(), jnp.zeros(n, jnp.float32))


@partial(jax.jit, static_argnums=(0, 1))
def _rewards(terms: Terms, n: int, parts: PartStates, columns: dict[str, Array]) -> Array:
    return total(label(terms, parts, columns), n)


@partial(jax.jit, static_argnums=0)
def _probability(term: Term, parts: PartStates, states: Array) -> Array:
    assert isinstance(term.part, Classifier)
    return term.part.probability(parts[term.name], in_units(term.part, parts, states))


@partial(jax.jit, static_argnums=0)
def _regret(term: Term, parts: PartStates, states: Array) -> Array:
    assert isinstance(term.part, NMLPart)
    return term.part.regret(parts[term.name], in_units(term.part, parts, states))


def rewards(
    terms: Terms, parts: PartStates, columns: Mapping[str, NDArray[np.float32]], n: int, block_size: int = BLOCK
) -> NDArray[np.float32]:
    """The current reward [n] of n states or transitions: the sum of the terms, in blocks of one shape."""
    needed = reads(terms)
    found = [np.zeros(0, np.float32)]
    for index in blocks(n, block_size):
        block = {name: np.asarray(columns[name], np.float32)[index] for name in needed}
        found.append(np.asarray(_rewards(terms, block_size, parts, block)))
    return np.concatenate(found)[:n]


def probability(term: Term, parts: PartStates, states: NDArray[np.float32]) -> NDArray[np.float32]:
    """p(success) [n] of states [n, d] by a term that is a classifier."""
    found = [_probability(term, parts, states[index]) for index in blocks(len(states))]
    return np.concatenate(found)[: len(states)]


def regret(term: Term, parts: PartStates, states: NDArray[np.float32]) -> NDArray[np.float32]:
    """log Σ_y p_{θ_y}(y | s) [n] of states [n, d] by a term that is an `NMLPart`."""
    found = [_regret(term, parts, states[index]) for index in blocks(len(states))]
    return np.concatenate(found)[: len(states)]


def blocks(n: int, size: int = BLOCK) -> list[NDArray[np.int64]]:
    """Indices of n rows, in blocks of one length; the last one begins again."""
    return [np.resize(np.arange(start, min(start + size, n)), size) for start in range(0, n, size)]


def find(terms: Sequence[Term], kind: type) -> Term | None:
    """The term of this kind that is called "classifier", or the first one; None if there is none."""
    found = [term for term in terms if isinstance(term.part, kind)]
    return next((term for term in found if term.name == "classifier"), found[0] if found else None)
