"""Sweeps: what is run, what is resumed, and what is made of the runs' records."""

import json

import numpy as np
import pytest
from PIL import Image

from mural.study import evidence


def record(folder, success, *, task="zigzag-maze", method="mural", seed=0, steps=100_000):
    """The records of a run with an evaluation after each 1000 steps, from the second on."""
    folder.mkdir(parents=True)
    config = {"task": task, "method": method, "seed": seed, "steps": steps}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "versions.json").write_text('{"jax": "0"}')
    rows = [{"step": 1000, "coverage": 0.1}]
    rows += [
        {"step": 1000 * (i + 2), "coverage": 0.5, "eval/success": s, "eval/distance": 1 - s}
        for i, s in enumerate(success)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_a_summary_says_what_became_of_a_run(tmp_path):
    lost = evidence.summary(record(tmp_path / "zigzag-maze-mural-0", [0, 1, 1, 0.5, 0.25]))
    assert (lost["steps"], lost["solved_at"], lost["stopped"], lost["final_success"]) == (6000, 3000, False, 0.55)
    assert lost["curves"]["eval/distance"][:2] == [[2000, 1], [3000, 0]]
    assert lost["curves"]["coverage"][0] == [1000, 0.1]
    held = evidence.summary(record(tmp_path / "b", [0, 0.8, 1, 1, 0.9, 0.8]))
    assert (held["solved_at"], held["stopped"]) == (4000, True)
    assert (evidence.course(lost), evidence.course(held)) == ("3 → 0.6 at 6", "4 → 7")
    assert evidence.course(evidence.summary(record(tmp_path / "c", [0, 0]))) == "– → 0.0 at 3"


def test_a_row_that_is_being_written_is_left_out(tmp_path):
    folder = record(tmp_path / "a", [0, 1])
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4000, "eval/suc')
    assert evidence.summary(folder)["steps"] == 3000


def test_what_is_finished_is_left_and_what_is_not_goes_on(tmp_path):
    done = record(tmp_path / "spiral-maze-mural-0", [1] * 5)
    spent = record(tmp_path / "spiral-maze-vice-0", [0, 0], steps=3000)
    begun = record(tmp_path / "zigzag-maze-vice-0", [0, 0])
    assert [evidence.finished(f) for f in (done, spent, begun, tmp_path / "none")] == [True, True, False, False]
    sweep = evidence.Run(steps=5000, out=tmp_path, variant="", flags=("--loop.stale",))
    name, command = sweep.command("zigzag-maze", "vice", 0)
    assert (name, command[2:]) == ("zigzag-maze-vice-0", ["mural", "resume", str(begun)])
    name, command = evidence.Run(steps=5000, out=tmp_path, variant="old", flags=("--loop.stale",)).command(
        "t", "vice", 3
    )
    assert name == "t-vice-old-3"
    assert " ".join(command[2:]) == (
        f"mural train t --method vice --seed 3 --steps 5000 --stop-at-success 0.9 --out {tmp_path / name} --loop.stale"
    )


def test_tables_and_figures_from_records(tmp_path, capsys):
    runs, results = tmp_path / "runs", tmp_path / "results"
    record(runs / "zigzag-maze-mural-0", [0, 1, 1, 1, 1, 1])
    record(runs / "zigzag-maze-mural-1", [0, 0, 1], seed=1)
    record(runs / "zigzag-maze-mural-stale-1", [0, 0], seed=1)
    record(runs / "spiral-maze-vice-count-2", [0, 0], task="spiral-maze", method="vice-count", seed=2)
    evidence.main(["collect", "--runs", str(runs), "--out", str(results)])
    assert "zigzag-maze-mural-0: 7000 steps, success 1.0, solved at 3000" in capsys.readouterr().out
    evidence.main(["table", "--results", str(results)])
    table = capsys.readouterr().out
    assert "| zigzag-maze | mural |  | 0: 3 → 7; 1: 4 → 0.3 at 4 | 0.50, 0.50 |" in table
    assert "| zigzag-maze | mural | stale | 1: – → 0.0 at 3 | 0.50 |" in table
    assert "| spiral-maze | vice-count |  | 2: –" in table
    evidence.main(["figure", "--results", str(results), "--out", str(tmp_path / "new" / "e.png")])
    assert (
        "zigzag-maze: final success mural 0.67" in capsys.readouterr().out
    )  # the mean of 1 and 1/3; stale is left out
    with Image.open(tmp_path / "new" / "e.png") as image:
        assert len(np.unique(np.asarray(image.convert("RGB")).reshape(-1, 3), axis=0)) > 100


def test_pictures_over_time_need_pictures(tmp_path):
    folder = record(tmp_path / "zigzag-maze-mural-0", [0])
    with pytest.raises(FileNotFoundError, match="picture-every"):
        evidence.main(["lapse", "--runs", str(folder), "--out", str(tmp_path / "l.png")])
    for step in (10, 20, 30):
        (folder / "pictures").mkdir(exist_ok=True)
        Image.new("RGB", (40, 20), (step, 0, 0)).save(folder / "pictures" / f"{step:010d}.png")
    evidence.main(["lapse", "--runs", str(folder), "--out", str(tmp_path / "l.png")])
    assert (tmp_path / "l.png").stat().st_size > 1000
