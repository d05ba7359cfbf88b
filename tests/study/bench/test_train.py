"""The benchmark of training runs and reports what it says; how fast training is, is for the benchmark itself."""

import ast
import importlib
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from mural.study.bench import peers, train_workers
from mural.study.bench import train as bench_train
from mural.study.bench.train import Rival, Size
from mural.study.bench.train import bench_train as bench
from mural.study.tables.paper import PER_EPOCH

KEYS = {"what", "ours", "peer", "peer_name", "ratio", "threads"}
TINY = {"sac.hidden": [8, 8], "sac.batch_size": 8, "loop.pool": 128, "loop.epoch_steps": 100, "loop.random_steps": 100}


@pytest.fixture(scope="module")
def run():
    return train_workers.make_run("sac", TINY)


def test_flops_are_those_of_sixteen_products_when_the_hidden_layer_is_all():
    h, b = 1024, 32
    assert train_workers.update_flops(1, 1, h, b) == pytest.approx(16 * 2 * b * h * h, rel=0.02)


def test_the_peer_script_needs_nothing_of_this_package():
    tree = ast.parse(Path(peers.__file__).read_text())
    modules = [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    modules += [alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names]
    assert {module.split(".")[0] for module in modules} <= {*sys.stdlib_module_names, "__future__"}


def test_a_missing_peer_is_named_with_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "sbx", None)
    peers.main("sbx", "Pendulum-v1", "8", "8", "1", "1")
    about = json.loads(capsys.readouterr().out)
    assert about["missing"] == "sbx-rl"
    assert "pip install 'mural-rl[bench]'" in bench_train.missing(about)


def test_a_peer_learns_for_the_steps_it_is_asked_for(monkeypatch):
    class SAC:
        num_timesteps = 0

        def __init__(self, policy, env, **settings):
            assert settings["policy_kwargs"] == {"net_arch": [64, 64]}
            assert settings["train_freq"] == settings["gradient_steps"] == 32

        def set_logger(self, logger):
            assert logger == "no output"

        def learn(self, steps, reset_num_timesteps):
            assert reset_num_timesteps == (self.num_timesteps == 0)
            self.num_timesteps += steps + 3  # peers round up to whole rounds of updates

    module = SimpleNamespace(SAC=SAC, Logger=lambda folder, formats: "no output")
    monkeypatch.setattr(importlib, "import_module", lambda name: module)
    turn = peers.learner("sbx", "Pendulum-v1", 64, 64, 32, 1)
    assert [turn(100), turn(64)] == [103, 67]


def test_our_worker_answers_turn_by_turn(run, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"turn": 100}\n{"turn": 150}\n'))
    train_workers.serve_ours("zigzag-maze", "8", "8", "100")  # compiled already, for `run`
    about, first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert about["flops"] == train_workers.update_flops(2, 2, 8, 8)
    assert (first["steps"], second["steps"]) == (100, 200)  # whole epochs
    assert first["cpu"] > 0
    assert first["peak"]["wall"] > 1e9


def test_steps_per_second_and_roofline(monkeypatch, tmp_path):
    script = tmp_path / "worker.py"
    script.write_text(
        "import json, sys\n"
        "sbx = sys.argv[1] == 'sbx'\n"
        "print('hello')\n"
        "about = {'missing': 'sbx-rl', 'why': 'gone'} if sbx else {'versions': {}, 'flops': 10}\n"
        "print(json.dumps(about), flush=True)\n"
        "for line in sys.stdin:\n"
        "    n = json.loads(line)['turn']\n"
        "    print(json.dumps({'steps': n, 'cpu': 2.0, 'wall': 4.0, 'peak': {'cpu': 1e3, 'wall': 1e3}}), flush=True)\n"
    )
    monkeypatch.setattr(peers, "__file__", str(script))
    monkeypatch.setattr(bench_train, "ours_command", lambda *a: [sys.executable, str(script), *map(str, a)])
    rivals = {"a": Rival("sbx", 1, 1.5, 1.2), "b": Rival("sb3", 1, 3.0, None)}
    monkeypatch.setattr(bench_train, "RIVALS", rivals)
    settings = {"envs": ["E"], "threads": [1], "rounds": 1}
    absent, present, roofline = bench(["sac"], sizes=[Size(16, 16, 100, 50)], **settings)
    assert all(set(row) >= KEYS for row in (absent, present, roofline))
    assert (absent["peer"], absent["ratio"], absent["met"]) == (None, None, None)
    assert "pip install" in absent["note"]
    assert (present["ours"], present["peer"], present["ratio"], present["met"]) == (50, 25, 2.0, False)
    assert (roofline["ratio"], roofline["met"]) == (0.5, False)
    assert [row["peer_name"] for row in bench(["sac"], sizes=[Size(512, 16, 100, 50)], **settings)][:-1] == ["a"]


def test_a_worker_that_dies_is_an_error():
    with pytest.raises(RuntimeError, match="ended with code 3"):
        bench_train.Worker([sys.executable, "-c", "raise SystemExit(3)"], 1)


def test_epochs_with_a_replay_that_grows(run):
    train_workers.fill(run, 1000)
    assert int(run.replay.written) == 1000
    seconds = train_workers.timed_epochs({"sac": run}, 2)
    assert int(run.replay.written) == 1200
    assert all(cpu > 0 and wall > 0 for cpu, wall in seconds["sac"])


def test_rows_of_epochs(monkeypatch):
    def printed(command, threads):
        times = {"mural": [[2.4, 9.0]], "vice": [[2.0, 3.0]]}
        yield {"replay": 10, "epochs": times}
        yield {"replay": 1000, "epochs": {**times, "mural": [[2.64, 9.0]]}}

    monkeypatch.setattr(bench_train.processes, "rows", printed)
    small, large, growth = bench(["epochs"], threads=[1], replay=[10, 1000])
    assert (small["ratio"], small["met"]) == (1.2, True)
    assert (large["ratio"], large["met"]) == (1.32, False)
    assert growth["ratio"] == pytest.approx(1.1)
    assert next(iter(bench(["epochs"], threads=[2], replay=[10, 1000])))["ratio"] == 3.0  # by the wall's clock


def test_rows_of_domains_are_of_a_thousand_steps(monkeypatch):
    def printed(command, threads):
        assert command[-3:] == ['["ant-maze"]', "3", "{}"]
        yield {"task": "ant-maze", "steps": 1200, "epochs": {"mural": [[3.6, 9.0]], "vice": [[2.4, 3.0]]}}

    monkeypatch.setattr(bench_train.processes, "rows", printed)
    (row,) = bench(["domains"], threads=[2, 1], domains=["ant-maze"])
    assert (row["env"], row["ours"], row["peer"], row["ratio"], row["met"]) == ("ant-maze", 3.0, 2.0, 1.5, False)
    assert {task for runtime in PER_EPOCH for task in runtime.tasks} - {"spiral-maze"} == set(bench_train.DOMAINS)


def test_epochs_of_a_domain_are_made_in_turn(run, monkeypatch):
    made = []
    monkeypatch.setattr(train_workers, "make_run", lambda method, overrides, task: made.append((method, task)) or run)
    (row,) = train_workers.domains(["zigzag-maze"], 2, TINY)
    assert made == [("mural", "zigzag-maze"), ("vice", "zigzag-maze")]
    assert [len(row["epochs"][method]) for method in ("mural", "vice")] == [2, 2]
    assert row["steps"] == 200  # the same run stands for both here, and each epoch has 100


def test_made_up_transitions_are_whole_episodes(run):
    rows = train_workers.maze_rows(run, 250)
    assert rows.last[:, 0].nonzero()[0].tolist() == [99, 199]
    assert rows.step[100, 0] == 0
    assert (abs(rows.next_obs) <= 4).all()
    assert (rows.distance >= 0).all()
