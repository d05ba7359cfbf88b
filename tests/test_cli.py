"""The command line: help that teaches, errors that say what to do, outputs that are really there."""

import json

import numpy as np
import pytest

from mural import cli
from mural.cli.tables import show


def run(capsys, *argv):
    cli.main(list(argv))
    return capsys.readouterr().out


@pytest.mark.parametrize("argv", [[], ["bench"], ["figure"], ["examples"]])
def test_help_names_what_can_be_done(capsys, argv):
    with pytest.raises(SystemExit) as stop:
        cli.main([*argv, "--help"])
    assert stop.value.code == 0
    assert len(capsys.readouterr().out) > 200


def test_tasks_lists_all_nine(capsys):
    out = run(capsys, "tasks")
    for name in ("zigzag-maze", "shuffled-maze", "sawyer-door", "ant-maze", "hand-reposition"):
        assert name in out


def test_examples_to_file_and_picture(capsys, tmp_path):
    out, picture = tmp_path / "new" / "e.npz", tmp_path / "e.png"
    said = run(capsys, "examples", "zigzag-maze", "--n", "20", "--out", str(out), "--picture", str(picture))
    examples = np.load(out)["examples"]
    assert examples.shape == (20, 2)
    assert np.linalg.norm(examples - [3, 3], axis=1).max() < 0.5
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "20 examples" in said
    assert f"\n{out}\n" in said


def test_examples_say_where_they_are(capsys, tmp_path):
    said = run(capsys, "examples", "zigzag-maze", "--n", "3", "--out", str(tmp_path / "e.v2"))
    assert np.load(said.splitlines()[-1])["examples"].shape == (3, 2)


def test_a_wrong_name_gets_the_nearest_right_one(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["examples", "zigzag-mase"])
    assert stop.value.code == 2
    assert "zigzag-maze" in capsys.readouterr().err


def test_json_rows_are_one_object_per_line(capsys):
    rows = [
        json.loads(line)
        for line in run(capsys, "bench", "tasks", "zigzag-maze", "--seconds", "0.02", "--json").splitlines()
    ]
    assert {row["mode"] for row in rows} == {"single", "batched"}
    assert all(row["steps_per_s"] > 0 for row in rows)


def test_rows_without_json_are_a_table(capsys):
    show([{"a": 1.23456789, "b": None}, {"a": 2.0, "c": "x"}], as_json=False)
    out = capsys.readouterr().out
    assert "1.235" in out
    assert "c" in out


def test_square_brackets_are_shown_as_they_are(capsys, monkeypatch):
    """Tables are drawn by rich, which reads [robots] as a style unless it is told otherwise."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    cli.main(["tasks"])
    assert capsys.readouterr().out.count("pip install 'mural-rl[robots]'") == 5


def test_examples_of_ones_own_are_checked_and_drawn(capsys, tmp_path):
    path, picture = tmp_path / "e.csv", tmp_path / "e.png"
    rows = np.random.default_rng(0).uniform([0.45, 0.0], [0.55, 0.05], (40, 2))
    np.savetxt(path, rows, delimiter=",", header="observation[0],observation[1]", comments="")
    check = ["examples", "check", "MountainCarContinuous-v0", str(path)]
    said = run(capsys, *check, "--picture", str(picture))
    assert "columns by name" in said
    assert "nothing looks wrong with them" in said
    assert picture.read_bytes().startswith(b"\x89PNG")
    found = [json.loads(line) for line in run(capsys, *check, "--json").splitlines()]
    assert [row["column"] for row in found] == ["observation[0]", "observation[1]"]
    assert 0.45 <= found[0]["least"] < found[0]["median"] < found[0]["most"] <= 0.55
    np.savetxt(path, rows, delimiter=",", header="velocity,position", comments="")
    cli.main(check)
    assert capsys.readouterr().err.startswith("warning: none of the columns velocity, position has a name of the obs")
    np.savetxt(path, np.tile([[-0.5, 0.0]], (3, 1)), delimiter=",")
    said = run(capsys, *check)
    assert "warning: there are only 3 success examples" in said
    assert "2 of 3 success examples (67%) repeat others" in said
