"""The tables: the paper's values as typed, our preset against them, and what is made of measurements and runs."""

import json

import pytest

from mural.cli import main
from mural.study import tables
from mural.study.bench.train import DOMAIN
from mural.study.runs import Where
from mural.study.tables import TABLES, find, markdown, outcomes, runtimes, settings
from mural.study.tables.paper import GENERAL, METRICS, PER_EPOCH, PER_INPUT, TUNED
from tests.study.made_up import seeds, write


def rows():
    yield from (("general", row) for row in settings.general())
    yield from ((task, row) for task in TUNED for row in settings.of_task(task))


def test_the_preset_has_the_values_of_the_paper():
    """Each that differs is a listed exception with a reason, and no listed exception is idle."""
    compared = list(rows())
    assert len(compared) > 80
    differ = {(table, row.section, row.name) for table, row in compared if not row.same}
    assert differ == set(settings.EXCEPTIONS)
    assert all(settings.EXCEPTIONS.values())


def test_a_value_that_differs_is_seen(monkeypatch):
    monkeypatch.setitem(TUNED["sawyer-door"]["MURAL"], "λ_dist", TUNED["sawyer-pick"]["MURAL"]["λ_dist"])
    assert [row.name for row in settings.of_task("sawyer-door") if not row.same] == ["λ_dist"]


def test_what_was_typed_is_whole():
    for task, sections in TUNED.items():
        assert set(sections) in ({"MURAL", "VICE", "VICE + count bonus", "DDL"}, {"MURAL", "VICE", "VICE + RND", "DDL"})
        for section, choices in sections.items():
            for name, choice in choices.items():
                assert choice.taken in choice.tried, (task, section, name)
    assert sum(map(len, GENERAL.values())) == 22
    assert {task for runtime in PER_INPUT for task in runtime.tasks} == set(METRICS) == set(TUNED)
    # The paper's own sentence on its table: anywhere between 1600 and 2300.
    speedups = [runtime.naive / runtime.meta for runtime in PER_INPUT]
    assert 1600 < min(speedups) < max(speedups) < 2330
    for one, epoch in zip(PER_INPUT, PER_EPOCH, strict=True):  # naive epochs are extrapolated from naive inputs
        assert epoch.naive == pytest.approx(1000 * one.naive, rel=0.03)


def test_thresholds_are_those_of_the_paper():
    pytest.importorskip("mujoco")
    for metric in settings.metrics():
        assert metric.our_threshold == metric.threshold
        assert metric.ours


def measured(path, **row):
    path.write_text(json.dumps(row) + "\n")
    return path


def test_runtimes_are_measured_ratios(tmp_path):
    small = {"hidden": 512, "threads": 1, "states": 1, "adapt_points": 63}
    times = {"feedforward_s": 0.5, "meta_nml_s": 2.0, "naive_cnml_s_per_state": 100.0}
    classifier = measured(tmp_path / "c.jsonl", **small, **times)
    by = {t.domain: t for t in runtimes.per_input(classifier)}
    assert (by["Sawyer door"].meta_ratio, by["Sawyer door"].speedup) == (4.0, 50.0)
    assert by["mazes"].meta_ratio is None  # a network of 2048², which was not measured
    train = measured(tmp_path / "t.jsonl", what=DOMAIN, ours=3, peer=2, env="zigzag-maze", threads=1, rounds=3)
    write(tmp_path / "mazes", *seeds(seconds=500.0), *seeds(method="vice", seconds=100.0))  # on a busy machine
    write(tmp_path / "arms", *seeds("sawyer-door", seconds=250.0), *seeds("sawyer-door", "vice", seconds=200.0))
    epochs = {t.domain: t for t in runtimes.per_epoch(Where(tmp_path), train, classifier)}
    assert epochs["mazes"].meta_ratio == 1.5
    assert epochs["mazes"].source.endswith("zigzag-maze, in turn, 3 epochs of each")
    assert (epochs["Sawyer door"].feedforward, epochs["Sawyer door"].meta) == (4.0, 5.0)  # of 50,000 steps
    assert epochs["Sawyer door"].naive is None  # ours has 128², which was not measured
    with classifier.open("a") as file:
        file.write(json.dumps({**small, **times, "hidden": 128, "naive_cnml_s_per_state": 5.0}) + "\n")
    epochs = {t.domain: t for t in runtimes.per_epoch(Where(tmp_path), train, classifier)}
    assert epochs["Sawyer door"].naive == 4 + 1000 * 5
    assert epochs["ant"].source == "not yet run"
    with pytest.raises(runtimes.NoBenchmarkError, match="mural bench classifier"):
        list(runtimes.per_input(tmp_path / "none.jsonl"))


def test_outcomes_by_task_and_over_tasks(tmp_path):
    write(tmp_path / "mazes", *seeds(success=(1.0, 0.9, 0.8)), *seeds(method="vice", success=(0.0, 0.0, 0.85)))
    write(tmp_path / "mazes", *seeds(method="icm", success=(0.0, 0.0, 0.0)))
    write(tmp_path / "mazes", *seeds(method="icm", success=(1.0, 1.0, 1.0), variant="with-vice"))
    write(tmp_path / "ant", *seeds("ant-maze", success=(0.5, 0.5, 0.5)))
    made, note = outcomes.outcomes(Where(tmp_path), partial=True)
    found = {(row["task"], row["method"]): row for row in made}
    assert found["zigzag-maze", "mural"]["solved"] == "2 of 3"
    assert found["zigzag-maze", "mural"]["thousand steps run"] == "50"
    assert found["zigzag-maze", "mural"]["success (IQM)"].startswith("0.90 [0.8")
    assert found["zigzag-maze", "mural"]["thousand steps to 0.9"] == "20 [20, never]"
    assert found["zigzag-maze", "mural"]["minutes to 0.9"].startswith("2.0 ")
    assert found["zigzag-maze", "vice"]["P(mural is better)"].startswith("0.89 [")
    assert found["all 2", "mural"]["runs"] == 6
    assert found["all 1", "vice"]["P(mural is better)"].startswith("0.89 [")
    alone, beside = (found["all 1", method] for method in ("icm", "icm (with-vice)"))  # two methods, not one
    assert (alone["solved"], beside["solved"]) == ("0 of 3", "3 of 3")
    assert float(alone["P(mural is better)"][:4]) > float(beside["P(mural is better)"][:4])
    assert "missing" in note


def test_results_as_rows_for_programs(tmp_path, capsys):
    write(tmp_path / "mazes", *seeds(success=(1.0, 1.0, 1.0)))
    with pytest.raises(SystemExit):
        main(["table", "results", "--results", str(tmp_path)])
    assert "the table of results has no finished runs of zigzag-maze vice" in capsys.readouterr().err
    main(["table", "tab:results", "--results", str(tmp_path), "--partial", "--json"])
    first, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["task"], first["success (IQM)"], first["P(mural is better)"]) == (
        "zigzag-maze",
        "1.00 [1.00, 1.00]",
        "",
    )
    assert (last["task"], last["runs"]) == ("all 1", 3)


def test_every_table_is_found_and_printed(capsys):
    assert len({table.name for table in TABLES}) == len(TABLES)
    assert find("tab:meta-nml-runtimes") is find("meta-nml-runtimes")
    with pytest.raises(tables.UnknownTableError, match="did you mean 'meta-nml-runtimes'"):
        find("tab:meta-nml-runtime")
    main(["table", "hyperparameters-sawyer-door", "--markdown"])
    assert "| MURAL | λ_dist | 0.05, 0.1, 0.25 | 0.25 | 0.25 | from the data | yes |" in capsys.readouterr().out
    assert markdown([{"a": "x|y"}]) == "| a |\n| --- |\n| x\\|y |"
