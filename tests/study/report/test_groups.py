"""Seeds of one thing, variants of another, and what they say together."""

import numpy as np
import pytest

from mural.study.report.charts import COLOURS, RELIABILITY, TRUE, chart, look, thousands
from mural.study.report.groups import band, estimate, group, iqm, shared
from mural.study.report.reading import read_run
from tests.study.report.folders import run_folder


def runs_of(tmp_path, *successes, **settings):
    return [read_run(run_folder(tmp_path / f"r{i}", values, seed=i, **settings)) for i, values in enumerate(successes)]


def test_the_interquartile_mean_leaves_out_quarters():
    assert iqm(np.array([[0.0, 1.0, 2.0, 100.0], [4.0, 4.0, 4.0, 4.0]])).tolist() == [1.5, 4.0]
    assert iqm(np.array([[0.0, 1.0, 5.0]])).tolist() == [2.0]


def test_an_interval_holds_the_mean_and_grows_with_the_spread():
    narrow, wide = estimate([0.7, 0.8, 0.9, 0.8]), estimate([0.0, 1.0, 0.2, 0.8])
    assert narrow.low is not None
    assert narrow.high is not None
    assert wide.low is not None
    assert wide.high is not None
    assert narrow.low <= narrow.value <= narrow.high
    assert wide.high - wide.low > narrow.high - narrow.low
    assert estimate([0.5]) == (type(narrow))(0.5, None, None, 1)
    assert estimate([0.3, 0.9, 0.4]) == estimate([0.3, 0.9, 0.4])  # the same page every time


def test_the_interval_covers_what_it_should():
    """Of normal samples of 10, about 90 % of such intervals hold the mean: the bootstrap of few is a bit too narrow."""
    rng = np.random.default_rng(1)
    found = [estimate(rng.normal(size=10).tolist()) for _ in range(100)]
    assert 80 <= sum(e.low < 0 < e.high for e in found) <= 99  # type: ignore[operator]


def test_seeds_make_a_group_and_settings_a_variant(tmp_path):
    runs = runs_of(tmp_path, [0.0, 1.0], [0.5, 1.0])
    runs.append(read_run(run_folder(tmp_path / "other", [0.0, 0.0], seed=0, sac={"gamma": 0.9})))
    runs.append(read_run(run_folder(tmp_path / "watched", [0.0, 0.5], seed=2, watch={"keep": 9})))
    found = {entry.label: [run.seed for run in entry.runs] for entry in group(runs)}
    assert found == {"mural · sac.gamma 0.9": ["0"], "mural · sac.gamma 0.99": ["0", "1", "2"]}
    ended = next(entry for entry in group(runs) if entry.label.endswith("0.99")).final("eval/success")
    assert ended is not None
    assert (round(ended.value, 3), ended.count) == (0.5, 3)


def test_a_seed_that_is_there_twice_is_said(tmp_path):
    runs = [read_run(run_folder(tmp_path / name, seed=7)) for name in ("a", "b")]
    assert "more than one run has seed 7" in group(runs)[0].repeated()
    assert group(runs[:1])[0].repeated() == ""


def test_a_band_goes_as_far_as_all_runs(tmp_path):
    found = band(runs_of(tmp_path, [0.0, 0.5, 1.0], [0.0, 1.0]), "eval/success")
    assert found is not None
    steps, means, low, high = found
    assert steps.tolist() == [1000, 2000]
    assert means.tolist() == [0.0, 0.75]
    assert (low <= means).all()
    assert (means <= high).all()
    assert band(runs_of(tmp_path / "more", [0.0], [None]), "eval/success") is None


def test_what_is_shared_and_what_differs():
    same, other = shared([{"a": "1", "b": "2"}, {"a": "1", "b": "3", "c": "4"}])
    assert same == {"a": "1"}
    assert other == {"b": ["2", "3"], "c": ["–", "4"]}
    assert shared([]) == ({}, {})


def test_charts_are_pictures_of_what_there_is(tmp_path):
    groups = group(runs_of(tmp_path, [0.0, 1.0], [0.0, 0.5], task="$x$ <b>", method="$\\frac{"))
    drawn = chart(groups, [groups[0].label], TRUE[0], "$x$ <b>")
    assert drawn is not None
    assert drawn.source.startswith("data:image/svg+xml;base64,")
    assert "62% at the end" not in drawn.words
    assert "38% at the end" in drawn.words
    assert chart(groups, [groups[0].label], TRUE[0], "t") == chart(groups, [groups[0].label], TRUE[0], "t")
    untold = group(runs_of(tmp_path / "untold", [None, None]))
    assert chart(untold, [untold[0].label], TRUE[0], "t") is None
    assert chart(untold, [untold[0].label], RELIABILITY[0], "t") is not None


def test_many_methods_look_different():
    assert len({look(i) for i in range(3 * len(COLOURS))}) == 3 * len(COLOURS)


@pytest.mark.parametrize(("steps", "shown"), [(0, "0"), (500, "500"), (20000, "20k"), (1_500_000, "1.5M")])
def test_steps_are_short(steps, shown):
    assert thousands(steps) == shown
