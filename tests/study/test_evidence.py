"""Tables, curves and pictures of collected results."""

import numpy as np
import pytest
from PIL import Image

from mural.study import evidence, results
from tests.study.records import record


def test_tables_and_figures_from_records(tmp_path, capsys):
    runs, out = tmp_path / "runs", str(tmp_path / "results")
    record(runs / "zigzag-maze-mural-0", [0, 1, 1, 1, 1, 1])
    record(runs / "zigzag-maze-mural-1", [0, 0, 1], seed=1)
    record(runs / "zigzag-maze-mural-stale-1", [0, 0], seed=1)
    record(runs / "spiral-maze-vice-count-2", [0, 0], task="spiral-maze", method="vice-count", seed=2)
    for folder in runs.iterdir():
        results.write(folder, tmp_path / "results")
    evidence.main(["table", "--results", out])
    table = capsys.readouterr().out
    assert "| zigzag-maze | mural |  | 0: 3 → 7; 1: 4 → 0.3 at 4 | 0.50, 0.50 |" in table
    assert "| zigzag-maze | mural | stale | 1: – → 0.0 at 3 | 0.50 |" in table
    assert "| spiral-maze | vice-count |  | 2: –" in table
    evidence.main(["figure", "--results", out, "--out", str(tmp_path / "new" / "e.png")])
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
