"""The cost of the paper's comparison: from measured speeds, and a sum that can be checked by hand."""

import json
from pathlib import Path

import pytest

from mural import cli
from mural.study.sweep import cost
from mural.study.sweep.estimate import Speeds
from mural.tasks import make
from tests.study.records import record

BENCH = Path(__file__).parents[3] / "benchmarks"


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def bench(tmp_path):
    """Every method's epoch takes 2 seconds, ICM's 4; every task makes 1000 steps per second, the hand 500."""
    methods = {method: 2.0 for _, method in cost.grid()} | {"icm": 4.0}
    sac = {"what": "SAC steps per second", "ours": 10.0, "hidden": 512, "batch": 1024, "threads": 1}
    epochs = [{"what": f"epoch of {m}", "ours": s, "env": "zigzag-maze", "threads": 1} for m, s in methods.items()]
    small = sac | {"hidden": 256, "batch": 256, "ours": 100.0}
    write(tmp_path / "train.jsonl", [*epochs, sac, small, sac | {"threads": 2, "ours": 99.0}])
    speed = {"hand-reposition": 500.0}
    write(tmp_path / "tasks.jsonl", [
        {"task": task, "mode": mode, "steps_per_s": speed.get(task, 1000.0) * factor}
        for task in cost.TASKS for mode, factor in (("single", 1), ("batched", 50))
    ])  # fmt: skip
    return tmp_path


def test_the_grid_is_the_papers():
    grid = list(cost.grid())
    assert len(grid) == 7 * 8
    assert ("ant-maze", "vice-count") in grid
    assert ("sawyer-door", "vice-rnd") in grid
    assert ("sawyer-door", "vice-count") not in grid


def test_measured_runs_count_first_then_ratios_then_parts(bench, tmp_path):
    run = record(tmp_path / "runs" / "a", [0], task="sawyer-push")  # 500 steps per second
    prices = cost.Prices(Speeds([run], bench=None), bench)
    assert prices.of("sawyer-push", "mural") == (0.002, "runs")
    assert prices.of("sawyer-push", "icm") == (0.004, "ratio")
    assert prices.of("zigzag-maze", "icm") == (0.004, "parts")
    assert prices.of("hand-reposition", "vice") == (pytest.approx(0.002 + 1.1 * 0.001), "parts")
    assert prices.of("zigzag-maze", "vice", "paper") == (pytest.approx(0.102), "parts")
    assert prices.of("zigzag-maze", "vice", "release") == (pytest.approx(0.012), "parts")


def test_evaluations_count(bench):
    """20 episodes of 100 steps every 2,000 on the arms; two on mazes and hand; two of 400 every 2,400 on the ant."""
    assert cost.steps_per_step("sawyer-push") == 2
    assert cost.steps_per_step("zigzag-maze") == pytest.approx(1.1)
    assert cost.steps_per_step("ant-maze") == pytest.approx(1 + 800 / 2400)
    for task in cost.TASKS:
        assert make(task).horizon == cost.HORIZONS.get(task, 100)
        assert make(task).varies == (task in cost.VARIED)


def test_a_plan_estimates_what_was_never_measured_and_says_so(bench, tmp_path):
    run = record(tmp_path / "runs" / "a", [0], task="sawyer-push")  # 500 steps per second
    prices = cost.Prices(Speeds([run], bench=None), bench)
    assert prices.speed("sawyer-push", "mural") == (500.0, "runs, 1")
    assert prices.speed("sawyer-push", "icm") == (250.0, "estimate by ratio")
    assert prices.speed("sawyer-push", "icm", "paper") is None  # large networks: no estimate is better than a bound
    assert prices.speed("sawyer-push", "my-method") is None
    assert prices.speed("MyTask-v0", "vice") is None


def test_the_sum(bench):
    rows = cost.cost(cost.Prices(Speeds(bench=None), bench), seeds=5, steps=1_000_000, preset="fast")
    seconds = 5 * (7 * 2000 + 4000)  # a task: seven methods, and ICM
    assert [row["runs"] for row in rows] == [40] * 7
    assert rows[0]["core-hours"] == pytest.approx(seconds / 3600)
    total = sum(row["core-hours"] for row in rows)
    arms, hand, ant = 1e6 * (2.0 - 1.1) / 1000, 1e6 * 1.1 * (1 / 500 - 1 / 1000), 1e6 * (800 / 2400 - 0.1) / 1000
    assert total == pytest.approx((7 * seconds + 40 * (3 * arms + hand + ant)) / 3600)  # simulated beyond the maze
    assert cost.hours(rows, 1) == pytest.approx(total)
    assert total / 2 <= cost.hours(rows, 2) <= total / 2 + 1
    assert cost.hours(rows, 1000) == pytest.approx((4000 + hand) / 3600)  # the longest run


def test_what_was_not_measured_is_named(bench, tmp_path):
    write(bench / "tasks.jsonl", [{"task": "zigzag-maze", "mode": "single", "steps_per_s": 1000.0}])
    with pytest.raises(cost.CostError, match="ant-maze"):
        cost.Prices(Speeds(bench=None), bench).of("ant-maze", "vice")
    with pytest.raises(cost.CostError, match="mural bench train methods"):
        cost.Prices(Speeds(bench=None), tmp_path / "none").of("ant-maze", "vice")


def test_the_command(capsys, monkeypatch):
    monkeypatch.chdir(BENCH.parent)
    cli.main(["sweep", "cost", "--json", "--cores", "2", "100"])
    *tasks, total = map(json.loads, capsys.readouterr().out.splitlines())
    assert len(tasks) == 7
    assert total["runs"] == 280
    assert total["hours on 100 cores"] < total["hours on 2 cores"] / 10
    cli.main(["sweep", "cost"])
    assert "core-hours: " in capsys.readouterr().out
    for words in (["--cores", "0"], ["--steps", "-1"], ["--seeds", "0"]):
        with pytest.raises(SystemExit):
            cli.main(["sweep", "cost", *words])
        assert "it must be positive" in capsys.readouterr().err
