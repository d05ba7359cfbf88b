"""Metrics files: exact numbers, torn lines, truncation on resume, a full disk; event files that TensorBoard reads."""

import errno
import json
import os
import struct
import subprocess
import sys
import time

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboardX.proto.event_pb2 import Event, SessionLog

from mural.storage import disk, metrics
from mural.storage.metrics import MetricsError, MetricsFile, MetricsSpaceError, TensorBoard
from tests.storage import children


@pytest.fixture
def path(tmp_path):
    return tmp_path / "metrics.jsonl"


def fill(path, steps):
    with MetricsFile(path) as file:
        for step in steps:
            file.append({"step": step, "loss": step / 7})


def steps(path):
    return [row["step"] for row in metrics.read(path)]


def test_values_become_json(path):
    row = {
        "step": np.int64(3), "f32": np.float32(0.1), "f64": np.float64(0.1), "jax": jnp.float32(1 / 3), "nan": np.nan,
        "inf": jnp.inf, "bool": np.bool_(True), "list": jnp.arange(2), "text": "a\nb", "in": {"x": np.float32("nan")},
    }  # fmt: skip
    with MetricsFile(path) as file:
        file.append(row)
    (back,) = metrics.read(path)
    assert back == {
        "step": 3, "f32": float(np.float32(0.1)), "f64": 0.1, "jax": float(np.float32(1 / 3)), "nan": None,
        "inf": None, "bool": True, "list": [0, 1], "text": "a\nb", "in": {"x": None},
    }  # fmt: skip
    assert path.read_text().count("\n") == 1
    with MetricsFile(path) as file, pytest.raises(MetricsError, match="object is no metric"):
        file.append({"x": object()})
    assert len(metrics.read(path)) == 1


@settings(deadline=None, derandomize=True)
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float32_round_trips(value):
    back = json.loads(json.dumps(metrics.plain(np.float32(value))))
    assert np.float32(back).tobytes() == np.float32(value).tobytes()


@pytest.mark.parametrize("torn", [b"{", b'{"step": 3}', b'{"step": 3, "lo', b"\0" * 40])
def test_a_torn_last_line_is_dropped_and_removed(path, torn):
    fill(path, [1, 2])
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    assert steps(path) == [1, 2]
    fill(path, [3])
    assert path.read_bytes().startswith(whole)
    assert steps(path) == [1, 2, 3]


@pytest.mark.parametrize("garbage", [b"garbage", b'{"step": 2', b"[1, 2]", b"", b"\xff\xfe", b"[" * 100_000])
def test_garbage_in_the_middle_is_an_error(path, garbage):
    content = b'{"step": 1}\n' + garbage + b'\n{"step": 3}\n'
    path.write_bytes(content)
    for act in (metrics.read, MetricsFile, lambda p: metrics.truncate_after(p, 1)):
        with pytest.raises(MetricsError, match="line 2 of"):
            act(path)
    assert path.read_bytes() == content


def test_truncate_after(path):
    assert metrics.truncate_after(path, 3) == 0
    fill(path, range(1, 6))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(path.read_bytes() + b'{"st')
    assert metrics.truncate_after(path, 3) == 2
    assert path.read_bytes() == b"".join(lines[:3])
    assert metrics.truncate_after(path, 3) == 0
    fill(path, [4])
    assert path.read_bytes() == b"".join(lines[:4])
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("call", ["write", "replace"])
def test_truncation_that_dies_changes_nothing(path, monkeypatch, call):
    fill(path, range(1, 6))
    before = path.read_bytes()

    def die(*_):
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(os, call, die)
        with pytest.raises(SystemExit):
            metrics.truncate_after(path, 3)
    assert path.read_bytes() == before
    assert metrics.truncate_after(path, 3) == 2
    assert steps(path) == [1, 2, 3]


@pytest.mark.parametrize("code", sorted(disk.FULL))
def test_full_disk_leaves_whole_lines(path, monkeypatch, code):
    fill(path, [1, 2])
    before, write, calls = path.read_bytes(), os.write, []

    def full(descriptor, data):
        calls.append(data)
        if len(calls) > 1:
            raise OSError(code, os.strerror(code))
        return write(descriptor, data[:5])

    with MetricsFile(path) as file:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(MetricsSpaceError, match=r"needs \d+ bytes.* free in .*then resume") as caught:
                file.append({"step": 3})
        assert caught.value.__cause__.errno == code
        assert path.read_bytes() == before
        file.append({"step": 3})
    assert steps(path) == [1, 2, 3]


def test_other_errors_are_not_called_a_full_disk(path, monkeypatch):
    def broken(*_):
        raise OSError(errno.EIO, "broken")

    with MetricsFile(path) as file:
        monkeypatch.setattr(os, "fsync", broken)
        with pytest.raises(OSError, match="broken") as caught:
            file.append({"step": 1})
    assert not isinstance(caught.value, disk.OutOfSpaceError)


APPENDING = """
import itertools
from mural.storage.metrics import MetricsFile, read
file = MetricsFile(sys.argv[1])
for i in itertools.count(len(read(sys.argv[1]))):
    file.append({"step": i, "x": "y" * (i % 50) * 100})
    print(i, flush=True)
"""


def test_killed_while_appending(path):
    for pause in (0.0, 0.003, 0.02):
        with children.start(APPENDING, path) as child:
            first = child.stdout.readline()
            time.sleep(pause)
            child.kill()
            told = [first, *child.stdout.readlines()]
        written = steps(path)
        assert written == list(range(len(written)))
        assert len(written) > max(int(line) for line in told if line.endswith("\n"))


def events(folder):
    """All events, file by file."""
    for file in sorted(folder.iterdir(), key=lambda f: int(f.name.rsplit(".", 1)[1])):
        data = file.read_bytes()
        while data:
            (size,) = struct.unpack("<Q", data[:8])
            yield Event.FromString(data[12 : 12 + size])
            data = data[16 + size :]


def test_tensorboard(tmp_path):
    board = TensorBoard(tmp_path / "events")
    board.scalars({"step": 5, "sac/loss": jnp.float32(0.5), "nan": np.nan, "text": "x", "list": [1]}, 5)
    board.image("map", np.zeros((4, 6, 3), np.uint8), 5)
    resumed = TensorBoard(tmp_path / "events", resumed_at=3)  # within the same second: a file of its own
    resumed.scalars({"sac/loss": 0.25}, 4)
    board.close()
    resumed.close()
    logged = list(events(tmp_path / "events"))
    scalars = [(e.step, v.tag, v.simple_value) for e in logged for v in e.summary.value if v.HasField("simple_value")]
    assert scalars == [(5, "sac/loss", 0.5), (4, "sac/loss", 0.25)]
    (picture,) = [v.image for e in logged for v in e.summary.value if v.HasField("image")]
    assert (picture.height, picture.width) == (4, 6)
    assert [e.step for e in logged if e.session_log.status == SessionLog.START] == [4]  # hides steps 4 and above


def test_tensorboard_on_a_full_disk(tmp_path):
    board = TensorBoard(tmp_path)
    board._writer.close()
    board._writer._writer = full = open("/dev/full", "wb")  # noqa: SIM115
    with pytest.raises(disk.OutOfSpaceError, match="TensorBoard"):
        board.scalars({"a": 1.0}, 1)
    board.close()
    assert full.closed


def test_event_files_do_without_torch(tmp_path):
    """tensorboardX imports torch where it is installed: a second of every start, for nothing that is used here."""
    code = f"from mural.storage.metrics import TensorBoard; TensorBoard({str(tmp_path)!r})"
    code += "; import sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout == "False\n"
