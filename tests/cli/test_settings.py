"""The flags of `mural train`: what overrides what, and help that fits the method."""

import json

import pytest

from mural import cli
from mural.cli.settings import NoTaskError, parse, values_of
from mural.rewards import METHODS, UnknownMethodError
from mural.settings import presets
from mural.settings.config import ConfigError, to_dict
from mural.tasks import file_name


def test_flags_override_the_file_and_the_file_overrides_the_preset(tmp_path):
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"sac": {"gamma": 0.9, "tau": 0.1}, "sac.entropy_per_action": -1.0, "seed": 3}))
    preset = parse(["zigzag-maze"]).config
    parsed = parse(["zigzag-maze", "--config", str(file), "--sac.gamma", "0.5"])
    assert preset == presets.resolve("zigzag-maze")
    assert (parsed.config.sac.gamma, parsed.config.sac.tau, parsed.config.seed) == (0.5, 0.1, 3)
    assert parsed.config.sac.entropy_per_action == -1.0 != preset.sac.entropy_per_action
    assert parsed.config.sac.batch_size == preset.sac.batch_size
    origins = {name: origin for name, _, origin in parsed.changed}
    assert (origins["sac.gamma"], origins["sac.tau"]) == ("flag", "file")


def test_toml_and_a_task_from_the_file(tmp_path):
    file = tmp_path / "c.toml"
    file.write_text('task = "spiral-maze"\nmethod = "vice"\n[reward.classifier]\nsteps = 7\n')
    config = parse(["--config", str(file)]).config
    assert (config.task, config.method, config.reward.classifier.steps) == ("spiral-maze", "vice", 7)


def test_a_saved_config_can_start_another_run(tmp_path):
    file = tmp_path / "config.json"
    first = parse(["zigzag-maze", "--method", "vice", "--reward.classifier.steps", "9", "--sac.gamma", "0.7"]).config
    file.write_text(json.dumps(to_dict(first)))
    assert parse(["--config", str(file)]).config == first
    other = parse(["zigzag-maze", "--config", str(file), "--method", "mural"]).config  # VICE's settings do not apply
    assert type(other.reward) is METHODS["mural"].config
    assert other.sac.gamma == 0.7


def test_the_task_may_come_after_flags():
    config = parse(["--method", "vice", "--sac.hidden", "16", "16", "zigzag-maze", "--seed", "2"]).config
    assert (config.task, config.sac.hidden, config.seed) == ("zigzag-maze", (16, 16), 2)


def test_values_of_a_flag():
    argv = ["t", "--import", "a", "task", "--method=vice", "--import=c", "--sac.hidden", "3", "--import"]
    assert values_of(argv, "--import") == ["a", "c"]
    assert values_of(argv, "--method") == ["vice"]


@pytest.mark.parametrize("before", [["--import", "json"], ["--preset", "paper"], ["--method", "vice"]])
def test_the_task_may_come_right_after_a_value(before):
    assert parse([*before, "zigzag-maze"]) == parse(["zigzag-maze", *before])


def test_modules_are_imported_one_by_one():
    parsed = parse(["--import", "json", "--import", "csv", "zigzag-maze"])
    assert parsed.config == presets.resolve("zigzag-maze")


def test_a_file_and_a_flag_of_different_presets(tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(to_dict(presets.resolve("zigzag-maze"))))
    with pytest.raises(ConfigError, match=r"config\.json is of the fast preset.*leave out --preset, or --config"):
        parse(["zigzag-maze", "--config", str(file), "--preset", "paper"])
    assert parse(["zigzag-maze", "--config", str(file), "--preset", "fast"]).config == presets.resolve("zigzag-maze")
    file.write_text('{"seed": 3}')
    paper = parse(["zigzag-maze", "--config", str(file), "--preset", "paper"]).config
    assert paper == presets.resolve("zigzag-maze", preset="paper", overrides={"seed": 3})


def test_steps_that_teach_nothing():
    for few in (["--steps", "900"], ["--steps", "1600", "--loop.random-steps", "1500"]):
        with pytest.warns(UserWarning, match=r"nothing will be learned; ask for more than [12]000"):
            parse(["zigzag-maze", *few])
    parse(["zigzag-maze", "--steps", "1001"])


def test_folders_are_named_after_the_run(tmp_path):
    assert str(parse(["mural/ZigzagMaze-v0", "--seed", "4"]).out) == "runs/zigzag-maze-mural-4"
    assert str(parse(["Pendulum-v1", "--method", "sac"]).out) == "runs/Pendulum-v1-sac-0"
    assert file_name("mural/ZigzagMaze-v0") == "zigzag-maze"
    assert file_name("my.module:space/Mine-v0") == "my.module-space-Mine-v0"
    assert parse(["zigzag-maze", "--out", str(tmp_path)]).out == tmp_path


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_has_flags(method):
    config = parse(["zigzag-maze", "--method", method]).config
    assert type(config.reward) is METHODS[method].config


def test_help_shows_the_fields_of_the_method(capsys):
    for method, shown, hidden in (
        ("vice", "--reward.classifier.mixup", "kernel-width"),
        ("mural", "kernel-width", "mixup"),
    ):
        with pytest.raises(SystemExit) as stop:
            cli.main(["train", "zigzag-maze", "--method", method, "--help"])
        assert stop.value.code == 0
        out = capsys.readouterr().out
        assert shown in out
        assert hidden not in out
        assert "Discount γ" in out


@pytest.mark.parametrize("argv", [[], ["spiral-maze"], ["--seed", "3", "spiral-maze"]])
def test_help_says_that_a_task_is_needed(argv, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["train", *argv, "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert "[OPTIONS] TASK" in out
    assert "\nA setting that is not given here" in out
    out = " ".join(out.replace("│", " ").split())  # as if the terminal were wide
    assert "(required, unless --config names it)" in out
    assert "default: zigzag-maze" not in out
    assert ".npz, .npy, .csv or .parquet" in out
    steps = presets.resolve(argv[-1] if argv else "zigzag-maze").steps
    assert f"start. (default: {steps})" in out


def test_help_says_what_d_is(capsys):
    for argv in (["zigzag-maze"], ["zigzag-maze", "--method", "cnml"]):
        with pytest.raises(SystemExit):
            cli.main(["train", *argv, "--help"])
        out = " ".join(capsys.readouterr().out.replace("│", " ").split())
        assert "with the examples they are" in out
        assert "data set D." in out
        assert "Where those" not in out
        assert "When those" not in out


def test_help_names_the_flag_for_the_version(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    assert "mural --version" in capsys.readouterr().out


def test_wrong_names_get_the_nearest(tmp_path, capsys):
    with pytest.raises(UnknownMethodError, match="did you mean 'mural'"):
        parse(["zigzag-maze", "--method", "murall"])
    with pytest.raises(NoTaskError, match="mural tasks"):
        parse(["--seed", "3"])
    file = tmp_path / "c.json"
    file.write_text('{"sac": {"gama": 0.9}}')
    with pytest.raises(ConfigError, match=r"did you mean sac\.gamma"):
        parse(["zigzag-maze", "--config", str(file)])
    with pytest.raises(SystemExit) as stop:
        parse(["zigzag-maze", "--sac.gama", "0.9"])
    assert stop.value.code == 2
    assert "--sac.gamma" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        parse(["zigzag-maze", "--preset", "slow"])
    with pytest.raises(ConfigError, match="must be positive"):
        parse(["zigzag-maze", "--steps", "0"])
