"""A metric without units: the same distances whatever the units, and each of its rules alone."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mural import trees
from mural.rewards import metric as metrics
from mural.rewards import total

rng = np.random.default_rng(0)
VISITED = rng.normal([0, 0, 5], [1.0, 2.0, 0.1], (600, 3)).astype(np.float32)
EXAMPLES = rng.normal([4, 4, 5.5], [0.1, 0.2, 0.05], (50, 3)).astype(np.float32)


def measured(states=VISITED, examples=EXAMPLES, before=None, units="spread", slow=None):
    before = metrics.raw(states.shape[1]) if before is None else before
    slow = jnp.zeros(states.shape[1]) if slow is None else slow
    return metrics.refresh(units, before, jnp.asarray(states), jnp.asarray(examples), slow)


def by_hand(states, examples):
    """Scale and λ, slowly."""
    common = np.sqrt(states.var(0) / 2 + examples.var(0) / 2 + (states.mean(0) - examples.mean(0)) ** 2 / 4)
    relevance = 1 - examples.var(0) / common**2
    scale = np.maximum(states.std(0), 0.1 * common) / relevance
    x = states / scale
    return scale, np.median(np.sort(cdist(x[: metrics.QUERIES], x), axis=1)[:, 10])


def test_by_hand():
    found = measured()
    scale, width = by_hand(VISITED.astype(float), EXAMPLES.astype(float))
    np.testing.assert_allclose(found.scale, scale, rtol=1e-4)
    assert float(found.width) == pytest.approx(width, rel=1e-3)
    np.testing.assert_allclose(found.centre, (VISITED.mean(0) + EXAMPLES.mean(0)) / 2, rtol=1e-4)


@pytest.mark.parametrize("factor", [1e-4, 1.0, 1e4])
def test_units_and_origin_do_not_matter(factor):
    factors, shift = np.float32([1.0, factor, 1.0]), np.float32([0.0, 3 * factor, -2.0])
    plain, other = measured(), measured(VISITED * factors + shift, EXAMPLES * factors + shift)
    assert float(other.width) == pytest.approx(float(plain.width), rel=1e-3)
    np.testing.assert_allclose(
        other.apply(jnp.asarray(VISITED * factors + shift)), plain.apply(jnp.asarray(VISITED)), atol=2e-2
    )


def test_what_nobody_has_moved_is_far_when_it_moves():
    """A ball on the table in all visits, lifted in all examples: the floor decides, and it is finite."""
    still = VISITED.copy()
    still[:, 2] = 5.0
    found = measured(still)
    lift = float(EXAMPLES[:, 2].mean() - 5.0)
    assert 10 < lift / float(found.scale[2]) < 30
    moved = measured(np.concatenate([still, np.tile(EXAMPLES, (6, 1))]))
    assert lift / float(moved.scale[2]) < 5  # and relaxes once it is lifted often


def test_numbers_in_which_examples_and_visits_do_not_differ_hardly_count():
    """The ant's pose: as varied in the examples as anywhere."""
    pose = [rng.normal(0, 1, (n, 8)).astype(np.float32) for n in (600, 50)]
    found = measured(np.concatenate([VISITED, pose[0]], axis=1), np.concatenate([EXAMPLES, pose[1]], axis=1))
    x = np.asarray(found.apply(jnp.asarray(np.concatenate([VISITED, pose[0]], axis=1))))
    assert x[:, 3:].var(axis=0).sum() < 0.5 < x[:, :3].var(axis=0).sum()


def test_examples_scattered_among_the_visits_can_still_be_told_from_them():
    """The shuffled maze: success is a few cells anywhere, and no number says much by itself."""
    cells = np.random.default_rng(0).permutation(np.stack(np.meshgrid(range(16), range(16)), axis=-1).reshape(-1, 2))
    cells = cells.astype(np.float32)
    states, examples = np.tile(cells[:60], (10, 1)), np.tile(cells[60:70], (5, 1))
    constant = [np.full((len(x), 1), 3.0, np.float32) for x in (states, examples)]  # says nothing, however "strong"
    found = measured(np.concatenate([states, constant[0]], axis=1), np.concatenate([examples, constant[1]], axis=1))
    scale = np.asarray(found.scale)[:2]
    common = states.var(0) / 2 + examples.var(0) / 2 + (states.mean(0) - examples.mean(0)) ** 2 / 4
    apart = 1 - examples.var(0) / common
    np.testing.assert_allclose(states.std(0) / scale, np.maximum(apart, 1 - 2 * apart.max()), rtol=1e-3)
    assert np.median(cdist(cells[:60] / scale, cells[60:70] / scale).min(axis=1)) > float(found.width)


@pytest.mark.parametrize("abreast", [1, 3])
def test_slow_numbers_count_although_examples_do_not_differ(abreast):
    """A walk along y and a swinging joint, both as varied in the examples: only the walk is a way to go."""
    walk, swing = np.cumsum(rng.normal(0, 0.1, 900)), np.sin(np.arange(900) / 2.5)  # its half period is 8 steps
    states = np.repeat(np.stack([walk, swing], axis=1), abreast, axis=0).astype(np.float32)
    slow = metrics.slowness(jnp.asarray(states), abreast)
    later, sooner = states[10 * abreast :].astype(float), states[: -10 * abreast].astype(float)
    kept = 1 - ((later - sooner) ** 2).mean(0) / (2 * states.astype(float).var(0))
    np.testing.assert_allclose(slow, np.clip(kept, 0, 1) ** 4, atol=1e-4)
    assert slow[0] > 0.7
    assert slow[1] < 0.2
    examples = states[rng.permutation(len(states))[:200]]
    quick, seen = measured(states, examples), measured(states, examples, slow=slow)
    (walks, swings), (walks_seen, swings_seen) = quick.scale, seen.scale
    assert walks / swings > 5 * walks_seen / swings_seen
    assert float(seen.scale[0]) == pytest.approx(states[:, 0].std() / float(slow[0]), rel=1e-3)


def test_too_few_states_say_nothing_of_slowness():
    np.testing.assert_array_equal(metrics.slowness(jnp.ones((10, 2))), 0)


def test_states_that_have_not_moved_at_all():
    """The hand's object in the first epoch: λ has a floor, and nothing is NaN."""
    found = measured(np.full((300, 3), 7.0, np.float32), np.full((20, 3), 7.0, np.float32))
    assert float(found.width) == np.float32(metrics.LEAST_WIDTH)
    np.testing.assert_array_equal(found.scale, 1)
    assert np.isfinite(np.asarray(found.apply(jnp.ones((2, 3))))).all()


def test_rounding_is_not_movement():
    """One in ten million of a large number is the resolution of single precision."""
    noisy = VISITED.copy()
    noisy[:, 2] = 1e6 + rng.normal(0, 0.05, 600)
    there = EXAMPLES.copy()
    there[:, 2] = 1e6
    assert float(measured(noisy, there).scale[2]) == 1


def test_the_width_moves_half_of_the_way():
    first = measured()
    second = measured(VISITED[:100], before=first)
    alone = measured(VISITED[:100])
    assert float(second.width) == pytest.approx((float(first.width) + float(alone.width)) / 2, rel=1e-5)


def test_without_examples():
    found = measured(examples=np.zeros((0, 3), np.float32))
    np.testing.assert_allclose(found.scale, VISITED.std(0), rtol=1e-4)


def test_states_that_come_back_are_kept_apart():
    """A grid: λ is a quarter of the distance to the next cell, and what was never visited stays unknown."""
    grid = np.stack(np.meshgrid(range(12), range(5)), axis=-1).reshape(-1, 2).astype(np.float32)
    states, examples = np.tile(grid, (20, 1)), np.float32([[30, 2]] * 20)
    found = measured(states, examples)
    step = 1 / np.asarray(found.scale).max()
    assert float(found.width) == pytest.approx(min(step / 4, 0.1), rel=1e-4)
    assert float(measured(np.float32([[1, 2]] * 600), examples).width) == pytest.approx(0.1)  # nothing has moved
    trembling = np.float32([[1, 2]]) + np.random.default_rng(0).normal(0, 1e-5, (600, 2)).astype(np.float32)
    assert float(measured(trembling, examples).width) == pytest.approx(0.1)


def test_a_thing_that_lies_still_half_of_the_time_is_no_grid():
    """The hand's object: two states in three find it at its start or against the rim, the others anywhere between."""
    still = np.repeat(np.float32([[0, 0], [1, 1]]), 300, axis=0)
    moved = np.random.default_rng(0).uniform(0, 1, (300, 2)).astype(np.float32)
    found = measured(np.random.default_rng(1).permutation(np.concatenate([still, moved])), np.float32([[3, 3]] * 20))
    assert float(found.width) >= metrics.LEAST_WIDTH


def standing(fallen: int) -> np.ndarray:
    """Place, and roll as it is when an ant stands; the last ones of 600 lie on their back."""
    states = np.random.default_rng(2).normal([0, 0], [1.0, 0.05], (600, 2)).astype(np.float32)
    states[600 - fallen :, 1] += 1
    return states


def relevances(found, states):
    return np.maximum(states.std(0), 0.0) / np.asarray(found.scale)


def test_what_was_right_from_the_start_is_not_explored_later():
    """Examples stand as the first visits do. However many lie on their back later, roll hardly counts; place does."""
    there = np.random.default_rng(3).normal([5, 0], [0.1, 0.05], (50, 2)).astype(np.float32)
    first = measured(standing(0), there)
    later = measured(standing(200), there, before=first)
    assert relevances(first, standing(0))[1] < 0.02
    assert relevances(later, standing(200))[1] < 0.02
    assert relevances(later, standing(200))[0] > 0.9
    without = measured(standing(200), there)  # as if it had begun with both: then to stand is part of the task
    assert relevances(without, standing(200))[1] > 0.9


def test_what_was_right_and_is_slow_most_of_the_time_counts():
    """The ant's y: start and goal agree in it, and the way around the wall leads along it."""
    there = np.random.default_rng(3).normal([5, 0], [0.1, 0.05], (50, 2)).astype(np.float32)
    slow, fast = jnp.float32([0.5, 0.5]), jnp.zeros(2)
    found = measured(standing(0), there, slow=slow)
    for _ in range(3):
        found = measured(standing(200), there, before=found, slow=slow)
    assert relevances(found, standing(200))[1] == pytest.approx(0.5**0.5, rel=1e-3)
    seldom = measured(standing(200), there, before=measured(standing(0), there, slow=fast), slow=slow)
    assert relevances(seldom, standing(200))[1] < 0.02


def walking(steps=800, kicked=False):
    """Visits of something that walks in x and y and turns; `kicked`: x is that of a ball, which is seldom touched."""
    rng = np.random.default_rng(5)
    x, y, turn = np.cumsum(rng.normal(0, 0.1, (3, steps)), axis=1)
    if kicked:
        x = np.repeat(rng.normal(0, 1, 20), steps // 20)
    return np.stack([x, y, turn], axis=1).astype(np.float32)


GOAL = np.random.default_rng(6).normal([8, 5, 0], [0.2, 0.2, 0.1], (50, 3)).astype(np.float32)
START = np.zeros((4, 3), np.float32)


def aside(starts=START, recent=None, examples=GOAL, abreast=1):
    recent = walking() if recent is None else recent
    return metrics.set_aside(*map(jnp.asarray, (starts, recent, examples)), abreast).tolist()


def test_what_every_start_has_right_is_set_aside():
    """An ant that looks the right way from the beginning need not explore ways to look."""
    assert aside() == [0, 0, 1]
    assert aside(START + np.float32([0, 0, 0.3])) == [0, 0, 0]  # three deviations away from the examples
    assert aside(np.float32([[0, 0, 0]] * 9 + [[0, 0, 0.3]])) == [0, 0, 0]  # nine are right, one is not
    assert aside(START[:2]) == [0, 0, 0]  # two may be right by luck
    fixed = [np.concatenate([x, np.full((len(x), 1), 0.1, np.float32)], axis=1) for x in (START, walking(), GOAL[:7])]
    assert aside(*fixed) == [0, 0, 1, 1]  # a number that is the same everywhere
    assert aside(START + np.float32([8, 5, 0])) == [0, 0, 0]  # all is right
    assert aside(START + np.float32([0, 5, 0])) == [0, 0, 0]  # along x alone there is nothing to go around
    assert aside(np.zeros((0, 3), np.float32)) == [0, 0, 0]  # nobody said where it began
    assert aside(recent=walking(10)) == [0, 0, 0]
    anywhere = np.concatenate([walking()[::16, :2], GOAL[:, 2:]], axis=1)
    assert aside(START - np.float32([9, 9, 0]), examples=anywhere) == [0, 0, 0]  # neither x nor y tells much


def test_nothing_is_set_aside_where_something_lies_still():
    """A hand that starts where it ends, and a ball that it has to fetch."""
    assert aside(recent=walking(kicked=True)) == [0, 0, 0]
    places = np.arange(4)[:, None, None] * np.float32([1, 0, 0])  # four balls, in turn: each lies elsewhere
    turns = (walking(kicked=True)[None] + places).transpose(1, 0, 2).reshape(-1, 3)
    assert aside(recent=turns, abreast=4) == [0, 0, 0]
    assert aside(recent=turns) == [0, 0, 1]  # as if it were one ball, that jumps


def test_what_was_set_aside_counts_again_among_the_examples():
    def after(before, recent):
        return metrics.measure("spread", before, *map(jnp.asarray, (walking(), recent, START, GOAL)))

    first = after(metrics.raw(3), walking())
    assert relevances(first, walking())[2] == pytest.approx(metrics.LEAST_RELEVANCE, rel=1e-3)
    assert relevances(first, walking())[:2].min() > 0.9
    there = np.tile(np.float32([[8, 5, 3]]), (200, 1))  # in x and y, looking elsewhere
    near = after(first, np.concatenate([walking(600), there]))  # a quarter of the epoch
    assert float(near.arrived) == pytest.approx(0.5)
    assert relevances(near, walking())[2] == pytest.approx(0.5, rel=1e-3)
    again = after(near, walking())  # and stays so
    assert float(again.arrived) == pytest.approx(0.5)
    assert relevances(after(again, np.tile(there, (4, 1))), walking())[2] > 0.9


def test_one_example_can_be_come_to():
    """It has no spread of its own: a twentieth of the way is near enough."""
    near = np.concatenate([walking(), np.tile(GOAL[:1] + np.float32([[0.1, -0.1, 3]]), (400, 1))])
    assert float(metrics.among(jnp.asarray(near), jnp.asarray(GOAL[:1]), jnp.float32([0, 0, 1]))) == pytest.approx(
        1 / 3
    )


def test_in_raw_units_nothing_is_set_aside():
    found = metrics.measure("raw", metrics.raw(3), *map(jnp.asarray, (walking(), walking(), START, GOAL)))
    assert found.aside.tolist() == [0, 0, 0]


def test_metrics_of_earlier_files_have_no_memory():
    """Files from before have centre, scale and width alone."""
    found = measured()
    old = {name: leaf for name, leaf in trees.flatten({"metric": found}).items() if not name.endswith(total.NEWER)}
    read = trees.restore({"metric": metrics.raw(3)}, old, total.NEWER)["metric"]
    np.testing.assert_array_equal(read.apply(jnp.asarray(VISITED)), found.apply(jnp.asarray(VISITED)))
    np.testing.assert_array_equal(read.first, 1)
    with pytest.raises(trees.StructureError, match=r"missing: metric\.first"):
        trees.restore({"metric": metrics.raw(3)}, old)


@pytest.mark.parametrize("visits", [12, 60, 101, 400, 999])
def test_few_visits_have_the_width_of_different_neighbours(visits):
    """They are drawn with replacement, so each stands there many times; its copies are not its neighbours."""
    states = np.random.default_rng(visits).uniform(0, 1, (visits, 2)).astype(np.float32)
    drawn = states[np.random.default_rng(1).integers(0, visits, metrics.STATES)]
    none = jnp.zeros((0, 2))
    found = metrics.measure(
        "spread", metrics.raw(2), jnp.asarray(drawn), jnp.asarray(states), none, none, visits=visits
    )
    x = states / drawn.std(axis=0)
    expected = np.median(np.sort(cdist(x, x), axis=1)[:, min(10, visits - 1)])
    assert float(found.width) == pytest.approx(expected, rel=0.15)


def test_a_grid_is_one_after_few_visits_too():
    cells = np.stack(np.meshgrid(np.arange(6), np.arange(6)), axis=-1).reshape(-1, 2).astype(np.float32)
    states = cells[np.random.default_rng(0).integers(0, 36, 500)]
    drawn = states[np.random.default_rng(1).integers(0, 500, metrics.STATES)]
    none = jnp.zeros((0, 2))
    found = metrics.measure("spread", metrics.raw(2), jnp.asarray(drawn), jnp.asarray(states), none, none, visits=500)
    apart = float(1 / drawn[:, 0].std())
    assert float(found.width) == pytest.approx(min(metrics.APART * apart, metrics.LEAST_WIDTH), rel=0.05)
