"""A corridor walked at random, as arrays: what a part gets to see of a run, without environment, agent or replay.

Observations, states and xy are all the same: (x, y) in [0, length] × [−0.5, 0.5]. Episodes have a fixed length, start
at x = 0, and move by at most 0.5 along x. The policy is a Gaussian around (0, 0) with standard deviation 0.5.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from mural.rewards.base import Experience, Problem, Recent

EPISODE = 20
GOAL = (8.0, 0.0)


def walk(episodes=10, seed=0, drift=0.0, length=8.0):
    """Observations [episodes, EPISODE + 1, 2] and actions [episodes, EPISODE, 2]."""
    rng = np.random.default_rng(seed)
    action = np.clip(rng.normal(drift, 0.5, (episodes, EPISODE, 2)), -1, 1).astype(np.float32)
    obs = np.zeros((episodes, EPISODE + 1, 2), np.float32)
    for t in range(EPISODE):
        obs[:, t + 1, 0] = np.clip(obs[:, t, 0] + 0.5 * action[:, t, 0], 0, length)
        obs[:, t + 1, 1] = 0.5 * action[:, t, 1]
    return obs, action


def transitions(obs, action, next_obs):
    """Columns of transitions that report nothing but where they lead."""
    obs, action, next_obs = (jnp.asarray(x, jnp.float32) for x in (obs, action, next_obs))
    return Recent(obs=obs, action=action, next_obs=next_obs, states=next_obs, xy=next_obs[:, :2])


def at(states):
    """Transitions that lead to these states [n, d], from nowhere."""
    states = np.asarray(states, np.float32)
    return transitions(np.zeros((len(states), 2)), np.zeros((len(states), 2)), states)


def problem(examples=16, seed=0):
    """Examples scattered around the end of the corridor."""
    rng = np.random.default_rng(seed)
    points = (np.array(GOAL) + rng.normal(0, 0.1, (examples, 2))).astype(np.float32)
    return Problem(2, 2, points, points.copy(), np.array(GOAL, np.float32))


@functools.partial(jax.jit, static_argnums=1)
def _rows(arrays, n, key):
    index = jax.random.randint(key, (n,), 0, len(arrays[0]))
    return tuple(a[index] for a in arrays)


@functools.partial(jax.jit, static_argnums=1)
def _pairs(obs, n, key):
    """An episode, two of its times, and the difference between them."""
    key_episode, key_times = jax.random.split(key)
    episode = jax.random.randint(key_episode, (n,), 0, obs.shape[0])
    times = jnp.sort(jax.random.randint(key_times, (n, 2), 0, obs.shape[1]), axis=1)
    first, last = times[:, 0], times[:, 1]
    return obs[episode, first], obs[episode, last], (last - first).astype(jnp.float32)


@jax.jit
def act(obs, key):
    """Actions of the Gaussian policy and their log π."""
    action = 0.5 * jax.random.normal(key, (obs.shape[0], 2))
    return action, jnp.sum(jax.scipy.stats.norm.logpdf(action, 0.0, 0.5), axis=1)


def experience(rows, pairs_obs=None):
    """These transitions as the whole replay, all of them new; pairs from the observations [episodes, times, d]."""

    def pairs(n, key):
        return _pairs(jnp.asarray(pairs_obs), n, key)

    def draw(n, key, names):
        return _rows(tuple(rows[name] for name in names), n, key)

    return Experience(len(rows["obs"]), draw, rows, pairs, act)


def corridor(**kwargs):
    """The experience of a random walk."""
    obs, action = walk(**kwargs)
    flat = [a.reshape(-1, 2) for a in (obs[:, :-1], action, obs[:, 1:])]
    return experience(transitions(*flat), obs)


_label = jax.jit(lambda part, state, columns: part.label(state, *columns), static_argnums=0)


def label(part, state, rows):
    """What the part makes of the transitions, as one compiled function."""
    return _label(part, state, tuple(rows[name] for name in part.reads))
