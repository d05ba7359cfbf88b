"""The task is found wherever it stands, whatever else looks like one."""

import json
import re

import pytest

from mural.cli import words
from mural.cli.settings import NoTaskError, flags_of, parse
from mural.settings.config import ConfigError
from mural.tasks import UnknownTaskError


@pytest.mark.parametrize(
    "argv",
    [
        ["--out", "zigzag-maze", "spiral-maze"],
        ["spiral-maze", "--out", "zigzag-maze"],
        ["--out=zigzag-maze", "spiral-maze"],
        ["--seed", "3", "--out", "zigzag-maze", "spiral-maze", "--steps", "5000"],
        ["--sac.hidden", "16", "16", "spiral-maze", "--out", "zigzag-maze"],
        ["--out", "zigzag-maze", "--loop.stale", "spiral-maze"],
        ["--out", "zigzag-maze", "--sac.no-layer-norm", "spiral-maze"],
        ["--out", "zigzag-maze", "--keep-best", "spiral-maze"],
        ["--sac.entropy_per_action", "-3", "spiral-maze", "--out", "zigzag-maze"],
        ["--env_scale", "-1", "spiral-maze", "--out", "zigzag-maze"],
        ["--import", "json", "--out", "zigzag-maze", "spiral-maze"],
        ["--classifier-keys", "a", "b", "spiral-maze", "--out", "zigzag-maze"],
    ],
)
def test_the_task_in_every_place(argv):
    parsed = parse(argv)
    assert parsed.config.task == "spiral-maze"
    assert str(parsed.out) == "zigzag-maze"


@pytest.mark.parametrize("method", ["mural", "vice-rnd", "cnml"])
def test_every_flag_takes_what_tyro_says(method, capsys):
    with pytest.raises(SystemExit):
        parse(["zigzag-maze", "--method", method, "--help"])
    flags = dict(words.flags_of(flags_of(method)))
    listed = re.findall(r"^[│ ] (--[\w.-]+)(,| (.*?)) *[│ ]$", capsys.readouterr().out, re.MULTILINE)
    assert len(listed) > 35
    for flag, rest, values in listed:
        takes = 0 if rest == "," or not values or values.startswith("--") else 1
        if "..." in values:
            takes = {"INT": int, "FLOAT": float, "STR": str}[re.search(r"\[([A-Z]+)", values)[1]]
        assert flags[flag] == takes, flag


def test_a_wrong_task_after_a_flag_gets_the_nearest():
    for argv in (["--steps", "1000", "spiral-mase"], ["spiral-mase", "--steps", "1000"]):
        with pytest.raises(UnknownTaskError, match="did you mean 'spiral-maze'"):
            parse(argv)


def test_no_task_at_all():
    for argv in ([], ["--out", "zigzag-maze"], ["--seed", "3"], ["--classifier-keys", "a", "b"]):
        with pytest.raises(NoTaskError, match="mural tasks"):
            parse(argv)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"preset": "turbo"}, "there is no preset 'turbo'; there are fast, paper"),
        ({"preset": "papr"}, "did you mean 'paper'"),
        ({"task": 3}, "task is 3; it must be text"),
        ({"method": None}, "method is None; it must be text"),
        ({"steps": "many"}, "steps is 'many'"),
    ],
)
def test_files_of_settings_that_cannot_be(tmp_path, content, why):
    file = tmp_path / "c.json"
    file.write_text(json.dumps(content))
    with pytest.raises(ConfigError, match=why):
        parse(["zigzag-maze", "--config", str(file)])


def test_whole_numbers_in_files(tmp_path):
    file = tmp_path / "c.json"
    file.write_text('{"steps": 2e4}')
    assert parse(["zigzag-maze", "--config", str(file)]).config.steps == 20_000
