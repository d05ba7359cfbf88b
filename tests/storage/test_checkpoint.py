"""Checkpoints: what is read is what was written, whatever was cut, flipped, lost or forged."""

import json
import os
import random
import shutil

import ml_dtypes
import numpy as np
import pytest

from mural.storage import checkpoint
from mural.storage.checkpoint import DamagedCheckpointError, NewerFormatError, OlderFormatError
from tests.storage.saved import is_step, save

FILES = ["agent.safetensors", "replay.safetensors", "manifest.json"]


def cut(file):
    file.write_bytes(file.read_bytes()[:-3])


def flip(file, bit=None):
    data = bytearray(file.read_bytes())
    bit = len(data) * 4 if bit is None else bit
    data[bit // 8] ^= 1 << bit % 8
    file.write_bytes(data)


def empty(file):
    file.write_bytes(b"")


def lose(file):
    file.unlink()


def unreadable(file):
    file.unlink()
    file.mkdir()


def rewrite(path, change):
    """Change a manifest and make its hash right again, as someone with bad intentions would."""
    manifest = json.loads((path / "manifest.json").read_text())
    del manifest["sha256"]
    change(manifest)
    (path / "manifest.json").write_text(json.dumps(manifest | {"sha256": checkpoint._digest(manifest)}))


def test_round_trip_and_retention(tmp_path):
    assert checkpoint.load_latest(tmp_path) is None
    assert checkpoint.listing(tmp_path) == {}
    for step in (0, 7, 12_000, 20_000):
        path = save(tmp_path, step)
    home = tmp_path / "checkpoints"
    assert path == home / "0000020000"
    assert checkpoint.listing(tmp_path) == {12_000: home / "0000012000", 20_000: path}
    assert sorted(os.listdir(path)) == sorted(FILES)
    loaded = checkpoint.load_latest(tmp_path)
    is_step(loaded, 20_000)
    assert loaded.meta == {"epoch": 20_000, "best": [0.1, None], "name": "é"}
    assert (loaded.skipped, loaded.path) == ((), path)
    is_step(checkpoint.load(home / "0000012000"), 12_000)
    save(tmp_path, 30_000, keep=1)
    assert list(checkpoint.listing(tmp_path)) == [30_000]


def test_arrays_of_any_layout(tmp_path):
    table = np.arange(12, dtype=np.float64).reshape(3, 4)
    arrays = {
        "f": np.asfortranarray(table),
        "t": table.T,
        "skip": table[:, ::2],
        "big": table.astype(">f8"),
        "no": table[:0],
    }
    checkpoint.save(tmp_path, 1, {"x": arrays, "nothing": {}}, {})
    loaded = checkpoint.load_latest(tmp_path)
    assert loaded.groups["nothing"] == {}
    for name, array in arrays.items():
        np.testing.assert_array_equal(loaded.groups["x"][name], array)


@pytest.mark.parametrize("damage", [cut, flip, empty, lose, unreadable])
@pytest.mark.parametrize("name", FILES)
def test_damage_falls_back_and_is_told(tmp_path, name, damage):
    save(tmp_path, 1)
    path = save(tmp_path, 2)
    damage(path / name)
    loaded = checkpoint.load_latest(tmp_path)
    is_step(loaded, 1)
    (told,) = loaded.skipped
    assert name in told
    assert str(path) in told
    with pytest.raises(DamagedCheckpointError, match=name):
        checkpoint.load(path)
    save(tmp_path, 2)  # the run reaches the step again: the damaged one is replaced
    loaded = checkpoint.load_latest(tmp_path)
    is_step(loaded, 2)
    assert loaded.skipped == ()


@pytest.mark.parametrize("name", FILES)
def test_any_flipped_bit_is_noticed(tmp_path, name):
    file = save(tmp_path, 3) / name
    for bit in random.Random(0).sample(range(file.stat().st_size * 8), 150):
        flip(file, bit)
        with pytest.raises(DamagedCheckpointError):
            checkpoint.load(file.parent)
        flip(file, bit)
    is_step(checkpoint.load(file.parent), 3)


def test_all_damaged(tmp_path):
    lose(save(tmp_path, 1) / "agent.safetensors")
    cut(save(tmp_path, 2) / "replay.safetensors")
    with pytest.raises(DamagedCheckpointError, match=r"none of the 2 (?s:.*)0002 .*replay(?s:.*)0001 .*agent.*missing"):
        checkpoint.load_latest(tmp_path)


def test_a_renamed_checkpoint_is_not_taken_for_another_step(tmp_path):
    save(tmp_path, 5)
    os.rename(save(tmp_path, 6), tmp_path / "checkpoints" / "0000000009")
    loaded = checkpoint.load_latest(tmp_path)
    is_step(loaded, 5)
    assert "is of step 6" in loaded.skipped[0]


def test_leftovers_of_dead_saves_are_ignored_and_removed(tmp_path):
    save(tmp_path, 1)
    home = tmp_path / "checkpoints"
    for name in ("0000000002.saving", "0000000000.removed", "0000000001.replaced"):
        shutil.copytree(home / "0000000001", home / name)
    (home / "0000000002.saving" / "manifest.json").unlink()
    (home / "notes").mkdir()
    assert list(checkpoint.listing(tmp_path)) == [1]
    save(tmp_path, 2)
    assert sorted(os.listdir(home)) == ["0000000001", "0000000002", "notes"]


def test_later_checkpoints_do_not_push_out_the_one_just_saved(tmp_path):
    for step in (10, 20, 30):
        save(tmp_path, step, keep=3)
    flip(tmp_path / "checkpoints" / "0000000030" / "manifest.json")
    save(tmp_path, 15, keep=2)
    assert list(checkpoint.listing(tmp_path)) == [10, 15, 20, 30]


@pytest.mark.parametrize(
    ("version", "error", "told"), [(4, NewerFormatError, "update mural-rl"), (2, OlderFormatError, "that wrote it")]
)
def test_other_formats(tmp_path, version, error, told):
    save(tmp_path, 1)
    rewrite(save(tmp_path, 2), lambda m: m.update(version=version))
    for load in (
        lambda: checkpoint.load_latest(tmp_path),
        lambda: checkpoint.load(tmp_path / "checkpoints/0000000002"),
    ):
        with pytest.raises(error, match=rf"format version {version} and this program reads version 3: .*{told}"):
            load()


def safetensors_bytes(header, data=b""):
    header = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(header).to_bytes(8, "little") + header + data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff" * 64,
        b"\x80\x04cposix\nsystem\n.",  # a pickle
        (2**60).to_bytes(8, "little") + b"{}",
        safetensors_bytes(b"{" * 10_000),
        safetensors_bytes([1]),
        safetensors_bytes({"x": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}, b"1234"),
        safetensors_bytes({"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, b"1234"),
        safetensors_bytes({"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}, b"1234"),
        safetensors_bytes({"x": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}, b"1234"),
    ],
)
def test_hostile_arrays_with_a_right_hash_are_refused(tmp_path, data):
    path = save(tmp_path, 1)
    (path / "agent.safetensors").write_bytes(data)
    entry = {"size": len(data), "sha256": checkpoint.hashlib.sha256(data).hexdigest()}
    rewrite(path, lambda m: m["files"].update({"agent.safetensors": entry}))
    with pytest.raises(DamagedCheckpointError, match=r"agent.safetensors is not a safetensors file"):
        checkpoint.load(path)


@pytest.mark.parametrize("name", ["../../secret.safetensors", "/secret.safetensors", "agent.pkl", "a\n.safetensors"])
def test_a_manifest_cannot_name_files_elsewhere(tmp_path, name):
    path = save(tmp_path, 1)
    rewrite(path, lambda m: m["files"].update({name: {"size": 0, "sha256": ""}}))
    with pytest.raises(DamagedCheckpointError, match="which is no file of a checkpoint"):
        checkpoint.load(path)


@pytest.mark.parametrize("text", ["[]", "{}", "null", "[" * 100_000, '{"sha256": 1}', '{"a":' * 900 + "1" + "}" * 900])
def test_hostile_manifests_are_refused(tmp_path, text):
    path = save(tmp_path, 1)
    (path / "manifest.json").write_text(text)
    with pytest.raises(DamagedCheckpointError, match=r"manifest.json"):
        checkpoint.load(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, {}, {}), "at least 0"),
        ((1, {}, {}, 0), "keep"),
        ((1, {"../x": {}}, {}), "called"),
        ((1, {"x": {"__metadata__": np.zeros(1)}}, {}), "cannot be stored"),
        ((1, {"x": {"a": np.array([None])}}, {}), "object cannot be stored"),
        ((1, {"x": {"a": np.zeros(1, ml_dtypes.bfloat16)}}, {}), "bfloat16 cannot be stored"),
        ((1, {}, {"best": float("nan")}), "JSON"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        checkpoint.save(tmp_path, *arguments)
    assert os.listdir(tmp_path) == []
