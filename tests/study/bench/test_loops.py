"""Both loops train on the same reward and are measured by the same rules."""

import pytest

from mural.study.bench.loops import CONTESTANTS, Record, bench_loops
from tests.training import small


def test_a_record_counts_what_it_should():
    record = Record(threads=1)
    times = iter([0.0, 9.0, 19.0, 29.0, 31.0, 35.0, 95.0, 96.0])
    record.clock = lambda: next(times)
    record.begun = record.since = record.clock()
    for evaluated in (False, False, False, False, False, True):  # three that compile, 2 s, 4 s, and an evaluation
        record.epoch(100, evaluated)
    assert not any(record.evaluated(step, 1.0) for step in (1, 2, 3, 4))
    assert record.evaluated(5, 0.5)
    row = record.row()
    assert row["steps_per_second"] == pytest.approx((50 + 25) / 2, abs=0.1)
    assert row["steps_to_success"] == 5
    assert row["seconds_to_success"] == 96.0
    assert row["steps"] == 600


def test_both_loops_run():
    pytest.importorskip("stable_baselines3")
    settings = {**small.SETTINGS, "loop.epoch_steps": 100, "loop.random_steps": 100, "watch.eval_every": 2}
    settings |= {f"reward.{name}": value for name, value in small.CNML.items()}
    rows = list(bench_loops(method="cnml", steps=600, overrides=settings))
    assert [row["loop"] for row in rows] == [*CONTESTANTS, "ours / Stable-Baselines3"]
    assert all(row["steps"] == 600 for row in rows[:2])
    assert all(row["steps_per_second"] > 0 for row in rows[:2])
    assert all(0 <= row["best_success"] <= 1 for row in rows[:2])
    assert rows[2]["ratio"] == pytest.approx(rows[0]["steps_per_second"] / rows[1]["steps_per_second"], rel=0.05)
