"""Reading runs that others left: whole ones, damaged ones, and collected results."""

import json
import os

import pytest

from mural.study.report import reading
from mural.study.report.reading import ReportError, clean, flat, read_all, read_result, read_run, reliability, text
from tests.study.report.folders import TABLE, run_folder


def test_a_whole_run(tmp_path):
    run = read_run(run_folder(tmp_path / "zigzag-0", seed=3))
    assert (run.name, run.task, run.method, run.seed) == ("zigzag-0", "zigzag-maze", "mural", "3")
    assert (run.steps, run.target, run.seconds, run.problems) == (3000, 3000, 90.0, [])
    assert run.curve("eval/success") == [(1000, 0.0), (2000, 0.5), (3000, 1.0)]
    assert run.final("eval/success") == 0.5
    assert run.final("nothing") is None
    assert run.settings["sac.gamma"] == "0.99"
    assert run.tables[2000] == [tuple(row) for row in TABLE]


def test_the_last_ten_count(tmp_path):
    run = read_run(run_folder(tmp_path / "r", success=[0.0] * 7 + [1.0] * 10))
    assert run.final("eval/success") == 1.0


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("config.json", b'{"task": "zig', "settings are unknown"),
        ("config.json", b"[]", "settings are unknown"),
        ("config.json", b'{"task": "zigzag-maze"}', "lack method, seed, steps"),
        ("versions.json", None, "versions that it ran with are unknown"),
        ("metrics.jsonl", None, "no metrics.jsonl"),
        ("metrics.jsonl", b"", "Its metrics are empty"),
        ("metrics.jsonl", b'{"step": 1}\n\xff\xfe\n{"step": 2}\n', "line 2 of"),
        ("metrics.jsonl", b'{"step": "1"}\n{"step": -5}\n{"step": 7}\n', "2 rows of its metrics have no step"),
        ("timing.jsonl", b"nonsense\n", "its time is unknown"),
    ],
)
def test_what_is_amiss_is_said(tmp_path, file, content, told):
    folder = run_folder(tmp_path / "r")
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_bytes(content)
    run = read_run(folder)
    assert len(run.problems) == 1
    assert told in run.problems[0]


def test_pipes_are_not_waited_for(tmp_path):
    folder = run_folder(tmp_path / "r")
    for name in ("config.json", "metrics.jsonl"):
        (folder / name).unlink()
        os.mkfifo(folder / name)
    assert ["no plain file" in problem for problem in read_run(folder).problems] == [True, True]


def test_a_half_written_row_is_no_problem(tmp_path):
    folder = run_folder(tmp_path / "r")
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4000, "eval/su')
    run = read_run(folder)
    assert (run.steps, run.problems) == (3000, [])


def test_folders_of_runs_and_of_results(tmp_path):
    first, second = run_folder(tmp_path / "runs" / "a"), run_folder(tmp_path / "runs" / "b", seed=1)
    (tmp_path / "runs" / "notes").mkdir()
    assert [run.name for run in read_all([tmp_path / "runs", second, first / "."])] == ["a", "b"]
    with pytest.raises(ReportError, match="did you mean 'a'"):
        read_all([tmp_path / "runs" / "a1"])
    with pytest.raises(ReportError, match="no run in"):
        read_all([tmp_path / "runs" / "notes"])


def test_a_collected_result(tmp_path):
    result = {
        "task": "zigzag-maze", "method": "vice", "seed": 4, "variant": "n-step", "seconds": 12.5,
        "config": {"task": "zigzag-maze", "method": "vice", "seed": 4, "steps": 2000},
        "versions": {"jax": "0.10"},
        "curves": {"eval/success": [[2000, 1.0], [1000, 0.25]], "coverage": [[1000, 0.5], "x", [None, 1]], "bad": 3},
    }  # fmt: skip
    path = tmp_path / "zigzag-maze-vice-n-step-4.json"
    path.write_text(json.dumps(result))
    run = read_result(path)
    assert (run.method, run.seed, run.variant, run.seconds, run.problems) == ("vice", "4", "n-step", 12.5, [])
    assert run.curve("eval/success") == [(1000, 0.25), (2000, 1.0)]
    assert run.rows[0]["coverage"] == 0.5
    path.write_text("{")
    assert "not a result" in read_result(path).problems[0]


def test_only_finite_numbers_are_numbers():
    strange = [True, "1", None, float("nan"), float("inf"), 10**400, [1], {}]
    assert [clean(value) for value in strange] == [None] * len(strange)
    assert clean(3) == 3.0
    assert reliability([[0.5, 0.5, 10], [2, 0, 1], ["x", 0, 1], [0.1], 7, [0.1, 0.2, -1]]) == [(0.5, 0.5, 10)]
    assert reliability("no table") == []


def test_texts_are_short_and_visible():
    assert text("a\x1b[31m\u202eb\ud800") == "a�[31m�b�"
    assert len(text("x" * 5000)) == reading.TEXT
    assert text({"a": [1, 2]}) == '{"a": [1, 2]}'


def test_settings_are_flat_and_few():
    deep: dict = {}
    for _ in range(50):
        deep = {"d": deep}
    assert flat({"a": {"b": {"c": 1}}, "e": {}}) == {"a.b.c": "1", "e": "{}"}
    assert len(flat({"x": deep})) == 1
    assert len(flat({f"n{i}": i for i in range(3000)})) == reading.ENTRIES
    assert flat([1, 2]) == {}
