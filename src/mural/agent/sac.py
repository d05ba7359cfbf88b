"""Soft actor-critic: twin critics, a tanh-Gaussian policy, a learned temperature. Pure functions on a pytree.

y = R + γᵐ [ min_j Q̄_j(s′, a′) − α log π(a′|s′) ],  a′ ~ π(·|s′);  without α log π where n ≥ 2
Q may be learned relative to a base: Q = base + network, base = the replay's mean reward for ever.
L_Q = Σ_j ½ E (Q_j(s, a) − y)²      L_π = E [ α log π(a|s) − min_j Q_j(s, a) ]      L_α = −log α · E [ log π + H̄ ]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import optax
from jax import Array

from mural.agent import replay as replay_buffer
from mural.agent import view as views
from mural.agent.layers import affine, joint
from mural.agent.policy import LOG_STD_MAX, LOG_STD_MIN
from mural.agent.replay import Batch, Replay, Terminations
from mural.agent.view import View
from mural.errors import ArgumentError
from mural.limits import (
    ABOVE_ZERO_TO_ONE,
    BELOW_ONE,
    ENTROPY,
    NotNegativeFloat,
    NotNegativeInt,
    PositiveFloat,
    PositiveInt,
    Widths,
)
from mural.nml import descent, mlp
from mural.nml.descent import Fit
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
    gamma: Annotated[float, BELOW_ONE] | None = 0.99
    """Discount γ: what a reward is worth one step later. None: 1 − 1/steps of an episode, at least 0.99."""
    tau: Annotated[float, ABOVE_ZERO_TO_ONE] = 0.005
    """How far the target critics move towards the critics with each update."""
    entropy_per_action: Annotated[float, ENTROPY] = -1.0
    """H̄ per number of an action: the entropy (in nats, of actions in [−1, 1]) that the temperature aims at."""
    entropy_when_found: Annotated[float, ENTROPY] | None = None
    """H̄ per number of an action once all episodes end in what the classifier takes for success; in between, in
    proportion. None: the same as before."""
    initial_temperature: PositiveFloat = 1.0
    """Temperature α at the start: how much entropy counts beside the reward."""
    temperature: NotNegativeFloat | None = None
    """Fixes the temperature α to this. None: α is learned."""
    layer_norm: bool = False
    """Normalise the hidden layers of the critics."""
    n_step: PositiveInt | None = 1
    """Steps whose rewards are summed before the critic estimates the rest; from 2 on, values are of rewards alone,
    without entropy. None: one for every hundred steps of an episode, at most 5."""
    averaging: Annotated[float, ABOVE_ZERO_TO_ONE] = 1.0
    """How far the policy that is evaluated and exported moves towards the learning one with each update. Below 1 it is
    a running average of its weights, which does not waver from epoch to epoch; 1: it is the learning one."""
    relative: bool = False
    """Let the critics learn values relative to getting the replay's mean reward for ever: what all states have in
    common need not be learned, nor learned again whenever the reward changes."""
    scale_inputs: bool = False
    """Scale observations for policy and critics: by the space's bounds, or by what was seen first."""
    motion: bool | None = False
    """Show policy and critics the change since the last observation too. None: where the environment moves by itself
    and its observations do not tell how; ten short random episodes before the first step show it."""
    waves: NotNegativeInt | None = 0
    """Show policy, critics and the classifiers of MURAL and VICE sin πkx and cos πkx too, k up to this, for each scaled
    number x: neighbours then look different. None: where states come back exactly (a grid), half as many as a number
    has values; elsewhere 0."""

    @property
    def sees(self) -> tuple[bool, int]:
        """Whether the networks see motion, and how many waves, once a run has settled it."""
        return bool(self.motion), self.waves or 0

    @property
    def discount(self) -> float:
        """γ, once a run has settled it."""
        if self.gamma is None:
            raise ArgumentError("sac.gamma is settled where a run begins: see `mural.training.settle`")
        return self.gamma

    @property
    def steps_ahead(self) -> int:
        """n, once a run has settled it."""
        if self.n_step is None:
            raise ArgumentError("sac.n_step is settled where a run begins: see `mural.training.settle`")
        return self.n_step


Critics = tuple[Params, Params]


class SACState(NamedTuple):
    """All that an agent is."""

    policy: Params
    critics: Critics
    targets: Critics
    log_temperature: Array
    optimisers: tuple[optax.OptState, optax.OptState, optax.OptState]  # of policy, critics, temperature
    view: View
    average: Params  # of the policy's weights over the late updates; () if it is not asked for
    base: Array  # value that the critics' outputs are relative to
    found: Array  # share of the late episodes that ended in success, as the classifier sees it


Info = dict[str, Array]


class Objective(Protocol):
    """How the critics learn, and what of them the policy climbs. Hashable: a static argument of compiled functions."""

    def critic_loss(
        self, critics: Critics, config: SAC, state: SACState, batch: Batch, examples: Array | None, *, key: Array
    ) -> tuple[Array, Info]:
        """What the critics minimise, and scalars to log. `examples` are whole observations of success [m, o]."""

    def value(self, q: Array) -> Array:
        """What the policy climbs, from min_j Q_j [n]."""

    def terminations(self, asked: Terminations) -> Terminations:
        """What a termination means to these critics where the run asks for `asked`."""


def init(config: SAC, obs_size: int, action_size: int, *, key: Array) -> SACState:
    """Fresh networks; the targets start equal to the critics."""
    key_policy, key_1, key_2 = jax.random.split(key, 3)
    inputs = views.inputs(obs_size, *config.sees)
    policy = mlp.init((inputs, *config.hidden, 2 * action_size), key=key_policy)
    sizes = (inputs + action_size, *config.hidden, 1)
    return _start(config, obs_size, policy, (mlp.init(sizes, key=key_1), mlp.init(sizes, key=key_2)))


@partial(jax.jit, static_argnums=(0, 1))  # one compilation instead of thirty
def _start(config: SAC, obs_size: int, policy: Params, critics: Critics) -> SACState:
    targets = jax.tree.map(jnp.copy, critics)
    average = jax.tree.map(jnp.copy, policy) if config.averaging < 1 else ()
    log_temperature = jnp.log(jnp.asarray(config.initial_temperature, jnp.float32))
    optimisers = descent.ADAM.init(policy), descent.ADAM.init(critics), descent.ADAM.init(log_temperature)
    view, zero = views.raw(obs_size), jnp.zeros(())
    return SACState(policy, critics, targets, log_temperature, optimisers, view, average, base=zero, found=zero)


def entropy_target(config: SAC, found: Array | float, action_size: int) -> Array | float:
    """H̄: a policy that has found success explores less, and learns to hold it with fewer lucky draws."""
    later = config.entropy_per_action if config.entropy_when_found is None else config.entropy_when_found
    return (config.entropy_per_action + found * (later - config.entropy_per_action)) * action_size


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


def q_values(critic: Params, obs: Array, action: Array, layer_norm: bool) -> Array:
    """Q(s, a) [n]."""
    z = joint(obs, action, critic[0])
    for layer in critic[1:]:
        if layer_norm:
            z = jax.nn.standardize(z, axis=-1, epsilon=1e-5)
        z = affine(jax.nn.relu(z), layer)
    return z[..., 0]


def pessimistic(critics: Critics, obs: Array, action: Array, layer_norm: bool) -> Array:
    """min_j Q_j(s, a) [n]."""
    return jnp.minimum(*(q_values(critic, obs, action, layer_norm) for critic in critics))


def td_loss(critics: Critics, config: SAC, state: SACState, batch: Batch, *, key: Array) -> tuple[Array, Info]:
    """L_Q: the squared error to the target, which is soft for one step. For more it is of rewards alone.

    Entropy in targets of several steps feeds on itself: returns that vary more make the policy narrower, the
    temperature rises to widen it, and α log π, one term per step, makes the returns vary more.
    """
    next_action, next_log_pi = act(state.policy, batch.next_obs, key=key)
    future = state.base + pessimistic(state.targets, batch.next_obs, next_action, config.layer_norm)
    if config.steps_ahead == 1:
        future = future - temperature(config, state) * next_log_pi
    y = jax.lax.stop_gradient(batch.returns + batch.discount * future - state.base)
    values = [q_values(critic, batch.obs, batch.action, config.layer_norm) for critic in critics]
    loss = sum((0.5 * jnp.mean((q - y) ** 2) for q in values), jnp.zeros(()))
    return loss, {"critic_loss": loss, "q": state.base + jnp.mean(values[0])}


@dataclass(frozen=True)
class SoftTD:
    """SAC's own objective: critics learn from rewards, and the policy climbs Q."""

    def critic_loss(
        self, critics: Critics, config: SAC, state: SACState, batch: Batch, examples: Array | None, *, key: Array
    ) -> tuple[Array, Info]:
        """L_Q; there is no use for examples."""
        return td_loss(critics, config, state, batch, key=key)

    def value(self, q: Array) -> Array:
        """Q itself."""
        return q

    def terminations(self, asked: Terminations) -> Terminations:
        """As asked."""
        return asked


SOFT_TD = SoftTD()


def temperature(config: SAC, state: SACState) -> Array:
    """α."""
    return jnp.exp(state.log_temperature) if config.temperature is None else jnp.float32(config.temperature)


def policy_loss(
    policy: Params, config: SAC, state: SACState, batch: Batch, objective: Objective = SOFT_TD, *, key: Array
) -> tuple[Array, Array]:
    """L_π, and the mean log π."""
    action, log_pi = act(policy, batch.obs, key=key)
    q = pessimistic(state.critics, batch.obs, action, config.layer_norm)
    return jnp.mean(temperature(config, state) * log_pi - objective.value(q)), jnp.mean(log_pi)


def seen(config: SAC, view: View, batch: Batch) -> Batch:
    """The batch with network inputs in place of its observations."""
    motion, waves = config.sees
    see = partial(views.see, view, motion=motion, waves=waves)
    return batch._replace(
        obs=see(batch.obs, batch.before),
        next_obs=see(batch.next_obs, batch.next_before),
        first_obs=see(batch.first_obs, batch.obs),
    )


def update(
    config: SAC,
    state: SACState,
    batch: Batch,
    objective: Objective = SOFT_TD,
    examples: Array | None = None,
    *,
    key: Array,
) -> tuple[SACState, Info]:
    """One gradient step on critics, policy and temperature; then the targets follow."""
    key_critic, key_policy = jax.random.split(key)
    critic_loss = partial(
        objective.critic_loss, config=config, state=state, batch=batch, examples=examples, key=key_critic
    )
    (_, info), gradient = jax.value_and_grad(critic_loss, has_aux=True)(state.critics)
    critics, critic_optimiser = descent.step(Fit(state.critics, state.optimisers[1]), gradient, config.learning_rate)
    state = state._replace(critics=critics)

    (loss, log_pi), gradient = jax.value_and_grad(policy_loss, has_aux=True)(
        state.policy, config, state, batch, objective, key=key_policy
    )
    policy, policy_optimiser = descent.step(Fit(state.policy, state.optimisers[0]), gradient, config.learning_rate)

    log_temperature, temperature_optimiser = state.log_temperature, state.optimisers[2]
    if config.temperature is None:
        # More entropy than asked for cools.
        surplus = -log_pi - entropy_target(config, state.found, batch.action.shape[-1])
        fit = Fit(log_temperature, temperature_optimiser)
        log_temperature, temperature_optimiser = descent.step(fit, surplus, config.learning_rate)

    targets = jax.tree.map(lambda t, c: t + config.tau * (c - t), state.targets, critics)
    average = jax.tree.map(lambda a, p: a + config.averaging * (p - a), state.average, policy if state.average else ())
    info |= {"policy_loss": loss, "entropy": -log_pi, "temperature": temperature(config, state)}
    return state._replace(
        policy=policy,
        targets=targets,
        log_temperature=log_temperature,
        optimisers=(policy_optimiser, critic_optimiser, temperature_optimiser),
        average=average,
    ), info


def updates(
    config: SAC,
    state: SACState,
    replay: Replay,
    ids: Array,
    terminations: Terminations,
    objective: Objective = SOFT_TD,
    examples: Array | None = None,
    *,
    key: Array,
) -> tuple[SACState, Info]:
    """As many updates as there are rows of ids [u, batch], in one compiled loop; info is averaged over them."""
    meaning = objective.terminations(terminations)
    if examples is not None:
        examples = views.see(state.view, examples, examples, *config.sees)

    def one(state: SACState, xs: tuple[Array, Array]) -> tuple[SACState, Info]:
        rows, k = xs
        batch = replay_buffer.batch(
            replay, rows, gamma=config.discount, n_step=config.steps_ahead, terminations=meaning
        )
        batch = seen(config, state.view, batch)
        return update(config, state, batch, objective, examples, key=k)

    state, info = jax.lax.scan(one, state, (ids, jax.random.split(key, ids.shape[0])))
    return state, jax.tree.map(jnp.mean, info)
