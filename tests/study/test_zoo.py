"""The zoo: what a run learned goes in and comes out the same; names that are wrong; and each one still succeeds."""

import importlib.util
import json
from contextlib import closing
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import mural
from mural import cli, tasks, zoo
from mural.study import zoo as study
from mural.training.player import MisfitError, playing
from tests.cli.calls import failing
from tests.training import small

HOME = Path(__file__).parents[2] / zoo.PLACE
FIELD = "ZooField-v0"
EPISODES, LEAST = 3, 2 / 3


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run of a small world."""
    gymnasium.register(FIELD, entry_point="tests.training.small:Field")
    folder = tmp_path_factory.mktemp("runs") / f"{FIELD}-mural-4"
    config = {**small.MURAL, "watch.eval_episodes": 2}
    with closing(mural.Agent(FIELD, small.examples(), seed=4, run_dir=folder, config=config, check=False)) as agent:
        agent.learn(240, progress=False)
    yield folder
    del gymnasium.registry[FIELD]


@pytest.fixture
def animal(run, tmp_path, monkeypatch):
    """The run in a zoo of its own, which takes it although it has not learned much."""
    monkeypatch.setattr(study, "LEAST", 0.0)
    monkeypatch.chdir(tmp_path)
    return study.add(run, name="field")


def test_what_goes_in_comes_out(run, animal, tmp_path):
    states = np.random.default_rng(0).uniform(-1, 1, (50, 2)).astype(np.float32)
    with closing(mural.Agent.load(run)) as agent:
        np.testing.assert_array_equal(mural.OutcomeReward.load("zoo:field")(states), agent.reward(states))
        policy = mural.load_policy("zoo:field")
        np.testing.assert_allclose(policy(states), agent.predict(states)[0], atol=1e-6)
        expected = agent.evaluate(study.EPISODES)["distance"]
    assert animal.folder == Path("results/zoo/field")
    assert animal.card["evaluation"]["distance"] == pytest.approx(expected, abs=1e-3)
    assert (animal.card["task"], animal.card["seed"], animal.card["steps"]) == (FIELD, 4, 240)
    assert [step for step, _ in animal.card["curve"]] == [120, 180, 240]
    assert animal.card["config"]["sac"]["hidden"] == [16, 16]
    assert {path.name for path in animal.folder.iterdir()} == {"policy.npz", "reward.npz", "card.json", "README.md"}
    assert "seed 4" in (animal.folder / "README.md").read_text()
    assert not [path for path in Path("results/zoo").iterdir() if path.name.startswith(".")]


def test_a_reward_goes_on_learning(run, animal, tmp_path):
    with closing(mural.Agent.load(run)) as agent:
        agent.export_reward(tmp_path / "own.npz")
    rewards = mural.OutcomeReward.load("zoo:field"), mural.OutcomeReward.load(tmp_path / "own.npz")
    states = np.random.default_rng(0).uniform(-1, 1, (50, 2)).astype(np.float32)
    before = rewards[0](states)
    for reward in rewards:
        reward.update(np.full((40, 2), -0.9, np.float32))
    np.testing.assert_array_equal(rewards[0](states), rewards[1](states))
    assert np.abs(rewards[0](states) - before).max() > 1e-4


def test_eval_and_list(animal, capsys):
    cli.main(["eval", "zoo:field", "--episodes", "2", "--json"])
    row = json.loads(capsys.readouterr().out)
    assert (row["episodes"], row["length"], row["step"]) == (2, 15, 240)
    cli.main(["zoo", "list", "--json"])
    assert json.loads(capsys.readouterr().out)["name"] == "zoo:field"
    assert "--picture" in failing(capsys, "eval", "zoo:field", "--picture", "p.png").err
    assert "mural eval zoo:field" in failing(capsys, "resume", "zoo:field").err


def test_wrong_names_and_no_zoo(animal, tmp_path, capsys, monkeypatch):
    error = failing(capsys, "eval", "zoo:feild").err
    assert "did you mean 'field'" in error
    assert "there are zoo:field" in error
    with pytest.raises(zoo.UnknownZooError, match="there are zoo:field"):
        mural.load_policy("zoo:nothing-like-it")
    monkeypatch.chdir(animal.folder)
    monkeypatch.setattr(zoo, "CHECKOUT", tmp_path / "elsewhere")
    with pytest.raises(zoo.UnknownZooError, match="checkout"):
        mural.load_policy("zoo:field")
    monkeypatch.setattr(zoo, "CHECKOUT", tmp_path)
    assert mural.load_policy("zoo:field").policy.obs_size == 2


def test_the_zoo_takes_only_what_is_done_and_good(run, tmp_path, monkeypatch):
    with pytest.raises(study.NotForZooError, match=r"at least 0\.8"):
        study.add(run, tmp_path)
    monkeypatch.setattr(study, "LEAST", 0.0)
    with pytest.raises(study.NotForZooError, match="part of a path"):
        study.add(run, tmp_path, "../field")
    monkeypatch.setattr(study, "LARGEST", 1000)
    with pytest.raises(study.NotForZooError, match="remove another"):
        study.add(run, tmp_path)
    assert list(tmp_path.iterdir()) == []
    config = json.loads((run / "config.json").read_text())
    with pytest.raises(study.NotForZooError, match="240 of 999 steps"):
        study.require_good(run, study.results.summary(run) | {"config": config | {"steps": 999}})


def test_a_policy_of_another_task(animal):
    with pytest.raises(MisfitError, match="no policy for Pendulum-v1"), playing("Pendulum-v1", animal.policy, 0):
        pass


@pytest.mark.parametrize("name", zoo.names(HOME))
def test_each_one_still_succeeds(name):
    found = study.load(name, HOME)
    if tasks.TASKS[found.card["task"]].robots and importlib.util.find_spec("mujoco") is None:
        pytest.skip("needs the extra `robots`")
    with playing(found.card["task"], found.policy, found.card["seed"]) as player:
        assert player.evaluate(EPISODES)["success"] >= LEAST
    assert (found.folder / "README.md").read_text() == study.page(found.card)
    reward = mural.OutcomeReward.load(found.folder / zoo.REWARD)
    assert len(reward.examples) == found.card["config"]["num_examples"]
    if name == "zigzag-maze":  # compiling for each would take too long
        assert reward(reward.examples).mean() > reward(np.array([[-3.0, -3.0], [0.0, 0.0]])).max()


def test_the_zoo_is_small():
    assert sum(animal.size for animal in study.everything(HOME)) < study.LARGEST
