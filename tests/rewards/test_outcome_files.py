"""Rewards in files: damaged, of other versions, of strangers; and saving that fails."""

import json
import pickle
import zipfile

import numpy as np
import pytest

import mural
from mural.rewards import METHODS
from mural.rewards.outcome import RewardFileError
from mural.settings.config import to_dict
from tests.rewards.tiny import shrink

EXAMPLES = np.random.default_rng(0).uniform(0.8, 1, (30, 2)).astype(np.float32)
VISITED = np.random.default_rng(1).uniform(-1, 0.3, (2, 200, 2)).astype(np.float32)


def make(method="cnml", **options):
    return mural.OutcomeReward(EXAMPLES, method, to_dict(shrink(METHODS[method].config())), **options)


def test_damaged_files_are_named(tmp_path):
    reward, path = make("cnml"), tmp_path / "reward.npz"
    reward.update(VISITED[0])
    reward.save(path)
    whole = path.read_bytes()
    for at in range(0, len(whole), 997):
        flipped = bytearray(whole)
        flipped[at] ^= 0xFF
        path.write_bytes(flipped)
        try:
            loaded = mural.OutcomeReward.load(path)
        except RewardFileError:
            continue
        np.testing.assert_array_equal(loaded(EXAMPLES), reward(EXAMPLES))  # a byte that says nothing, such as a date
    for damaged in (b"", whole[:-200], whole[: len(whole) // 2], pickle.dumps({"method": "mural"})):
        path.write_bytes(damaged)
        with pytest.raises(RewardFileError, match="damaged"):
            mural.OutcomeReward.load(path)
    with pytest.raises(RewardFileError, match="there is no file"):
        mural.OutcomeReward.load(tmp_path / "none.npz")


def test_files_run_no_code_and_must_fit(tmp_path):
    path = tmp_path / "reward.npz"
    make("cnml").save(path)
    with np.load(path, allow_pickle=False) as file:
        good = {name: file[name] for name in file.files}
    about = json.loads(str(good["about"]))
    for change, told in (
        ({"examples": np.array([print], dtype=object)}, "Object arrays cannot be loaded"),
        ({"format": np.array(3)}, "its format is 3, of a later mural-rl, and this one reads up to 2: update"),
        ({"about": np.array("{")}, "can go on with"),
        ({"about": np.array(json.dumps(about | {"method": "mine"}))}, "there is no method 'mine'"),
        ({"about": np.array(json.dumps(about | {"seen": 7}))}, r"remembers states \(0, 2\), and 7 were seen"),
        ({"parts.metric.scale": np.zeros(3, np.float32)}, "of another shape or type: metric.scale"),
        ({"parts.more": np.zeros(3, np.int32)}, "not expected: more"),
    ):
        np.savez(path, **(good | change))
        with pytest.raises(RewardFileError, match=told):
            mural.OutcomeReward.load(path)


def test_files_of_an_earlier_version(tmp_path):
    path, reward = tmp_path / "reward.npz", make("mural")
    reward.update(VISITED[0])
    reward.save(path)
    with np.load(path, allow_pickle=False) as file:
        good = {name: file[name] for name in file.files} | {"format": np.array(1)}
    about = json.loads(str(good["about"]))
    del about["waves"]
    np.savez(path, **(good | {"about": np.array(json.dumps(about))}))
    np.testing.assert_array_equal(mural.OutcomeReward.load(path)(EXAMPLES), reward(EXAMPLES))
    old = r"format 1, of an earlier mural-rl, and this one writes 2: load it with the version that wrote it, or learn"
    metric = [name for name in good if name.startswith("parts.metric")]
    np.savez(path, **{name: good[name] for name in good if name not in metric})
    with pytest.raises(RewardFileError, match=rf"missing: metric.*{old}"):
        mural.OutcomeReward.load(path)
    del about["units"]
    np.savez(path, **(good | {"about": np.array(json.dumps(about))}))
    with pytest.raises(RewardFileError, match=rf"it lacks units\. It has {old}"):
        mural.OutcomeReward.load(path)


def test_a_save_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    reward, path = make("cnml"), tmp_path / "reward.npz"
    reward.save(path)
    before = path.read_bytes()

    def half(file, **arrays):
        file.write(b"half")
        raise OSError("full")

    monkeypatch.setattr(np, "savez", half)
    with pytest.raises(OSError, match="full"):
        reward.save(path)
    assert path.read_bytes() == before
    assert zipfile.is_zipfile(path)
    assert [file.name for file in tmp_path.iterdir()] == ["reward.npz"]


def test_what_is_no_file(tmp_path):
    reward = make("cnml")
    for call in (reward.save, mural.OutcomeReward.load):
        with pytest.raises(RewardFileError, match="the file of a reward is None; it must be a path"):
            call(None)
        with pytest.raises(RewardFileError, match=r"is a folder; name a file, such as .*reward\.npz"):
            call(tmp_path)
    assert not list(tmp_path.iterdir())
