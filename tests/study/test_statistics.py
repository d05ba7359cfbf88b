"""Statistics: the numbers of rliable and of SciPy, what few runs cannot say, and times that never come."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from mural.errors import ArgumentError
from mural.study import statistics

RLIABLE = json.loads((Path(__file__).parent / "rliable.json").read_text())
NOISE = 0.02  # of the ends of an interval between two bootstraps of 2,000 and of 20,000 draws


def columns(rows):
    """Scores [runs, tasks] by task."""
    return {f"task {i}": column for i, column in enumerate(np.array(rows).T)}


def close(estimate, expected):
    assert estimate.value == pytest.approx(expected[0], abs=1e-12)
    assert (estimate.low, estimate.high) == pytest.approx(expected[1:], abs=NOISE)


def test_rliable_says_the_same():
    ours, theirs = columns(RLIABLE["ours"]), columns(RLIABLE["theirs"])
    close(statistics.iqm(ours), RLIABLE["iqm"])
    close(statistics.improvement(ours, theirs), RLIABLE["improvement"])
    for estimate, expected in zip(statistics.profile(ours, RLIABLE["thresholds"]), RLIABLE["profile"], strict=True):
        close(estimate, expected)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=12), st.lists(st.floats(0, 1), min_size=2, max_size=12))
def test_scipy_says_the_same_of_one_task(x, y):
    assert statistics._iqm(np.array([x]))[0] == pytest.approx(scipy.stats.trim_mean(x, 0.25))
    u = scipy.stats.mannwhitneyu(x, y).statistic / (len(x) * len(y))
    assert statistics._wins(np.array([x]), np.array([y]))[0] == pytest.approx(u)


def test_the_bootstrap_stays_within_its_tasks():
    """Two tasks of which each seed says the same have no spread; mixed, they would."""
    sure = statistics.mean({"easy": [1, 1, 1], "hard": [0, 0, 0]})
    assert (sure.value, sure.low, sure.high, sure.runs) == (0.5, 0.5, 0.5, 6)
    mixed = statistics.mean({"both": [1, 1, 1, 0, 0, 0]})
    assert mixed.low < 0.3
    assert mixed.high > 0.7


def test_an_interval_covers_what_it_says():
    """Of 200 experiments of 20 runs each, about 95 % have the true mean in their interval."""
    rng = np.random.default_rng(0)
    found = [statistics.mean({"t": rng.uniform(size=20)}, seed=i) for i in range(200)]
    assert 0.88 <= np.mean([e.low <= 0.5 <= e.high for e in found]) <= 0.99


def test_one_run_has_no_interval():
    alone = statistics.iqm({"t": [0.7]})
    assert math.isnan(alone.low)
    assert alone.text() == "0.70 (no interval)"
    assert alone.plain() == {"value": 0.7, "low": None, "high": None, "runs": 1}


@pytest.mark.parametrize("compare", [statistics.improvement, statistics.difference])
def test_a_rival_with_one_run_leaves_no_interval(compare):
    ours = {"t": [0.9, 1.0, 0.95, 1.0, 0.9]}
    assert math.isnan(compare(ours, {"t": [0.8]}).low)
    assert math.isnan(compare({"t": [0.8]}, ours).high)
    assert not math.isnan(compare(ours, {"t": [0.8, 0.7]}).low)


def test_a_difference_has_a_sign():
    better = statistics.difference({"t": [0.9, 1.0, 0.95]}, {"t": [0.1, 0.2, 0.3]})
    assert better.low > 0.5
    assert statistics.difference({"t": [0.1, 0.2, 0.3]}, {"t": [0.9, 1.0, 0.95]}).high < -0.5


def test_half_of_the_runs_decide_when_a_task_is_solved():
    assert statistics.median_time({"t": [10, 20, statistics.NEVER]}).value == 20
    lost = statistics.median_time({"t": [10, statistics.NEVER, statistics.NEVER]})
    assert lost.value == lost.high == math.inf
    assert lost.text(" k", 0) == "never k [10, never]"


def test_a_curve_is_read_as_it_was_known_at_each_step():
    curve = [[2000, 0.5], [4000, 1.0]]
    assert statistics.on_steps(curve, [1000, 2000, 3999, 4000, 9000]).tolist() == [0, 0.5, 0.5, 1, 1]
    assert statistics.on_steps([], [1], before=3.0).tolist() == [3]
    rising = statistics.efficiency({"t": [curve, curve, [[2000, 0.0], [4000, 1.0]]]}, [2000, 4000])
    assert [round(point.value, 3) for point in rising] == [0.333, 1.0]
    assert rising[0].low < rising[0].value < rising[0].high


@pytest.mark.parametrize("scores", [{}, {"t": []}, {"t": [0.5, math.nan]}])
def test_scores_that_are_none_are_refused(scores):
    with pytest.raises(ArgumentError):
        statistics.iqm(scores)


def test_different_tasks_are_not_compared():
    with pytest.raises(ArgumentError, match="same tasks"):
        statistics.improvement({"a": [1]}, {"b": [1]})
