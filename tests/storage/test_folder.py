"""Files of a run that were damaged, lost, or written by other versions: each has a sentence, none a traceback."""

import json
import resource
import shutil
from pathlib import Path

import numpy as np
import pytest

import mural
from mural.atomic import UnwritableError, replacing, require_writable
from mural.storage import disk
from mural.storage.disk import DamagedFileError, OutOfSpaceError
from mural.storage.folder import RunFolder, RunFolderError
from mural.storage.metrics import MetricsError
from mural.training.callbacks import Silent
from tests.training import small

# All actions are random: nothing is learned, so nothing is compiled.
RANDOM = small.MURAL | {"loop.random_steps": 6000, "loop.replay_size": 6000}


class Said(Silent):
    def __init__(self):
        self.told = []

    def say(self, message):
        self.told.append(message)


@pytest.fixture
def folder(tmp_path):
    """A run of 3 epochs with the user's own examples, 36 to learn from and 4 held out."""
    mural.Agent(small.Field(), small.examples(), run_dir=tmp_path / "run", config=RANDOM).learn(180, progress=False)
    return RunFolder(tmp_path / "run")


def load(folder):
    return mural.Agent.load(folder.path, env=small.Field())


def resumed(folder):
    """What is said when the run goes on."""
    display = Said()
    load(folder).learn(60, display=display)
    return display.told


def test_nothing_is_said_of_a_good_run(folder):
    assert resumed(folder) == []
    world = load(folder).run.world
    assert (len(world.examples.states), len(world.held_out)) == (36, 4)


@pytest.mark.parametrize("damage", ["cut", "empty", "noise", "gone"])
def test_held_out_examples_that_are_lost_are_not_taken_from_the_others(folder, damage):
    path = folder.path / "held_out.npz"
    data = path.read_bytes()
    path.unlink()
    if damage != "gone":
        path.write_bytes({"cut": data[:60], "empty": b"", "noise": bytes(reversed(data))}[damage])
    with pytest.warns(UserWarning, match=r"held_out\.npz is missing or damaged: the calibration is no longer measured"):
        agent = load(folder)
    assert len(agent.run.world.examples.states) == 36
    assert agent.run.world.held_out.shape == (0, 2)
    assert agent.learn(60, progress=False).steps == 240


def torn(path):
    with replacing(path) as scratch:
        scratch.write_text("half")
        raise ZeroDivisionError


def test_files_are_written_wholly_or_not_at_all(tmp_path):
    with pytest.raises(ZeroDivisionError):
        torn(tmp_path / "x")
    assert list(tmp_path.iterdir()) == []
    with replacing(tmp_path / "deep" / "x.npz") as scratch:
        assert scratch.suffix == ".npz"
        scratch.write_text("whole")
        assert not (tmp_path / "deep" / "x.npz").exists()
    assert [(file.name, file.read_text()) for file in (tmp_path / "deep").iterdir()] == [("x.npz", "whole")]


def test_examples_that_are_lost_are_missed(folder):
    (folder.path / "examples.npz").unlink()
    with pytest.raises(RunFolderError, match=r"examples\.npz is missing.*backup"):
        load(folder)


def test_a_damaged_timing_file_is_put_aside(folder):
    folder.timing_path.write_text('{"step": 60}\nnoise\n')
    told = resumed(folder)
    assert len(told) == 1
    assert "line 2 of" in told[0]
    assert "Nothing depends on it: the file is now timing.jsonl.damaged, and a new one begins" in told[0]
    assert "Remove" not in told[0]
    assert [json.loads(line)["step"] for line in folder.timing_path.read_text().splitlines()] == [240]
    assert (folder.path / "timing.jsonl.damaged").read_text().endswith("noise\n")


def test_a_damaged_metrics_file_is_the_users_decision(folder):
    folder.metrics_path.write_text("noise\n")
    with pytest.raises(MetricsError, match="line 1 of"):
        resumed(folder)


def test_metrics_that_were_cut_short_are_missed(folder):
    lines = folder.metrics_path.read_text().splitlines(keepends=True)
    folder.metrics_path.write_text(lines[0])
    assert resumed(folder) == ["metrics.jsonl lacks 2 of the first 3 epochs (from epoch 2 on): they are lost"]
    assert [row["epoch"] for row in folder.rows()] == [1, 4]


def test_other_versions_are_told(folder):
    path = folder.path / "versions.json"
    versions = json.loads(path.read_text())
    path.write_text(json.dumps(versions | {"jax": "0.1", "more": "1"}))
    (told,) = resumed(folder)
    assert f"the run began with jax 0.1 (now {versions['jax']})" in told
    path.write_text("{")
    assert "versions.json is damaged" in resumed(folder)[0]


@pytest.mark.parametrize(("text", "why"), [("{", "property name"), ("[]", "no table"), ("\xff\xfe", "char 0")])
def test_damaged_settings(folder, text, why):
    folder.config_path.write_bytes(text.encode("latin-1"))
    with pytest.raises(DamagedFileError, match=rf"config\.json is damaged.*{why}.*backup"):
        load(folder)


@pytest.mark.parametrize(
    ("version", "told"),
    [
        (2, r"an earlier mural-rl \(0\.0\.7, commit abc, checkpoint format 2, here 3\)"),
        (3, r"another mural-rl \(0\.0\.7, commit abc, checkpoint format 3, here 3\)"),
        (4, r"a later mural-rl \(0\.0\.7, commit abc, checkpoint format 4, here 3\)"),
        (None, r"another mural-rl \(0\.0\.7, commit abc\)"),
    ],
)
def test_a_run_with_settings_of_another_version(folder, version, told):
    config = json.loads(folder.config_path.read_text())
    folder.config_path.write_text(json.dumps(config | {"sac": config["sac"] | {"target_entropy": -2.0}}))
    (folder.path / "versions.json").write_text('{"mural-rl": "0.0.7", "commit": "abc"}')
    for manifest in folder.path.glob("checkpoints/*/manifest.json"):
        manifest.write_text("{" if version is None else json.dumps({"version": version}))
    with pytest.raises(
        RunFolderError, match=rf"run was written by {told}: it has the setting sac\.target_entropy, .*train anew"
    ):
        load(folder)


def test_a_run_of_another_version_that_says_nothing_of_itself(folder):
    folder.config_path.write_text(json.dumps(json.loads(folder.config_path.read_text()) | {"speed": 3}))
    (folder.path / "versions.json").unlink()
    shutil.rmtree(folder.path / "checkpoints")
    with pytest.raises(RunFolderError, match="was written by another mural-rl: it has the setting speed"):
        load(folder)


def test_json_is_written_wholly_and_read_back(tmp_path):
    disk.write_json(tmp_path / "a" / "x.json", {"a": np.arange(2), "b": tmp_path})
    assert disk.read_json(tmp_path / "a" / "x.json") == {"a": [0, 1], "b": str(tmp_path)}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(OutOfSpaceError, match=r"x\.json needs .* then resume the run"):
            disk.write_json(tmp_path / "a" / "x.json", "x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert disk.read_json(tmp_path / "a" / "x.json")["a"] == [0, 1]  # as it was
    with pytest.raises(DamagedFileError, match="missing"):
        disk.read_json(tmp_path / "none.json")


def test_places_where_no_file_can_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UnwritableError, match="is a folder: name a file in it"), replacing(tmp_path):
        pass
    with pytest.raises(UnwritableError, match=r"run\.npz cannot be written \(.*file is a file\)"):
        require_writable(tmp_path / "file" / "run.npz")
    with pytest.raises(UnwritableError, match="/proc/x/y cannot be written"), replacing(Path("/proc/x/y")):
        pass
    with pytest.raises(FileNotFoundError, match="elsewhere"), replacing(tmp_path / "new"):
        (tmp_path / "elsewhere").read_text()  # an error that is not about the file to be written
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]
