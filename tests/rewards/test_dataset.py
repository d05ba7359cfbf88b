"""D: what it is drawn from, what its points stand for, and which visits are not held against success."""

import dataclasses

import jax
import numpy as np
import pytest

from mural.rewards import dataset
from mural.rewards.methods.mural import NMLClassifier
from tests.rewards import synthetic

PROBLEM, VISITED = synthetic.problem(), synthetic.corridor(episodes=30)


def drawn(negatives=96, positives=96, experience=VISITED, problem=PROBLEM, seed=0, **how):
    part = NMLClassifier(negatives=negatives, positives=positives, **{"spare": False, "coreset": False, **how})
    return dataset.draw(part, problem, experience, key=jax.random.key(seed))


def test_the_data_of_an_epoch():
    data = drawn()
    y = np.asarray(data.y)
    np.testing.assert_array_equal(y, [0] * 96 + [1] * 96)
    seen = {tuple(row) for row in np.asarray(VISITED.recent["states"])}
    assert {tuple(row) for row in np.asarray(data.x)[y == 0]} <= seen
    assert {tuple(row) for row in np.asarray(data.x)[y == 1]} <= {tuple(row) for row in PROBLEM.examples}
    np.testing.assert_array_equal(drawn().x, data.x)
    assert not np.array_equal(drawn(seed=1).x, data.x)


@pytest.mark.parametrize(("changes", "share"), [({}, 600 / 96), ({"counts": False}, 1.0), ({"negatives": 2000}, 1.0)])
def test_points_stand_for_their_share_of_the_replay(changes, share):
    data = drawn(**changes)
    negatives = int((np.asarray(data.y) == 0).sum())
    represents = np.asarray(data.represents)
    np.testing.assert_allclose(represents[:negatives], share, rtol=1e-6)
    np.testing.assert_allclose(represents[negatives:].sum(), share * negatives, rtol=1e-5)  # equal classes


def test_without_examples_in_the_data():
    data = drawn(positives=0, spare=True)
    assert data.x.shape == (96, 2)
    assert not np.asarray(data.y).any()


@pytest.mark.parametrize("width", [0.0, 2.0])
def test_visits_among_the_examples_are_spared(width):
    """Near: within the examples' own spacing, or half of the kernel's width where that is more."""
    rng = np.random.default_rng(0)
    states = np.concatenate([VISITED.recent["states"], np.array(synthetic.GOAL) + rng.normal(0, 1.0, (600, 2))])
    rows = synthetic.transitions(states, states, states)
    experience = dataclasses.replace(synthetic.experience(rows), width=width)
    data = drawn(negatives=400, spare=True, experience=experience)
    x, y, represents = (np.asarray(a) for a in data)
    apart = np.linalg.norm(PROBLEM.examples[:, None] - PROBLEM.examples[None], axis=-1)
    radius = max(np.median(np.sort(apart, axis=1)[:, 5]), width / 2)
    nearest = np.linalg.norm(x[:, None] - PROBLEM.examples[None], axis=-1).min(axis=1)
    spared = (represents == 0) & (y == 0)
    clear = np.abs(nearest - radius) > 1e-4
    np.testing.assert_array_equal(spared[clear], ((nearest < radius) & (y == 0))[clear])
    assert 0 < spared.sum() < 300
    assert (represents[y == 1] > 0).all()
