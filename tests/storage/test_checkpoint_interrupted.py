"""Saves that are killed or run out of room: the checkpoints before them stay, and what is there is whole."""

import contextlib
import os
import random
import re
import shutil
import subprocess
import time

import pytest

from mural.storage import checkpoint, disk
from mural.storage.checkpoint import CheckpointSpaceError
from tests.storage import children
from tests.storage.saved import groups, is_step, save


@pytest.mark.parametrize("renames", [0, 1])
def test_a_replacement_that_dies_leaves_the_old_one(tmp_path, monkeypatch, renames):
    """Killed at its first or second rename, when the old one has been moved aside."""
    save(tmp_path, 4)
    rename, done = os.rename, []

    def die(source, target):
        if len(done) == renames:
            raise SystemExit
        done.append(source)
        rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", die)
        with contextlib.suppress(SystemExit):
            checkpoint.save(tmp_path, 4, groups(5), {"epoch": 5})
    is_step(checkpoint.load_latest(tmp_path), 4)
    save(tmp_path, 6)
    assert list(checkpoint.listing(tmp_path)) == [4, 6]
    is_step(checkpoint.load(tmp_path / "checkpoints" / "0000000004"), 4)


def test_a_removal_that_dies_leaves_no_half_checkpoint(tmp_path, monkeypatch):
    save(tmp_path, 1)
    save(tmp_path, 2)

    def die(path, **_):
        (path / "agent.safetensors").unlink()
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", die)
        with pytest.raises(SystemExit):
            save(tmp_path, 3)
    assert list(checkpoint.listing(tmp_path)) == [2, 3]
    save(tmp_path, 4)
    assert sorted(os.listdir(tmp_path / "checkpoints")) == ["0000000003", "0000000004"]


def fail_at(monkeypatch, nth, code):
    """The nth call that writes, syncs, renames or makes a folder fails; returns the calls that were made."""
    calls = []
    for name in ("write", "fsync", "rename", "mkdir"):
        real = getattr(os, name)

        def call(*args, real=real, name=name, **options):
            calls.append(name)
            if len(calls) == nth:
                raise OSError(code, os.strerror(code))
            return real(*args, **options)

        monkeypatch.setattr(os, name, call)
    return calls


@pytest.mark.parametrize("code", sorted(disk.FULL))
def test_full_at_any_moment(tmp_path, monkeypatch, code):
    save(tmp_path, 1)
    save(tmp_path, 2)
    for nth in range(1, 100):
        with monkeypatch.context() as patch:
            calls = fail_at(patch, nth, code)
            try:
                save(tmp_path, 3)
            except CheckpointSpaceError as error:
                told = str(error)
            if calls[-2:] == ["rename", "fsync"]:  # moved into its place: whole, only its name may not be synced
                break
        assert re.search(r"intact.*step 3 needs 1\.\d kB.*free in.*then resume", told)
        assert sorted(os.listdir(tmp_path / "checkpoints")) == ["0000000001", "0000000002"]
        is_step(checkpoint.load_latest(tmp_path), 2)
    assert calls.count("write") == 3
    assert calls.count("fsync") == 5
    is_step(checkpoint.load_latest(tmp_path), 3)


LIMITED = """
import resource
import numpy as np
from mural.storage import checkpoint
folder, limit = sys.argv[1], int(sys.argv[2])
checkpoint.save(folder, 1, {"agent": {"x": np.ones(1000)}}, {})
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    checkpoint.save(folder, 2, {"agent": {"x": np.ones(1000)}, "replay": {"x": np.ones(400_000)}}, {})
except checkpoint.CheckpointSpaceError as error:
    print(error)
checkpoint.save(folder, 3, {"agent": {"x": np.ones(1000)}}, {})
"""


def survives_without_room(folder, limit):
    with children.start(LIMITED, folder, limit) as child:
        told, errors = child.communicate(timeout=30)
    assert errors == ""
    assert list(checkpoint.listing(folder)) == [1, 3]
    assert checkpoint.load_latest(folder).groups["agent"]["x"].sum() == 1000
    assert sorted(os.listdir(folder / "checkpoints")) == ["0000000001", "0000000003"]
    return told


def test_a_real_limit_on_the_size_of_files(tmp_path):
    told = survives_without_room(tmp_path, 1_000_000)
    assert "step 2 needs 3.2 MB, more than the limit on the size of files allows" in told
    assert "ulimit" in told


def test_a_real_full_disk(tmp_path):
    small = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)]
    if os.geteuid() or subprocess.run(small, capture_output=True).returncode:
        pytest.skip("mounting a small disk needs privileges; the limit on the size of files is tested above")
    try:
        told = survives_without_room(tmp_path, 0)
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
    assert "step 2 needs 3.2 MB, and only 1.0 MB are free" in told


SAVING = """
import itertools
import numpy as np
from mural.storage import checkpoint
folder, size, seen = sys.argv[1], int(sys.argv[2]), checkpoint.load_latest(sys.argv[1])
def groups(step):
    return {
        "agent": {"policy.0.w": np.full((size, 2), step, np.float32), "count": np.array(step, np.int32)},
        "replay": {"obs": np.arange(step, step + size, dtype=np.int64), "done": np.arange(size) % 2 == 0},
    }
print("ready", flush=True)
for step in itertools.count(seen.step + 1 if seen else 0):
    for take in range(2):  # the second replaces the first
        checkpoint.save(folder, step, groups(step), {"epoch": step, "take": take})
        print(step, take, flush=True)
"""


def test_killed_at_20_random_moments(tmp_path):
    moments, size, unfinished = random.Random(0), 20_000, 0
    for _ in range(20):
        with children.start(SAVING, tmp_path, size) as child:
            assert child.stdout.readline() == "ready\n"
            time.sleep(moments.uniform(0, 0.15))
            child.kill()
            saved = [tuple(map(int, line.split())) for line in child.stdout.read().splitlines(True) if line[-1] == "\n"]
        loaded = checkpoint.load_latest(tmp_path)
        left = [name for name in os.listdir(tmp_path / "checkpoints") if "." in name]
        unfinished += bool(left)
        if loaded is None:
            assert not saved
            continue
        is_step(loaded, loaded.step, size)
        assert loaded.skipped == ()  # a kill damages nothing
        if saved:  # what was reported as saved is there
            assert (loaded.step, loaded.meta["take"]) >= saved[-1]
    assert loaded is not None
    assert unfinished >= 3  # or no kill came during a save
    save(tmp_path, loaded.step + 1)
    assert not [name for name in os.listdir(tmp_path / "checkpoints") if "." in name]
