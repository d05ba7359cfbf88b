"""Maps of a run: they come back as they were, and nothing strange comes in."""

import dataclasses
import zipfile

import numpy as np
import pytest

from mural.storage.maps import LARGEST, Map, MapFileError


def made(**changes):
    """A map of 4 × 4 cells."""
    values = {
        "step": 2000, "epoch": 2, "extent": np.array([0.0, 4.0, 0.0, 2.0]), "counted": np.array([-1.0, 5.0, -1.0, 3.0]),
        "axes": np.array(["east", "north"]), "visits": np.arange(16, dtype=np.uint32).reshape(4, 4),
        "reward": np.linspace(-1, 1, 16).reshape(4, 4).astype(np.float16), "path": np.array([[0.0, 0.0], [4.0, 2.0]]),
        "examples": np.array([[4.0, 2.0]]), "walls": np.array([[1.0, 0.0, 1.5, 1.0]]), "start": np.array([0.0, 0.0]),
    }  # fmt: skip
    return Map(**values | changes)


def test_a_map_comes_back(tmp_path):
    path = tmp_path / "maps" / "0000002000.npz"
    made(to_scale=False).save(path)
    found = Map.load(path)
    assert (found.step, found.epoch, found.to_scale) == (2000, 2, False)
    for field in dataclasses.fields(Map):
        np.testing.assert_array_equal(getattr(found, field.name), getattr(made(to_scale=False), field.name))
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"reward": np.zeros((4, 3))}, "a grid has shape"),
        ({"visits": np.zeros((600, 600))}, "a grid has shape"),
        ({"path": np.zeros((3, 3))}, "path has shape"),
        ({"walls": np.zeros(4)}, "walls has shape"),
        ({"start": np.zeros(3)}, "start has shape"),
        ({"extent": np.array([0.0, 0.0, 0.0, 1.0])}, "its plane is empty"),
        ({"reward": np.full((4, 4), np.nan)}, "not finite"),
        ({"examples": np.array([["<b>", "x"]])}, "not finite numbers"),
        ({"axes": np.zeros(2)}, "no names"),
    ],
)
def test_arrays_that_make_no_map(tmp_path, changes, told):
    made(**changes).save(tmp_path / "m.npz")
    with pytest.raises(MapFileError, match=told):
        Map.load(tmp_path / "m.npz")


def test_damaged_and_strange_files(tmp_path):
    path = tmp_path / "m.npz"
    made().save(path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(MapFileError, match=r"m\.npz is no map"):
        Map.load(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("reward.npy", b"\0" * (LARGEST + 1))
    assert path.stat().st_size < LARGEST / 100
    with pytest.raises(MapFileError, match="too large"):
        Map.load(path)
    np.savez(path, **{field.name: np.array([{}], dtype=object) for field in dataclasses.fields(Map)})
    with pytest.raises(MapFileError, match="allow_pickle"):
        Map.load(path)
