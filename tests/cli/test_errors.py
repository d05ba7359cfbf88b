"""What goes wrong on the command line: one line if the user can mend it, a traceback if only we can."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from tests.cli.calls import failing

import mural
from mural import cli
from mural.cli import info, training

ROOT = Path(__file__).parents[2]
TINY = [  # actions are random all the time: nothing is learned, so nothing is compiled
    "--steps", "200", "--loop.random-steps", "1000", "--loop.epoch-steps", "100", "--loop.replay-size", "1000",
    "--sac.hidden", "16", "--watch.picture-every", "0", "--method", "sac",
]  # fmt: skip


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_named_error_is_one_line(home, capsys):
    said = failing(capsys, "train", "zigzag-mase")
    assert said.err.splitlines()[-1].startswith("mural: there is no task 'zigzag-mase'; did you mean 'zigzag-maze'?")
    assert said.out == ""  # no settings of what will not be
    assert "Traceback" not in said.err


def test_anything_else_is_a_bug_with_its_traceback(home, capsys, monkeypatch):
    def broken(*_):
        raise ValueError("raised inside the package, and not on purpose")

    monkeypatch.setattr(training, "find_run", broken)
    said = failing(capsys, "resume", "x", code=1)
    assert "Traceback" in said.err
    assert "in broken" in said.err
    last = "mural: this is a bug; send the lines above and the output of `mural info` to "
    assert said.err.splitlines()[-1] == last + (info.tracker() or "whoever you have this package from")
    urls = {"Project-URL": ["Source, https://x.example", "Issues, https://y.example/issues"]}
    monkeypatch.setattr(info, "about", lambda entry: urls[entry])
    assert failing(capsys, "resume", "x", code=1).err.splitlines()[-1] == last + "https://y.example/issues"


def test_which_errors_are_expected():
    from mural.storage.disk import OutOfSpaceError

    assert cli.expected(OutOfSpaceError("full"))
    assert cli.expected(ModuleNotFoundError("No module named 'mujoco'", name="mujoco"))
    assert not cli.expected(ModuleNotFoundError("No module named 'mural.x'", name="mural.x"))
    assert not cli.expected(ImportError("cannot import name 'x' from 'mural.api'"))


def test_out_on_a_file(home, capsys):
    Path("file").write_text("")
    said = failing(capsys, "train", "zigzag-maze", *TINY, "--out", "file")
    assert "file is a file" in said.err
    assert "--out" in said.err
    assert said.out == ""


def test_paths_with_spaces_are_quoted(home, capsys):
    cli.main(["train", "zigzag-maze", *TINY, "--out", "my run"])
    assert "`mural eval 'my run'`" in capsys.readouterr().out
    assert "`mural resume 'my run'`" in failing(capsys, "train", "zigzag-maze", *TINY, "--out", "my run").err
    cli.main(["resume", "my run"])
    assert "`mural resume 'my run' --steps N`" in capsys.readouterr().out


def test_what_a_run_is_cannot_be_set_anew(home, capsys):
    cli.main(["train", "zigzag-maze", *TINY, "--out", "run"])
    for change in ("task=spiral-maze", "method=vice", "seed=4"):
        name = change.partition("=")[0]
        assert f"{name} cannot change" in failing(capsys, "resume", "run", "--steps", "300", "--set", change).err
    assert json.loads(Path("run/config.json").read_text())["task"] == "zigzag-maze"


def test_episodes(home, capsys):
    for count in ("0", "-3"):
        assert f"--episodes is {count}; it must be positive" in failing(capsys, "eval", "x", "--episodes", count).err
    assert "--video-episodes is 0" in failing(capsys, "eval", "x", "--video-episodes", "0").err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("watch x --seconds -1", "--seconds is -1.0; it must be positive"),
        ("watch x --seconds nan", "--seconds is nan; it must be a number"),
        ("examples zigzag-maze --seed -1", "--seed is -1; it must be from 0 to 2⁶³ − 1"),
        ("examples zigzag-maze --n 0", "--n is 0; it must be positive"),
        ("examples zigzag-maze --wrong 2", "--wrong is 2.0; it must be from 0 to 1"),
        ("bench start --rounds 0", "--rounds is 0; it must be positive"),
        ("bench start --threads 0", "--threads is 0; it must be positive"),
        ("bench ood --seed -1", "--seed is -1; it must be from 0 to 2⁶³ − 1"),
        ("bench tasks --seconds 0", "--seconds is 0.0; it must be positive"),
        ("bench classifier --hidden 0", "--hidden is (0,); it must be positive"),
    ],
)
def test_numbers_that_cannot_be(capsys, words, told):
    said = failing(capsys, *words.split())
    assert said.err == f"mural: {told}\n"


def test_a_benchmark_of_a_task_that_is_not_there(capsys):
    said = failing(capsys, "bench", "train", "domains", "--tasks", "ant-mazes")
    assert said.err.startswith("mural: there is no task 'ant-mazes'; did you mean")


def test_where_a_policy_cannot_be_written(home, capsys):
    cli.main(["train", "zigzag-maze", *TINY, "--out", "run"])
    capsys.readouterr()
    said = failing(capsys, "policy", "export", "run", "--out", str(home))
    assert said.err.endswith(f"is a folder; name a file in it: --out {home / 'policy.npz'}\n")
    Path("file").write_text("")
    for place in ("/proc/x/y", "file/policy.npz"):
        said = failing(capsys, "policy", "export", "run", "--out", place)
        assert f"{place} cannot be written (" in said.err
        assert "name another file with --out" in said.err


def test_watch_on_damaged_settings(home, capsys):
    Path("run").mkdir()
    for text, why in (("{", "is damaged"), ('{"task": "x"}', "lacks method, seed, steps")):
        Path("run/config.json").write_text(text)
        assert why in failing(capsys, "watch", "run", "--once").err


def test_imported_modules_that_raise(home, capsys):
    Path("my_broken_module.py").write_text("x = 1\nraise ValueError('boom')\n")
    try:
        said = failing(capsys, "methods", "--import", "my_broken_module").err
    finally:
        sys.path.remove(str(home))
    assert "--import my_broken_module: the module raises ValueError: boom" in said
    assert "my_broken_module.py, line 2)" in said


def test_examples_of_our_tasks_are_looked_at(home, capsys):
    np.savez("one.npz", examples=np.array([[3.0, 3.0]]))
    cli.main(["train", "zigzag-maze", *TINY, "--examples", "one.npz", "--out", "run"])
    assert "warning: there is only 1 success example;" in capsys.readouterr().err


def test_version():
    done = subprocess.run(
        [sys.executable, "-m", "mural", "--version"], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == f"mural-rl {mural.__version__}\n"


def test_info(capsys):
    cli.main(["info", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["numpy"] == np.__version__
    assert "cpu" in found["devices"].lower()
    cli.main(["info"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines] == list(found)
    assert {"python", "mural-rl", "jax", "gymnasium", "mujoco", "extra robots", "cache folder"} <= found.keys()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {name.removeprefix("extra ") for name in found if name.startswith("extra ")} == set(extras)


def test_what_an_extra_lacks(monkeypatch):
    needs = {
        "mural-rl": ["numpy", "there>=1; extra == 'a'", "gone[b]; extra == 'a'", "deep[c, d]>=2; extra == 'a'"],
        "deep": ["lost; extra == 'c'", "there; extra == 'd'", "other; extra == 'e'"],
        "there": None,
    }
    monkeypatch.setattr(info.metadata, "requires", needs.__getitem__)
    monkeypatch.setattr(info, "version", lambda name: "1" if name in needs else info.NONE)
    assert info.lacking("mural-rl", "a") == ["gone", "lost"]
    assert info.lacking("mural-rl", "b") == []


def test_keep_best_from_the_command_line(home, capsys):
    cli.main(["train", "zigzag-maze", *TINY, "--keep-best", "--out", "run"])
    assert json.loads(Path("run/config.json").read_text())["watch"]["keep_best"] is True
    assert "keeps no best state" in failing(capsys, "eval", "run", "--best").err  # nothing was evaluated yet


def test_where_a_picture_cannot_be_drawn(home, capsys):
    assert "q.xyz: a picture is a .png file" in failing(capsys, "examples", "zigzag-maze", "--picture", "q.xyz").err
    Path("dir.png").mkdir()
    assert "dir.png is a folder" in failing(capsys, "examples", "zigzag-maze", "--picture", "dir.png").err
    cli.main(["train", "zigzag-maze", *TINY, "--out", "run"])
    capsys.readouterr()
    said = failing(capsys, "eval", "run", "--picture", "dir.png")
    assert "dir.png is a folder" in said.err
    assert said.out == ""  # before any episode


def test_going_on_to_a_step_that_is_past(home, capsys):
    cli.main(["train", "zigzag-maze", *TINY, "--out", "run"])
    cli.main(["resume", "run", "--steps", "100"])
    assert "run is at step 200 already, past --steps 100" in capsys.readouterr().out
