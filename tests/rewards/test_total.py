"""The sum of the parts of a reward."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mural.rewards import metric as metrics
from mural.rewards import total
from mural.rewards.base import MethodError, Part, Term
from mural.rewards.methods.oracle import Reported
from tests.rewards import synthetic

PROBLEM = synthetic.problem()


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
    states = total.init(TERMS, PROBLEM, key=jax.random.key(0))
    assert list(states) == ["one", "two", "told", "metric"]
    assert float(states["one"]) != float(states["two"])
    after, info = total.learn(TERMS, states, PROBLEM, synthetic.corridor(), key=jax.random.key(1))
    assert info.keys() == {"metric/width", "one/before", "two/before"}
    assert float(info["one/before"]) == float(states["one"])
    assert len({float(s) for s in (after["one"], after["two"], states["one"], states["two"])}) == 4
    again, _ = total.learn(TERMS, states, PROBLEM, synthetic.corridor(), key=jax.random.key(1))
    assert float(again["one"]) == float(after["one"])


def test_scales_and_sum():
    states = {"one": jnp.float32(3), "two": jnp.float32(5), "told": None, "metric": metrics.raw(2)}
    parts = total.label(TERMS, states, columns())
    np.testing.assert_allclose(parts["one"], [6] * 4)
    np.testing.assert_allclose(parts["two"], [-5] * 4)
    np.testing.assert_allclose(parts["told"], [0, 0.5, 1, 1.5])
    np.testing.assert_allclose(total.total(parts, 4), [1, 1.5, 2, 2.5])


def test_no_parts_are_no_reward():
    nothing = total.init((), PROBLEM, key=jax.random.key(0))
    assert list(nothing) == ["metric"]
    after, info = total.learn((), nothing, PROBLEM, synthetic.corridor(), key=jax.random.key(0))
    assert (list(after), info) == (["metric"], {})
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
        total.init((Term("x", 1.0, part),), PROBLEM, key=jax.random.key(0))


def test_no_part_is_called_like_the_metric():
    with pytest.raises(MethodError, match="give it another name"):
        total.init((Term("metric", 1.0, Random()),), PROBLEM, key=jax.random.key(0))


@dataclass(frozen=True)
class Seen(Part):
    """Remembers what it was shown, and rewards the first number of a state."""

    raw: bool = False

    @property
    def scaled(self):
        return not self.raw

    @property
    def learns_from(self):
        return ("states", "action", "pairs")

    def init(self, problem, *, key):
        return jnp.zeros((2, 2))

    def learn(self, state, problem, experience, *, key):
        (drawn, action), (first, last, _) = experience.sample(9, key, "states", "action"), experience.pairs(9, key)
        assert jnp.max(jnp.abs(action)) <= 1
        means = [
            x.mean(axis=0)
            for x in (problem.examples, problem.goal[None], drawn, experience.recent["states"], first, last)
        ]
        return jnp.stack([jnp.stack(means).min(axis=0), jnp.stack(means).max(axis=0)]), {"width": experience.width}

    def label(self, state, states):
        return states[:, 0]


def test_parts_see_states_in_units_of_the_metric_wherever_they_look():
    """In the corridor x runs from 0 to 8: a part that sees it scaled sees numbers of order one."""
    terms = (Term("scaled", 1.0, Seen()), Term("raw", 1.0, Seen(raw=True)))
    parts = total.init(terms, PROBLEM, key=jax.random.key(0))
    parts, info = total.learn(terms, parts, PROBLEM, synthetic.corridor(), key=jax.random.key(1))
    metric = parts["metric"]
    assert float(parts["raw"][1, 0]) == pytest.approx(8, abs=0.2)
    np.testing.assert_allclose(
        parts["scaled"][1, 0], (parts["raw"][1, 0] - metric.centre[0]) / metric.scale[0], rtol=1e-5
    )
    assert float(info["scaled/width"]) == float(info["metric/width"]) > 0
    states = np.float32([[3.0, 0.0], [8.0, 0.0]])
    found = total.label(terms, parts, {"states": jnp.asarray(states)})
    np.testing.assert_allclose(found["raw"], states[:, 0])
    np.testing.assert_allclose(found["scaled"], (states[:, 0] - metric.centre[0]) / metric.scale[0], rtol=1e-5)


def test_raw_units_are_the_states_themselves():
    terms = (Term("scaled", 1.0, Seen()),)
    parts = total.init(terms, PROBLEM, key=jax.random.key(0))
    parts, _ = total.learn(terms, parts, PROBLEM, synthetic.corridor(), "raw", key=jax.random.key(1))
    states = jnp.float32([[3.0, 0.0], [8.0, 0.0]])
    np.testing.assert_array_equal(total.label(terms, parts, {"states": states})["scaled"], states[:, 0])
    assert float(parts["metric"].width) > 0  # λ by the data, in raw units
