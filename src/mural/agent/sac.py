"""Soft actor-critic: twin critics, a tanh-Gaussian policy, a learned temperature. Pure functions on a pytree.

y = R + γᵐ [ min_j Q̄_j(s′, a′) − α log π(a′|s′) ],  a′ ~ π(·|s′)
L_Q = Σ_j ½ E (Q_j(s, a) − y)²      L_π = E [ α log π(a|s) − min_j Q_j(s, a) ]      L_α = −log α · E [ log π + H̄ ]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from mural.agent import replay as replay_buffer
from mural.agent.layers import affine, joint
from mural.agent.policy import LOG_STD_MAX, LOG_STD_MIN
from mural.agent.replay import Batch, Replay, Terminations
from mural.limits import ABOVE_ZERO_TO_ONE, BELOW_ONE, NotNegativeFloat, PositiveFloat, PositiveInt, Widths
from mural.nml import mlp
from mural.nml.mlp import Params


@dataclass(frozen=True)
class SAC:
    """Settings. Hashable: a static argument of the compiled functions."""

    hidden: Widths = (256, 256)
    """Widths of the hidden layers of policy and critics."""
    batch_size: PositiveInt = 256
    """Transitions per update."""
    learning_rate: PositiveFloat = 3e-4
    """Learning rate of Adam, for policy, critics and temperature."""
    gamma: Annotated[float, BELOW_ONE] = 0.99
    """Discount γ: what a reward is worth one step later."""
    tau: Annotated[float, ABOVE_ZERO_TO_ONE] = 0.005
    """How far the target critics move towards the critics with each update."""
    target_entropy: float | None = None
    """H̄, the entropy (in nats, of actions in [−1, 1]) that the temperature aims at. None: −(number of actions)."""
    initial_temperature: PositiveFloat = 1.0
    """Temperature α at the start: how much entropy counts beside the reward."""
    temperature: NotNegativeFloat | None = None
    """Fixes the temperature α to this. None: α is learned."""
    layer_norm: bool = False
    """Normalise the hidden layers of the critics."""
    n_step: PositiveInt = 1
    """Steps whose rewards are summed before the critic estimates the rest."""


ADAM = optax.scale_by_adam()
RCE_LOGIT_MAX = 10.0  # keeps the odds of RCE's one-step targets finite


class SACState(NamedTuple):
    """All that an agent is."""

    policy: Params
    critics: tuple[Params, Params]
    targets: tuple[Params, Params]
    log_temperature: Array
    optimisers: tuple[optax.OptState, optax.OptState, optax.OptState]  # of policy, critics, temperature
    updates: Array


Info = dict[str, Array]


@partial(jax.jit, static_argnums=(0, 1, 2))  # one compilation instead of thirty
def init(config: SAC, obs_size: int, action_size: int, *, key: Array) -> SACState:
    """Fresh networks; the targets start equal to the critics."""
    key_policy, key_1, key_2 = jax.random.split(key, 3)
    policy = mlp.init((obs_size, *config.hidden, 2 * action_size), key=key_policy)
    sizes = (obs_size + action_size, *config.hidden, 1)
    critics = mlp.init(sizes, key=key_1), mlp.init(sizes, key=key_2)
    targets = jax.tree.map(jnp.copy, critics)
    log_temperature = jnp.log(jnp.asarray(config.initial_temperature, jnp.float32))
    optimisers = ADAM.init(policy), ADAM.init(critics), ADAM.init(log_temperature)
    return SACState(policy, critics, targets, log_temperature, optimisers, jnp.zeros((), jnp.int32))


def entropy_target(config: SAC, action_size: int) -> float:
    """H̄."""
    return -float(action_size) if config.target_entropy is None else config.target_entropy


def distribution(policy: Params, obs: Array) -> tuple[Array, Array]:
    """Mean and log standard deviation [n, a] before the tanh."""
    a = obs
    for layer in policy[:-1]:
        a = jax.nn.relu(affine(a, layer))
    mean, log_std = jnp.split(affine(a, policy[-1]), 2, axis=-1)
    return mean, jnp.clip(log_std, LOG_STD_MIN, LOG_STD_MAX)


def squash_correction(u: Array) -> Array:
    """log |d tanh(u)/du| = 2 (log 2 − u − softplus(−2u)), which does not lose its digits at large |u|."""
    return 2 * (jnp.log(2.0) - u - jax.nn.softplus(-2 * u))


def act(policy: Params, obs: Array, *, key: Array) -> tuple[Array, Array]:
    """Actions [n, a] in (−1, 1) and their log-density [n]."""
    mean, log_std = distribution(policy, obs)
    noise = jax.random.normal(key, mean.shape, mean.dtype)
    u = mean + jnp.exp(log_std) * noise
    per_action = -0.5 * noise**2 - log_std - 0.5 * jnp.log(2 * jnp.pi) - squash_correction(u)
    return jnp.tanh(u), jnp.sum(per_action, axis=-1)


def log_prob(policy: Params, obs: Array, action: Array) -> Array:
    """log π(a|s) [n] of given actions; those at the very edge are moved inside by a millionth."""
    mean, log_std = distribution(policy, obs)
    u = jnp.arctanh(jnp.clip(action, -1 + 1e-6, 1 - 1e-6))
    per_action = -0.5 * ((u - mean) / jnp.exp(log_std)) ** 2 - log_std - 0.5 * jnp.log(2 * jnp.pi)
    return jnp.sum(per_action - squash_correction(u), axis=-1)


def q_values(critic: Params, obs: Array, action: Array, layer_norm: bool) -> Array:
    """Q(s, a) [n]."""
    z = joint(obs, action, critic[0])
    for layer in critic[1:]:
        if layer_norm:
            z = jax.nn.standardize(z, axis=-1, epsilon=1e-5)
        z = affine(jax.nn.relu(z), layer)
    return z[..., 0]


def pessimistic(critics: tuple[Params, Params], obs: Array, action: Array, layer_norm: bool) -> Array:
    """min_j Q_j(s, a) [n]."""
    return jnp.minimum(*(q_values(critic, obs, action, layer_norm) for critic in critics))


def td_loss(
    critics: tuple[Params, Params], config: SAC, state: SACState, batch: Batch, *, key: Array
) -> tuple[Array, Info]:
    """L_Q: the squared error to the soft n-step target."""
    next_action, next_log_pi = act(state.policy, batch.next_obs, key=key)
    future = pessimistic(state.targets, batch.next_obs, next_action, config.layer_norm)
    y = batch.returns + batch.discount * (future - temperature(config, state) * next_log_pi)
    y = jax.lax.stop_gradient(y)
    values = [q_values(critic, batch.obs, batch.action, config.layer_norm) for critic in critics]
    loss = sum((0.5 * jnp.mean((q - y) ** 2) for q in values), jnp.zeros(()))
    return loss, {"critic_loss": loss, "q": jnp.mean(values[0])}


def rce_odds(config: SAC, state: SACState, batch: Batch, *, key: Array) -> Array:
    """γ w [b], the odds of success ahead that the critics are to learn, from the target critics C̄_j = σ(f̄_j).

    w = C/(1 − C),   C = min_j ½ [ C̄_j(s₁, a₁) + γᵐ C̄_j(s_m, a_m) ],   a ~ π(·|s)
    s₁ is the next state, s_m that m steps on: n, or fewer where the episode or the data end. With n = 1 there is no
    second term to average: C = min_j C̄_j(s₁, a₁). Where nothing follows, γᵐ or γ is 0.
    """
    key_first, key_later = jax.random.split(key)
    first_action, _ = act(state.policy, batch.first_obs, key=key_first)
    first = [q_values(target, batch.first_obs, first_action, config.layer_norm) for target in state.targets]
    if config.n_step == 1:
        w = jnp.exp(jnp.minimum(jnp.minimum(*first), RCE_LOGIT_MAX))
    else:
        later_action, _ = act(state.policy, batch.next_obs, key=key_later)
        later = [q_values(target, batch.next_obs, later_action, config.layer_norm) for target in state.targets]
        sigmoid = jax.nn.sigmoid
        means = [(sigmoid(f) + batch.discount * sigmoid(g)) / 2 for f, g in zip(first, later, strict=True)]
        chance = jnp.minimum(*means)
        w = chance / (1 - chance)  # finite: chance ≤ (1 + γ)/2
    return jax.lax.stop_gradient(batch.first_discount * w)


def rce_loss(
    critics: tuple[Params, Params], config: SAC, state: SACState, batch: Batch, examples: Array, *, key: Array
) -> tuple[Array, Info]:
    """Recursive classification of examples: the critic's logit f(s, a) says whether success lies ahead.

    L = Σ_j (1 − γ) E_{s*} CE(f_j(s*, a*), 1) + E (1 + γw) CE(f_j(s, a), γw / (1 + γw)),   a* ~ π(·|s*)
    """
    key_odds, key_rows, key_examples = jax.random.split(key, 3)
    rows = jax.random.randint(key_rows, (batch.obs.shape[0],), 0, examples.shape[0])
    successes = examples[rows]
    success_actions, _ = act(state.policy, successes, key=key_examples)
    odds = rce_odds(config, state, batch, key=key_odds)
    loss, values = jnp.zeros(()), []
    for critic in critics:
        done = q_values(critic, successes, success_actions, config.layer_norm)
        now = q_values(critic, batch.obs, batch.action, config.layer_norm)
        # (1 + o) CE(f, o/(1 + o)) = o softplus(−f) + softplus(f)
        recursive = odds * jax.nn.softplus(-now) + jax.nn.softplus(now)
        loss = loss + (1 - config.gamma) * jnp.mean(jax.nn.softplus(-done)) + jnp.mean(recursive)
        values.append(now)
    return loss, {"critic_loss": loss, "q": jnp.mean(values[0]), "odds": jnp.mean(odds)}


def temperature(config: SAC, state: SACState) -> Array:
    """α."""
    return jnp.exp(state.log_temperature) if config.temperature is None else jnp.float32(config.temperature)


def policy_loss(
    policy: Params, config: SAC, state: SACState, batch: Batch, objective: str = "td", *, key: Array
) -> tuple[Array, Array]:
    """L_π, and the mean log π. With RCE, C = σ(f) takes the place of Q: the probability, not its logit."""
    action, log_pi = act(policy, batch.obs, key=key)
    q = pessimistic(state.critics, batch.obs, action, config.layer_norm)
    value = jax.nn.sigmoid(q) if objective == "rce" else q
    return jnp.mean(temperature(config, state) * log_pi - value), jnp.mean(log_pi)


def adam(
    config: SAC, params: optax.Params, gradient: optax.Updates, state: optax.OptState
) -> tuple[optax.Params, optax.OptState]:
    """One step of Adam."""
    change, state = ADAM.update(gradient, state)
    return jax.tree.map(lambda p, c: p - config.learning_rate * c, params, change), state


def update(
    config: SAC,
    state: SACState,
    batch: Batch,
    objective: str = "td",
    examples: Array | None = None,
    *,
    key: Array,
) -> tuple[SACState, Info]:
    """One gradient step on critics, policy and temperature; then the targets follow."""
    key_critic, key_policy = jax.random.split(key)
    if objective == "rce":
        assert examples is not None
        critic_loss = partial(rce_loss, config=config, state=state, batch=batch, examples=examples, key=key_critic)
    else:
        critic_loss = partial(td_loss, config=config, state=state, batch=batch, key=key_critic)
    (_, info), gradient = jax.value_and_grad(critic_loss, has_aux=True)(state.critics)
    critics, critic_optimiser = adam(config, state.critics, gradient, state.optimisers[1])
    state = state._replace(critics=critics)

    (loss, log_pi), gradient = jax.value_and_grad(policy_loss, has_aux=True)(
        state.policy, config, state, batch, objective, key=key_policy
    )
    policy, policy_optimiser = adam(config, state.policy, gradient, state.optimisers[0])

    log_temperature, temperature_optimiser = state.log_temperature, state.optimisers[2]
    if config.temperature is None:
        surplus = -log_pi - entropy_target(config, batch.action.shape[-1])  # of entropy: more than asked cools
        log_temperature, temperature_optimiser = adam(config, log_temperature, surplus, temperature_optimiser)

    targets = jax.tree.map(lambda t, c: t + config.tau * (c - t), state.targets, critics)
    info |= {"policy_loss": loss, "entropy": -log_pi, "temperature": temperature(config, state)}
    optimisers = policy_optimiser, critic_optimiser, temperature_optimiser
    return SACState(policy, critics, targets, log_temperature, optimisers, state.updates + 1), info


def updates(
    config: SAC,
    state: SACState,
    replay: Replay,
    ids: Array,
    terminations: Terminations,
    objective: str = "td",
    examples: Array | None = None,
    *,
    key: Array,
) -> tuple[SACState, Info]:
    """As many updates as there are rows of ids [u, batch], in one compiled loop; info is averaged over them."""

    if objective == "rce" and terminations == "absorb":
        terminations = "bootstrap"  # there is no reward to go on for ever, but the last state's value does

    def one(state: SACState, xs: tuple[Array, Array]) -> tuple[SACState, Info]:
        rows, k = xs
        batch = replay_buffer.batch(replay, rows, gamma=config.gamma, n_step=config.n_step, terminations=terminations)
        return update(config, state, batch, objective, examples, key=k)

    state, info = jax.lax.scan(one, state, (ids, jax.random.split(key, ids.shape[0])))
    return state, jax.tree.map(jnp.mean, info)
