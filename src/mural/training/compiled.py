"""The compiled pieces of a run: draw an epoch's batches ahead, label what they hold, and learn in fused calls.

The reward changes once per epoch. So all ids that the epoch's updates will use are drawn at its start, from a pool of
old transitions that is labelled anew, and from the new ones, which are labelled as they come in: every reward that
SAC sees is current, and an epoch costs the same however large the replay has grown. What is new or good is rare among
the old ones, and there the values have to be learned: a share of the draws can go by the rank of the reward.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mural.agent import replay as replay_buffer
from mural.agent import sac
from mural.agent.replay import Replay, Rows, Terminations
from mural.agent.sac import SAC, Objective, SACState
from mural.rewards import total
from mural.rewards.base import STATES

RUN = 8  # old transitions drawn in a row where returns span several steps
Seen = tuple[int, ...]  # the entries of an observation that the classifier sees


class Program(NamedTuple):
    """All that the compiled functions are specialised to: static, and compiled anew where it changes."""

    sac: SAC
    terms: total.Terms
    seen: Seen
    terminations: Terminations
    objective: Objective


class Pool(NamedTuple):
    """The old transitions of an epoch."""

    labelled: Array  # ids, at least p; the first `size` are to be labelled
    size: Array
    starts: Array  # [p] ids to draw from, the oldest first; the first `usable`
    usable: Array
    ages: Array  # [p] how many are older in the replay


def states_of(obs: Array, seen: Seen) -> Array:
    """What the classifier sees."""
    return obs if seen == tuple(range(obs.shape[-1])) else obs[..., jnp.array(seen)]


def columns(rows: Rows, seen: Seen, names: Iterable[str]) -> dict[str, Array]:
    """Columns of rows [n, …] as parts of a reward know them."""
    return {name: states_of(rows.next_obs, seen) if name == STATES else getattr(rows, name) for name in names}


def labels(program: Program, parts: total.PartStates, rows: Rows) -> tuple[Array, dict[str, Array]]:
    """The current reward of rows [n, …], and the summand of each part."""
    found = total.label(program.terms, parts, columns(rows, program.seen, total.reads(program.terms)))
    return total.total(found, rows.step.shape[0]), found


@partial(jax.jit, static_argnames=("pool", "n_step"))
def choose(replay: Replay, *, pool: int, n_step: int, key: Array) -> Pool:
    """The old transitions that the epoch will use: all of them while there are at most `pool`, then a random choice.

    n-step returns need the rewards of the n − 1 transitions that follow each, too. So for these the choice is of runs
    of `RUN` in a row, which share their followers: (RUN + n − 1) / RUN labels for each instead of n.
    """
    rows, environments = replay.rows.step.shape
    total_ids = rows * environments
    old = replay_buffer.filled(replay) * environments
    everything = old <= pool
    first_new = (replay.written % rows) * environments
    oldest = jnp.where(old == total_ids, first_new, 0)
    run = math.gcd(RUN, pool) if n_step > 1 else 1
    # Ages, 0 for the oldest: in this order, what has been overwritten by a call is the beginning of the pool.
    first = jnp.sort((replay_buffer.draw(replay, pool // run, key=key) - oldest) % total_ids)
    # A run that reaches the newest goes on with the oldest: each transition is as likely as any other.
    runs = (first[None] + environments * jnp.arange(run + n_step - 1)[:, None]) % jnp.maximum(old, 1)
    ages = jnp.where(everything, jnp.arange(pool), jnp.sort(runs[:run].reshape(-1)))
    starts = (ages + oldest) % total_ids
    followed = ((runs + oldest) % total_ids).reshape(-1)
    labelled = jnp.where(everything, jnp.resize(starts, followed.shape), followed)
    return Pool(labelled, jnp.where(everything, old, followed.size), starts, jnp.minimum(old, pool), ages)


@partial(jax.jit, static_argnames=("calls", "updates", "batch", "new_rows", "rich"))
def plan(
    replay: Replay, pool: Pool, *, calls: int, updates: int, batch: int, new_rows: int, rich: float, key: Array
) -> Array:
    """Which transitions the epoch's updates will use [calls, updates, batch], before the new ones exist.

    Each update of call c draws from what the replay will then hold, `new_rows` more rows per call: a new or an old one
    as uniformly as there are of them; of the old ones a share `rich` by the rank of their reward, 1/rank, the others
    uniformly. In a full ring the new rows overwrite the oldest, which are then no longer drawn.
    """
    rows, environments = replay.rows.step.shape
    total_ids = rows * environments
    key_draw, key_old = jax.random.split(key)
    old = replay_buffer.filled(replay) * environments
    first_new = (replay.written % rows) * environments
    fresh = new_rows * environments * (1 + jnp.arange(calls))
    lost = jnp.searchsorted(pool.ages, jnp.maximum(old + fresh - total_ids, 0))
    shape = (calls, updates, batch)

    def each(per_call: Array) -> Array:
        return jnp.broadcast_to(per_call[:, None, None], shape)

    u = jax.random.randint(key_draw, shape, 0, each(jnp.minimum(old + fresh, total_ids)))
    new_id = (first_new + u) % total_ids
    last_start = jnp.maximum(pool.usable - 1, 0)
    if rich:
        there = jnp.arange(pool.starts.shape[0]) < pool.usable
        ranked = by_rank(replay.rows.reward.reshape(-1)[pool.starts], there)
        weights = jnp.where(there, (1 - rich) / jnp.maximum(pool.usable, 1) + rich * ranked, 0.0)
        cumulative = jnp.cumsum(weights)
        before = jnp.where(lost > 0, cumulative[jnp.minimum(lost, last_start) - 1], 0.0)
        v = jax.random.uniform(key_old, shape)
        v = each(before) + v * (cumulative[-1] - each(before))
        at = jnp.minimum(jnp.searchsorted(cumulative, v.reshape(-1), side="right"), last_start).reshape(shape)
    else:
        at = jax.random.randint(key_old, shape, each(jnp.minimum(lost, last_start)), last_start + 1)
    return jnp.where(u < each(fresh), new_id, pool.starts[at])


def by_rank(values: Array, there: Array) -> Array:
    """Weights [p] ∝ 1/rank, rank 1 for the highest of those that are there; equal values have one rank. Sum: 1."""
    high = jnp.where(there, values, -jnp.inf)
    above = high.shape[0] - jnp.searchsorted(jnp.sort(high), high, side="right")
    weights = jnp.where(there, 1.0 / (1.0 + above), 0.0)
    return weights / jnp.maximum(jnp.sum(weights), 1e-30)


@partial(jax.jit, static_argnames="program", donate_argnames="replay")
def relabel(
    program: Program, parts: total.PartStates, replay: Replay, ids: Array, valid: Array
) -> tuple[Replay, dict[str, Array]]:
    """Current rewards for the transitions `ids` [n] of which the first `valid` count; and the mean of each part."""
    rewards, found = labels(program, parts, replay_buffer.gather(replay, ids))
    counts = jnp.arange(ids.shape[0]) < valid
    beyond = replay.rows.step.size  # dropped on writing
    replay = replay_buffer.set_rewards(replay, jnp.where(counts, ids, beyond), rewards)
    sums = {f"reward/{name}": jnp.sum(jnp.where(counts, part, 0.0)) for name, part in found.items()}
    sums["reward/mean"] = jnp.sum(jnp.where(counts, rewards, 0.0))
    sums["reward/above_half"] = jnp.sum(counts & (rewards > 0.5)).astype(jnp.float32)
    return replay, sums


@partial(jax.jit, donate_argnames="replay")
def insert(replay: Replay, block: Rows) -> Replay:
    """New rows without rewards: those of the random steps, before anything is known."""
    return replay_buffer.insert(replay, block)


@partial(jax.jit, static_argnames="program", donate_argnames=("agent", "replay"))
def call(
    program: Program,
    agent: SACState,
    parts: total.PartStates,
    replay: Replay,
    block: Rows,
    ids: Array,
    examples: Array | None,
    *,
    key: Array,
) -> tuple[SACState, Replay, dict[str, Array]]:
    """Label the new rows, put them into the replay, and update once per row of `ids`."""
    flat = jax.tree.map(lambda column: column.reshape(-1, *column.shape[2:]), block)
    rewards, _ = labels(program, parts, flat)
    replay = replay_buffer.insert(replay, block._replace(reward=rewards.reshape(block.reward.shape)))
    info = {"train/reward": jnp.mean(rewards)}
    if ids.shape[0]:
        agent, report = sac.updates(
            program.sac, agent, replay, ids, program.terminations, program.objective, examples, key=key
        )
        info |= {f"sac/{name}": value for name, value in report.items()}
    return agent, replay, info


@partial(jax.jit, static_argnames=("seen", "n", "names"))
def sample(replay: Replay, seen: Seen, n: int, key: Array, names: tuple[str, ...]) -> tuple[Array, ...]:
    """Columns of n transitions, uniformly."""
    rows = replay_buffer.gather(replay, replay_buffer.draw(replay, n, key=key))
    return tuple(columns(rows, seen, names).values())


@partial(jax.jit, static_argnames=("seen", "n"))
def pairs(replay: Replay, seen: Seen, n: int, key: Array) -> tuple[Array, Array, Array]:
    """Two states of one episode, and the steps between them."""
    i, j, gap = replay_buffer.pairs(replay, n, key=key)
    states = states_of(replay.rows.next_obs, seen)
    flat = states.reshape(-1, states.shape[-1])
    return flat[i], flat[j], gap


act = jax.jit(lambda policy, obs, key: sac.act(policy, obs, key=key))
