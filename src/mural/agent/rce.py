"""Recursive classification of examples, an objective for the agent: the critic says whether success lies ahead.

C(s, a) = σ(f(s, a)) is learned from examples and from its own predictions one and n steps on; the policy climbs C.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from mural.agent.replay import Batch, Terminations
from mural.agent.sac import SAC, Critics, Info, SACState, act, q_values

LOGIT_MAX = 10.0  # keeps the odds of one-step targets finite


def odds_ahead(config: SAC, state: SACState, batch: Batch, *, key: Array) -> Array:
    """γ w [b], the odds of success ahead that the critics are to learn, from the target critics C̄_j = σ(f̄_j).

    w = C/(1 − C),   C = min_j ½ [ C̄_j(s₁, a₁) + γᵐ C̄_j(s_m, a_m) ],   a ~ π(·|s)
    s₁ is the next state, s_m that m steps on: n, or fewer where the episode or the data end. With n = 1 there is no
    second term to average: C = min_j C̄_j(s₁, a₁). Where nothing follows, γᵐ or γ is 0.
    """
    key_first, key_later = jax.random.split(key)
    first_action, _ = act(state.policy, batch.first_obs, key=key_first)
    first = [q_values(target, batch.first_obs, first_action, config.layer_norm) for target in state.targets]
    if config.steps_ahead == 1:
        w = jnp.exp(jnp.minimum(jnp.minimum(*first), LOGIT_MAX))
    else:
        later_action, _ = act(state.policy, batch.next_obs, key=key_later)
        later = [q_values(target, batch.next_obs, later_action, config.layer_norm) for target in state.targets]
        sigmoid = jax.nn.sigmoid
        means = [(sigmoid(f) + batch.discount * sigmoid(g)) / 2 for f, g in zip(first, later, strict=True)]
        chance = jnp.minimum(*means)
        w = chance / (1 - chance)  # finite: chance ≤ (1 + γ)/2
    return jax.lax.stop_gradient(batch.first_discount * w)


def loss(
    critics: Critics, config: SAC, state: SACState, batch: Batch, examples: Array, *, key: Array
) -> tuple[Array, Info]:
    """Recursive classification of examples: the critic's logit f(s, a) says whether success lies ahead.

    L = Σ_j (1 − γ) E_{s*} CE(f_j(s*, a*), 1) + E (1 + γw) CE(f_j(s, a), γw / (1 + γw)),   a* ~ π(·|s*)
    """
    key_odds, key_rows, key_examples = jax.random.split(key, 3)
    rows = jax.random.randint(key_rows, (batch.obs.shape[0],), 0, examples.shape[0])
    successes = examples[rows]
    success_actions, _ = act(state.policy, successes, key=key_examples)
    odds = odds_ahead(config, state, batch, key=key_odds)
    total, values = jnp.zeros(()), []
    for critic in critics:
        done = q_values(critic, successes, success_actions, config.layer_norm)
        now = q_values(critic, batch.obs, batch.action, config.layer_norm)
        # (1 + o) CE(f, o/(1 + o)) = o softplus(−f) + softplus(f)
        recursive = odds * jax.nn.softplus(-now) + jax.nn.softplus(now)
        total = total + (1 - config.discount) * jnp.mean(jax.nn.softplus(-done)) + jnp.mean(recursive)
        values.append(now)
    return total, {"critic_loss": total, "q": jnp.mean(values[0]), "odds": jnp.mean(odds)}


@dataclass(frozen=True)
class RecursiveClassification:
    """Critics learn from examples instead of rewards, and the policy climbs their probability."""

    def critic_loss(
        self, critics: Critics, config: SAC, state: SACState, batch: Batch, examples: Array | None, *, key: Array
    ) -> tuple[Array, Info]:
        """The recursive cross-entropy."""
        assert examples is not None, "methods with this objective say that they need example_obs"
        return loss(critics, config, state, batch, examples, key=key)

    def value(self, q: Array) -> Array:
        """C = σ(f): the probability, not its logit."""
        return jax.nn.sigmoid(q)

    def terminations(self, asked: Terminations) -> Terminations:
        """No reward could go on for ever after a termination, but the last state's value does."""
        return "bootstrap" if asked == "absorb" else asked
