"""Callbacks: who is called when, who stops a run, and what is kept of the best."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import mural
from mural.settings.config import ConfigError
from mural.storage import checkpoint
from mural.storage.folder import RunFolder, RunFolderError
from mural.training.callbacks import CallbackError, KeepBest, as_list, score
from tests.training import small

# All actions are random: nothing is learned, so nothing is compiled.
RANDOM = small.SETTINGS | {"loop.random_steps": 6000, "loop.replay_size": 6000}
PAGE = Path(__file__).parents[2] / "docs" / "callbacks.md"


def agent_of(run_dir=None, **settings):
    return mural.Agent(small.Field(), method="sac", run_dir=run_dir, config=RANDOM | settings, check=False)


class Heard:
    def __init__(self):
        self.calls = []

    def on_start(self, run):
        self.calls.append(("start", run.step))

    def on_epoch(self, run, row):
        self.calls.append((row["epoch"], run.step))

    def on_failure(self, run, error):
        self.calls.append(("failure", str(error)))

    def on_end(self, run):
        self.calls.append(("end", run.step))


def test_all_hooks_are_called_in_turn():
    heard = Heard()
    agent = agent_of().learn(120, progress=False, callback=heard)
    assert heard.calls == [("start", 0), (1, 60), (2, 120), ("end", 120)]
    agent.learn(60, progress=False, callback=[heard])
    assert heard.calls[4:] == [("start", 120), (3, 180), ("end", 180)]


@pytest.mark.parametrize("answer", [False, np.False_])
def test_returning_false_stops_and_saves(tmp_path, answer):
    heard = Heard()
    agent = agent_of(tmp_path / "run", **{"watch.checkpoint_every": 100})
    agent.learn(600, progress=False, callback=[lambda run, row: answer if row["epoch"] == 3 else None, heard])
    assert agent.steps == 180
    assert heard.calls[-2:] == [(3, 180), ("end", 180)]  # all hear of the last epoch
    assert list(checkpoint.listing(tmp_path / "run")) == [180]
    assert mural.Agent.load(tmp_path / "run", env=small.Field()).steps == 180


def test_what_is_falsy_but_not_false_does_not_stop():
    assert agent_of().learn(120, progress=False, callback=lambda run, row: 0).steps == 120


def test_a_start_can_stop():
    class Never:
        def on_start(self, run):
            return False

    assert agent_of().learn(120, progress=False, callback=Never()).steps == 0


def test_an_error_in_a_callback_is_raised_and_what_was_learned_is_saved(tmp_path):
    def fails(run, row):
        if row["epoch"] == 2:
            raise ZeroDivisionError("mine")

    heard = Heard()
    agent = agent_of(tmp_path / "run", **{"watch.checkpoint_every": 100})
    with pytest.raises(ZeroDivisionError, match="mine"):
        agent.learn(300, progress=False, callback=[fails, heard])
    assert heard.calls == [("start", 0), (1, 60), ("failure", "mine"), ("end", 120)]
    loaded = mural.Agent.load(tmp_path / "run", env=small.Field())
    assert loaded.steps == 120
    assert loaded.learn(60, progress=False).steps == 180  # the folder was unlocked


def test_what_is_no_callback():
    for wrong in (3, "print", [None], Heard, object()):
        with pytest.raises(CallbackError, match="callback"):
            agent_of().learn(60, progress=False, callback=wrong)
    assert as_list(None) == as_list([]) == as_list(()) == []
    assert as_list(print) == [print]


def test_scores():
    rows = [{"eval/success": 0.5, "eval/distance": 3.0}, {"eval/success": 0.5, "eval/distance": 2.0}]
    rows += [{"eval/success": 1.0, "eval/distance": 9.0}]
    assert sorted(rows, key=score) == rows
    assert score({"eval/distance": 2.0}) > score({"eval/distance": 3.0})
    assert score({"eval/return": 2.0, "eval/env_return": 0.0}) == (2.0,)
    assert score({"coverage": 1.0}) == ()


def feed(keeper, agent, *successes):
    """Epochs with these evaluations."""
    for success in successes:
        row = agent.run.advance() | {"eval/success": success}
        keeper.on_epoch(agent.run, row)


def test_the_best_is_kept_the_later_of_equals_and_survives_another_process(tmp_path):
    folder = RunFolder(tmp_path / "run")
    agent = agent_of(folder.path)
    folder.create(agent.config, None, np.zeros((0, 2), np.float32))
    keeper = KeepBest(folder, print)
    keeper.on_start(agent.run)
    feed(keeper, agent, 0.2, 0.6, 0.4)
    assert folder.best().step == 120
    feed(keeper, agent, 0.6)
    assert folder.best().step == 240
    folder.save(agent.run.step, agent.run.epoch, agent.run.groups(), 1)
    loaded = mural.Agent.load(folder.path, env=small.Field())
    again = KeepBest(folder, print)
    again.on_start(loaded.run)
    feed(again, loaded, 0.5)
    assert folder.best().step == 240
    feed(again, loaded, 0.7)
    assert list(checkpoint.listing(folder.best_path)) == [360]
    kept = mural.load_policy(folder.best_path / "policy.npz")
    np.testing.assert_array_equal(kept(np.zeros(2)), loaded.predict(np.zeros(2))[0])


def test_a_best_that_was_not_kept_in_time_is_made_up_for(tmp_path):
    folder = RunFolder(tmp_path / "run")
    agent = agent_of(folder.path).learn(60, progress=False)
    rows = folder.metrics_path.read_text().replace('"epoch": 1', '"epoch": 1, "eval/success": 0.3')
    folder.metrics_path.write_text(rows)
    KeepBest(folder, print).on_start(agent.run)
    assert folder.best().step == 60


def test_keep_best_is_a_setting(tmp_path):
    with pytest.raises(ConfigError, match="run_dir"):
        agent_of(**{"watch.keep_best": True}).learn(60, progress=False)
    agent_of(tmp_path / "none").learn(60, progress=False)
    with pytest.raises(RunFolderError, match="keep-best"):
        mural.Agent.load(tmp_path / "none", env=small.Field(), best=True)
    settings = small.SETTINGS | {"watch.keep_best": True}
    agent = mural.Agent(small.Field(), method="sac", run_dir=tmp_path / "run", config=settings)
    agent.learn(300, progress=False)
    rows = RunFolder(tmp_path / "run").rows()
    wanted = max(rows, key=lambda row: (score(row), row["step"]))["step"]
    best = mural.Agent.load(tmp_path / "run", env=small.Field(), best=True)
    assert best.steps == wanted
    assert best.folder is None
    best.learn(60, progress=False)  # what it learns goes nowhere
    assert RunFolder(tmp_path / "run").rows() == rows
    meta = json.loads(next((tmp_path / "run" / "best").glob("checkpoints/*/manifest.json")).read_text())["meta"]
    assert tuple(meta["score"]) == max(map(score, rows))


def test_the_examples_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stop, log, keep = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert max(text.count("\n") for text in (stop, log, keep)) <= 14
    agent = mural.Agent(small.Field(), method="sac", config=small.SETTINGS)
    names = {"agent": agent, "__name__": "page"}
    exec(stop, names)
    assert (agent.history[-1]["eval/distance"] <= 0.5) == (agent.steps < 2040)
    before = agent.steps
    exec(log, names)
    assert [int(line.split()[0]) for line in Path("log.txt").read_text().splitlines()] == [
        before + 60 * i for i in range(1, 6)
    ]
    exec(keep, names)
    assert names["best"] == max(row["eval/success"] for row in agent.history)
    assert mural.load_policy("best.npz")(np.zeros(2)).shape == (2,)
