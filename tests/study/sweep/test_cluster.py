"""Sweeps on a Ray cluster, with real nodes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from mural import cli
from mural.study.sweep import cluster
from mural.study.sweep.attempt import job
from mural.study.sweep.board import Board
from tests.study.sweep.tiny import STEPS, plan

ROOT = Path(__file__).parents[3]


def test_neither_ctrl_c_nor_a_lost_node_changes_anything(tmp_path):
    """One run is interrupted, resumed, and resumed elsewhere; in a process of its own, as Ray reads settings once."""
    pytest.importorskip("ray")
    env = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    words = [sys.executable, "-W", "ignore", "-m", "tests.study.sweep.rehearsal", str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    left = found["interrupted"]
    assert (left["code"], left["said"]) == (130, "stopped; the same command goes on"), done.stdout
    assert (left["left"], left["state"]) == (None, "half done")
    assert 60 <= left["step"] == left["saved"] < STEPS  # it was stopped gently
    assert left["files"] == ["zigzag-maze-sac-distance-3", "zigzag-maze-sac-distance-3.log"]

    assert (found["code"], found["state"]) == (0, "done"), done.stdout
    _, second, *others = found["nodes"]
    assert second == found["killed"]
    assert others
    assert found["killed"] not in others
    assert found["resumed"] == [False, True, *[True] * len(others)]
    assert found["evaluations"] == 19
    assert found["same metrics"]
    assert found["same curves"]


def test_ctrl_c_before_anything_has_begun(tmp_path):
    """Nothing is to be saved; what waits is taken back."""
    (run,) = plan(tmp_path / "new")
    taken, waited = [], []
    ray = SimpleNamespace(cancel=taken.append, wait=lambda ones, **rest: waited.extend(ones))
    cluster.stop(ray, {"one": run}, run.folder.parent / "flag", Board(1))
    assert (taken, waited) == (["one"], ["one"])
    assert list(run.folder.parent.iterdir()) == []


def test_a_task_that_ray_cancels_lets_its_process_save(tmp_path, monkeypatch):
    """It may have begun after the sweep's last look at it."""

    def cancelled(seconds):
        raise KeyboardInterrupt

    script = "import signal; signal.signal(signal.SIGINT, lambda *_: exit(7)); print(flush=True); signal.pause()"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        monkeypatch.setattr(cluster, "time", SimpleNamespace(sleep=cancelled))
        assert cluster.attend(process, str(tmp_path / "no flag")) == 7


def test_without_ray_it_says_what_to_install(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(cluster.ClusterError, match=r"mural-rl\[ray\]"):
        cluster.connect("auto")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        cli.main(["sweep", "--tasks", "zigzag-maze", "--ray", "auto"])
    assert "mural-rl[ray]" in capsys.readouterr().err


def test_without_a_cluster_it_says_how_to_start_one():
    pytest.importorskip("ray")
    with pytest.raises(cluster.ClusterError, match="ray start --head"):
        cluster.connect("no address at all")


def test_a_node_with_other_packages_is_refused(tmp_path):
    """It would make other results under the same name."""
    pytest.importorskip("ray")
    (run,) = plan(tmp_path)
    with pytest.raises(cluster.ClusterError, match=r"jax 0.*, not 9\.9"):
        cluster.work(job(run), str(tmp_path / "flag"), {"jax": "9.9"})
    assert not run.folder.exists()
    (tmp_path / "flag").touch()  # and a sweep that was stopped starts nothing
    assert cluster.work(job(run), str(tmp_path / "flag"), {}) == cluster.STOPPED
    assert not run.folder.exists()


def test_what_ray_says_of_a_lost_task_is_kept():
    """Its first line, before the advice; of an error in a worker the last one, below the traceback."""
    errors = pytest.importorskip("ray").exceptions

    def told(error):
        def get(one):
            raise error

        return cluster.exit_code(SimpleNamespace(get=get, exceptions=errors), None)

    assert told(errors.OutOfMemoryError("The node ran out of memory.\nRefer to the documentation.")) == (
        1,
        "Ray: The node ran out of memory.",
    )
    other = errors.RayTaskError("work", "Traceback\nClusterError: a node has other packages", ValueError("x"))
    assert told(other) == (1, "Ray: ClusterError: a node has other packages")
    assert cluster.exit_code(SimpleNamespace(get=lambda one: 3, exceptions=errors), None) == (3, "")
