"""`mural.Agent`: what it refuses when it is made, and what it takes."""

import gymnasium
import numpy as np
import pytest

import mural
from mural.api import as_text
from mural.inputs.examples import ExamplesError
from mural.inputs.selection import SpaceError
from mural.inputs.world import TaskLacksError
from mural.rewards import UnknownMethodError
from mural.settings.config import ConfigError, RunConfig
from mural.storage.folder import RunFolderError
from mural.tasks import UnknownTaskError
from tests.training import small

RANDOM = small.SETTINGS | {"loop.random_steps": 600, "loop.replay_size": 600}  # nothing learns, nothing is compiled
OBS = np.array([[-0.5, 0.2], [0.9, 0.9]], np.float32)


def changed(**spaces):
    env = small.Field()
    for name, space in spaces.items():
        setattr(env, name, space)
    return env


@pytest.mark.parametrize(
    ("env", "told"),
    [
        (changed(action_space=gymnasium.spaces.Discrete(3)), "(?i)discrete"),
        (changed(action_space=gymnasium.spaces.Box(-np.inf, np.inf, (2,))), "RescaleAction|bound|finite"),
        (changed(observation_space=gymnasium.spaces.Box(0, 255, (8, 8, 3), np.uint8)), "(?i)image"),
        (changed(observation_space=gymnasium.spaces.Discrete(4)), "(?i)box"),
    ],
    ids=["discrete actions", "unbounded actions", "images", "discrete observations"],
)
def test_refused_at_construction(env, told):
    with pytest.raises(SpaceError, match=told):
        mural.Agent(env, small.examples(), config=small.MURAL)


def test_other_refusals():
    with pytest.raises(UnknownMethodError, match="did you mean 'vice'"):
        mural.Agent(small.Field(), small.examples(), method="vise")
    with pytest.raises(UnknownTaskError, match="did you mean 'zigzag-maze'"):
        mural.Agent("zigzag")
    with pytest.raises(ExamplesError, match="no success examples"):
        mural.Agent(small.Field())
    with pytest.raises(ExamplesError, match="outside the observation space"):
        mural.Agent(small.Field(), np.full((30, 2), 7.0))
    with pytest.raises(ConfigError, match=r"did you mean sac\.gamma"):
        mural.Agent(small.Field(), small.examples(), config={"sac.gama": 1})
    with pytest.raises(ConfigError, match=r"env\.spec is None"):
        mural.Agent(small.Field(), small.examples(), config=small.MURAL | {"loop.environments": 2})


def test_what_the_environment_must_report(tmp_path):
    class Silent(small.Field):
        def step(self, action):
            return (*super().step(action)[:4], {})

    def agent(env):
        return mural.Agent(env, method="sac-distance", config=small.SETTINGS, run_dir=tmp_path / "run")

    with pytest.raises(TaskLacksError, match=r"needs info\['distance'\]"):
        agent(Silent()).learn(60, progress=False)
    assert not (tmp_path / "run").exists()  # or the run put right would be told that there is one already
    agent(small.Field()).learn(60, progress=False)


def test_several_environments():
    agent = mural.Agent("zigzag-maze", method="sac-distance", config=small.SETTINGS | {"loop.environments": 4})
    agent.learn(180, progress=False)
    rows = agent.run.replay.rows
    assert rows.obs.shape[1] == 4
    assert agent.history[-1]["replay/size"] == 180
    starts = np.asarray(rows.obs[0])
    assert len({tuple(row) for row in np.asarray(rows.next_obs[0])}) == 4, starts  # they do not copy each other
    agent.close()


def test_a_task_brings_its_examples():
    agent = mural.Agent("mural/ZigzagMaze-v0", seed=5, config=small.MURAL)
    assert agent.run.world.problem.examples.shape == (150, 2)
    assert len(agent.run.world.held_out) == 50
    agent.close()


def test_a_whole_config():
    config = RunConfig(task="zigzag-maze", method="mural", seed=9)
    agent = mural.Agent("zigzag-maze", config=config)
    assert agent.config is config
    agent.close()
    mural.Agent("mural/ZigzagMaze-v0", method="mural", preset="fast", seed=9, config=config).close()


@pytest.mark.parametrize(
    ("task", "given"),
    [
        ("spiral-maze", {}),
        ("zigzag-maze", {"method": "vice"}),
        ("zigzag-maze", {"preset": "paper"}),
        ("zigzag-maze", {"seed": 1}),
        ("zigzag-maze", {"classifier_slice": "0"}),
    ],
)
def test_a_whole_config_is_not_contradicted(task, given):
    name, value = next(iter(given.items()), ("task", task))
    with pytest.raises(ConfigError, match=f"^{name} is {value!r}, and .* in the RunConfig"):
        mural.Agent(task, config=RunConfig(), **given)


@pytest.mark.parametrize(
    ("given", "text"), [("0:3", "0:3"), (slice(1, 4), "1:4"), (slice(None, 2), ":2"), ([2, 0], "2,0")]
)
def test_selections_as_text(given, text):
    assert as_text(given) == text


def test_masks_are_no_columns():
    with pytest.raises(SpaceError, match="list of columns"):
        as_text([True, False])


def test_what_a_run_is_cannot_change_when_it_goes_on(tmp_path):
    class Longer(small.Field):
        horizon = 1030

    free = small.SETTINGS | {"loop.epoch_steps": None, "loop.replay_size": 3000}
    mural.Agent(small.Field(), method="sac", config=free, run_dir=tmp_path / "run").learn(60, progress=False)
    for name, value in (("loop.epoch_steps", 120), ("loop.steps_per_call", 10), ("seed", 4)):
        with pytest.raises(ConfigError, match=f"{name} cannot change when a run goes on"):
            mural.Agent.load(tmp_path / "run", env=small.Field(), config={name: value})
    with pytest.warns(UserWarning, match="give it the time limit that it had"):
        used = mural.Agent.load(tmp_path / "run", env=Longer())
    used.predict(OBS)
    for go_on in (lambda: used.learn(60, progress=False), lambda: used.save(tmp_path / "other")):
        with pytest.raises(ConfigError, match="give it the time limit that it had"):
            go_on()


def test_one_agent_is_not_saved_over_another(tmp_path):
    def agent(examples):
        return mural.Agent(small.Field(), examples, config=small.MURAL)

    first = agent(small.examples())
    first.learn(60, progress=False)
    first.save(tmp_path / "saved")
    first.save(tmp_path / "saved")
    with pytest.raises(RunFolderError, match="other success examples"):
        agent(small.examples() - 1.3).save(tmp_path / "saved")
    with pytest.raises(RunFolderError, match="at step 60 already"):
        agent(small.examples()).save(tmp_path / "saved")


@pytest.mark.parametrize(
    ("name", "value"),
    [("stop_at_success", 90.0), ("stop_at_success", -1.0), ("env_scale", np.inf), ("sac.entropy_per_action", 5.0)],
)
def test_numbers_that_could_never_work(name, value):
    with pytest.raises(ConfigError, match=name):
        mural.Agent("zigzag-maze", config={name: value})
