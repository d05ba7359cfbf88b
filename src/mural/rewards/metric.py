"""A metric without units: how far two states are apart, judged from the data alone.

Each number of a state is divided by its spread among the visited states. Two rules go with that. What hardly ever moves
(a ball that nobody has lifted) has a floor, tied to the spread of visits and examples together: a small move of it is
far, and not infinitely far. And a number counts by its *relevance*, the share of that common spread which the examples
alone do not have: where the examples vary as much as the visits (the pose of an ant that only has to be somewhere),
success does not depend on it. Unless it is *slow*: what keeps its value over ten steps (the ant's y) is a place to go
through, and has only not been seen to vary yet; what swings back and forth (its joints) has. And a number that the
first visits had right already (its roll: ants stand) stays of little relevance however far the agent takes it later, or
an ant would be paid for lying on its back; only being slow, most of the time, makes it count. Where no number says much
by itself (the examples lie scattered among the visits, as in the shuffled maze), all count, the more the weaker the
strongest is.

And what every start has right is *set aside*, until the agent has got among the examples in all else: the ant looks the
right way from the beginning, and a room that is explored once for each way to look takes many times as long. Only where
all else is a place, of two numbers or more, and moves whenever the agent does. Where something that is wrong at the
start lies still (a ball), the hand that has to touch it must be explored, though it starts where it ends.

The kernel's width λ is the usual distance, so measured, from a visited state to its tenth neighbour. Where that is 0
and nearly all states come back exactly (a grid), λ keeps them apart: it is a quarter of the distance from one to the
next.
"""

from __future__ import annotations

from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mural.nml.kernel import neighbour_distance
from mural.nml.weights import distances
from mural.rewards.relations import given, measured_from, related

Units = Literal["spread", "raw"]

STATES = 2048  # visited states that the metric is taken from
ENOUGH = 1000  # visits, from which on drawing them with replacement makes no difference
QUERIES = 512  # of them, those whose neighbours are looked for
NEIGHBOUR = 10
FLOOR = 0.1  # of the common spread: the least that a number is divided by
LEAST_RELEVANCE = 0.01
WEAK = 0.5  # relevance of the strongest number, below which the others count too
LAG = 10  # steps over which a slow number keeps its value
SLOW = 4  # power of that autocorrelation: 0.96 counts for 0.85, 0.55 for 0.09
RIGHT = 0.5  # relevance in the first epoch, below which a number was right already
USUAL = 0.03  # of an epoch's slowness in the running mean that counts for such numbers: some thirty epochs
LEAST_WIDTH = 0.1  # λ where nothing has moved yet
SAME = 1e-4  # spreads: two states nearer than this are one, but for rounding
CROWD = 0.25  # chance that two states are one, from which on it is not a grid but a thing that mostly lies still
TWINS = 3  # times that a state of a grid is among the others; drawing one visit twice makes one twin, seldom three
NEARLY_ALL = 0.9  # share of states that have them on a grid; a thing that lies still half of the time has fewer
APART = 0.25  # λ of states that come back, in distances to the next one: its kernel there is 1e-4
MEMORY = 0.5  # of the last epoch's λ
RESTLESS = 0.1  # of its mean change over ten steps: a number whose median change is above hardly ever lies still
STARTS = 3  # that must have a number right before it is set aside
ALIKE = 0.05  # of the common spread: the least deviation of examples that do not vary
PLACE = 2  # numbers that are wrong at the start, from which on there may be something to go around
AMONG = 2.0  # deviations of the examples from their mean, within which a visit is among them
ARRIVED = 0.5  # share of an epoch's visits among the examples, from which on what was set aside counts in full
PRECISION = 1e-5  # of a number's size: differences below are rounding


class Metric(NamedTuple):
    """s ↦ (s − β partner of s − centre)/scale, the kernel's width λ after it (0: not known yet), and a memory."""

    centre: Array  # [d]
    scale: Array  # [d]
    width: Array  # []
    first: Array  # [d] relevance in the first epoch
    usual: Array  # [d] slowness, a mean that forgets
    aside: Array  # [d] 1: a number that every start has right, to be explored only after the others
    arrived: Array  # [] from 0 to 1: how far the agent has got with these others, and what is set aside counts
    partner: Array  # [d] which number each is measured from,
    slope: Array  # [d] and β; 0: from none

    def apply(self, states: Array) -> Array:
        """States [n, d] in units of the metric."""
        return (measured_from(states, self.partner, self.slope) - self.centre[None]) / self.scale[None]


def raw(size: int) -> Metric:
    """States as they are."""
    none, zeros, alone = jnp.zeros(()), jnp.zeros(size), jnp.arange(size)
    return Metric(zeros, jnp.ones(size), none, jnp.ones(size), zeros, zeros, none, partner=alone, slope=zeros)


@partial(jax.jit, static_argnums=1)
def slowness(recent: Array, abreast: int = 1) -> Array:
    """Autocorrelation [d] over ten steps, to a power, of states [n, d] in the order of their visits.

    `abreast` is the number of environments whose states take turns. Numbers that do not move at all are slow.
    """
    lag = LAG * abreast
    if recent.shape[0] <= lag:
        return jnp.zeros(recent.shape[1])
    var = jnp.var(recent, axis=0)
    change = jnp.mean((recent[lag:] - recent[:-lag]) ** 2, axis=0)
    kept = 1 - change / jnp.where(var > 0, 2 * var, 1.0)
    return jnp.clip(kept, 0.0, 1.0) ** SLOW


@partial(jax.jit, static_argnums=3)
def set_aside(starts: Array, recent: Array, examples: Array, abreast: int = 1) -> Array:
    """1 [d] for each number that every start [k, d] has right, where all others hardly ever lie still; else 0.

    Right: within a deviation of the mean of the examples [m, d]. `recent` [n, d] are the first visits in their order,
    of `abreast` environments that take turns. Three starts at the least, as one may be right by luck. At least two
    numbers must be wrong: along one alone there is nothing to go around, and a pole that has to be swung up and held
    would be taken for held whenever it is up.
    """
    lag = LAG * abreast
    if len(starts) < STARTS or not len(examples) or len(recent) <= lag:
        return jnp.zeros(recent.shape[1])
    mean, own = jnp.mean(examples, axis=0), jnp.std(examples, axis=0)
    size = PRECISION * jnp.max(jnp.abs(examples), axis=0)
    away = jnp.max(jnp.abs(starts - mean[None]), axis=0)
    right = away <= own + size
    change = jnp.abs(recent[lag:] - recent[:-lag])
    restless = jnp.median(change, axis=0) > RESTLESS * jnp.mean(change, axis=0)
    strong = ~right & (apart(recent, examples)[1] >= RIGHT)
    explore = jnp.any(strong) & (jnp.sum(~right) >= PLACE) & jnp.all(right | restless)
    return jnp.where(explore, right, False).astype(recent.dtype)


@jax.jit
def among(recent: Array, examples: Array, aside: Array) -> Array:
    """Share of the visits [n, d] that are among the examples [m, d] in every number that is not set aside."""
    mean, common = jnp.mean(examples, axis=0), apart(recent, examples)[0]
    deviation = jnp.maximum(jnp.std(examples, axis=0), ALIKE * jnp.sqrt(common))
    near = jnp.abs(recent - mean[None]) <= AMONG * deviation[None]
    return jnp.mean(jnp.all(near | (aside[None] > 0), axis=1))


def apart(states: Array, examples: Array) -> tuple[Array, Array]:
    """The common variance [d] of visited states [n, d] and examples [m, d], and the share of it that examples lack."""
    own, between = jnp.var(examples, axis=0), jnp.mean(states, axis=0) - jnp.mean(examples, axis=0)
    common = (jnp.var(states, axis=0) + own) / 2 + between**2 / 4
    return common, 1 - own / jnp.where(common > 0, common, 1.0)


def silenced(relevance: Array) -> Array:
    """What tells little together drowns what tells much: below one half, relevances r [d] count as r (2r)²."""
    return jnp.where(relevance < RIGHT, relevance * (2 * relevance) ** 2, relevance)


def spread(
    states: Array,
    examples: Array,
    slow: Array,
    first: Array | float = 1.0,
    usual: Array | float = 0.0,
    most: Array | float = 1.0,
) -> tuple[Array, Array]:
    """Centre and scale [d] for visited states [n, d] and examples [m, d]; without examples, mean and deviation.

    `slow` [d] is what a number's relevance is at least. Where one was strong at first, others whose `first` relevance
    [d] was low have at most that, or the root of their `usual` slowness [d]. None has more than its `most` [d].
    """
    mean, var = jnp.mean(states, axis=0), jnp.var(states, axis=0)
    size = PRECISION * jnp.max(jnp.abs(states), axis=0)
    if examples.shape[0] == 0:
        scale = jnp.sqrt(var)
        return mean, jnp.where(scale > size, scale, 1.0)
    common, now = apart(states, examples)
    scale = jnp.sqrt(jnp.maximum(var, FLOOR**2 * common))
    told = jnp.maximum(jnp.maximum(now, slow), LEAST_RELEVANCE)
    moves = scale > size
    strongest = jnp.max(jnp.where(moves, told, 0.0))
    right = silenced(jnp.maximum(jnp.minimum(now, first), jnp.sqrt(usual)))
    already = (first < RIGHT) & (jnp.max(jnp.where(moves, first, 0.0)) >= RIGHT)
    relevance = jnp.where(already, jnp.maximum(right, LEAST_RELEVANCE), told)
    relevance = jnp.minimum(jnp.maximum(relevance, 1 - strongest / WEAK), most)
    return (mean + jnp.mean(examples, axis=0)) / 2, jnp.where(moves, scale / relevance, 1.0)


def next_distance(x: Array, points: Array) -> Array:
    """Distance [n] from each of x [n, d] to the nearest point that is another state; NaN: there is none."""
    apart = distances(x, points)
    nearest = jnp.min(jnp.where(apart > SAME, apart, jnp.inf), axis=1)
    return jnp.where(nearest < jnp.inf, nearest, jnp.nan)


def nearest(states: Array, neighbour: int, copies: Array | None = None) -> Array:
    """Distance from each of the first states [n, d] to its `neighbour`-th nearest among the visits.

    Where these are few, each was drawn several times, and this many `copies` are one visit.
    """
    if copies is None:
        return neighbour_distance(states[:QUERIES], states, neighbour)
    ranked = jnp.sort(distances(states[:QUERIES], states), axis=1)
    rank = ((neighbour + 0.5) * copies).astype(jnp.int32)  # in the middle of that neighbour's copies
    return ranked[:, jnp.minimum(rank, states.shape[0] - 1)]


def come_back(states: Array, copies: Array | None = None) -> Array:
    """Share of the states [n, d] that are there at least three times more."""
    return jnp.mean(nearest(states, TWINS, copies) < SAME)


@partial(jax.jit, static_argnums=0)
def refresh(
    units: Units,
    before: Metric,
    states: Array,
    examples: Array,
    slow: Array,
    idle: Array | bool = False,
    copies: Array | None = None,
) -> Metric:
    """The metric for visited states [n, d] and examples [m, d] (raw units: only its width); λ moves half of the way.

    Numbers that are `idle` [d] do not count by being slow. `copies` of each visit are among the states; None: one.
    """
    known = before.width > 0
    first = jnp.where(known, before.first, apart(states, examples)[1] if examples.shape[0] else 1.0)
    usual = jnp.where(known, before.usual + USUAL * (slow - before.usual), slow)
    measured = units == "spread"
    most = jnp.where(before.aside > 0, jnp.maximum(before.arrived, LEAST_RELEVANCE), 1.0)
    centre, scale = before.centre, before.scale
    if measured:
        moving, usually = jnp.where(idle, 0.0, slow), jnp.where(idle, 0.0, usual)
        centre, scale = spread(states, examples, moving, first, usually, most)
    x = (states - centre[None]) / scale[None]
    found = jnp.median(nearest(x, NEIGHBOUR, copies))
    if measured:
        other = jnp.nanmedian(next_distance(x[:QUERIES], x))
        one = jnp.mean(distances(x[:QUERIES], x) < SAME)
        grid = (found < SAME) & (other > 0) & (one < CROWD) & (come_back(x, copies) > NEARLY_ALL)
        found = jnp.where(grid, jnp.minimum(APART * other, LEAST_WIDTH), jnp.maximum(found, LEAST_WIDTH))
    else:
        found = jnp.where(found > 0, found, 1.0)
    width = jnp.where(known, MEMORY * before.width + (1 - MEMORY) * found, found)
    return before._replace(centre=centre, scale=scale, width=width, first=first, usual=usual)


def measure(
    units: Units,
    before: Metric,
    states: Array,
    recent: Array,
    starts: Array,
    examples: Array,
    abreast: int = 1,
    visits: int = ENOUGH,
) -> Metric:
    """The metric of an epoch, from states [n, d] drawn of so many visits, recent ones in order, and their starts."""
    measured = units == "spread"
    fixed = given(np.asarray(states), np.asarray(recent), np.asarray(starts), abreast)
    if before.width == 0 and measured:
        partner, slope = related(np.asarray(recent), np.asarray(examples), fixed)
        before = before._replace(partner=jnp.asarray(partner), slope=jnp.asarray(slope, jnp.float32))
    if before.slope.any():
        states, recent, examples = (measured_from(x, before.partner, before.slope) for x in (states, recent, examples))
        if len(starts):  # in NumPy, as each number of them would be compiled anew
            begun = measured_from(np.asarray(starts), np.asarray(before.partner), np.asarray(before.slope))
            starts = jnp.asarray(begun)
    if before.width == 0 and measured:
        before = before._replace(aside=set_aside(starts, recent, examples, abreast))
    if before.aside.any():
        there = jnp.minimum(among(recent, examples, before.aside) / ARRIVED, 1.0)
        before = before._replace(arrived=jnp.maximum(before.arrived, there))
    # What nobody can change, and says little, is no place to go through, however slow.
    little = apart(states, examples)[1] < RIGHT if len(examples) else jnp.zeros(fixed.shape, bool)
    idle = jnp.asarray(fixed) & (before.slope == 0) & little
    copies = jnp.float32(len(states) / visits) if visits < ENOUGH else None
    return refresh(units, before, states, examples, slowness(recent, abreast), idle, copies)
