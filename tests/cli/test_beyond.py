"""Ctrl-C, other people's environments, methods of one's own, wrong names."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.cli.calls import failing

from mural import cli
from mural.rewards import METHODS
from mural.settings import presets
from mural.settings.config import to_dict
from mural.storage import checkpoint, metrics
from mural.typed import leaves

TINY = [  # actions are random all the time: nothing is learned, so nothing is compiled
    "--steps", "100000", "--loop.random-steps", "100000", "--loop.epoch-steps", "100", "--loop.replay-size", "100000",
    "--sac.hidden", "16", "--watch.picture-every", "0", "--watch.checkpoint-every", "1000",
]  # fmt: skip


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_saves_and_says_how_to_go_on(home, capsys, sent):
    command = [sys.executable, "-c", "from mural.cli import main; main()", "train", "zigzag-maze", *TINY]
    command += ["--method", "sac"]
    lines = []
    with subprocess.Popen([*command, "--out", "stopped"], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            lines.append(line)
            if " 500/100000" in line:
                process.send_signal(sent)
    assert process.returncode == 130
    step = int(re.search(r"stopped at step (\d+); go on with `mural resume stopped`", lines[-1])[1])
    assert 500 <= step < 100_000
    assert step in checkpoint.listing(Path("stopped"))
    assert any("Ctrl-C again" in line for line in lines)
    cli.main(["resume", "stopped", "--steps", str(step + 100)])
    assert f"on from step {step}" in capsys.readouterr().out
    assert metrics.read(Path("stopped/metrics.jsonl"))[-1]["step"] == step + 100


def test_errors_of_others_keep_their_trace():
    assert cli.expected(FileNotFoundError("x"))
    assert not cli.expected(ZeroDivisionError("x"))
    assert not cli.expected(ValueError("raised here, not in the package"))


def test_other_peoples_environments(home, capsys):
    train = ["train", "MountainCarContinuous-v0", *TINY, "--steps", "200", "--out", "car"]
    assert "there are no success examples" in failing(capsys, *train).err
    np.savez("wide.npz", examples=np.zeros((5, 3)))
    assert "shape (5, 3)" in failing(capsys, *train, "--examples", "wide.npz").err
    np.savez("car.npz", examples=np.array([[0.5, 0.01], [0.5, 0.02], [0.5, 0.02]], np.float32))
    cli.main([*train, "--examples", "car.npz"])
    said = capsys.readouterr()
    assert "warning: there are only 3 success examples" in said.err
    assert ".py:" not in said.err
    assert "200/200" in said.out
    assert Path("car/examples.npz").exists()


def test_a_method_of_ones_own(home, capsys):
    Path("my_methods.py").write_text(
        "from dataclasses import dataclass\n"
        "import mural\n"
        "from mural.rewards.methods.oracle import EnvReward\n"
        "@mural.register_method('mine', needs=('env_reward',))\n"
        "@dataclass(frozen=True)\n"
        "class Mine(EnvReward):\n"
        "    '''Mine alone.'''\n"
        "    bonus: float = 2.5\n"
        "    '''More of it.'''\n"
    )
    try:
        cli.main(["methods", "--import", "my_methods"])
        assert "Mine alone." in capsys.readouterr().out
        train = ["train", "zigzag-maze", "--import", "my_methods", "--method", "mine", *TINY]
        with pytest.raises(SystemExit):
            cli.main([*train, "--help"])
        assert "--reward.bonus" in capsys.readouterr().out
        cli.main([*train, "--steps", "100", "--reward.bonus", "3"])
        METHODS.pop("mine")
        assert "--import" in failing(capsys, "resume", "zigzag-maze-mine-0").err
    finally:
        METHODS.pop("mine", None)
        sys.modules.pop("my_methods", None)
        sys.path.remove(str(home))
    assert "no_such_module" in failing(capsys, "methods", "--import", "no_such_module").err


def test_tasks_with_wrong_names_get_the_nearest(home, capsys):
    assert "'zigzag-maze'" in failing(capsys, "train", "zigzag-mase").err
    assert "Pendulum-v1" in failing(capsys, "train", "Pendulun-v1").err
    for name in ("zigzg-maze", "Pendulun-v1"):
        assert failing(capsys, "methods", "--task", name).err == failing(capsys, "train", name).err
    cli.main(["methods", "--task", "Pendulum-v1"])


def test_presets_are_listed_with_their_sources(capsys):
    cli.main(["methods", "--task", "zigzag-maze", "--preset", "paper", "--json"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(row["source"] and row["methods"] for row in rows)
    assert 1024 in [row["value"] for row in rows if row["setting"] == "sac.batch_size"]


def test_listed_presets_are_those_in_force(capsys):
    cli.main(["methods", "--task", "zigzag-maze", "--json"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["setting"] for row in rows] == sorted(row["setting"] for row in rows)
    for method in METHODS:
        settings = dict(leaves(to_dict(presets.resolve("zigzag-maze", method))))
        listed = [(row["setting"], row["value"]) for row in rows if method in words(row["methods"])]
        assert len({name for name, _ in listed}) == len(listed)
        assert all(settings[name] == value for name, value in listed)


def words(methods):
    return METHODS if methods == "all" else methods.split(", ")


def test_a_module_for_each_import(home, capsys):
    for command in (["resume"], ["eval"], ["policy", "export"]):
        assert "there is no run in mine" in failing(capsys, *command, "--import", "json", "--import", "csv", "mine").err
        assert "Unrecognized options: csv" in failing(capsys, *command, "mine", "--import", "json", "csv").err
    assert "Unrecognized options: csv" in failing(capsys, "train", "zigzag-maze", "--import", "json", "csv").err
