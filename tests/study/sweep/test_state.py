"""How far runs are, and whether they are what is asked for."""

import json
import os
from pathlib import Path

import pytest

from mural import cli
from mural.settings.config import to_dict
from mural.storage.folder import alone
from mural.study import results
from mural.study.sweep import estimate, spec, state
from mural.study.sweep.board import duration
from tests.study.records import record


@pytest.fixture
def runs(tmp_path):
    table = {"tasks": ["zigzag-maze"], "methods": ["mural", "vice"], "seeds": [3], "steps": 5000}
    places = {"out": str(tmp_path / "runs"), "results": str(tmp_path / "results" / "a")}
    return spec.plan(spec.parse({"sweep": table | places}))


def begun(run, success, **changes):
    return record(run.folder, success, **to_dict(run.config) | changes)


def test_what_is_finished_and_what_is_not(runs):
    mural, vice = runs
    assert state.look(mural).state == "waiting"
    begun(mural, [0, 0.5, 1, 1])
    begun(vice, [0, 0.5])
    assert state.look(mural) == state.Look("done", 5000, 0.625)  # the mean of what there is of the last ten
    assert state.look(vice) == state.Look("half done", 3000, 0.25)
    (mural.folder / "checkpoints" / "0000004000").mkdir(parents=True)  # killed before the last one was saved
    assert state.look(mural).state == "half done"
    lock = alone(vice.folder)
    assert state.look(vice).state == "running"
    os.close(lock)
    state.failure_path(vice).write_text("exit code 2\nlog")
    assert state.look(vice).state == "failed"


def test_a_run_that_stopped_at_success_is_done(tmp_path):
    folder = record(tmp_path / "a", [1] * 5, stop_at_success=0.9)
    assert state.finished(folder)
    assert not state.finished(record(tmp_path / "b", [1] * 5))
    assert not state.finished(record(tmp_path / "c", [1] * 4, stop_at_success=0.9))


def test_other_settings_are_reported_and_not_skipped(runs):
    mural, vice = runs
    begun(mural, [0] * 4, units="raw")
    look = state.look(mural)
    assert look.state == "differs"
    assert "units raw (spec: spread)" in look.note
    kept = to_dict(mural.config) | {"keep_ordinary": True}
    assert list(state.differences(mural.config, kept)) == []  # a task's own examples are all kept
    found = list(state.differences(mural.config, kept | {"examples": "mine.npz"}))
    assert [text.split()[0] for text in found] == ["examples", "keep_ordinary"]
    begun(vice, [0] * 4, unheard_of=1)
    assert "unheard_of" in state.look(vice).note


def test_a_result_alone_counts_if_it_is_of_the_same_settings(runs):
    for run, changes in zip(runs, ({}, {"seed": 9}), strict=True):
        folder = begun(run, [0] * 4, **changes)
        results.write(folder, run.results)
        folder.rename(folder.with_name("away"))
        (folder.with_name("away") / "config.json").unlink()
        folder.with_name("away").rename(folder.with_name(f"away-{run.method}"))
    assert [state.look(run).state for run in runs] == ["collected", "differs"]
    short = json.loads(runs[0].result.read_text()) | {"steps": 100}
    runs[0].result.write_text(json.dumps(short))
    assert state.look(runs[0]).state == "waiting"


def test_time_is_told_from_what_was_measured(runs, tmp_path):
    mural, _ = runs
    assert estimate.speeds_for(runs).of("spiral-maze", "mural", "fast") is None
    begun(mural, [0, 0])
    record(tmp_path / "other", [0], method="vice").rename(tmp_path / "vice-1")
    results.write(tmp_path / "vice-1", tmp_path / "results" / "b")
    bench = tmp_path / "bench.jsonl"
    rows = [("epoch of ddl", 2.5), ("epoch of vice", 9.0), ("epoch of MURAL / epoch of VICE", 1.0)]
    lines = [json.dumps({"what": what, "ours": ours, "env": "zigzag-maze", "threads": 1}) for what, ours in rows]
    bench.write_text("\n".join(lines))
    speeds = estimate.Speeds([mural.folder], (tmp_path / "results").glob("*/*.json"), bench)
    found = {key[1]: value for key, value in speeds.found.items()}
    assert found == {"mural": (500, "runs, 1"), "vice": (500, "results, 1"), "ddl": (400, "benchmarks, 1")}
    assert estimate.wall([3, 1, 1, 1], 2) == 3
    assert [duration(s) for s in (20, 600, 4000)] == ["20 s", "10 min", "1 h 07 min"]


def test_commands_tell_the_plan_the_state_and_the_results(runs, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = Path("study.toml")
    file.write_text('[sweep]\ntasks = ["zigzag-maze"]\nmethods = ["mural", "vice"]\nseeds = [3]\nsteps = 5000\n'
                    'out = "runs"\nresults = "results/a"\n')  # fmt: skip
    begun(runs[0], [0, 1, 1, 1])
    begun(runs[1], [0, 0], units="raw")
    cli.main(["sweep", "study.toml", "--dry-run"])
    plan = capsys.readouterr().out
    assert "2 runs: 1 done, 1 differs" in plan
    assert "500 (runs, 1)" in plan
    cli.main(["sweep", "status", "study.toml", "--json", "--only", "*mural*"])
    (row,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (row["state"], row["step"], row["success"]) == ("done", 5000, 0.75)
    with pytest.raises(SystemExit):  # it runs nothing, and does not say that all is well
        cli.main(["sweep", "study.toml"])
    said = capsys.readouterr()
    assert "zigzag-maze-mural-3: was done, and is collected now" in said.out
    assert [path.name for path in Path("results/a").iterdir()] == ["zigzag-maze-mural-3.json"]
    assert "zigzag-maze-vice-3 is left alone: its settings are not those of the spec: units raw" in said.out
    assert "1 runs were left alone" in said.err
    cli.main(["sweep", "collect", "study.toml"])
    assert "results/a/zigzag-maze-mural-3.json: 5000 steps, success 0.75, solved at 3000" in capsys.readouterr().out
    cli.main(["sweep", "collect", "runs", "--results", "elsewhere"])
    assert {run["name"] for run in results.load(Path("elsewhere"))} == {run.name for run in runs}


def test_flags_alone_are_a_sweep(capsys):
    words = ["--tasks", "spiral-maze", "--methods", "mural", "--seeds", "100", "--set", "loop.stale=true"]
    cli.main(["sweep", *words, "--steps", "2000", "--dry-run"])
    assert "spiral-maze-mural-100" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main(["sweep", "--tasks", "spiral-mace"])
    assert "did you mean 'spiral-maze'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--jobs", "-2"], "--jobs is -2; it must be positive"),
        (["--jobs", "0"], "--jobs is 0; it must be positive"),
        (["--steps", "0"], "--steps is 0; it must be positive"),
        (["--seeds", "-1"], "--seeds is (-1,); it must be from 0 to"),
    ],
)
def test_numbers_that_cannot_be(words, told, capsys):
    with pytest.raises(SystemExit):
        cli.main(["sweep", "--tasks", "zigzag-maze", "--methods", "sac", "--dry-run", *words])
    assert told in capsys.readouterr().err


def test_what_a_run_now_settles_itself_was_fixed_before():
    assert spec.same("sac.gamma", None, 0.99)
    assert spec.same("sac.n_step", 1, None, "zigzag-maze")
    assert not spec.same("sac.n_step", 1, None, "ant-maze")  # which would settle on 4
    assert spec.same("sac.n_step", None, None, "ant-maze")
    assert spec.same("sac.n_step", 1, None, "shuffled-maze")
    assert not spec.same("sac.waves", 0, None, "shuffled-maze")  # whose states come back
    assert spec.same("sac.motion", False, None)
    assert not spec.same("sac.gamma", None, 0.95)
    assert not spec.same("sac.motion", None, True)
    assert not spec.same("sac.temperature", None, 0.99)
    assert spec.same("sac.temperature", 0.1, 0.1)
