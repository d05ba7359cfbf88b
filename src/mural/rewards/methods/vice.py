"""VICE (Fu et al. 2018): a classifier of examples against the policy's own states, whose logit is the reward."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array

from mural.errors import MuralError
from mural.limits import NotNegativeFloat, PositiveFloat, PositiveInt, Widths
from mural.nml import descent, mle, mlp, waves
from mural.nml.descent import Fit
from mural.nml.mlp import Params
from mural.rewards.base import POLICY, STATES, Classifier, Experience, Info, Names, Problem, Term, register_method


class ExamplesError(MuralError, ValueError):
    """The examples do not carry what this setting needs; the message says what to do."""


@dataclass(frozen=True)
class ViceClassifier(Classifier):
    """One logit f(s), trained to tell success examples (1) from states of the replay (0)."""

    hidden: Widths = (256, 256)
    """Widths of the hidden layers."""
    steps: PositiveInt = 2
    """Gradient steps per epoch (n_VICE of the paper)."""
    batch_size: PositiveInt = 128
    """Examples per gradient step, beside the same number of states from the replay."""
    learning_rate: PositiveFloat = 1e-4
    """Learning rate of Adam."""
    weight_decay: NotNegativeFloat = 5e-3
    """Each step also shrinks the weights by the learning rate times this."""
    mixup: NotNegativeFloat = 1.0
    """Mixup: pairs of points and their labels are mixed with weights from Beta(α, α), and this is α. 0: off."""
    reward: Literal["logit", "log_prob", "prob"] = "logit"
    """What the reward is: the logit f(s), log p(success|s), or p(success|s), where p is the sigmoid of f."""
    policy_term: bool = False
    """Train with VICE's own p = exp f(s) / (exp f(s) + π(a|s)), a drawn from the policy. Off: p is the sigmoid of f."""

    @property
    def learns_from(self) -> Names:
        """States; and for the policy term, what the policy does in them."""
        return (STATES, "next_obs", POLICY) if self.policy_term else (STATES,)

    def init(self, problem: Problem, *, key: Array) -> Fit:
        """A fresh network."""
        if len(problem.examples) == 0:
            raise ExamplesError("the classifier has no success examples to learn from: pass some")
        if self.policy_term and problem.example_obs is None:
            raise ExamplesError(
                "policy_term asks what the policy would do in the examples, and they are not whole observations: "
                "pass the examples as observations, or set policy_term to False"
            )
        return descent.start(mlp.init((waves.width(problem.state_size, problem.waves), *self.hidden, 1), key=key))

    def learn(self, state: Fit, problem: Problem, experience: Experience, *, key: Array) -> tuple[Fit, Info]:
        """n_VICE steps on new batches."""
        key_rows, key_sample, key_positive, key_negative, key_mix = jax.random.split(key, 5)
        n = self.steps * self.batch_size
        rows = jax.random.randint(key_rows, (n,), 0, len(problem.examples))
        positive = jnp.asarray(problem.examples, jnp.float32)[rows]
        if self.policy_term:
            negative, next_obs = experience.sample(n, key_sample, STATES, "next_obs")
            example_obs = jnp.asarray(problem.example_obs, jnp.float32)[rows]
            log_pi = (
                experience.act(next_obs, key_negative)[1],
                experience.act(example_obs, key_positive)[1],
            )
        else:
            negative = experience.states(n, key_sample)
            log_pi = jnp.zeros(n), jnp.zeros(n)
        return _learn(self, state, (negative, positive), log_pi, key=key_mix)

    def label(self, state: Fit, states: Array) -> Array:
        """The logit of the states, or its (log) probability."""
        f = logits(state.params, states)
        if self.reward == "logit":
            return f
        return jax.nn.log_sigmoid(f) if self.reward == "log_prob" else jax.nn.sigmoid(f)

    def probability(self, state: Fit, states: Array) -> Array:
        """p(success) [n] of states [n, d]: the sigmoid of f."""
        return jax.nn.sigmoid(logits(state.params, states))


def logits(params: Params, states: Array) -> Array:
    """f(s) [n]."""
    return mlp.forward(params, waves.seen_by(params, states))[:, 0]


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
    """VICE: an ordinary classifier tells examples from visited states; its logit is the reward."""

    classifier: ViceClassifier = field(default_factory=ViceClassifier)
    """The classifier, whose reward is learned."""
    scale: float = 1.0
    """Factor on the classifier's reward."""

    def terms(self) -> tuple[Term, ...]:
        """The classifier."""
        return (Term("classifier", self.scale, self.classifier),)
