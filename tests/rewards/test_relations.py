"""Places and goals that differ from episode to episode: success is that they are near each other."""

import jax.numpy as jnp
import numpy as np
import pytest

import mural
from mural.rewards import metric as metrics
from mural.rewards.relations import distinct_values, given, regressions, related

N, EPISODES = 1000, 10


def walk(seed=0):
    """Place and goal [n, 4] of episodes of 100 steps: a random walk in a box, and a goal that stays where it is."""
    rng = np.random.default_rng(seed)
    goals = np.repeat(rng.uniform(-1, 1, (EPISODES, 2)), N // EPISODES, axis=0)
    steps = rng.normal(0, 0.1, (EPISODES, N // EPISODES, 2)).cumsum(axis=1) + rng.uniform(-0.3, 0.3, (EPISODES, 1, 2))
    return np.concatenate([np.tanh(steps).reshape(-1, 2), goals], axis=1).astype(np.float32)


def arrived(m=150, seed=1):
    """Anywhere, within 0.05 of the goal."""
    rng = np.random.default_rng(seed)
    goals = rng.uniform(-1, 1, (m, 2))
    return np.concatenate([goals + rng.uniform(-0.05, 0.05, (m, 2)), goals], axis=1).astype(np.float32)


VISITS, EXAMPLES = walk(), arrived()
FIXED = np.array([False, False, True, True])


def relations(visits=VISITS, examples=EXAMPLES, fixed=FIXED):
    partner, slope = related(visits, examples, fixed)
    return partner.tolist(), slope


def test_goals_are_measured_from_what_comes_to_them():
    partner, slope = relations()
    assert partner == [0, 1, 0, 1]
    np.testing.assert_allclose(slope, [0, 0, 1, 1], atol=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_in_other_units_the_other_way_round_and_with_other_luck(seed):
    factors = np.float32([100, -1, 1, 1])
    partner, slope = relations(walk(seed) * factors, arrived(seed=seed + 100) * factors)
    assert partner == [0, 1, 0, 1]
    np.testing.assert_allclose(slope, [0, 0, 0.01, -1], rtol=0.03)


def test_a_goal_that_hardly_differs_has_slope_one_too():
    """Places spread around it as much as it does, so that the two are only half of the same thing."""
    rng = np.random.default_rng(0)
    goals = rng.uniform(-0.1, 0.1, (400, 2))
    examples = np.concatenate([goals + rng.uniform(-0.1, 0.1, (400, 2)), goals], axis=1).astype(np.float32)
    visits = VISITS * np.float32([1, 1, 0.1, 0.1])
    partner, slope = relations(visits, examples)
    assert partner == [0, 1, 0, 1]
    np.testing.assert_allclose(slope[2:], 1, atol=0.15)


def test_where_there_is_no_relation_none_is_found():
    rng = np.random.default_rng(0)
    anywhere = rng.uniform(-1, 1, (150, 4)).astype(np.float32)
    assert relations(examples=anywhere)[0] == [0, 1, 2, 3]
    assert relations(visits=EXAMPLES)[0] == [0, 1, 2, 3]  # visits are always together too: this tells nothing
    one_place = np.tile(np.float32([0.9, 0.9, 0, 0]), (150, 1)) + rng.normal(0, 0.01, (150, 4)).astype(np.float32)
    assert relations(examples=one_place)[0] == [0, 1, 2, 3]
    assert relations(examples=EXAMPLES[:9])[0] == relations(visits=VISITS[:9])[0] == [0, 1, 2, 3]  # too few
    assert relations(visits=VISITS[:, :1], examples=EXAMPLES[:, :1])[0] == [0]


def lines(m, rho, seed):
    """Two numbers with about this correlation among m examples, none among the visits, which differ more."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, m))
    return rng.normal(size=(1000, 2)) * 1.2, np.stack([a, rho * a + np.sqrt(1 - rho**2) * b], axis=1)


@pytest.mark.parametrize(
    ("m", "rho", "sure"), [(150, 0.97, True), (150, 0.3, False), (12, 0.97, True), (12, 0.8, False)]
)
def test_what_goes_together_must_be_more_than_chance(m, rho, sure):
    told = []
    for seed in range(10):
        visits, examples = lines(m, rho, seed)
        together, _ = regressions(examples, np.cov(examples.T), np.zeros(2, bool))
        told.append(bool(together[0, 1]))
        assert related(visits, examples, np.zeros(2, bool))[1].any() <= told[-1]
    assert np.mean(told) == pytest.approx(float(sure), abs=0.2)


def test_frames_of_a_few_episodes_are_few_examples():
    """150 rows around four states: every pair of numbers lies near a line by luck now and then."""
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        states = rng.normal(size=(4, 15))
        rows = states[rng.integers(0, 4, 150)] + rng.normal(0, 0.005, (150, 15))
        found += int(related(rng.normal(size=(1000, 15)) * 1.2, rows, np.zeros(15, bool))[1].any())
    assert found <= 2


def test_what_tells_much_alone_stays_as_it_is():
    """Among the examples the two go together, but each has a place that it can be known by."""
    goals = np.concatenate([EXAMPLES[:, 2:] * 0.05, EXAMPLES[:, 2:] * 0.05], axis=1) + np.float32(0.9)
    visits = VISITS.copy()
    visits[:, 2:] = walk(9)[:, :2]
    assert not relations(visits, goals, np.zeros(4, bool))[1].any()


def test_a_difference_that_says_half_is_not_enough():
    visits, examples = lines(150, 0.75, 0)
    assert not related(visits, examples, np.zeros(2, bool))[1].any()
    assert related(visits * [2, -2], examples * [1, 1], np.zeros(2, bool))[0].tolist() == [0, 1]


def test_values_that_differ_by_more_than_one():
    assert distinct_values(np.float64([5.0, 0.1, 0.0, 5.5, 2.0, 0.9])) == 3
    assert distinct_values(np.arange(10.0) * 1.1) == 10
    assert distinct_values(np.zeros(0)) == 0


def test_many_numbers_by_luck():
    """A few examples of 25 numbers: of 300 pairs none goes together, though some have a correlation of a half."""
    for seed in range(20):
        examples = np.random.default_rng(seed).normal(size=(20, 25))
        together, _ = regressions(examples, np.cov(examples.T), np.zeros(25, bool))
        assert not together[~np.eye(25, dtype=bool)].any()
    flags = np.random.default_rng(0).integers(0, 2, (150, 1)) * np.ones((1, 2))
    assert not regressions(flags, np.cov(flags.T), np.zeros(2, bool))[0].any()  # two values are no line


def test_a_number_that_is_observed_twice_is_not_measured_from_itself():
    """Nor where it is a step old in the visits, which move."""
    old = np.concatenate([VISITS, VISITS[:, :2] + np.random.default_rng(0).normal(0, 0.02, (N, 2))], axis=1)
    blurred = [old, np.concatenate([EXAMPLES, EXAMPLES[:, :2]], axis=1)]
    twice = [np.concatenate([x, x[:, :2]], axis=1) for x in (VISITS, EXAMPLES)]
    for pair in (twice, blurred):
        partner, _ = relations(*pair, fixed=np.array([False, False, True, True, False, False]))
        assert partner[:2] == [0, 1]
        assert partner[4:] == [4, 5]
        assert partner[2] in (0, 4)
        assert partner[3] in (1, 5)


def test_what_is_only_ever_as_episodes_began_is_given():
    def which(states, recent, starts, abreast=1):
        return given(states, recent, starts, abreast).tolist()

    starts = VISITS[:: N // EPISODES]
    assert which(VISITS, VISITS, starts) == [False, False, True, True]
    assert which(VISITS, VISITS[150:], starts[2:]) == [False, False, True, True]  # the first began earlier
    assert which(VISITS, VISITS[:100], starts[:0]) == [False, False, True, True]  # one episode; others were different
    assert which(VISITS, VISITS, starts[:0]) == [False] * 4  # nobody says where episodes began
    unmoved = np.where([True, True, False, True], VISITS, 0.5)
    assert which(unmoved, unmoved, unmoved[:: N // EPISODES]) == [False, False, False, True]
    flag = np.where(np.arange(N)[:, None] % 100 < 70, [[1, 1, 1, 0]], 1.0) * VISITS[:, [0, 1, 2, 2]] ** 0
    assert which(flag, flag, flag[:: N // EPISODES])[3] is False  # set within episodes, once in each
    grid = np.random.default_rng(0).integers(0, 4, (N, 1)) * np.float32([[1, 1]])
    assert which(grid, grid, grid[::50]) == [False, False]  # every value is also one that some episode began with
    assert which(VISITS, VISITS[:1], starts) == [False] * 4
    turns = np.stack([walk(3), walk(4)], axis=1).reshape(-1, 4)
    assert which(turns, turns, np.concatenate([turns[::200], turns[1::200]]), 2) == [False, False, True, True]


def measure(visits=VISITS, examples=EXAMPLES, before=None, units="spread", starts=None):
    before = metrics.raw(visits.shape[1]) if before is None else before
    starts = visits[:: N // EPISODES] if starts is None else starts
    return metrics.measure(units, before, *map(jnp.asarray, (visits, visits, starts, examples)))


def test_near_the_goal_is_near_the_examples_wherever_the_goal_is():
    found = measure()
    rng = np.random.default_rng(5)
    goals, aside = rng.uniform(-1, 1, (50, 2)), rng.uniform(-1, 1, (50, 2))
    x = np.asarray(found.apply(jnp.asarray(EXAMPLES)))

    def nearest(places):
        query = np.asarray(found.apply(jnp.asarray(np.concatenate([places, goals], axis=1), jnp.float32)))
        return np.sqrt(((query[:, None, 2:] - x[None, :, 2:]) ** 2).sum(-1)).min(axis=1)

    away = np.linalg.norm(goals - aside, axis=1) > 0.5
    assert nearest(goals).max() < nearest(aside)[away].min()
    again = measure(walk(7), before=found)  # and it stays so
    np.testing.assert_array_equal(again.partner, found.partner)
    np.testing.assert_array_equal(again.slope, found.slope)
    assert not measure(units="raw").slope.any()
    assert measure(starts=np.zeros((0, 0), np.float32)).slope.any()  # nobody says where episodes began


def test_a_given_number_that_says_little_hardly_counts():
    """Where the goal is shown as a difference already, the goal itself is no place to go through."""
    rng = np.random.default_rng(0)
    shown = [np.concatenate([x[:, :2] - x[:, 2:], rng.permutation(x)[:, 2:]], axis=1) for x in (VISITS, EXAMPLES)]
    shown[0][:, 2:] = VISITS[:, 2:]
    found = measure(*shown)
    count = shown[0].std(axis=0) / np.asarray(found.scale)
    assert count[:2].min() > 0.8
    assert count[2:].max() < 0.05
    later = measure(*shown, before=found)
    assert (shown[0].std(axis=0) / np.asarray(later.scale))[2:].max() < 0.05
    moved = shown[0] + np.float32([0, 0, 1, 0]) * np.linspace(0, 1, N, dtype=np.float32)[:, None]
    touched = metrics.measure("spread", later, *map(jnp.asarray, (moved, moved, shown[0][::100], shown[1])))
    assert moved[:, 2].std() / float(touched.scale[2]) > 0.3  # somebody moved it: at once it is a place again


def test_kernel_counts_learn_that_two_places_must_be_near_each_other():
    """All the way through `OutcomeReward`: two goals, and each place right for one of them."""
    reward = mural.OutcomeReward(EXAMPLES, method="cnml", seed=0)
    for seed in range(3):
        visits = walk(seed)
        starts = visits[:: N // EPISODES]
        reward.update(visits, starts)
    a, b = [0.9, 0.9], [-0.9, -0.9]
    right, wrong = reward(np.float32([[*a, *a], [*b, *b]])), reward(np.float32([[*a, *b], [*b, *a]]))
    assert right.min() > wrong.max() + 0.2
