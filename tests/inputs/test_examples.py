"""Success examples arrive the same from every source, and what cannot be used is refused by name."""

from __future__ import annotations

import hashlib
import os
import pickle
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces as gs

import mural.tasks
from mural.inputs.examples import ExamplesError, SuccessExamples, load_examples
from mural.inputs.spaces import Spaces
from mural.inputs.tables import ColumnsWarning
from tests.inputs.test_spaces import Fake

ROWS = np.random.default_rng(0).uniform(-1, 1, (12, 3))
BOX = Spaces.of(Fake(gs.Box(-1, 1, (3,))), classifier_slice="1:3")
DICT = Spaces.of(Fake(gs.Dict(arm=gs.Dict(grip=gs.Box(-1, 1, ())), puck=gs.Box(-1, 1, (2,)))), classifier_keys=["puck"])


def same(examples: SuccessExamples, whole: bool = True) -> None:
    np.testing.assert_allclose(examples.states, ROWS[:, 1:], rtol=1e-6)
    assert examples.states.dtype == np.float32
    if whole:
        assert examples.observations is not None
        np.testing.assert_allclose(examples.observations, ROWS, rtol=1e-6)
    else:
        assert examples.observations is None


@pytest.mark.parametrize("spaces", [BOX, DICT])
def test_arrays_lists_and_objects(spaces: Spaces) -> None:
    same(load_examples(ROWS, spaces))
    same(load_examples(ROWS.tolist(), spaces))
    same(load_examples({"examples": ROWS}, spaces))
    same(load_examples(ROWS[:, 1:], spaces), whole=False)
    loaded = load_examples(ROWS[:, 1:], spaces)
    assert loaded.provenance == "array"
    again = load_examples(SuccessExamples(loaded.states, None, "by hand"), spaces)
    same(again, whole=False)
    assert again.provenance == "by hand"


def test_entries_of_dicts(tmp_path: Path) -> None:
    grip, puck = ROWS[:, 0], ROWS[:, 1:]
    same(load_examples({"puck": puck, "arm": {"grip": grip}}, DICT))
    same(load_examples({"arm/grip": grip, "puck": puck}, DICT))
    same(load_examples({"puck": puck}, DICT), whole=False)
    same(load_examples([{"puck": row[1:], "arm": {"grip": row[0]}} for row in ROWS], DICT))
    np.savez(tmp_path / "e.npz", **{"arm/grip": grip, "puck": puck})
    same(load_examples(tmp_path / "e.npz", DICT))


def test_npz_and_npy_with_provenance(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    np.savez(path, examples=ROWS)
    loaded = load_examples(str(path), BOX)
    same(loaded)
    assert loaded.provenance == f"{path} (sha256 {hashlib.sha256(path.read_bytes()).hexdigest()})"
    np.save(tmp_path / "mine.npy", ROWS)
    same(load_examples(tmp_path / "mine.npy", BOX))


def test_saved_and_loaded_again(tmp_path: Path) -> None:
    for number, whole in enumerate((True, False)):
        first = load_examples(ROWS if whole else ROWS[:, 1:], BOX)
        path = tmp_path / f"deep/{number}.npz"
        first.save(path)
        again = load_examples(path, BOX)
        assert np.array_equal(again.states, first.states)
        same(again, whole)
        assert again.provenance.endswith("which is from: array")
        assert [file.name for file in path.parent.iterdir() if ".part" in file.name] == []
    path.write_bytes(b"")
    first.save(path)  # over what was there
    same(load_examples(path, BOX), whole=False)
    assert "states [12, 2]" in repr(first)


@pytest.mark.parametrize(
    ("header", "order", "whole"),
    [
        ("", [0, 1, 2], True),
        ("", [1, 2], False),
        ("# a comment", [0, 1, 2], True),
        ("0,1,2", [0, 1, 2], True),  # as pandas has it
        ("puck[1],arm/grip,puck[0]", [2, 0, 1], True),
        ("puck[1],puck[0]", [2, 1], False),
    ],
)
@pytest.mark.parametrize("mark", [",", ";"])
def test_csv(tmp_path: Path, header: str, order: list[int], whole: bool, mark: str) -> None:
    path = tmp_path / "e.csv"
    lines = [header, *(",".join(repr(float(x)) for x in row[order]) for row in ROWS)]
    path.write_text("\n".join(line for line in lines if line).replace(",", mark), encoding="utf-8-sig")
    same(load_examples(path, DICT), whole)


def test_a_first_csv_row_of_whole_numbers_is_an_example(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("0,1\n1,0\n")
    assert load_examples(tmp_path / "e.csv", BOX).states.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no rows"),
        ("x,y,z\n", "no rows"),
        ("0.1,0.2,0.3\n0.1,,0.3\n", "row 2"),
        ("0.1,0.2,0.3\n0.1,0.3\n", "row 2"),
        ("0.1,0.2,0.3\n0.1,nan,0.3\n", "rows 1 .*NaN"),
        (",x,y\n0,0.1,0.2\n", "index=False"),
        ("puck[0],pucc[1]\n0.1,0.2\n", r"did you mean 'puck\[1\]'"),
        ("puck[0],puck[0]\n0.1,0.2\n", "repeated"),
        ("puck[0],arm/grip\n0.1,0.2\n", r"lacks the columns puck\[1\]"),
    ],
)
def test_csv_that_cannot_be_used(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "e.csv").write_text(text)
    with pytest.raises(ExamplesError, match=why):
        load_examples(tmp_path / "e.csv", DICT)


def test_csv_that_is_no_text(tmp_path: Path) -> None:
    for data in (b"\x93NUMPY\xff\xfe", b"0.1," + b"9" * 200_000):
        (tmp_path / "e.csv").write_bytes(data)
        with pytest.raises(ExamplesError, match="comma-separated"):
            load_examples(tmp_path / "e.csv", DICT)


def changed(value: float, row: int = 7, column: int = 1) -> np.ndarray:
    rows = ROWS.copy()
    rows[row, column] = value
    return rows


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ([], "no rows.*Collect about 150"),
        (np.zeros((0, 3)), "no rows"),
        (changed(np.nan), "rows 7 .*NaN"),
        (changed(np.inf), "rows 7 .*infinite"),
        (changed(1e39), "rows 7 .*single precision"),
        (np.full((30, 3), np.nan), "and 20 others"),
        (changed(1.1), r"1 of 12 .*puck\[0\] is 1.1 in row 7.* -1 to 1"),
        (np.zeros((5, 4)), r"shape \(5, 4\).*3 columns.*arm/grip 0:1, puck 1:3.*2 \(puck\[0\], puck\[1\]\)"),
        (np.zeros(3), r"shape \(3,\)"),
        ([[0, 0, 0], [0, 0]], "same length"),
        (np.array([[None, 0, 0]]), "of type object"),
        ([["a", "b", "c"]], "numbers are needed"),
        ({"pack": ROWS[:, 1:]}, "did you mean 'puck'"),
        ({"arm/grip": ROWS[:, 0]}, "lack puck"),
        ({"puck": ROWS}, r"shape \(12, 3\).*\(12, 2\)"),
        ({"puck": ROWS[:, 1:], "arm/grip": ROWS[:5, 0]}, r"'arm/grip' .*\(5,\)"),
        ([{"puck": [0, 0]}, {"arm/grip": 0}], "row 1"),
        (None, "brings none.*Collect about 150"),
        ("none.npz", "No such file"),
        ("none.txt", "No such file"),
    ],
)
def test_what_cannot_be_used(source: Any, why: str) -> None:
    with pytest.raises(ExamplesError, match=why):
        load_examples(source, DICT)


def test_rounding_at_the_bounds_is_tolerated() -> None:
    for value in (1 + 1e-7, -1 - 1e-7):
        assert load_examples(changed(value), DICT).states.shape == (12, 2)


def test_files_are_data(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "ran"),)

    np.savez(tmp_path / "a.npz", examples=np.array([Evil()], dtype=object))
    (tmp_path / "b.npz").write_bytes(pickle.dumps(Evil()))
    np.savez(tmp_path / "c.npz", examples=ROWS)
    data = (tmp_path / "c.npz").read_bytes()
    (tmp_path / "c.npz").write_bytes(data[: len(data) // 2])
    (tmp_path / "d.npz").write_bytes(data.replace(ROWS.tobytes()[:8], b"\1" * 8))
    (tmp_path / "e.npz").write_bytes(b"")
    for name in "abcde":
        with pytest.raises(ExamplesError, match="damaged, or has Python objects"):
            load_examples(tmp_path / f"{name}.npz", BOX)
    assert not (tmp_path / "ran").exists()
    (tmp_path / "f.pkl").write_bytes(b"")
    with pytest.raises(ExamplesError, match=r"read from \.npz"):
        load_examples(tmp_path / "f.pkl", BOX)


def test_a_task_brings_its_own() -> None:
    env = gymnasium.make("mural/ZigzagMaze-v0")
    loaded = load_examples(None, Spaces.of(env), task=env, n=20, seed=3)
    assert loaded.provenance == "task zigzag-maze, seed 3"
    own = mural.tasks.make("zigzag-maze").success_examples(20, 3)
    np.testing.assert_array_equal(loaded.states, own.astype(np.float32))
    with pytest.raises(ExamplesError, match="brings none"):
        load_examples(None, BOX, task=gymnasium.make("Pendulum-v1"))


class Frame:
    """What a data frame of any library has."""

    def __init__(self, columns: Any, values: np.ndarray) -> None:
        self.columns, self.values = columns, values

    def to_numpy(self) -> np.ndarray:
        return self.values


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_tables_are_read_by_name(order: list[int], tmp_path: Path) -> None:
    names = [("arm/grip", "puck[0]", "puck[1]")[i] for i in order]
    rows = ROWS[:, order]
    structured = np.zeros(len(rows), dtype=[(name, float) for name in names])
    for name, column in zip(names, rows.T, strict=True):
        structured[name] = column
    for table in (Frame(names, rows), structured):
        loaded = load_examples(table, DICT)
        same(loaded)
        assert loaded.provenance == "table, columns by name"
    boxes = [f"observation[{i}]" for i in order]
    same(load_examples(Frame(boxes, rows), BOX))
    same(load_examples(dict(zip(boxes, rows.T, strict=True)), BOX))
    np.savez(tmp_path / "e.npz", **dict(zip(boxes, rows.T, strict=True)))
    same(load_examples(tmp_path / "e.npz", BOX))


def test_columns_that_the_classifier_sees_are_enough() -> None:
    same(load_examples(Frame(["puck[1]", "puck[0]"], ROWS[:, [2, 1]]), DICT), whole=False)


def test_names_that_fit_nothing_leave_the_order(tmp_path: Path) -> None:
    told = r"columns x, y, z has a name.*in this order for arm/grip, puck\[0\], puck\[1\]\. Rename"
    with pytest.warns(ColumnsWarning, match=told):
        loaded = load_examples(Frame(["x", "y", "z"], ROWS), DICT)
    same(loaded)
    assert loaded.provenance == "table, columns by position, as none of x, y, z is the name of one"
    unnamed = load_examples(Frame(range(3), ROWS), DICT)
    same(unnamed)
    assert unnamed.provenance == "table, columns by position"
    (tmp_path / "e.csv").write_text("x,y,z\n" + "\n".join(",".join(map(str, row)) for row in ROWS))
    with pytest.warns(ColumnsWarning, match=told):
        loaded = load_examples(tmp_path / "e.csv", DICT)
    same(loaded)
    assert "columns by position, as none of x, y, z" in loaded.provenance


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (Frame(["puck[0]", "pucc[1]"], ROWS[:, 1:]), r"did you mean 'puck\[1\]'"),
        (Frame(["puck[0]", "puck[0]"], ROWS[:, 1:]), "repeated"),
        (Frame(["puck[0]", "arm/grip"], ROWS[:, :2]), r"lacks the columns puck\[1\]"),
        ({"puck[0]": ROWS[:, 1], "puck[1]": ROWS[:3, 2]}, "not equally long"),
        ({"puck[0]": ROWS[:, 1]}, r"lacks the columns puck\[1\]"),
        (Frame(range(2), np.array([["a", "b"]])), "numbers are needed"),
    ],
)
def test_tables_that_cannot_be_used(table: Any, why: str) -> None:
    with pytest.raises(ExamplesError, match=why):
        load_examples(table, DICT)


def test_rows_in_the_shape_of_the_box() -> None:
    spaces = Spaces.of(Fake(gs.Box(-1, 1, (2, 2))))
    rows = np.random.default_rng(0).uniform(-1, 1, (5, 2, 2))
    np.testing.assert_array_equal(load_examples(rows, spaces).states, rows.reshape(5, 4).astype(np.float32))
