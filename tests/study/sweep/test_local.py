"""Sweeps that train for real: killed, interrupted and failing processes, and results that are the same all the same."""

import json
import os
import signal
import threading

import pytest

from mural.storage import checkpoint
from mural.storage.folder import alone
from mural.study import results
from mural.study.sweep import local, state
from mural.study.sweep.board import Board
from mural.study.sweep.local import sweep
from tests.study.sweep.tiny import STEPS, plan, trainer


class Meddler(Board):
    """Kills the process of a run once it has saved something, and interrupts the sweep when the next one has."""

    def __init__(self, run):
        super().__init__(1)
        self.run, self.killed, self.interrupted = run, 0, 0

    def refresh(self, waiting):
        super().refresh(waiting)
        saved = max(checkpoint.listing(self.run.folder), default=0)
        if saved and not self.killed and (pid := trainer(self.run.folder)):
            os.kill(pid, signal.SIGKILL)
            self.killed = saved
        elif self.killed and saved > self.killed + 120 and not self.interrupted:
            self.interrupted = saved
            os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(autouse=True)
def _without_quick_compiling(monkeypatch):
    """The processes compute what users' processes compute."""
    monkeypatch.delenv("XLA_FLAGS")
    monkeypatch.setattr(local, "PAUSE", 0.02)
    monkeypatch.setattr(local, "TRIES", 2)


def course(run):
    """What has to be equal, to the byte: the metrics, and the curves of the result."""
    curves = json.loads(run.result.read_text())["curves"]
    assert len(curves["eval/success"]) == STEPS // 60 - 1
    return (run.folder / "metrics.jsonl").read_bytes(), json.dumps(curves).encode()


def test_processes_have_a_core_each_unless_some_are_left_over():
    assert local.places([0, 3], 2) == [[0], [3]]
    assert local.places([0, 3], 3) == [[0], [3], [0]]
    assert local.places([0, 3], 1) == [[0, 3]]  # a second sweep beside it is not pinned to the same core


def test_killed_interrupted_and_failing_runs(tmp_path, capsys):
    (whole,) = plan(tmp_path / "whole")
    assert sweep([whole], 1, Board(1)).done == [whole.name]

    bad = {"variants": {"bad": {"set": {"examples": "nowhere.npz"}, "methods": ["vice"]}}}
    run, broken = plan(tmp_path / "killed", **bad)
    meddler = Meddler(run)
    first = sweep([run], 1, meddler)
    assert meddler.killed
    assert meddler.interrupted
    assert first.stopped
    assert first.done == []
    assert "killed by SIGKILL; to be tried again (1 of 2 tries)" in capsys.readouterr().out
    half = state.look(run)
    assert (half.state, trainer(run.folder)) == ("half done", None)
    assert meddler.interrupted <= half.step < STEPS
    assert max(checkpoint.listing(run.folder)) == half.step  # it was stopped gently

    again = sweep([broken, run], 2, Board(2))  # one fails for ever, and the other goes on
    assert again.done == [run.name]
    assert list(again.failed) == [broken.name]
    assert "nowhere.npz" in again.failed[broken.name]
    assert (state.look(run).state, state.look(broken).state) == ("done", "failed")
    assert broken.log.read_text().count("$ mural train") == local.TRIES

    assert course(run) == course(whole)
    resumed = [entry["resumed"] for entry in results.attempts(run.folder)]
    assert resumed == [False, True, True]
    assert results.load(run.result)[0]["machine"] == results.machine()


def test_a_run_that_another_sweep_trains_is_waited_for_and_collected(tmp_path, monkeypatch):
    (run,) = plan(tmp_path)
    assert sweep([run], 1, Board(1)).done == [run.name]
    run.result.unlink()
    lock = alone(run.folder)
    started = []

    def free():
        started.extend(["too early"] * run.result.exists())
        os.close(lock)

    monkeypatch.setattr(local, "start", lambda *_: started.append("again"))
    threading.Timer(0.5, free).start()
    assert sweep([run], 1, Board(1)).done == [run.name]
    assert run.result.is_file()
    assert started == []
