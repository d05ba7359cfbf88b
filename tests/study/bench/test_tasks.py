"""The benchmark of the tasks runs and reports what it says; how fast they are is for the benchmark itself."""

import sys

import pytest

from mural.study.bench.tasks import BATCHED_FLOOR, SINGLE_FLOOR, bench_tasks
from mural.tasks import TASKS, UnknownTaskError


def test_every_task_has_a_floor():
    assert list(SINGLE_FLOOR) == list(TASKS)


def test_a_maze_is_measured_single_and_batched(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium_robotics", None)
    single, batched = bench_tasks(["mural/SpiralMaze-v0"], seconds=0.02, rounds=1, batch=64)
    assert (single["task"], single["mode"], batched["mode"]) == ("spiral-maze", "single", "batched")
    assert single["steps_per_s"] > 1000
    assert batched["steps_per_s"] > 1000
    assert batched["floor"] == BATCHED_FLOOR
    assert single["peer_steps_per_s"] is None
    assert "pip install gymnasium-robotics" in single["peer_note"]
    assert single["versions"]["gymnasium"]


def test_the_shuffled_maze_is_measured_too():
    single, batched = bench_tasks(["shuffled-maze"], seconds=0.02, rounds=1, batch=64)
    assert single["meets_floor"] == (single["steps_per_s"] >= 20_000)
    assert batched["batch"] == 64


def test_unknown_tasks_are_named():
    with pytest.raises(UnknownTaskError, match="no task 'chess'"):
        list(bench_tasks(["chess"]))
