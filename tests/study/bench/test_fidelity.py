"""The measures of the fidelity benchmark, against cases worked out by hand."""

import dataclasses

import numpy as np
import pytest

from mural.study.bench import fidelity as bench_fidelity
from mural.study.bench.fidelity import calibration_error, classic, compare, maze


def test_calibration_error_of_known_cases():
    sure = np.array([[0.05, 0.95]] * 4)
    assert calibration_error(sure, np.array([1, 1, 1, 1])) == pytest.approx(0.05)
    assert calibration_error(sure, np.array([1, 1, 0, 0])) == pytest.approx(0.45)
    mixed = np.array([[0.35, 0.65], [0.05, 0.95]])
    assert calibration_error(mixed, np.array([0, 1])) == pytest.approx((0.65 + 0.05) / 2)


def test_compare_counts_success_only_for_two_labels():
    p, truth = np.array([[0.5, 0.5], [0.1, 0.9]]), np.array([[0.6, 0.4], [0.1, 0.9]])
    found = compare(p, truth)
    assert found["mean_error"] == pytest.approx(0.05)
    assert found["max_error"] == pytest.approx(0.1)
    assert found["tau"] == pytest.approx(1.0)


def test_problems_are_reproducible_and_held_out():
    problem = classic("iris", 0)
    assert not (problem.x[:, None] == problem.queries[None]).all(-1).any(0).all()
    np.testing.assert_array_equal(problem.x, classic("iris", 0).x)
    assert len(maze(0).queries) == len(maze(0).ideal) == len(maze(0).seen)


def test_a_small_run_has_a_row_for_every_method_and_truth(monkeypatch):
    small = dataclasses.replace(
        maze(0), hidden=(16,), meta_epochs=2, exact_rows=np.arange(2), queries=maze(0).queries[:8]
    )
    small = dataclasses.replace(small, ideal=maze(0).ideal[:8], seen=np.arange(8) < 5, l2=10.0)
    monkeypatch.setattr(bench_fidelity, "maze", lambda seed: small)
    monkeypatch.setattr(bench_fidelity, "STEPS", (1, 2))
    rows = list(bench_fidelity.bench_fidelity(["maze"], 0))
    found = {(row["method"], row["truth"]) for row in rows}
    for method in ("mle", "one-step-without-meta-training", "meta-1", "meta-2"):
        assert {(method, "exact"), (method, "ideal"), (method, "ideal, cells with data")} <= found
    assert ("exact", "ideal") in found
    assert all(0 <= row["mean_error"] <= row["max_error"] <= 1 for row in rows)


def test_data_that_come_in_epochs(monkeypatch):
    small = dataclasses.replace(maze(0), hidden=(16,))
    monkeypatch.setattr(bench_fidelity, "maze", lambda seed: small)
    monkeypatch.setattr(bench_fidelity, "MANY", 2)
    monkeypatch.setattr(bench_fidelity, "EPOCHS", 2)
    monkeypatch.setattr(bench_fidelity, "FIRST", 1)
    rows = [row for row in bench_fidelity.bench_fidelity(["growing-maze"], 0) if row["truth"] == "ideal"]
    assert [row["method"] for row in rows] == [
        "warm, 1 meta-epoch per epoch", "anew, 1 meta-epoch", "anew, 2 meta-epochs", "anew, 2 meta-epochs, no kernel",
    ]  # fmt: skip
    assert len({row["mean_error"] for row in rows}) == 4
    assert all(row["queries"] == len(small.queries) for row in rows)
