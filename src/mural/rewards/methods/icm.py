"""Intrinsic curiosity (Pathak et al. 2017): what a learned model of the agent's own doing cannot foresee is new."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mural.limits import PositiveFloat, PositiveInt, Share, Widths
from mural.nml import descent, mlp
from mural.nml.descent import Fit
from mural.nml.mlp import Params
from mural.rewards import running
from mural.rewards.base import Experience, Info, Part, Problem, Term, register_method
from mural.rewards.methods.vice import ViceClassifier
from mural.rewards.running import Moments


class Networks(NamedTuple):
    """φ, and the two models on top of it."""

    features: Params
    forward: Params
    inverse: Params


class CuriosityState(NamedTuple):
    """The networks, and the moments of the errors seen."""

    networks: Fit
    errors: Moments


@dataclass(frozen=True)
class Curiosity(Part):
    """½‖φ̂(s') − φ(s')‖²: the error with which the features of the next observation were foreseen."""

    reads = learns_from = ("obs", "action", "next_obs")

    hidden: Widths = (256, 256)
    """Widths of the hidden layers of all three networks."""
    features: PositiveInt = 64
    """Width of the features φ that observations are turned into."""
    steps: PositiveInt = 250
    """Gradient steps per epoch."""
    batch_size: PositiveInt = 256
    """Transitions per gradient step."""
    learning_rate: PositiveFloat = 1e-4
    """Learning rate of Adam."""
    beta: Share = 0.2
    """Share β of the forward model in the loss (1 − β) L_inverse + β L_forward."""
    normalise: bool = True
    """Divide the error by its running deviation. Off: the error itself, in units that φ chooses."""

    def init(self, problem: Problem, *, key: Array) -> CuriosityState:
        """Fresh networks on observations and actions."""
        o, a, k = problem.obs_size, problem.action_size, self.features
        keys = jax.random.split(key, 3)
        sizes = (o, *self.hidden, k), (k + a, *self.hidden, k), (2 * k, *self.hidden, a)
        networks = Networks(*(mlp.init(s, key=one) for s, one in zip(sizes, keys, strict=True)))
        return CuriosityState(descent.start(networks), running.none())

    def learn(
        self, state: CuriosityState, problem: Problem, experience: Experience, *, key: Array
    ) -> tuple[CuriosityState, Info]:
        """Train all three networks on the replay, then measure the error on what is new."""
        rows = experience.sample(self.steps * self.batch_size, key, *self.reads)
        return _learn(self, state, rows, tuple(experience.recent[name] for name in self.reads))

    def label(self, state: CuriosityState, obs: Array, action: Array, next_obs: Array) -> Array:
        """The error, over its running deviation if so set."""
        error = surprise(state.networks.params, obs, action, next_obs)
        return error / running.deviation(state.errors) if self.normalise else error


def surprise(networks: Networks, obs: Array, action: Array, next_obs: Array) -> Array:
    """½‖φ̂(s') − φ(s')‖² [n], where φ̂ is foreseen from φ(s) and a."""
    foreseen = mlp.forward(networks.forward, jnp.concatenate([mlp.forward(networks.features, obs), action], axis=1))
    return 0.5 * jnp.sum((foreseen - mlp.forward(networks.features, next_obs)) ** 2, axis=1)


def misread(networks: Networks, obs: Array, action: Array, next_obs: Array) -> Array:
    """½‖â − a‖² [n], where â is read off φ(s) and φ(s')."""
    both = jnp.concatenate([mlp.forward(networks.features, x) for x in (obs, next_obs)], axis=1)
    return 0.5 * jnp.sum((mlp.forward(networks.inverse, both) - action) ** 2, axis=1)


@partial(jax.jit, static_argnums=0)
def _learn(
    config: Curiosity, state: CuriosityState, rows: tuple[Array, ...], recent: tuple[Array, ...]
) -> tuple[CuriosityState, Info]:
    def step_loss(networks: Networks, batch: tuple[Array, Array, Array]) -> tuple[Array, dict[str, Array]]:
        forward, inverse = jnp.mean(surprise(networks, *batch)), jnp.mean(misread(networks, *batch))
        value = (1 - config.beta) * inverse + config.beta * forward
        return value, {"loss": value, "forward_loss": forward, "inverse_loss": inverse}

    batches = tuple(descent.stacked(x, config.steps) for x in rows)
    networks, info = descent.descend(step_loss, state.networks, batches, config.learning_rate)
    errors = running.extend(state.errors, surprise(networks.params, *recent))
    return CuriosityState(networks, errors), info | {"deviation": running.deviation(errors)}


@register_method("icm", needs=())
@dataclass(frozen=True)
class ICM:
    """Intrinsic curiosity: the reward is what the agent could not predict; VICE's reward can be added."""

    bonus: Curiosity = field(default_factory=Curiosity)
    """The curiosity bonus."""
    bonus_scale: float = 1.0
    """Factor on the bonus (η)."""
    classifier: ViceClassifier = field(default_factory=ViceClassifier)
    """The classifier, used if classifier_scale is not 0."""
    classifier_scale: float = 0.0
    """Factor on the classifier's reward. 0: there is no classifier, and no examples are needed."""

    def terms(self) -> tuple[Term, ...]:
        """The bonus, and the classifier where it counts."""
        bonus = Term("bonus", self.bonus_scale, self.bonus)
        if self.classifier_scale == 0:
            return (bonus,)
        return (Term("classifier", self.classifier_scale, self.classifier), bonus)
