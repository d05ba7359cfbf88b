"""Counts are exact, wherever the cells are; the bonus is their inverse power."""

import dataclasses

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mural
from mural.nml.tabular import Grid
from mural.rewards import grid
from mural.rewards.base import METHODS
from mural.rewards.grid import BoundsError
from mural.rewards.methods.vice_count import CountBonus, PlaceError
from tests.rewards import synthetic
from tests.rewards.tiny import TinyRoom, examples

KEY, PROBLEM = jax.random.key(0), synthetic.problem()


def learn(part, *recents):
    state = part.init(PROBLEM, key=KEY)
    for places in recents:
        state, info = part.learn(state, PROBLEM, synthetic.experience(synthetic.at(places)), key=KEY)
    return state, info


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_bonus_of_counts_by_hand(power):
    """Cells of edge 1 over [0, 4]²: 3 visits to (0, 0) in two calls, 1 to (2, 3), one of them from outside."""
    part = CountBonus(bins=4, low=0.0, high=4.0, power=power)
    state, info = learn(part, [[0.5, 0.5], [0.9, 0.1]], [[-7.0, 0.2], [2.5, 3.5]])
    bonus = synthetic.label(part, state, synthetic.at([[0.2, 0.2], [2.1, 99.0], [3.0, 0.0], [0.99, 1.01]]))
    np.testing.assert_allclose(bonus, [3**-power, 1, 1, 1], rtol=1e-6)
    assert {k: float(v) for k, v in info.items()} == {"cells": 2, "coverage": 2 / 16, "visits": 4}


def test_counts_of_a_walk_are_exact():
    """Every transition once, by the independent counts of `Grid`, also when they come in pieces."""
    places = np.asarray(synthetic.corridor().recent["xy"])
    part = CountBonus(bins=7, low=-1.0, high=6.0)
    state, _ = learn(part, places[:120], places[120:])
    reference = Grid((-1.0, -1.0), (6.0, 6.0), 7)
    np.testing.assert_array_equal(state.visits, reference.counts(places))
    expected = reference.counts(places)[reference.index(places)] ** -0.5
    np.testing.assert_allclose(synthetic.label(part, state, synthetic.at(places)), expected, rtol=1e-6)


def test_without_bounds_the_first_data_fix_the_grid():
    part = CountBonus(bins=10)
    state, _ = learn(part, [[0.0, 0.0], [1.0, 0.5]], [[1000.0, 0.0]])
    np.testing.assert_allclose(state.region.low, [-2, -2])
    np.testing.assert_allclose(state.region.high, [3, 2.5])
    assert int(state.visits.sum()) == 3
    fresh = part.init(PROBLEM, key=KEY)
    np.testing.assert_array_equal(synthetic.label(part, fresh, synthetic.at([[5.0, 5.0]])), [1.0])
    half, _ = learn(dataclasses.replace(part, low=-4.0), [[0.0, 0.0], [1.0, 0.5]])
    np.testing.assert_allclose(half.region.low, [-4, -4])
    np.testing.assert_allclose(half.region.high, [3, 2.5])


def test_cells_in_three_dimensions_are_those_of_grid():
    x = np.random.default_rng(0).uniform(-1.3, 1.3, (200, 3)).astype(np.float32)
    region = grid.box(None, 3, -1.0, 1.0, 0.0)
    np.testing.assert_array_equal(grid.cells(region, 5, jnp.asarray(x)), Grid((-1.0,) * 3, (1.0,) * 3, 5).index(x))


def test_the_plane_of_the_task():
    """What the task declares, unless it is set; the first data do not matter then."""
    known = dataclasses.replace(PROBLEM, plane=np.array([[-7.0, -5.5], [7.0, 5.5]], np.float32))
    region = CountBonus(bins=4).init(known, key=KEY).region
    np.testing.assert_allclose(region, [[-7, -5.5], [7, 5.5]])
    np.testing.assert_allclose(CountBonus(low=-1.0).init(known, key=KEY).region.low, [-1, -1])
    world = mural.Agent("ant-maze", method="vice-count", check=False)
    corners = gymnasium.make("mural/AntMaze-v0").unwrapped.plane
    np.testing.assert_allclose(world.run.world.problem.plane, [corners.low, corners.high])


def test_method_and_what_it_cannot_do():
    terms = METHODS["vice-count"].config().terms()
    assert [(t.name, t.scale) for t in terms] == [("classifier", 0.25), ("bonus", 1.0)]
    assert terms[1].part.bins == 51
    with pytest.raises(PlaceError, match="info\\['xy'\\]"):
        learn(CountBonus(), [[np.nan, 0.0]])
    with pytest.raises(BoundsError, match="low below high"):
        CountBonus(low=1.0, high=1.0).init(PROBLEM, key=KEY)


def test_what_is_counted_where_the_environment_may_not_say(recwarn):
    class Placeless(TinyRoom):
        xy = property()

    mural.Agent(TinyRoom(), examples(), method="vice-count", check=False)
    with pytest.warns(UserWarning, match=r"info\['xy'\].*it counts noise and place\[0\]$"):
        mural.Agent(Placeless(), examples(), method="vice-count", check=False)
    mural.Agent(Placeless(), examples(), method="vice", check=False)
    assert not recwarn
