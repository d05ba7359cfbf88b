"""SAC on probe environments: values, discount, states, actions, time limits, rescaling and entropy, one at a time."""

import jax.numpy as jnp
import numpy as np
import pytest

import mural
from mural.agent import sac
from tests.agent.probe_envs import Probe

GAMMA = 0.5
SETTINGS = {
    "sac.hidden": [32, 32],
    "sac.batch_size": 64,
    "sac.learning_rate": 3e-3,
    "sac.gamma": GAMMA,
    "sac.tau": 0.05,
    "sac.initial_temperature": 1e-4,  # so that values are those of the reward alone
    "sac.entropy_per_action": -10.0,
    "sac.layer_norm": False,
    "sac.scale_inputs": False,  # so that the critics can be asked about observations as they are
    "loop.noise_correlation": 0.0,
    "loop.rich": 0.0,
    "loop.epoch_steps": 600,
    "loop.random_steps": 600,
    "loop.replay_size": 2400,
    "watch.eval_every": 1000,
}


def trained(env: Probe, steps: int = 1800, **settings: object) -> mural.Agent:
    agent = mural.Agent(env, method="sac", check=False, config={**SETTINGS, "loop.terminations": "stop", **settings})
    with pytest.warns(UserWarning, match="terminates episodes") if env.terminates else does_not_warn():
        agent.learn(steps, progress=False)
    return agent


class does_not_warn:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def q(agent: mural.Agent, obs: float, action: float = 0.0) -> float:
    """The critic, at an action in [−1, 1], with the base that its output is relative to."""
    state = agent.run.agent
    at = jnp.array([[obs]], jnp.float32), jnp.array([[action]], jnp.float32)
    return float(state.base + sac.q_values(state.critics[0], *at, False)[0])


def test_value_of_a_single_step():
    assert q(trained(Probe(lambda obs, action: 1.0)), 0.0) == pytest.approx(1, abs=0.05)


def test_value_depends_on_the_state():
    agent = trained(Probe(lambda obs, action: obs, places=None))
    assert q(agent, 1.0) == pytest.approx(1, abs=0.1)
    assert q(agent, -1.0) == pytest.approx(-1, abs=0.1)


def test_discount():
    """Paid only in the second step: the first is worth γ of it."""
    agent = trained(Probe(lambda obs, action: float(obs > 0), length=2, places=(-1.0, 1.0)))
    assert q(agent, 1.0) == pytest.approx(1, abs=0.1)
    assert q(agent, -1.0) == pytest.approx(GAMMA, abs=0.1)


def test_policy_and_value_depend_on_the_action():
    agent = trained(Probe(lambda obs, action: -((action - 0.4) ** 2)))
    assert float(agent.predict(np.zeros(1))[0][0]) == pytest.approx(0.4, abs=0.1)
    assert q(agent, 0.0, 0.4) == pytest.approx(0, abs=0.1)
    assert q(agent, 0.0, -0.6) < q(agent, 0.0, 0.0) - 0.1


def test_policy_depends_on_the_state():
    env = Probe(lambda obs, action: -((action - 0.5 * obs) ** 2), places=None)
    agent = trained(env, 2400, **{"sac.hidden": [64, 64]})
    for obs in (-1.0, 1.0):
        assert float(agent.predict(np.array([obs]))[0][0]) == pytest.approx(0.5 * obs, abs=0.15)


@pytest.mark.parametrize(
    ("terminates", "meaning", "value"),
    [
        (False, "stop", 1 / (1 - GAMMA)),  # a time limit is not the end: what follows is bootstrapped
        (True, "stop", 1.0),
        (True, "absorb", 1 / (1 - GAMMA)),
        (True, "bootstrap", 1 / (1 - GAMMA)),
    ],
)
def test_time_limits_and_terminations(terminates, meaning, value):
    env = Probe(lambda obs, action: 1.0, terminates=terminates)
    assert q(trained(env, **{"loop.terminations": meaning}), 0.0) == pytest.approx(value, abs=0.12)


def test_actions_are_rescaled_to_odd_bounds():
    """The best action is 5 of [−3, 7]; the probe itself refuses any outside."""
    agent = trained(Probe(lambda obs, action: -(((action - 5) / 5) ** 2), low=-3.0, high=7.0))
    assert float(agent.predict(np.zeros(1))[0][0]) == pytest.approx(5, abs=0.5)
    assert q(agent, 0.0, 0.6) == pytest.approx(0, abs=0.1)


@pytest.mark.parametrize("target", [-1.0, 0.3])
def test_entropy_reaches_its_target(target):
    """Where the reward wants one action and entropy is asked for, the temperature finds the balance."""
    settings = {"sac.entropy_per_action": target, "sac.initial_temperature": 0.1}
    agent = trained(Probe(lambda obs, action: -(action**2)), 3000, **settings)
    assert agent.history[-1]["sac/entropy"] == pytest.approx(target, abs=0.2)
