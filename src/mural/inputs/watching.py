"""What an environment is like, found out by random actions before the first step: does it move by itself, is it a grid?

Positions alone hide velocities. Where all stops as soon as nothing is done (a point in a maze, a hand that holds its
position), that is no loss. Where most of it goes on (legs that swing, a body that falls), what to do next depends on
it, and the agent needs to see the change since the last observation.

Where states come back exactly, they are cells, and what is right in one may be wrong in the next. Networks learn such
functions late; with waves of each number beside it they learn them as quickly as smooth ones.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mural.inputs.spaces import Env, Spaces, horizon_of, validate_reset, validate_step

Floats = NDArray[np.float64]

ROUNDS = 10  # from a start each
DRIVEN = 20  # steps with random actions
LET_GO = 12  # steps with none
SETTLED = 5  # of them, until what only lags behind its command has come to rest
STILL_MOVING = 0.02  # of a number's usual change per step
QUARTER = 25  # percentile: three quarters of all numbers must still move
TOLD = 0.8  # share of some number's changes that a linear function of the observation knows: it has velocities in it
SECONDS = 10.0  # at most, for environments that are slow
AGAIN = 0.5  # share of observations that were there before, from which on they are cells of a grid
CELLS = 8  # different observations, at the least, for a grid
MOST_VALUES = 64  # of a number of a grid


class Watched(NamedTuple):
    """What random actions did."""

    driven: Floats  # [n, o] changes by random actions
    seen: Floats  # [n, o] the observations after them
    coasted: Floats  # [k, steps, o] changes without any


NOTHING = Watched(*(np.zeros((0, 0)) for _ in range(3)))


def look(env: Env, spaces: Spaces) -> Watched:
    """Watch the environment.

    Nothing is seen where episodes are too short to watch, or the environment fails: in the run, that has a name.
    """
    if (horizon_of(env) or DRIVEN + LET_GO) < DRIVEN + LET_GO:
        return NOTHING
    try:
        return watch(env, spaces)
    except Exception:
        return NOTHING


def hides_motion(watched: Watched) -> bool:
    """Whether most numbers of an observation go on changing by themselves, and its numbers do not say how."""
    driven, seen, coasted = watched
    if not len(coasted):
        return False
    usual = np.sqrt((driven**2).mean(axis=0))
    moves = usual > 1e-6 * np.maximum(np.abs(seen).max(axis=0), 1e-6)
    if not moves.any():
        return False
    goes_on = np.sqrt((coasted**2).mean(axis=(0, 1)))[moves] / usual[moves]
    return bool(np.percentile(goes_on, QUARTER) > STILL_MOVING and told(seen, driven[:, moves]) < TOLD)


def waves_of(watched: Watched) -> int:
    """Half as many waves as a number of the grid has values; 0 where it is none, or only says yes and no."""
    seen = watched.seen
    if not len(seen):
        return 0
    cells = len(np.unique(seen, axis=0))
    values = max(len(np.unique(column)) for column in seen.T)
    grid = CELLS <= cells < (1 - AGAIN) * len(seen) and 2 < values <= MOST_VALUES
    return -(-values // 2) if grid else 0


def watch(env: Env, spaces: Spaces) -> Watched:
    """Drive it, let go, and write down what happens."""
    rng, begun = np.random.default_rng(0), time.monotonic()
    size = spaces.action_size
    nothing = np.clip(np.zeros(size), spaces.actions.low.ravel(), spaces.actions.high.ravel())
    rest = spaces.from_env(nothing.reshape(spaces.actions.low.shape))
    driven, seen, coasted = [], [], []
    for number in range(ROUNDS):
        before = validate_reset(spaces, env.reset(seed=int(rng.integers(2**31)))).astype(np.float64)
        noise, free = np.zeros(size), []
        for step in range(DRIVEN + LET_GO):
            noise = 0.7 * noise + 0.7 * rng.standard_normal(size)
            action = np.tanh(1.5 * noise) if step < DRIVEN else rest
            result = validate_step(spaces, env.step(spaces.to_env(action.astype(np.float32))))
            change, before = result.obs - before, result.obs.astype(np.float64)
            if step < DRIVEN:
                driven.append(change)
                seen.append(before)
            elif step >= DRIVEN + SETTLED:
                free.append(change)
            if result.terminated or result.truncated:
                break
        else:
            coasted.append(free)
        if number and time.monotonic() - begun > SECONDS:
            break
    return Watched(np.array(driven), np.array(seen), np.array(coasted))


def told(seen: Floats, changes: Floats) -> float:
    """How much of the changes [n, m] a linear function of the observations [n, o] knows, of the best known number."""
    inputs = np.concatenate([seen - seen.mean(axis=0), np.ones((len(seen), 1))], axis=1)
    known = inputs @ np.linalg.lstsq(inputs, changes, rcond=None)[0]
    left, var = (changes - known).var(axis=0), changes.var(axis=0)
    varies = var > 1e-12 * (changes**2).mean(axis=0)  # a counter always changes by the same
    return float(np.max(1 - left[varies] / var[varies], initial=0.0))
