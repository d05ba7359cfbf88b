"""Calibration, coverage and the alarm, by hand."""

import gymnasium
import numpy as np
import pytest

import mural
from mural.rewards import Classifier, Term, metric
from mural.training.diagnostics import BINS, FRESH, WINDOW, Diagnostics, calibration
from tests.training import small


@pytest.fixture(scope="module")
def world():
    agent = mural.Agent(small.Field(), small.examples(), config=small.MURAL)
    return agent.run.world


def test_calibration_by_hand():
    p = np.array([0.05, 0.15, 0.15, 0.95, 1.0])
    y = np.array([0.0, 0.0, 1.0, 1.0, 1.0])
    ece, brier, table = calibration(p, y)
    np.testing.assert_allclose(table, [[0.05, 0, 1], [0.15, 0.5, 2], [0.975, 1, 2]])
    assert ece == pytest.approx((0.05 + 2 * 0.35 + 2 * 0.025) / 5)
    assert brier == pytest.approx(np.mean((p - y) ** 2))


def test_a_perfect_classifier_is_calibrated():
    assert calibration(np.array([0.0, 1.0, 1.0]), np.array([0.0, 1.0, 1.0]))[:2] == (0, 0)


def test_coverage(world):
    seen = Diagnostics(world)
    assert seen.coverage() == {"coverage": 0}
    seen.visit(np.array([[-1, -1], [-0.999, -0.999], [1, 1], [0.01, -1]], np.float32))
    assert seen.visits.sum() == 4
    assert seen.visits[0, 0] == 2
    assert seen.visits[-1, -1] == 1  # the upper bound belongs to the last cell
    assert seen.visits[BINS // 2, 0] == 1
    assert seen.coverage() == {"coverage": 3 / BINS**2}


def test_bounds_from_the_first_data(world):
    seen = Diagnostics(world)
    seen.low[:] = np.nan
    seen.visit(np.array([[0, 10], [3, 40]], np.float32))
    np.testing.assert_allclose(seen.low, [-3, -20])
    np.testing.assert_allclose(seen.high, [6, 70])
    seen.visit(np.array([[1e6, -1e6]], np.float32))  # beyond: counted at the edge
    assert seen.visits[-1, 0] == 1


def returns(seen, values, successes):
    return [
        seen.alarm({"eval/return": value, "eval/success": success}).get("alarm")
        for value, success in zip(values, successes, strict=True)
    ]


@pytest.mark.parametrize(
    ("after", "success", "alarm"), [(20.0, 0.0, 1), (20.0, 0.4, 0), (11.0, 0.0, 0), (20.0, 0.9, 0), (5.0, 0.0, 0)]
)
def test_alarm(world, after, success, alarm):
    """Rewards doubled and success did not; or it did, or they hardly rose, or fell."""
    half = WINDOW // 2
    raised = returns(Diagnostics(world), [10.0] * half + [after] * half, [0.0] * half + [success] * half)
    assert raised == [0] * (WINDOW - 1) + [alarm]


def test_no_alarm_where_rewards_go_up_and_down(world):
    half = WINDOW // 2
    explores = [1.0, 12.0, 2.0, 3.0, 1.0], [30.0, 40.0, 11.0, 45.0, 30.0]
    assert returns(Diagnostics(world), [*explores[0], *explores[1]], [0.0] * WINDOW)[-1] == 0
    assert returns(Diagnostics(world), [*explores[0], *[13.0] * half], [0.0] * WINDOW)[-1] == 1


def test_no_alarm_where_the_task_is_done(world):
    half = WINDOW // 2
    assert returns(Diagnostics(world), [10.0] * half + [20.0] * half, [0.9] * WINDOW)[-1] == 0


def test_no_alarm_without_evaluation(world):
    assert Diagnostics(world).alarm({"eval/return": 1.0}) == {}


def test_state_round_trip(world):
    seen, again = Diagnostics(world), Diagnostics(world)
    seen.visit(np.random.default_rng(0).uniform(-1, 1, (50, 2)).astype(np.float32))
    returns(seen, [1 / 3, 0.1], [0.2, 0.7])
    again.set_state({name: np.array(value) for name, value in seen.state().items()})
    np.testing.assert_array_equal(again.visits, seen.visits)
    np.testing.assert_array_equal(again.past, seen.past)  # every digit: an alarm must not depend on a restart
    np.testing.assert_array_equal([again.low, again.high], [seen.low, seen.high])


RAW = {"classifier": None, "half": None, "metric": metric.raw(2)}  # states of parts that keep none


class Half(Classifier):
    """Says how many of the states lie on the right."""

    scaled = False

    def probability(self, state, states):
        return (states[:, 0] > 0).astype(np.float32)


class Always(Classifier):
    """Is not asked."""

    def probability(self, state, states):
        raise AssertionError


def test_calibration_is_that_of_the_classifier(world):
    """Also where another part with a probability comes first."""
    terms = Term("novelty", 1.0, Always()), Term("classifier", 1.0, Half())
    seen = Diagnostics(world).classifier(terms, RAW, np.zeros((FRESH, 2), np.float32))
    assert "calibration/brier" in seen


def test_held_out_examples_against_fresh_states(world):
    terms = (Term("half", 1.0, Half()),)
    seen = Diagnostics(world)
    assert len(world.held_out) == 4  # a tenth of 40
    row = seen.classifier(terms, RAW, np.full((FRESH, 2), -0.5, np.float32))
    assert row["calibration/ece"] == row["calibration/brier"] == 0
    fooled = seen.classifier(terms, RAW, np.full((FRESH, 2), 0.5, np.float32))
    assert fooled["calibration/brier"] == 0.5
    assert seen.classifier((), {}, np.zeros((4, 2))) == {}


@pytest.mark.parametrize("high", [[np.finfo(np.float32).max] * 2, [1e6, 1e6], [1.0, -1.0]])
def test_bounds_that_say_nothing_are_not_the_plane(high):
    class Anywhere(small.Field):
        observation_space = gymnasium.spaces.Box(
            np.float32([-1, -1]), np.maximum(np.float32(high), -1), dtype=np.float32
        )

    agent = mural.Agent(Anywhere(), method="sac", config=small.SETTINGS, check=False)
    diagnostics = Diagnostics(agent.run.world)
    diagnostics.visit(np.random.default_rng(0).uniform(-1, 1, (500, 2)).astype(np.float32))
    assert diagnostics.coverage()["coverage"] > 0.05
    assert (diagnostics.low < -1).all()
