"""The sum of the parts of a reward."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mural.rewards import total
from mural.rewards.base import MethodError, Part, Term
from mural.rewards.methods.oracle import Reported


@dataclass(frozen=True)
class Random(Part):
    """Its state is drawn anew with each call."""

    def init(self, problem, *, key):
        return jax.random.uniform(key)

    def learn(self, state, problem, experience, *, key):
        return jax.random.uniform(key), {"before": state}

    def label(self, state, states):
        return jnp.full(states.shape[0], state)


TERMS = (Term("one", 2.0, Random()), Term("two", -1.0, Random()), Term("told", 0.5, Reported("distance")))


def columns(n=4):
    return {"states": jnp.zeros((n, 2)), "distance": jnp.arange(n) * 1.0}


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
    parts = total.label(TERMS, states, columns())
    np.testing.assert_allclose(parts["one"], [6] * 4)
    np.testing.assert_allclose(parts["two"], [-5] * 4)
    np.testing.assert_allclose(parts["told"], [0, 0.5, 1, 1.5])
    np.testing.assert_allclose(total.total(parts, 4), [1, 1.5, 2, 2.5])


def test_no_parts_are_no_reward():
    assert total.init((), None, key=jax.random.key(0)) == {}
    assert total.learn((), {}, None, None, key=jax.random.key(0)) == ({}, {})
    np.testing.assert_array_equal(total.total({}, 3), np.zeros(3, np.float32))


def test_blocks_of_one_shape_give_every_row_once():
    """Also where the last block is not full, and where there is nothing at all."""
    told = (Term("told", 2.0, Reported("distance")),)
    for n in (0, 1, total.BLOCK, total.BLOCK + 3):
        found = total.rewards(told, {"told": None}, {"distance": np.arange(n, dtype=np.float32)}, n)
        np.testing.assert_array_equal(found, 2 * np.arange(n, dtype=np.float32))
    np.testing.assert_array_equal(total.rewards((), {}, {}, 3), [0, 0, 0])


def test_what_the_terms_read_and_learn_from():
    assert total.reads(TERMS) == {"states", "distance"}
    assert total.learns_from(TERMS) == {"states"}
    assert [term.name for term in total.learned(TERMS)] == ["one", "two"]  # the environment reports the third


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (type("Loose", (), {"label": print})(), "Loose, it must derive from mural.rewards.Part"),
        (type("Wrong", (Random,), {"reads": ("sucess",)})(), "reads of the part 'x' has 'sucess'.*mean 'success'"),
        (type("Wrong", (Random,), {"learns_from": ("pair",)})(), "learns_from of the part 'x' .*mean 'pairs'"),
        (type("Wrong", (Random,), {"reads": ("qqq",)})(), "there are action, .*, xy"),
    ],
)
def test_parts_that_are_none(part, told):
    with pytest.raises(MethodError, match=told):
        total.init((Term("x", 1.0, part),), None, key=jax.random.key(0))
