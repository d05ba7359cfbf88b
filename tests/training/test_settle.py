"""What a run finds out itself, and that it keeps it over a resume."""

import numpy as np
import pytest

import mural
from mural.agent.sac import SAC
from mural.training.settle import findings, settled
from tests.inputs.test_watching import Cells, Sledge
from tests.training import small


class World:
    def __init__(self, horizon):
        self.horizon = horizon


@pytest.mark.parametrize(("horizon", "gamma"), [(None, 0.99), (20, 0.99), (100, 0.99), (400, 0.9975), (1000, 0.999)])
def test_the_discount_looks_as_far_as_an_episode(horizon, gamma):
    assert settled(SAC(gamma=None), World(horizon), {}).discount == gamma
    assert settled(SAC(gamma=0.5), World(horizon), {"gamma": 0.7}).discount == 0.5  # what the user says stands
    with pytest.raises(ValueError, match="settled where a run begins"):
        _ = SAC(gamma=None).discount


@pytest.mark.parametrize(("horizon", "n"), [(None, 1), (20, 1), (100, 1), (199, 1), (200, 2), (400, 4), (1000, 5)])
def test_returns_are_over_a_step_for_every_hundred_of_an_episode(horizon, n):
    assert settled(SAC(n_step=None), World(horizon), {}).steps_ahead == n
    assert settled(SAC(n_step=3), World(horizon), {"n_step": 2}).steps_ahead == 3
    assert settled(SAC(n_step=None), World(horizon), {"n_step": 2}).steps_ahead == 2  # what it found when it began
    with pytest.raises(ValueError, match="settled where a run begins"):
        _ = SAC(n_step=None).steps_ahead


def test_motion_is_seen_on_ice_and_after_a_resume(tmp_path):
    examples = np.random.default_rng(0).normal(3, 0.1, (20, 4)).astype(np.float32)
    config = {**small.SETTINGS, "sac.motion": None, "sac.gamma": None, "loop.epoch_steps": 60}
    agent = mural.Agent(Sledge(), examples=examples, method="vice", config=config, run_dir=tmp_path / "run")
    assert agent.run.policy.motion
    agent.learn(180, progress=False)
    again = mural.Agent.load(tmp_path / "run", env=Sledge())
    assert again.run.policy.motion
    assert again.config.sac.motion is None
    again.learn(240, progress=False)


def test_long_episodes_have_returns_of_several_steps_after_a_resume_too(tmp_path):
    class Long(Sledge):
        horizon = 300

    examples = np.random.default_rng(0).normal(3, 0.1, (20, 4)).astype(np.float32)
    config = {**small.SETTINGS, "sac.n_step": None, "loop.epoch_steps": 60}
    agent = mural.Agent(Long(), examples=examples, method="vice", config=config, run_dir=tmp_path / "run")
    assert any("sac.n_step 3, one for every hundred steps" in said for said in agent.run.settled)
    agent.learn(180, progress=False)
    short = Long()
    short.horizon = 100  # what it found when it began stays
    again = mural.Agent.load(tmp_path / "run", env=short)
    assert (again.run.sac.steps_ahead, again.config.sac.n_step) == (3, None)
    again.learn(240, progress=False)


def test_where_gamma_comes_from_is_told():
    asked, found = SAC(gamma=None, motion=False, waves=0), SAC(gamma=0.995, motion=False, waves=0)
    assert list(findings(asked, found, 200)) == ["sac.gamma 0.995, from the length of an episode"]
    assert list(findings(asked, found, None)) == ["sac.gamma 0.995, the default: the environment has no time limit"]
    assert list(findings(found, found, None)) == []


def test_a_run_that_goes_on_does_not_look_again(tmp_path, monkeypatch):
    config = {**small.SETTINGS, "sac.motion": None, "loop.epoch_steps": 60}
    examples = np.random.default_rng(0).normal(3, 0.1, (20, 4)).astype(np.float32)
    mural.Agent(Sledge(), examples=examples, method="vice", config=config, run_dir=tmp_path / "run").learn(
        60, progress=False
    )
    monkeypatch.setattr("mural.training.settle.hides_motion", lambda _: False)  # a machine too slow to tell
    assert mural.Agent.load(tmp_path / "run", env=Sledge()).run.policy.motion
    (tmp_path / "run" / "found.json").unlink()
    with pytest.raises(mural.MuralError, match="other settings"):
        mural.Agent.load(tmp_path / "run", env=Sledge())


def test_waves_are_seen_on_a_grid_and_after_a_resume(tmp_path):
    config = {**small.SETTINGS, "sac.waves": None, "loop.epoch_steps": 60}
    examples = np.stack(np.divmod(np.random.default_rng(0).permutation(36)[:20], 6), axis=1).astype(np.float32)
    agent = mural.Agent(Cells(6), examples, "vice", config=config, run_dir=tmp_path / "run", check=False)
    assert agent.run.policy.waves == 3
    assert any("waves 3" in said for said in agent.run.settled)
    agent.learn(180, progress=False)
    again = mural.Agent.load(tmp_path / "run", env=Cells(6))
    again.learn(60, progress=False)
    again.export_policy(tmp_path / "p.npz")
    obs = np.float32([1.0, 2.0])
    np.testing.assert_allclose(mural.load_policy(tmp_path / "p.npz")(obs), again.predict(obs)[0], rtol=1e-6)
