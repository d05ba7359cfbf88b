"""The sum of the parts of a reward."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from mural.rewards import total
from mural.rewards.base import Term, Transitions
from mural.rewards.methods.oracle import Reported


@dataclass(frozen=True)
class Random:
    """Its state is drawn anew with each call."""

    def init(self, problem, *, key):
        return jax.random.uniform(key)

    def learn(self, state, problem, experience, *, key):
        return jax.random.uniform(key), {"before": state}

    def label(self, state, batch):
        return jnp.full(batch.env_reward.shape, state)


TERMS = (Term("one", 2.0, Random()), Term("two", -1.0, Random()), Term("told", 0.5, Reported("distance")))


def batch(n=4):
    zero = jnp.zeros(n)
    two = jnp.zeros((n, 2))
    return Transitions(two, two, two, two, two, zero, zero, jnp.arange(n) * 1.0, zero)


def test_each_part_has_its_own_state_and_randomness():
    states = total.init(TERMS, None, key=jax.random.key(0))
    assert list(states) == ["one", "two", "told"]
    assert float(states["one"]) != float(states["two"])
    after, info = total.learn(TERMS, states, None, None, key=jax.random.key(1))
    assert info.keys() == {"one/before", "two/before"}
    assert float(info["one/before"]) == float(states["one"])
    assert len({float(s) for s in (after["one"], after["two"], states["one"], states["two"])}) == 4
    again, _ = total.learn(TERMS, states, None, None, key=jax.random.key(1))
    assert float(again["one"]) == float(after["one"])


def test_scales_and_sum():
    states = {"one": jnp.float32(3), "two": jnp.float32(5), "told": None}
    parts = total.label(TERMS, states, batch())
    np.testing.assert_allclose(parts["one"], [6] * 4)
    np.testing.assert_allclose(parts["two"], [-5] * 4)
    np.testing.assert_allclose(parts["told"], [0, 0.5, 1, 1.5])
    np.testing.assert_allclose(total.total(parts, batch()), [1, 1.5, 2, 2.5])


def test_no_parts_are_no_reward():
    assert total.init((), None, key=jax.random.key(0)) == {}
    assert total.learn((), {}, None, None, key=jax.random.key(0)) == ({}, {})
    np.testing.assert_array_equal(total.total({}, batch(3)), np.zeros(3, np.float32))
