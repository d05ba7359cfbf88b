"""Which runs count for a figure, and what is said when they are missing."""

import math
from pathlib import Path

import pytest

from mural.study import runs
from mural.study.figures import learning
from mural.study.runs import ABLATED, COMPARISON, RULES, Group, Where, gather, groups
from mural.study.sweep import spec
from tests.study.made_up import result, write

MURAL, VICE = Group("mazes", "zigzag-maze", "mural"), Group("mazes", "zigzag-maze", "vice")


def test_missing_runs_are_named_with_the_sweep_that_makes_them(tmp_path):
    with pytest.raises(runs.MissingRunsError) as error:
        gather([MURAL, VICE], Where(tmp_path), what="fig:x", partial=True)
    assert str(error.value) == (
        "fig:x has no finished runs of zigzag-maze mural, zigzag-maze vice: run `mural sweep studies/mazes.toml`"
    )
    write(tmp_path / "mazes", result())
    with pytest.raises(runs.MissingRunsError, match=r"of zigzag-maze vice: .*; --partial makes do with what is there"):
        gather([MURAL, VICE], Where(tmp_path), what="fig:x")
    some = gather([MURAL, VICE, Group("ant", "ant-maze", "mural")], Where(tmp_path), what="fig:x", partial=True)
    assert list(some.by) == [MURAL]
    assert some.made_by() == "1 runs; seeds 10; commits 0000000; missing: zigzag-maze (vice), ant-maze"


def test_what_was_tuned_on_or_is_half_done_does_not_count(tmp_path):
    half = result(seed=11) | {"steps": 30_000}
    write(tmp_path / "mazes", result(), result(seed=2), result(seed=100), half, result(variant="no-kernel", seed=12))
    found = gather([MURAL], Where(tmp_path), what="fig:x").by[MURAL]
    assert [run["seed"] for run in found] == [10]
    write(tmp_path / "mazes", half | {"stopped": True})  # five good evaluations in a row, and then it was cut off
    assert [run["seed"] for run in gather([MURAL], Where(tmp_path), what="fig:x").by[MURAL]] == [10]
    write(tmp_path / "mazes", half | {"stopped": True, "config": half["config"] | {"stop_at_success": 0.9}})
    early = gather([MURAL], Where(tmp_path), what="fig:x")
    assert [run["seed"] for run in early.by[MURAL]] == [10, 11]
    assert "1 stopped once solved" in early.made_by()
    other = Group("mazes", "zigzag-maze", "mural", "no-kernel")
    assert [run["seed"] for run in gather([other], Where(tmp_path), what="fig:x").by[other]] == [12]


def test_folders_may_stand_in_for_studies(tmp_path):
    write(tmp_path / "old", result(dirty=True, seed=2), result(seed=100))
    found = gather([MURAL], Where(tmp_path, (tmp_path / "old",)), what="fig:x")
    assert found.success("mural") == {"zigzag-maze": [1.0]}
    assert "1 with uncommitted changes" in found.made_by()


def test_success_is_that_of_the_last_ten_evaluations():
    run = result(success=0.4)
    assert runs.success(run) == 0.4
    del run["success_of_last_ten"]
    run["curves"]["eval/success"] = [[i, float(i >= 15)] for i in range(20)]
    assert runs.success(run) == 0.5


def test_times_to_the_first_success():
    assert (runs.steps_to_solved(result()), runs.minutes_to_solved(result())) == (20_000, 2.0)
    never = result(success=0.3)
    assert runs.steps_to_solved(never) == runs.minutes_to_solved(never) == math.inf
    assert runs.minutes_to_solved(result(seconds_to_solved=None)) is None


def test_every_group_that_a_figure_needs_is_in_the_sweep_that_its_error_names():
    needed = {*COMPARISON, *learning.ablation_groups(), *groups("ablations", ABLATED, ["mural"], RULES)}
    needed |= {
        *groups("shuffled", ["shuffled-maze"], learning.SHUFFLED),
        *groups("double", ["double-maze"], learning.DOUBLE),
    }
    for study in {group.study for group in needed}:
        planned = spec.plan(spec.load(Path(__file__).parents[2] / "studies" / f"{study}.toml"))
        there = {Group(study, run.task, run.method, run.variant) for run in planned}
        assert {group for group in needed if group.study == study} - there == set()
