"""VICE (Fu et al. 2018): a classifier of examples against the policy's own states, whose logit is the reward."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array

from mural.errors import MuralError
from mural.nml import descent, mle, mlp
from mural.nml.descent import Fit
from mural.nml.mlp import Params
from mural.rewards.base import Experience, Info, Problem, Term, Transitions, register_method


class ExamplesError(MuralError, ValueError):
    """The examples do not carry what this setting needs; the message says what to do."""


@dataclass(frozen=True)
class ViceClassifier:
    """One logit f(s), trained to tell success examples (1) from states of the replay (0)."""

    hidden: tuple[int, ...] = (256, 256)
    """Widths of the hidden layers."""
    steps: int = 2
    """Gradient steps per epoch (n_VICE)."""
    batch_size: int = 128
    """Examples per step, and as many states of the replay."""
    learning_rate: float = 1e-4
    """Of Adam."""
    weight_decay: float = 5e-3
    """Decoupled: each step also shrinks the weights by learning rate × this."""
    mixup: float = 1.0
    """α of the Beta(α, α) weights that mix pairs of points and their labels; 0 is off."""
    reward: Literal["logit", "log_prob", "prob"] = "logit"
    """f(s), log p(success|s), or p(success|s), where p is the sigmoid of f."""
    policy_term: bool = False
    """VICE's own objective: p = exp f(s) / (exp f(s) + π(a|s)), with a drawn from the policy in s."""

    def init(self, problem: Problem, *, key: Array) -> Fit:
        """A fresh network."""
        if len(problem.examples) == 0:
            raise ExamplesError("the classifier has no success examples to learn from: pass some")
        if self.policy_term and problem.example_obs is None:
            raise ExamplesError(
                "policy_term asks what the policy would do in the examples, and they are not whole observations: "
                "pass the examples as observations, or set policy_term to False"
            )
        return descent.start(mlp.init((problem.state_size, *self.hidden, 1), key=key))

    def learn(self, state: Fit, problem: Problem, experience: Experience, *, key: Array) -> tuple[Fit, Info]:
        """n_VICE steps on new batches."""
        key_rows, key_sample, key_positive, key_negative, key_mix = jax.random.split(key, 5)
        n = self.steps * self.batch_size
        rows = jax.random.randint(key_rows, (n,), 0, len(problem.examples))
        negatives = experience.sample(n, key_sample)
        positive, negative = jnp.asarray(problem.examples, jnp.float32)[rows], negatives.states
        if self.policy_term:
            example_obs = jnp.asarray(problem.example_obs, jnp.float32)[rows]
            log_pi = (
                experience.act(negatives.next_obs, key_negative)[1],
                experience.act(example_obs, key_positive)[1],
            )
        else:
            log_pi = jnp.zeros(n), jnp.zeros(n)
        return _learn(self, state, (negative, positive), log_pi, key=key_mix)

    def label(self, state: Fit, batch: Transitions) -> Array:
        """The logit of the states, or its (log) probability."""
        f = logits(state.params, batch.states)
        if self.reward == "logit":
            return f
        return jax.nn.log_sigmoid(f) if self.reward == "log_prob" else jax.nn.sigmoid(f)

    def probability(self, state: Fit, states: Array) -> Array:
        """p(success) [n] of states [n, d]: the sigmoid of f."""
        return jax.nn.sigmoid(logits(state.params, states))


def logits(params: Params, states: Array) -> Array:
    """f(s) [n]."""
    return mlp.forward(params, states)[:, 0]


def loss(params: Params, states: Array, log_pi: Array, targets: Array) -> Array:
    """Softmax cross-entropy over [log π(a|s), f(s)], for label distributions `targets` [n, 2] = (policy, example).

    With log π = 0 it is the logistic loss of f.
    """
    scores = jnp.stack([log_pi, logits(params, states)], axis=1)
    return -jnp.mean(jnp.sum(targets * jax.nn.log_softmax(scores), axis=1))


@partial(jax.jit, static_argnums=0)
def _learn(
    config: ViceClassifier, state: Fit, states: tuple[Array, Array], log_pi: tuple[Array, Array], *, key: Array
) -> tuple[Fit, Info]:
    """The steps. Pairs are (of the replay, of the examples), [steps · batch, …] each."""
    # log π is an input of the classifier like the state, so mixup mixes it too.
    inputs = [
        descent.stacked(jnp.concatenate([s, p[:, None]], axis=1), config.steps)
        for s, p in zip(states, log_pi, strict=True)
    ]
    batches = jnp.concatenate(inputs, axis=1), jax.random.split(key, config.steps)
    targets = jnp.repeat(jnp.eye(2), config.batch_size, axis=0)

    def step_loss(params: Params, batch: tuple[Array, Array]) -> tuple[Array, dict[str, Array]]:
        (x, key), y = batch, targets
        if config.mixup > 0:
            x, y = mle.mix(x, y, jnp.ones(x.shape[0]), config.mixup, key=key)
        value = loss(params, x[:, :-1], x[:, -1], y)
        return value, {"loss": value}

    state, info = descent.descend(step_loss, state, batches, config.learning_rate, config.weight_decay)
    for name, s in zip(("p_replay", "p_examples"), states, strict=True):
        info[name] = jnp.mean(config.probability(state, s))
    return state, info


@register_method("vice")
@dataclass(frozen=True)
class Vice:
    """A maximum-likelihood classifier of examples against visited states, as in the paper's main comparison."""

    classifier: ViceClassifier = field(default_factory=ViceClassifier)
    """The classifier."""
    scale: float = 1.0
    """Factor on its reward."""

    def terms(self) -> tuple[Term, ...]:
        """The classifier."""
        return (Term("classifier", self.scale, self.classifier),)
