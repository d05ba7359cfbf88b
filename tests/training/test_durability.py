"""Training processes killed at any moment: what they leave goes on to the same bytes."""

import contextlib
import os
import random
import signal
import time
from functools import cache

import pytest

from mural.storage import checkpoint
from mural.storage.folder import RunFolder
from tests.training import small
from tests.training.nursery import Nursery

EPOCHS = 12
UNTIL = EPOCHS * 60
KILLS = {"sac-distance": 11, "mural": 9}
TASKS = {
    method: {
        "env": "zigzag-maze", "method": method, "until": UNTIL, "seed": 3,
        "config": small.MURAL if method == "mural" else small.SETTINGS,
    }
    for method in KILLS
}  # fmt: skip


@pytest.fixture(scope="module")
def nursery():
    with Nursery() as one:
        yield one


@pytest.fixture(scope="module")
def whole(nursery, tmp_path_factory):
    """What a run leaves that nobody disturbs, by method."""

    @cache
    def left(method):
        folder = tmp_path_factory.mktemp("whole")
        nursery.begin(run_dir=str(folder / "run"), **TASKS[method])
        assert nursery.end() == (0, ["from 0", "done"])
        return result(folder / "run")

    return left


def result(folder):
    """Metrics, and every byte of the last checkpoint."""
    last = max(checkpoint.listing(folder).items())
    assert last[0] == UNTIL
    files = {path.name: path.read_bytes() for path in sorted(last[1].iterdir())}
    assert files.keys() == {"agent.safetensors", "reward.safetensors", "replay.safetensors", "manifest.json"}
    return {"metrics": RunFolder(folder).metrics_path.read_bytes(), **files}


def saving(folder):
    home = folder / "checkpoints"
    return home.is_dir() and any(name.endswith(checkpoint.SAVING) for name in os.listdir(home))


def kill(pid, folder, moments, during_save):
    """In the middle of a save, or at a random moment after it began."""
    deadline = time.monotonic() + (20 if during_save else moments.uniform(0, 1.5))
    while time.monotonic() < deadline and not over(pid) and not (during_save and saving(folder)):
        if not during_save:
            time.sleep(0.01)
    with contextlib.suppress(ProcessLookupError):  # it was done before
        os.kill(pid, signal.SIGKILL)


def over(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("method", KILLS)
def test_killed_runs_end_in_the_same_bytes(tmp_path, nursery, whole, method):
    task, moments, expected = TASKS[method], random.Random(0), whole(method)
    killed = during = number = 0
    while killed < KILLS[method] or during < 2:
        assert killed < 5 * KILLS[method], "no kill came during a save"
        folder, number = tmp_path / f"killed{number}", number + 1
        progress, code = [0], None
        while code != 0:
            pid = nursery.begin(run_dir=str(folder), **task)
            if killed < KILLS[method] or during < 2:
                kill(pid, folder, moments, during_save=killed % 2 == 0 or killed >= KILLS[method])
            code, said = nursery.end()
            assert code in (0, -signal.SIGKILL), said
            progress += [int(line.split()[1]) for line in said[:1]]
            if code:
                killed += 1
                during += saving(folder)
        assert progress == sorted(progress)  # nothing that was saved is lost
        assert result(folder) == expected


def test_same_seed_same_bytes(tmp_path, nursery, whole):
    """Another process, another folder; and another seed is another run."""
    found = {"one": whole("sac-distance")}
    for name, seed in {"two": 3, "other": 4}.items():
        nursery.begin(run_dir=str(tmp_path / name), **TASKS["sac-distance"] | {"seed": seed})
        assert nursery.end()[0] == 0
        found[name] = result(tmp_path / name)
    assert found["one"] == found["two"]
    assert found["one"]["metrics"] != found["other"]["metrics"]
    assert found["one"]["agent.safetensors"] != found["other"]["agent.safetensors"]
