"""CNML by kernel counts as the reward: MURAL's weights and metric, in closed form, without a network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mural.limits import PositiveInt, PositiveOrInfinite
from mural.nml import kernel
from mural.nml.weights import Data
from mural.rewards import dataset
from mural.rewards.base import Experience, Info, NMLPart, Problem, Worth


class KernelState(NamedTuple):
    """D of the epoch, and the kernel's width."""

    support: Data
    kernel_width: Array


@dataclass(frozen=True)
class KernelCNML(NMLPart):
    """(K₁ + 1)/(K₀ + K₁ + 2), with K the examples and visits around a state as the kernel counts them."""

    kernel_width: PositiveOrInfinite | None = None
    """λ_dist: points further away count for less than a tenth. None: the usual distance between visited states and
    their tenth neighbours, measured anew every epoch."""
    negatives: PositiveInt = 2048
    """Visited states that are counted in each epoch; with the examples they are the data set D."""
    positives: PositiveInt = 256
    """Examples in D, drawn with replacement; together as heavy as the replay states."""
    counts: bool = True
    """Each point of D stands for replay size / negatives points, as CNML on all data asks. Off: one."""
    spare: bool = True
    """Do not hold visited states against success that cannot be told from an example. Off: all of them."""
    coreset: bool = True
    """The replay states of D are chosen so that none that was visited is far from all of them, each with the number of
    visits around it. Off: a random draw (paper)."""
    reward: Worth = "log_odds"
    """What a state is worth: p(success), log_odds: a tenth of log p/(1 − p) = log (K₁ + 1)/(K₀ + 1), or surprise: three
    tenths of −log(1 − p). The last two do not saturate around the examples."""

    def init(self, problem: Problem, *, key: Array) -> KernelState:
        """No data: p = 0.5 everywhere."""
        n = self.negatives + self.positives
        empty = Data(jnp.zeros((n, problem.state_size)), jnp.zeros(n, jnp.int32), jnp.zeros(n))
        return KernelState(empty, jnp.float32(1.0))

    def learn(
        self, state: KernelState, problem: Problem, experience: Experience, *, key: Array
    ) -> tuple[KernelState, Info]:
        """Draw D: there is nothing to train."""
        key_data, key_report = jax.random.split(key)
        data = dataset.draw(self, problem, experience, key=key_data)
        width = jnp.float32(experience.width if self.kernel_width is None else self.kernel_width)
        after = KernelState(data, width)
        return after, _report(self, after, jnp.asarray(problem.examples), experience.states(512, key_report))

    def log_likelihoods(self, state: KernelState, states: Array) -> Array:
        """log (K_y + 1)/(K₀ + K₁ + 1) [n, 2]."""
        return kernel.log_likelihoods(state.support, states, state.kernel_width)


@partial(jax.jit, static_argnums=0)
def _report(part: KernelCNML, state: KernelState, examples: Array, states: Array) -> Info:
    """How sure the counts are of the examples and of visited states."""
    p_examples, p_replay = (jnp.mean(part.probability(state, x)) for x in (examples, states))
    return {"p_examples": p_examples, "p_replay": p_replay, "represents": jnp.max(state.support.represents)}
