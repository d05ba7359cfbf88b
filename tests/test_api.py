"""`mural.Agent`, as a user sees it."""

import gymnasium
import numpy as np
import pytest

import mural
from mural.api import NotLearnedError
from mural.errors import ArgumentError
from mural.inputs import checks
from mural.inputs.checks import EnvError, ExamplesWarning
from mural.inputs.tables import ColumnsWarning
from mural.rewards.states import StatesError
from mural.settings.config import ConfigError
from mural.storage.folder import RunFolderError
from mural.tasks import UnknownTaskError
from tests.training import small


@pytest.fixture(scope="module")
def agent():
    return mural.Agent(small.Field(), small.examples(), config=small.MURAL).learn(180, progress=False)


RANDOM = small.SETTINGS | {"loop.random_steps": 600, "loop.replay_size": 600}  # nothing learns, nothing is compiled
OBS = np.array([[-0.5, 0.2], [0.9, 0.9]], np.float32)


def test_predict(agent):
    action, nothing = agent.predict(OBS[0])
    assert nothing is None
    assert small.Field.action_space.contains(action)
    np.testing.assert_array_equal(action, agent.predict(OBS[0])[0])
    both, _ = agent.predict(OBS)
    np.testing.assert_allclose(both[0], action, rtol=1e-5)
    drawn = [agent.predict(OBS[0], deterministic=False, rng=np.random.default_rng(s))[0] for s in (0, 0, 1)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])


def test_reward(agent):
    found = agent.reward(OBS)
    assert found.shape == (2,)
    assert np.isfinite(found).all()
    assert found[0] != found[1]
    np.testing.assert_allclose(agent.reward(OBS[1]), found[1:], rtol=1e-5)
    many = agent.reward(np.tile(OBS, (700, 1)))
    np.testing.assert_allclose(many, np.tile(found, 700), rtol=1e-4)
    with pytest.raises(ValueError, match=r"\[n, 2\] is needed"):
        agent.reward(np.zeros((3, 5)))
    with pytest.raises(StatesError, match="there are no states"):
        agent.reward(np.zeros((0, 2)))
    with pytest.raises(StatesError, match=r"states\[1, 0\] is nan"):
        agent.reward([[0, 0], [np.nan, 0]])


def test_rewards_of_a_table_are_found_by_name(agent):
    swapped = Frame(["observation[1]", "observation[0]"], OBS[:, ::-1])
    np.testing.assert_array_equal(agent.reward(swapped), agent.reward(OBS))
    assert not np.allclose(agent.reward(OBS[:, ::-1]), agent.reward(OBS))
    with pytest.raises(mural.MuralError, match="unknown"):
        agent.reward(Frame(["observation[1]", "observation[2]"], OBS))


def test_evaluate(agent):
    found = agent.evaluate(3)
    assert found.keys() >= {"success", "distance", "best_distance", "return", "env_return", "length"}
    assert found == agent.evaluate(3)
    assert found["best_distance"] <= found["distance"]


def test_evaluating_does_not_change_what_follows():
    one, two = (mural.Agent(small.Field(), method="sac", config=small.SETTINGS) for _ in range(2))
    one.learn(240, progress=False)
    two.learn(60, progress=False).learn(60, progress=False)
    two.evaluate(4)
    two.learn(100, progress=False)  # rounded up to whole epochs
    assert one.steps == two.steps == 240
    assert one.history[-1] == two.history[-1]
    for a, b in zip(one.run.policy.layers, two.run.policy.layers, strict=True):
        np.testing.assert_array_equal(a[0], b[0])


def test_save_and_load(agent, tmp_path):
    agent.save(tmp_path / "x")
    loaded = mural.Agent.load(tmp_path / "x", env=small.Field())
    assert loaded.config == agent.config
    assert loaded.steps == agent.steps
    np.testing.assert_array_equal(loaded.predict(OBS)[0], agent.predict(OBS)[0])
    np.testing.assert_array_equal(loaded.reward(OBS), agent.reward(OBS))
    assert loaded.evaluate(2) == agent.evaluate(2)
    agent.save(tmp_path / "x")  # again: replaces
    other = mural.Agent(small.Field(), small.examples(), seed=1, config=small.MURAL)
    with pytest.raises(RunFolderError, match="other settings"):
        other.save(tmp_path / "x")
    with pytest.raises(RunFolderError, match=r"Agent\.load"):
        mural.Agent(small.Field(), small.examples(), run_dir=tmp_path / "x", config=small.MURAL)
    with pytest.raises(RunFolderError, match="not a run"):
        mural.Agent.load(tmp_path / "nothing")


def test_exported_policy(agent, tmp_path):
    agent.export_policy(tmp_path / "policy.npz")
    policy = mural.load_policy(tmp_path / "policy.npz")
    np.testing.assert_array_equal(policy(OBS[0]), agent.predict(OBS[0])[0])


def test_before_learning():
    fresh = mural.Agent(small.Field(), small.examples(), config=small.MURAL)
    with pytest.raises(NotLearnedError, match="learn"):
        fresh.reward(OBS)
    assert fresh.predict(OBS)[0].shape == (2, 2)
    assert "return" not in fresh.evaluate(1)


@pytest.mark.parametrize("steps", [60, 60.0, np.int64(60), np.float32(60)])
def test_steps_may_be_any_whole_number(tmp_path, steps):
    agent = mural.Agent(small.Field(), method="sac", seed=np.int64(3), config=RANDOM).learn(steps, progress=False)
    agent.save(tmp_path / "run")
    assert mural.Agent.load(tmp_path / "run", env=small.Field()).config == agent.config
    assert (agent.steps, agent.config.steps, agent.config.seed) == (60, 60, 3)


@pytest.mark.parametrize("steps", [0, -5, 1.5, np.nan, np.inf, "60", None, True])
def test_steps_that_cannot_be(steps):
    with pytest.raises(ArgumentError, match=r"steps is .*; it must be a whole number, at least 1"):
        mural.Agent(small.Field(), method="sac", config=RANDOM).learn(steps)


@pytest.mark.parametrize("episodes", [0, -3, 2.5])
def test_episodes_that_cannot_be(episodes):
    with pytest.raises(ArgumentError, match="episodes is"):
        mural.Agent(small.Field(), method="sac", config=RANDOM).evaluate(episodes)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"method": 3}, "method is 3; it must be the name of one"),
        ({"method": ""}, "there is no method ''"),
        ({"preset": "turbo"}, "preset is 'turbo'; it must be one of 'fast', 'paper', 'release'"),
        ({"preset": "papr"}, "did you mean 'paper'"),
        ({"preset": 3}, "preset is 3; it must be one of 'fast'"),
        ({"config": 3}, "config is 3; it must be a table of settings by name"),
        ({"config": {"sac": 3}}, "sac is 3; it must be a table of settings by name"),
        ({"config": {3: 3}}, "config is {3: 3}; it must be a table of settings by name"),
        ({"run_dir": 3}, "the folder of a run is 3; it must be a path"),
        ({"seed": 2**70}, "seed is 1180591620717411303424; it must be from 0 to"),
        ({"seed": 1.5}, r"seed is 1\.5; it must be a whole number"),
        ({"classifier_keys": 3}, "classifier_keys is 3; it must be a list, each of it text or None"),
    ],
)
def test_arguments_that_cannot_be(arguments, told):
    with pytest.raises(mural.MuralError, match=told):
        mural.Agent("zigzag-maze", **arguments)


def test_what_cannot_be_loaded(tmp_path):
    with pytest.raises(ArgumentError, match="the folder of a run is 3; it must be a path"):
        mural.Agent.load(3)
    mural.Agent("zigzag-maze", method="sac", config=RANDOM).save(tmp_path / "run")
    with pytest.raises(ConfigError, match="config is 3; it must be a table of settings by name"):
        mural.Agent.load(tmp_path / "run", config=3)


def test_columns_with_other_names_are_told():
    rows = np.random.default_rng(0).uniform(0.45, 0.6, (30, 2))
    swapped = Frame(["velocity", "position"], rows)
    with pytest.warns(ColumnsWarning, match=r"velocity, position has a name .* for observation\[0\], observation\[1\]"):
        mural.Agent("zigzag-maze", swapped, method="sac", config=RANDOM, check=False).close()


@pytest.mark.parametrize("wrong", [None, object(), 3, small.Field])
def test_what_is_no_environment(wrong):
    with pytest.raises(EnvError, match=r"is no environment; it has to inherit from gymnasium\.Env"):
        mural.Agent(wrong)
    with pytest.raises(UnknownTaskError, match="there is no task ''"):
        mural.Agent("")


class Odd(small.Field):
    """Its episodes are never the same again."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=None)


def test_environments_and_examples_are_looked_at():
    with pytest.raises(EnvError, match="Gymnasium's checker"):
        mural.Agent(Odd(), small.examples(), config=small.MURAL)
    start = np.random.default_rng(0).uniform(-1, 0, (40, 2)).astype(np.float32)
    with pytest.warns(ExamplesWarning, match="is the task done at the start"):
        mural.Agent(small.Field(), start, config=small.MURAL)
    with pytest.warns(ExamplesWarning, match="there is only 1 success example;"):
        mural.Agent("zigzag-maze", [[3.0, 3.0]], config=small.MURAL).close()
    for env, examples in ((Odd(), small.examples()), (small.Field(), start)):  # warnings are errors here
        mural.Agent(env, examples, config=small.MURAL, check=False)


def test_our_own_tasks_are_not_looked_at(monkeypatch):
    monkeypatch.setattr(checks, "check_env", None)
    monkeypatch.setattr(checks, "examine", None)
    for name in ("zigzag-maze", "mural/ZigzagMaze-v0"):
        mural.Agent(name, config=small.MURAL).close()


def test_a_run_goes_on_as_what_it_is(tmp_path):
    mural.Agent("zigzag-maze", method="sac", run_dir=tmp_path / "run", config=RANDOM).learn(60, progress=False).close()
    for name, value in {"task": "spiral-maze", "method": "vice", "seed": 3, "num_examples": 3}.items():
        with pytest.raises(ConfigError, match=f"{name} cannot change when a run goes on"):
            mural.Agent.load(tmp_path / "run", config={name: value})


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "deeper"):
        with pytest.raises(RunFolderError, match="file is a file, so"):
            mural.Agent(small.Field(), method="sac", run_dir=path, config=RANDOM)


class Frame:
    """What a data frame of any library has."""

    def __init__(self, columns, values):
        self.columns, self.values = columns, values

    def to_numpy(self):
        return self.values


def test_predict_finds_columns_by_name():
    agent = mural.Agent(small.Field(), method="sac", config=RANDOM)
    swapped = Frame(["observation[1]", "observation[0]"], OBS[:, ::-1])
    np.testing.assert_array_equal(agent.predict(swapped)[0], agent.predict(OBS)[0])
    with pytest.warns(ColumnsWarning, match=r"columns x, y .* for observation\[0\], observation\[1\]"):
        np.testing.assert_array_equal(agent.predict(Frame(["x", "y"], OBS))[0], agent.predict(OBS)[0])
    with pytest.raises(mural.MuralError, match=r"'observation\[2\]' that is unknown"):
        agent.predict(Frame(["observation[1]", "observation[2]"], OBS))


def test_told_rewards_are_not_learned():
    told = mural.Agent(small.Field(), method="sac", config=small.SETTINGS).learn(120, progress=False)
    with pytest.raises(NotLearnedError, match="learns no reward: the environment tells it one"):
        told.reward(OBS)


class Hand(small.Field):
    """A Dict observation of which only the place matters, actions in odd bounds and another shape."""

    observation_space = gymnasium.spaces.Dict(
        {"place": small.Field.observation_space, "noise": gymnasium.spaces.Box(-5, 5, (1,), np.float64)}
    )
    action_space = gymnasium.spaces.Box(np.array([[-3.0], [0.0]]), np.array([[1.0], [10.0]]), dtype=np.float64)

    def _dict(self, place):
        return {"place": place, "noise": self.np_random.uniform(-1, 1, 1)}

    def reset(self, **kwargs):
        place, info = super().reset(**kwargs)
        return self._dict(place), info

    def step(self, action):
        assert self.action_space.contains(action)
        place, *rest = super().step((action.ravel() - [-1, 5]) / [2, 5])
        return (self._dict(place), *rest)


def test_dict_observations_and_classifier_keys(tmp_path):
    settings = small.MURAL
    agent = mural.Agent(Hand(), small.examples(), classifier_keys=["place"], run_dir=tmp_path / "run", config=settings)
    agent.learn(120, progress=False)
    world = agent.run.world
    assert world.columns == (1, 2)  # noise comes first
    whole = {"place": OBS[0], "noise": np.zeros(1)}
    action, _ = agent.predict(whole)
    assert Hand.action_space.contains(action)
    flat = np.concatenate([np.zeros((2, 1)), OBS], axis=1)
    np.testing.assert_allclose(agent.predict(flat)[0][0], action, rtol=1e-5)
    np.testing.assert_array_equal(agent.reward(flat), agent.reward(OBS))
    np.testing.assert_array_equal(agent.reward(whole), agent.reward(OBS[:1]))
    shifted = flat + np.array([3, 0, 0])
    np.testing.assert_array_equal(agent.reward(shifted), agent.reward(OBS))  # it does not see the noise
    loaded = mural.Agent.load(tmp_path / "run", env=Hand())
    np.testing.assert_array_equal(loaded.reward(OBS), agent.reward(OBS))
    np.testing.assert_array_equal(loaded.predict(whole)[0], action)
    for chosen in ({"classifier_slice": slice(1, 3)}, {"classifier_slice": [1, 2]}, {"classifier_keys": "place"}):
        assert mural.Agent(Hand(), small.examples(), config=settings, **chosen).run.world.columns == (1, 2)


def test_a_run_on_ones_own_environment_is_loaded_with_one(tmp_path):
    mural.Agent(small.Field(), small.examples(), config=small.MURAL).save(tmp_path / "run")
    with pytest.raises(UnknownTaskError, match=r"no task 'Field'.*mural\.Agent\.load\('.*run', env=\.\.\.\)"):
        mural.Agent.load(tmp_path / "run")


class Tall(small.Field):
    """An observation that looks like a batch of one."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1, 2), np.float32)


def test_what_is_one_observation_and_what_are_many(agent):
    tall = mural.Agent(Tall(), small.examples()[:, None], config=small.MURAL, check=False)
    assert tall.predict(OBS[:1])[0].shape == (2,)
    assert tall.predict(OBS)[0].shape == (2, 2)
    np.testing.assert_allclose(tall.predict(OBS)[0][0], tall.predict(OBS[:1])[0], rtol=1e-5)
    assert agent.predict(OBS[:1])[0].shape == (1, 2)


def test_observations_that_are_not_finite_are_named(agent):
    bad = OBS.copy()
    bad[1, 0] = np.nan
    with pytest.raises(ValueError, match=r"^observation\[0\] is nan, which is not finite"):
        agent.predict(bad[1])
    with pytest.raises(ValueError, match=r"^row 1: observation\[0\] is nan, which is not finite"):
        agent.predict(bad)
