"""VICE with random network distillation (Burda et al. 2018): novel is where a random network is hard to predict."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mural.limits import NotNegativeFloat, PositiveFloat, PositiveInt, Share, Widths
from mural.nml import descent, mlp
from mural.nml.descent import Fit
from mural.nml.mlp import Params
from mural.rewards import running
from mural.rewards.base import Experience, Info, Part, Problem, Term, register_method
from mural.rewards.methods.vice import ViceClassifier
from mural.rewards.running import Moments


class RNDState(NamedTuple):
    """The fixed random network, the one that predicts it, and the moments of the errors seen."""

    target: Params
    predictor: Fit
    errors: Moments


@dataclass(frozen=True)
class RND(Part):
    """How badly a trained network predicts a fixed random one, over the running deviation of that error."""

    hidden: Widths = (256, 256)
    """Widths of the hidden layers of both networks."""
    outputs: PositiveInt = 512
    """Numbers that both networks put out."""
    steps: PositiveInt = 1000
    """Gradient steps of the predictor per epoch; 1000 is one per environment step."""
    batch_size: PositiveInt = 256
    """States of the replay per gradient step."""
    learning_rate: PositiveFloat = 1e-4
    """Learning rate of Adam."""
    clip: NotNegativeFloat = 10.0
    """The largest bonus: far from all data the error grows without bound."""
    forget: Share = 0.1
    """Share of earlier errors that each epoch's normaliser forgets; 0: it is over all errors ever seen."""

    @property
    def scaled(self) -> bool:
        """It normalises states by all that it has seen; units that move would look like news."""
        return False

    def init(self, problem: Problem, *, key: Array) -> RNDState:
        """Two networks of the same shape and different weights."""
        key_target, key_predictor = jax.random.split(key)
        sizes = (problem.state_size, *self.hidden, self.outputs)
        predictor = descent.start(mlp.init(sizes, key=key_predictor))
        return RNDState(mlp.init(sizes, key=key_target), predictor, running.none())

    def learn(self, state: RNDState, problem: Problem, experience: Experience, *, key: Array) -> tuple[RNDState, Info]:
        """Train the predictor on the replay, then measure its error on what is new."""
        states = experience.states(self.steps * self.batch_size, key)
        return _learn(self, state, states, experience.recent["states"])

    def label(self, state: RNDState, states: Array) -> Array:
        """error / running deviation, up to `clip`."""
        raw = error(state.predictor.params, state.target, states) / running.deviation(state.errors)
        return jnp.minimum(raw, self.clip)


def error(predictor: Params, target: Params, states: Array) -> Array:
    """Mean squared difference of the two networks' outputs [n]."""
    return jnp.mean((mlp.forward(predictor, states) - mlp.forward(target, states)) ** 2, axis=-1)


@partial(jax.jit, static_argnums=0)
def _learn(config: RND, state: RNDState, states: Array, recent: Array) -> tuple[RNDState, Info]:
    def step_loss(predictor: Params, batch: Array) -> tuple[Array, dict[str, Array]]:
        value = jnp.mean(error(predictor, state.target, batch))
        return value, {"loss": value}

    batches = descent.stacked(states, config.steps)
    predictor, info = descent.descend(step_loss, state.predictor, batches, config.learning_rate)
    errors = running.extend(state.errors, error(predictor.params, state.target, recent), config.forget)
    return RNDState(state.target, predictor, errors), info | {"deviation": running.deviation(errors)}


@register_method("vice-rnd")
@dataclass(frozen=True)
class ViceRND:
    """VICE plus a bonus for novel states, by random network distillation."""

    classifier: ViceClassifier = field(default_factory=lambda: ViceClassifier(weight_decay=0.0))
    """The classifier."""
    classifier_scale: float = 1.0
    """Factor on the classifier's reward."""
    bonus: RND = field(default_factory=RND)
    """The bonus for novel states."""
    bonus_scale: float = 1.0
    """Factor on the bonus."""

    def terms(self) -> tuple[Term, ...]:
        """Classifier and bonus."""
        return (
            Term("classifier", self.classifier_scale, self.classifier),
            Term("bonus", self.bonus_scale, self.bonus),
        )
