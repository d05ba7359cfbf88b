"""What a slider shows: maps where there are any, else pictures, else reliability alone."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from mural.study.report import moments
from mural.study.report.moments import moments_of, painted, thinned
from mural.study.report.reading import read_run
from tests.storage.test_maps import made
from tests.study.report.folders import TABLE, run_folder, with_maps, with_pictures


def opened(source):
    head, data = source.split(",")
    return Image.open(io.BytesIO(base64.b64decode(data))), head


def test_maps_become_moments(tmp_path):
    found = moments_of(read_run(with_maps(with_pictures(run_folder(tmp_path / "r")))))
    assert [(moment["step"], moment["epoch"]) for moment in found.moments] == [(1000, 1), (2000, 2), (3000, 3)]
    assert found.moments[1]["told"] == "success 50%, distance 2.5, coverage 67%, learned return 4"
    assert found.moments[0]["table"] == TABLE
    assert found.moments[2]["path"] == "0,50 75,25"  # of a plane of 4 × 2, whose height is then 50
    assert found.moments[0]["visits"] != found.moments[2]["visits"]
    scene = found.scene
    assert scene is not None
    assert (scene.height, scene.axes, scene.low, scene.high) == (50.0, ("east", "north"), "-1", "1")
    assert scene.walls == [(25.0, 25.0, 12.5, 25.0)]
    assert scene.counted == (-25.0, -25.0, 150.0, 100.0)
    assert (scene.start, scene.examples) == ((0.0, 50.0), [(100.0, 0.0)])


def test_grids_are_painted_x_first_and_upright():
    unit = np.zeros((4, 4))
    unit[3, 0] = 1.0  # right, bottom
    picture, head = opened(painted(unit, "viridis"))
    assert head == "data:image/png;base64"
    colours = np.asarray(picture.convert("RGB"))
    assert colours[3, 3].tolist() == [253, 231, 36]
    assert colours[0, 0].tolist() == colours[3, 0].tolist() == [68, 1, 84]


def test_all_moments_have_one_scale(tmp_path):
    folder = run_folder(tmp_path / "r")
    made(step=1000, reward=np.full((4, 4), 0.25), start=np.zeros(0)).save(folder / "maps" / "0000001000.npz")
    flat = moments_of(read_run(folder)).scene
    assert flat is not None
    assert (flat.low, flat.high, flat.start) == ("0.25", "1.2", None)  # one value still has a range
    made(step=2000, reward=np.full((4, 4), 1.5), start=np.zeros(0)).save(folder / "maps" / "0000002000.npz")
    scene = moments_of(read_run(folder)).scene
    assert scene is not None
    assert (scene.low, scene.high) == ("0.25", "1.5")


def test_a_damaged_map_is_left_out_and_named(tmp_path):
    folder = with_maps(run_folder(tmp_path / "r"))
    (folder / "maps" / "0000002000.npz").write_bytes(b"PK")
    (folder / "maps" / "<img>.npz").write_bytes(b"")
    found = moments_of(read_run(folder))
    assert [moment["step"] for moment in found.moments] == [1000, 3000]
    assert len(found.notes) == 1
    assert "0000002000.npz is no map" in found.notes[0]


def test_pictures_where_there_are_no_maps(tmp_path, monkeypatch):
    folder = with_pictures(run_folder(tmp_path / "r"))
    (folder / "pictures" / "0000003000.png").write_bytes(b"<svg onload='alert(1)'/>")
    found = moments_of(read_run(folder))
    assert [(moment["step"], moment["epoch"]) for moment in found.moments] == [(1000, 1), (2000, 2)]
    assert (found.scene, found.wide) == (None, True)
    assert "0000003000.png cannot be shown" in found.notes[0]
    picture, head = opened(found.moments[1]["picture"])
    assert (head, picture.size) == ("data:image/webp;base64", (90, 45))
    monkeypatch.setattr(moments, "PIXELS", 100)
    assert "too large" in moments_of(read_run(folder)).notes[0]


def test_reliability_alone_and_nothing(tmp_path):
    found = moments_of(read_run(run_folder(tmp_path / "r")))
    assert [moment["step"] for moment in found.moments] == [1000, 2000, 3000]
    assert found.tables
    folder = run_folder(tmp_path / "empty")
    (folder / "metrics.jsonl").write_text("")
    assert moments_of(read_run(folder)).moments == []


@pytest.mark.parametrize(("count", "kept"), [(3, 3), (40, 40), (1000, 40)])
def test_many_moments_are_thinned_evenly(count, kept):
    found = thinned(range(count))
    assert (len(found), found[0], found[-1]) == (kept, 0, count - 1)
    assert max(np.diff(found)) - min(np.diff(found)) <= 1
