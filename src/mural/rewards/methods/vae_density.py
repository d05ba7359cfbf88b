"""Novelty by density: a variational auto-encoder of the states, whose bound on log p(s) is low where few were."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mural.limits import NotNegativeFloat, PositiveFloat, PositiveInt, Widths
from mural.nml import descent, mlp
from mural.nml.descent import Fit
from mural.nml.mlp import Params
from mural.rewards import running
from mural.rewards.base import Experience, Info, Part, Problem, Term, register_method
from mural.rewards.methods.vice import ViceClassifier
from mural.rewards.running import Moments

LOG_2PI = 1.8378770664093453
SMALLEST_VARIANCE = 1e-4  # of the decoder, in standardised units: a point that is known by heart has finite density


class VAE(NamedTuple):
    """q(z|u) = N(μ(u), diag v(u)) and p(u|z) = N(decoder(z), diag σ²), with a deviation σ for each input."""

    encoder: Params  # u → (μ, log v)
    decoder: Params  # z → mean of u
    log_sigma: Array  # [d]


class DensityState(NamedTuple):
    """The networks, how states are standardised, the moments of the novelty, and the draws that estimate it."""

    vae: Fit
    inputs: Moments  # of states [d]
    novelty: Moments
    noise: Array  # [draws, latent]


@dataclass(frozen=True)
class Density(Part):
    """Minus the evidence lower bound of log p(s) under a VAE of the states visited."""

    hidden: Widths = (128, 128)
    """Widths of the hidden layers of encoder and decoder."""
    latent: PositiveInt = 8
    """Width of the latent variable z."""
    steps: PositiveInt = 250
    """Gradient steps per epoch."""
    batch_size: PositiveInt = 256
    """States of the replay per gradient step."""
    learning_rate: PositiveFloat = 1e-3
    """Learning rate of Adam."""
    draws: PositiveInt = 8
    """Noise samples that the reward is averaged over; they are drawn once, so that a state keeps its reward."""
    normalise: bool = True
    """Subtract the running mean and divide by the running deviation. Off: the bonus is in nats."""
    clip: NotNegativeFloat = 10.0
    """The largest size of a normalised bonus, up or down."""

    def init(self, problem: Problem, *, key: Array) -> DensityState:
        """Fresh networks."""
        key_encoder, key_decoder, key_noise = jax.random.split(key, 3)
        d = problem.state_size
        vae = VAE(
            mlp.init((d, *self.hidden, 2 * self.latent), key=key_encoder),
            mlp.init((self.latent, *self.hidden[::-1], d), key=key_decoder),
            jnp.zeros(d),
        )
        noise = jax.random.normal(key_noise, (self.draws, self.latent))
        return DensityState(descent.start(vae), running.none((d,)), running.none(), noise)

    def learn(
        self, state: DensityState, problem: Problem, experience: Experience, *, key: Array
    ) -> tuple[DensityState, Info]:
        """Train on the replay, then measure the novelty of what is new."""
        key_sample, key_noise = jax.random.split(key)
        states = experience.states(self.steps * self.batch_size, key_sample)
        return _learn(self, state, states, experience.recent["states"], key=key_noise)

    def label(self, state: DensityState, states: Array) -> Array:
        """−bound, normalised if so set."""
        raw = novelty(state, states)
        if not self.normalise:
            return raw
        return jnp.clip((raw - state.novelty.mean) / running.deviation(state.novelty), -self.clip, self.clip)


def bound(vae: VAE, u: Array, noise: Array) -> Array:
    """E_q log p(u|z) − KL(q(z|u) ‖ N(0, 1)) [n], with one draw z = μ + √v · noise [n, latent] for the expectation."""
    mean, log_v = jnp.split(mlp.forward(vae.encoder, u), 2, axis=1)
    log_v = jnp.clip(log_v, -20.0, 20.0)
    off = u - mlp.forward(vae.decoder, mean + jnp.exp(0.5 * log_v) * noise)
    variance = jnp.exp(2 * vae.log_sigma) + SMALLEST_VARIANCE
    likelihood = -0.5 * jnp.sum(off**2 / variance[None] + (jnp.log(variance) + LOG_2PI)[None], axis=1)
    return likelihood - 0.5 * jnp.sum(jnp.exp(log_v) + mean**2 - 1 - log_v, axis=1)


def novelty(state: DensityState, states: Array) -> Array:
    """−bound on log p(s) [n] in the states' own units, averaged over the kept draws."""
    u, log_edge = standardised(state.inputs, states)

    def one(noise: Array) -> Array:
        return bound(state.vae.params, u, jnp.broadcast_to(noise, (u.shape[0], noise.shape[0])))

    return log_edge - jnp.mean(jax.vmap(one)(state.noise), axis=0)


def standardised(inputs: Moments, states: Array) -> tuple[Array, Array]:
    """States with mean 0 and deviation 1, and the logarithm of the volume that one standardised unit has."""
    edge = running.deviation(inputs)
    return (states - inputs.mean[None]) / edge[None], jnp.sum(jnp.log(edge))


@partial(jax.jit, static_argnums=0)
def _learn(
    config: Density, state: DensityState, states: Array, recent: Array, *, key: Array
) -> tuple[DensityState, Info]:
    inputs = running.extend(state.inputs, recent)
    u, _ = standardised(inputs, states)
    noise = jax.random.normal(key, (states.shape[0], config.latent))

    def step_loss(vae: VAE, batch: tuple[Array, Array]) -> tuple[Array, dict[str, Array]]:
        value = -jnp.mean(bound(vae, *batch))
        return value, {"loss": value}

    batches = descent.stacked(u, config.steps), descent.stacked(noise, config.steps)
    vae, info = descent.descend(step_loss, state.vae, batches, config.learning_rate)
    state = DensityState(vae, inputs, state.novelty, state.noise)
    new = novelty(state, recent)
    info["bound"] = -jnp.mean(new)
    return state._replace(novelty=running.extend(state.novelty, new)), info


@register_method("vae-density")
@dataclass(frozen=True)
class VAEDensity:
    """VICE plus a bonus for states unlike the visited ones, by the density of a variational auto-encoder."""

    classifier: ViceClassifier = field(default_factory=ViceClassifier)
    """The classifier."""
    classifier_scale: float = 1.0
    """Factor on the classifier's reward. 0: there is no classifier."""
    bonus: Density = field(default_factory=Density)
    """The bonus for states of low density."""
    bonus_scale: float = 1.0
    """Factor on the bonus."""

    def terms(self) -> tuple[Term, ...]:
        """The bonus, and the classifier where it counts."""
        bonus = Term("bonus", self.bonus_scale, self.bonus)
        if self.classifier_scale == 0:
            return (bonus,)
        return (Term("classifier", self.classifier_scale, self.classifier), bonus)
