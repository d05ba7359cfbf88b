"""Rows of benchmarks name what made them, and what reads such rows does not mind."""

import json
from pathlib import Path

import pytest

from mural import cli
from mural.study import results
from mural.study.bench import made
from mural.study.claims.base import Evidence
from mural.study.claims.classifier import CLASSIFIER
from mural.study.runs import Where
from mural.study.sweep.cost import Prices, cost
from mural.study.sweep.estimate import Speeds
from mural.study.tables import runtimes

BENCH = Path(__file__).parents[3] / "benchmarks"
ROWS = [{"task": "zigzag-maze", "steps_per_s": 5.0}, {"task": "spiral-maze", "steps_per_s": 6.0}]


@pytest.fixture
def measured(monkeypatch):
    """`mural bench tasks` at once, at a known commit."""
    monkeypatch.setattr("mural.study.bench.tasks.bench_tasks", lambda names, seconds: iter(ROWS))
    monkeypatch.setattr(made, "commit", lambda: {"commit": "abc+"})


@pytest.mark.usefixtures("measured")
def test_json_rows_name_what_made_them(capsys):
    cli.main(["bench", "tasks", "--json"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [{name: value for name, value in row.items() if name != "made"} for row in rows] == ROWS
    for row in rows:
        about = row["made"]
        assert about.keys() >= {"date", "commit", "cpu", "python", "jax", "mural-rl"}
        assert about["commit"] == "abc+"
        assert about["cpu"] == results.machine()["cpu"]
        assert about["date"][:4].isdigit()


@pytest.mark.usefixtures("measured")
def test_tables_do_not(capsys):
    cli.main(["bench", "tasks"])
    out = capsys.readouterr().out
    assert "spiral-maze" in out
    assert "made" not in out
    assert "abc" not in out


def test_a_package_that_changes_while_it_is_measured_is_marked(monkeypatch):
    commits = iter(["abc", "abc", "def"])
    monkeypatch.setattr(made, "commit", lambda: {"commit": next(commits)})
    assert [row["made"]["commit"] for row in made.signed(ROWS)] == ["abc", "abc+"]
    monkeypatch.setattr(made, "commit", dict)  # no checkout
    assert all("commit" not in row["made"] for row in made.signed(ROWS))


def read_all(folder):
    """What all readers make of the benchmarks in a folder."""
    evidence = Evidence(Where(folder / "none"), folder, folder)
    times = [*runtimes.per_input(folder / "classifier.jsonl"),
             *runtimes.per_epoch(evidence.where, folder / "train.jsonl", folder / "classifier.jsonl")]  # fmt: skip
    prices = Prices(Speeds(bench=folder / "train.jsonl"), folder)
    ratios = [(one.domain, one.meta_ratio, one.speedup) for one in times]
    return ratios, [claim.judge(evidence) for claim in CLASSIFIER], cost(prices, seeds=1, steps=1000, preset="paper")


def test_readers_find_the_same_in_rows_with_and_without(tmp_path):
    for path in BENCH.glob("*.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            row.pop("made", None)
        for place, found in (("without", rows), ("with", list(made.signed(rows)))):
            (tmp_path / place).mkdir(exist_ok=True)
            (tmp_path / place / path.name).write_text("".join(json.dumps(row) + "\n" for row in found))
    before = read_all(tmp_path / "without")
    assert any(ratio for _, ratio, _ in before[0])
    assert read_all(tmp_path / "with") == before
