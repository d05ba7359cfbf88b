"""Tuning the rivals: the paper's grid is in the study, and the table names the best of each."""

from pathlib import Path

import pytest

from mural.study.pages.results import progress
from mural.study.runs import COMPARISON, MissingRunsError, Where, available
from mural.study.sweep import spec
from mural.study.tables import find, paper, settings, tuning
from tests.study.made_up import result, write

ROOT = Path(__file__).parents[2]
STUDY = ROOT / tuning.STUDY
RIVALS = {"VICE": "vice", "VICE + count bonus": "vice-count", "VICE + RND": "vice-rnd"}


def run(variant="", success=0.0, distance=5.0, task="zigzag-maze", method="vice", **config):
    curves = {"eval/distance": [[5000, 2 * distance], [10_000, distance], [15_000, 3 * distance]]}
    made = result(task, method, 100, success, variant=variant, curves=curves)
    return made | {"config": {"steps": 50_000, "seed": 100, "reward": config}}


@pytest.mark.parametrize("task", ["zigzag-maze", "sawyer-push"])
def test_every_value_that_the_paper_tried_is_tried(task):
    runs = [run for run in spec.plan(spec.load(STUDY)) if run.task == task]
    assert {run.seed for run in runs} == {100}
    for section, method in RIVALS.items():
        for name, choice in paper.TUNED[task].get(section, {}).items():
            tried = {settings.SETTING[section, name](run.config) for run in runs if run.method == method}
            left_out = {1} if (task, name) == ("sawyer-push", "n_VICE") else set()  # next to 2, which is tried
            assert set(choice.tried) - left_out <= tried, (section, name)
    pairs = paper.TUNED[task]["DDL"]
    steps = {int(1000 * n / every) for n in pairs["N_d"].tried for every in pairs["training frequency"].tried}
    assert steps <= {run.config.reward.distance.steps for run in runs if run.method == "ddl"}


def test_all_that_are_compared_are_tuned_and_each_variant_changes_something():
    runs = spec.plan(spec.load(STUDY))
    assert {group.method for group in COMPARISON} - {"cnml"} == {run.method for run in runs}  # cnml has no settings
    defaults = {(run.task, run.method): run.config for run in runs if not run.variant}
    varied = [run for run in runs if run.variant]
    for run in varied:
        assert run.config != defaults[run.task, run.method], run.name
    assert {run.method for run in varied} == {run.method for run in runs} - {"mural", "sac-sparse"}  # no grid


def test_the_table_names_the_best_of_each_method(tmp_path):
    write(
        tmp_path / "tuning",
        run(success=0.2, steps=100),
        run("n-2", success=0.2, distance=1.0, steps=2),
        run("n-10", steps=10, distance=0.1),
        run(method="ddl", success=1.0),
    )
    rows, note = tuning.tuning(Where(tmp_path), partial=True, study=STUDY)
    assert [(row["method"], row["variant"], row["best"]) for row in rows] == [
        ("vice", "default", ""), ("vice", "n-2", "best"), ("vice", "n-10", ""), ("ddl", "default", ""),
    ]  # fmt: skip
    assert rows[1] == rows[1] | {"changed": "reward.steps 2 (100)", "success": "0.20", "best distance": "1"}
    assert (rows[0]["thousand steps to 0.9"], rows[-1]["thousand steps to 0.9"]) == ("never", "20")
    assert "4 runs; seeds 100" in note
    assert "missing: " in note


def test_missing_runs_are_refused_with_the_sweep(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    with pytest.raises(MissingRunsError, match=r"run `mural sweep studies/tuning.toml`"):
        find("tuning").make(Where(tmp_path), False)


def test_seeds_that_were_tuned_on_count_for_tuning_alone(tmp_path):
    where = Where(tmp_path)
    write(tmp_path / "tuning", run())
    write(tmp_path / "mazes", run())
    (row,) = progress({"tuning": spec.plan(spec.load(STUDY), only="zigzag-maze-vice-100")}, where)
    assert row["finished"] == "1 of 1 runs"
    assert not available(COMPARISON, where).by
