"""`mural report` after `mural train`: from a run's folder to the page."""

import json

import pytest
from PIL import Image
from tests.cli.test_runs import TINY, VICE, failing

from mural import cli


@pytest.fixture
def trained(tmp_path, monkeypatch, capsys):
    """A folder in which `mural train` was called; what it said at its end."""
    monkeypatch.chdir(tmp_path)
    cli.main(["train", "zigzag-maze", *VICE, *TINY, "--steps", "300", "--watch.picture-every", "2"])
    return capsys.readouterr().out


def test_a_page_after_training(trained, tmp_path, capsys):
    assert "`mural report runs/zigzag-maze-vice-0` makes a page of it" in trained
    run = tmp_path / "runs" / "zigzag-maze-vice-0"
    assert [path.stem for path in sorted((run / "maps").iterdir())] == ["0000000100", "0000000200", "0000000300"]
    cli.main(["report", "zigzag-maze-vice-0", "-o", "new/page.html"])
    assert "new/page.html  (0." in capsys.readouterr().out
    page = (tmp_path / "new" / "page.html").read_text()
    assert "zigzag-maze, vice, seed 0" in page
    assert page.count('alt="Step ') == 6  # the strip, from the checkpoint
    moments = json.loads(page.split('<script type="application/json">')[1].split("</script>")[0])
    assert [moment["step"] for moment in moments] == [100, 200, 300]
    assert moments[0]["reward"] is None  # nothing was learned yet
    assert moments[2]["reward"].startswith("data:image/png;base64,")
    assert moments[2]["table"]


def test_a_damaged_run_is_said_and_does_not_stop_the_rest(trained, tmp_path, capsys):
    run = tmp_path / "runs" / "zigzag-maze-vice-0"
    for file in run.glob("checkpoints/*/manifest.json"):
        file.write_text("{")
    for file in run.glob("maps/*.npz"):
        file.unlink()
    Image.new("RGB", (4, 4)).save(run / "pictures" / "0000000200.png", format="GIF")
    (run / "config.json").write_text('{"task": "zigzag-maze"}')
    cli.main(["report"])
    assert "1 run; 1 with something missing" in capsys.readouterr().out
    page = (tmp_path / "report.html").read_text()
    assert "Its settings lack method, seed, steps." in page
    assert "0000000200.png cannot be shown" in page
    assert "No frames of its policy: " in page


def test_errors_are_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert "there is no run in runs/nowhere" in failing(capsys, "report", "nowhere").err
    assert "--details is -1" in failing(capsys, "report", "--details", "-1").err
