"""The replay buffer: arrays on the device, written in blocks, read by index, n-step returns put together on reading.

Rows are time, columns are parallel environments, so the next transition of an episode is one row below. A transition's
id is row · environments + environment. `reward` is a column like the others: whoever makes rewards may rewrite it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

Terminations = Literal["absorb", "stop", "bootstrap"]
Values = Any  # an array of JAX, or of NumPy on its way to or from the replay


@dataclass(frozen=True)
class Column:
    """What a column holds of each step."""

    width: Literal["obs", "action"] | int | None = None
    """Numbers per step: those of an observation, those of an action, a fixed count; None: one, without an axis."""
    dtype: type = np.float32
    """Their type."""
    report: tuple[str, ...] = ()
    """Entries of the environment's info that a number is read from: the first that is there, NaN where none is."""


class Rows(NamedTuple):
    """Transitions, with any leading axes […]. Replay, collection, checkpoints and rewards follow this list."""

    obs: Annotated[Values, Column("obs")]
    action: Annotated[Values, Column("action")]  # in [−1, 1]
    next_obs: Annotated[Values, Column("obs")]
    xy: Annotated[Values, Column(2)]  # where the agent, or what it moves, then is: the plane over which visits count
    env_reward: Annotated[Values, Column()]
    success: Annotated[Values, Column(report=("is_success", "success"))]  # 0 or 1
    distance: Annotated[Values, Column(report=("distance",))]  # by the task's metric
    l2: Annotated[Values, Column(report=("l2", "distance"))]  # in a straight line
    reward: Annotated[Values, Column()]
    terminated: Annotated[Values, Column(dtype=np.bool_)]  # the environment ended the episode here
    last: Annotated[Values, Column(dtype=np.bool_)]  # the last transition of its episode, for whatever reason
    step: Annotated[Values, Column(dtype=np.int32)]  # steps since the episode began, 0 for the first


def columns(rows: type[Rows]) -> dict[str, Column]:
    """The columns of a class of rows by name."""
    return {name: hint.__metadata__[0] for name, hint in get_type_hints(rows, include_extras=True).items()}


COLUMNS = columns(Rows)


class Replay(NamedTuple):
    """A ring of rows [capacity, environments, …]."""

    rows: Rows
    written: Array  # rows written since the beginning, int32


class Batch(NamedTuple):
    """What one update learns from: n-step returns and what follows them."""

    obs: Array  # [b, o]
    action: Array  # [b, a]
    returns: Array  # [b] Σ_{k<m} γᵏ r
    discount: Array  # [b] γᵐ, or 0 where nothing follows
    next_obs: Array  # [b, o] after those m steps
    first_obs: Array  # [b, o] after the first of them
    before: Array  # [b, o] one step before `obs`; `obs` itself where the episode began or the data end
    next_before: Array  # [b, o] one step before `next_obs`
    first_discount: Array  # [b] γ, or 0 where nothing follows that first step


def empty_rows(
    shape: tuple[int, ...], obs_size: int, action_size: int, zeros: Callable[..., Values] = jnp.zeros
) -> Rows:
    """Zeros in the shape of rows, made by JAX, or by NumPy with `zeros=np.zeros`."""

    def empty(column: Column) -> Values:
        match column.width:
            case None:
                return zeros(shape, column.dtype)
            case "obs":
                return zeros((*shape, obs_size), column.dtype)
            case "action":
                return zeros((*shape, action_size), column.dtype)
            case width:
                return zeros((*shape, width), column.dtype)

    return Rows(**{name: empty(column) for name, column in COLUMNS.items()})


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def create(capacity: int, environments: int, obs_size: int, action_size: int) -> Replay:
    """An empty ring of `capacity` rows."""
    return Replay(empty_rows((capacity, environments), obs_size, action_size), jnp.zeros((), jnp.int32))


def capacity(replay: Replay) -> int:
    """Rows that fit."""
    return replay.rows.step.shape[0]


def filled(replay: Replay) -> Array:
    """Rows that hold data."""
    return jnp.minimum(replay.written, capacity(replay))


def insert(replay: Replay, block: Rows) -> Replay:
    """Write a block of rows [k, environments, …] over the oldest. k must divide the capacity: blocks never wrap."""
    at = replay.written % capacity(replay)

    def write(column: Array, new: Array) -> Array:
        return jax.lax.dynamic_update_slice_in_dim(column, new, at, axis=0)

    return Replay(jax.tree.map(write, replay.rows, block), replay.written + block.step.shape[0])


def gather(replay: Replay, ids: Array) -> Rows:
    """The transitions with these ids."""

    def read(column: Array) -> Array:
        return column.reshape(-1, *column.shape[2:])[ids]

    return jax.tree.map(read, replay.rows)


def set_rewards(replay: Replay, ids: Array, rewards: Array) -> Replay:
    """New values in the reward column; ids beyond the end are dropped."""
    column = replay.rows.reward
    flat = column.reshape(-1).at[ids].set(rewards, mode="drop")
    return replay._replace(rows=replay.rows._replace(reward=flat.reshape(column.shape)))


def draw(replay: Replay, n: int, *, key: Array) -> Array:
    """Ids of n transitions, uniformly, with replacement."""
    environments = replay.rows.step.shape[1]
    return jax.random.randint(key, (n,), 0, jnp.maximum(filled(replay) * environments, 1))


def followers(replay: Replay, ids: Array, n: int) -> Array:
    """Ids [n, …] of each transition and the n − 1 after it; where the episode or the data end, the last one repeats."""
    rows, environments = replay.rows.step.shape
    last = replay.rows.last.reshape(-1)
    newest = (replay.written - 1) % rows
    chain = [ids]
    for _ in range(n - 1):
        now = chain[-1]
        ends = last[now] | (now // environments == newest)
        chain.append(jnp.where(ends, now, (now + environments) % (rows * environments)))
    return jnp.stack(chain)


def batch(replay: Replay, ids: Array, *, gamma: float, n_step: int, terminations: Terminations) -> Batch:
    """The n-step batch that starts at these ids [b].

    A time limit cuts the sum but not the future: the value of the state after it is bootstrapped. At a termination,
    `absorb` lets the last reward go on for ever (the value of staying there), `stop` ends with it, and
    `bootstrap` treats it like a time limit.
    """
    chain = followers(replay, ids, n_step)  # [n, b]
    flat = jax.tree.map(lambda column: column.reshape(-1, *column.shape[2:]), replay.rows)
    fresh = jnp.concatenate([jnp.ones_like(chain[:1], bool), chain[1:] != chain[:-1]])
    steps = jnp.sum(fresh, axis=0)  # m
    powers = gamma ** jnp.arange(n_step, dtype=jnp.float32)
    rewards = flat.reward[chain]
    returns = jnp.sum(jnp.where(fresh, powers[:, None] * rewards, 0.0), axis=0)
    final = chain[-1]
    discount = gamma ** steps.astype(jnp.float32)
    first_discount = jnp.full_like(discount, gamma)
    terminated = flat.terminated[final]
    if terminations == "absorb":
        returns = returns + jnp.where(terminated, discount * rewards[-1] / (1 - gamma), 0.0)
    if terminations != "bootstrap":
        discount = jnp.where(terminated, 0.0, discount)
        first_discount = jnp.where(flat.terminated[ids], 0.0, first_discount)
    rows, environments = replay.rows.step.shape
    oldest = jnp.where(replay.written > rows, replay.written % rows, 0)
    begins = (flat.step[ids] == 0) | (ids // environments == oldest)
    earlier = jnp.where(begins, ids, (ids - environments) % (rows * environments))
    return Batch(
        obs=flat.obs[ids],
        action=flat.action[ids],
        returns=returns,
        discount=discount,
        next_obs=flat.next_obs[final],
        first_obs=flat.next_obs[ids],
        before=flat.obs[earlier],
        next_before=flat.obs[final],
        first_discount=first_discount,
    )


def pairs(replay: Replay, n: int, *, key: Array) -> tuple[Array, Array, Array]:
    """Ids i, j [n] of two transitions of one episode and the steps (≥ 0) from i to j: any that lie before j."""
    key_j, key_gap = jax.random.split(key)
    rows, environments = replay.rows.step.shape
    j = draw(replay, n, key=key_j)
    row = j // environments
    age = (replay.written - 1 - row) % rows  # rows written since j's
    held = filled(replay) - 1 - age  # older rows that have not been overwritten
    longest = jnp.minimum(replay.rows.step.reshape(-1)[j], held)
    gap = jax.random.randint(key_gap, (n,), 0, longest + 1)
    i = (j - gap * environments) % (rows * environments)
    return i, j, gap
