"""A run from the command line, from `train` to the exported policy."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.cli.calls import failing

import mural
from mural import cli
from mural.settings.stopping import EVALUATIONS, succeeded
from mural.storage import metrics

TINY = [
    "--loop.epoch-steps", "100", "--loop.steps-per-call", "50", "--loop.random-steps", "100", "--loop.replay-size",
    "2000", "--sac.hidden", "16", "--sac.batch-size", "16", "--watch.eval-episodes", "1",
]  # fmt: skip
VICE = ["--method", "vice", "--reward.classifier.hidden", "8", "--reward.classifier.mixup", "0"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder in which `mural train zigzag-maze` was called."""
    folder = tmp_path_factory.mktemp("home")
    before = Path.cwd()
    os.chdir(folder)
    cli.main(["train", "zigzag-maze", *VICE, *TINY, "--steps", "300", "--watch.picture-every", "2"])
    yield folder
    os.chdir(before)


@pytest.fixture
def name(home):
    return "zigzag-maze-vice-0"


def test_a_run_leaves_its_records(home, name):
    run = home / "runs" / name
    config = json.loads((run / "config.json").read_text())
    assert (config["steps"], config["sac"]["hidden"], config["reward"]["classifier"]["hidden"]) == (300, [16], [8])
    assert [row["step"] for row in metrics.read(run / "metrics.jsonl")][:3] == [100, 200, 300]
    assert [path.stem for path in sorted((run / "pictures").iterdir())][:2] == ["0000000200", "0000000300"]
    with Image.open(run / "pictures" / "0000000200.png") as image:
        picture = np.asarray(image.convert("RGB"))
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 100


def test_a_second_run_does_not_overwrite_it(home, name, capsys):
    error = failing(capsys, "train", "zigzag-maze", *VICE).err
    assert f"mural resume runs/{name}" in error
    assert "--out" in error


def test_resume_goes_on_and_knows_when_it_is_done(home, name, capsys):
    cli.main(["resume", name, "--steps", "400"])
    out = capsys.readouterr().out
    assert "on from step 300" in out
    assert "400/400" in out
    assert metrics.read(home / "runs" / name / "metrics.jsonl")[-1]["step"] == 400
    cli.main(["resume", f"runs/{name}"])
    assert "all of its 400 steps" in capsys.readouterr().out
    cli.main(["resume", name, "--steps", "500", "--set", "sac.learning_rate=1e-5", "--set", "loop.stale=true"])
    config = json.loads((home / "runs" / name / "config.json").read_text())
    assert (config["steps"], config["sac"]["learning_rate"], config["loop"]["stale"]) == (500, 1e-5, True)
    assert "NAME=VALUE" in failing(capsys, "resume", name, "--set", "sac.gamma").err
    assert "did you mean sac.gamma" in failing(capsys, "resume", name, "--set", "sac.gama=0.9").err


def test_eval_as_json_with_video_and_picture(home, name, capsys):
    films = ["--video", "v.gif", "--video-episodes", "1", "--picture", "p.png"]
    cli.main(["eval", name, "--episodes", "2", "--json", *films])
    row = json.loads(capsys.readouterr().out)
    assert row["episodes"] == 2
    assert 0 <= row["success"] <= 1
    assert 0 < row["best_distance"] <= row["distance"]
    with Image.open("v.gif") as film:
        assert film.n_frames > 10
        assert film.size == (512, 512)
    with Image.open("p.png") as image:
        wide, high = image.size
    assert wide > 2.5 * high


def test_films_that_cannot_be(home, name, capsys):
    assert ".mp4 or a .gif" in failing(capsys, "eval", name, "--episodes", "1", "--video", "v.avi").err


def test_watch_once_shows_the_last_values(home, name, capsys):
    cli.main(["watch", name, "--once"])
    out = capsys.readouterr().out
    last = metrics.read(home / "runs" / name / "metrics.jsonl")[-1]
    assert "zigzag-maze, vice, seed 0" in out
    assert f"{last['eval/distance']:.2f}" in out
    assert "done" in out


def test_watch_knows_of_runs_that_stop_early():
    rows = [{"eval/success": value} for value in (0.0, 1.0, 1.0, 0.8, 0.8, 0.9)]
    assert EVALUATIONS == 5
    assert succeeded(rows, 0.9)
    assert not succeeded(rows, 0.91)
    assert not succeeded(rows[-4:], 0.5)
    assert not succeeded(rows, None)


def test_an_exported_policy_needs_numpy_alone(home, name, capsys):
    cli.main(["policy", "export", name])
    action = mural.load_policy(home / "runs" / name / "policy.npz")(np.zeros(2))
    assert action.shape == (2,)
    capsys.readouterr()
    cli.main(["policy", "show", f"runs/{name}/policy.npz"])
    assert "[-1.0, -1.0] to [1.0, 1.0]" in capsys.readouterr().out


def test_runs_with_wrong_names_get_the_nearest(home, name, capsys):
    for command in (["resume"], ["eval"], ["watch"], ["policy", "export"]):
        assert name in failing(capsys, *command, "zigzag-maze-vice-1").err
