"""A run: nothing is compiled twice, what goes on is what would have gone on, and what goes wrong has a name."""

import json
import re
import resource
import shutil
import tempfile
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mural
from mural import trees
from mural.settings.config import ConfigError
from mural.settings.stopping import EVALUATIONS
from mural.storage import checkpoint
from mural.storage.folder import RunFolder, RunningError
from mural.training import compiled
from mural.training.callbacks import Silent
from mural.training.collect import EnvironmentFailure
from mural.training.failures import BrokenOffError, DivergenceError
from mural.training.recorder import UnsavedError, save_elsewhere
from tests.training import small

COMPILED: list[str] = []


@pytest.fixture(scope="module", autouse=True)
def listener():
    """Notes everything that JAX traces or compiles, also single operations outside of compiled functions."""

    def note(event: str, seconds: float, **_: object) -> None:
        if event.startswith("/jax/core/compile"):
            COMPILED.append(event)

    jax.monitoring.register_event_duration_secs_listener(note)
    yield
    jax.monitoring.unregister_event_duration_listener(note)


def agent_of(method: str, run_dir=None, env=None, **settings) -> mural.Agent:
    values = (small.MURAL if method == "mural" else small.SETTINGS) | settings
    return mural.Agent(
        env or small.Field(), small.examples(), method=method, run_dir=run_dir, config=values, check=False
    )


def arrays(agent: mural.Agent) -> dict[str, bytes]:
    return {
        f"{group}/{name}": np.ascontiguousarray(array).tobytes()
        for group, found in agent.run.groups().items()
        for name, array in found.items()
    }


@pytest.fixture(scope="module", params=["sac", "vice", "mural"])
def whole(request, tmp_path_factory):
    """An agent that learned for 12 epochs in one go, its folder, and how much was compiled after the third."""
    folder = tmp_path_factory.mktemp(request.param) / "run"
    agent = agent_of(request.param, folder).learn(180, progress=False)
    warm = len(COMPILED)
    agent.learn(540, progress=False)  # the ring fills, wraps, and is saved in each epoch
    return agent, folder, COMPILED[warm:]


def test_nothing_is_compiled_after_the_first_epochs(whole):
    assert whole[2] == []
    before = len(COMPILED)
    jax.jit(lambda x: x + 1)(0)
    assert len(COMPILED) > before  # or nothing was listened to


def test_an_interrupted_run_ends_in_the_same_bytes(whole, tmp_path):
    """Here with the user's own examples, a part of which is held out: those must stay the same ones."""
    agent, folder, _ = whole
    method = agent.config.method
    first = agent_of(method, tmp_path / "run").learn(420, progress=False)
    loaded = mural.Agent.load(tmp_path / "run", env=small.Field())
    for name in ("states", "observations"):
        np.testing.assert_array_equal(*(getattr(a.run.world.examples, name) for a in (first, loaded)))
    np.testing.assert_array_equal(loaded.run.world.held_out, first.run.world.held_out)
    assert len(loaded.run.world.held_out) == 4
    assert arrays(loaded) == arrays(first)
    loaded.learn(300, progress=False)
    assert (tmp_path / "run" / "metrics.jsonl").read_bytes() == (folder / "metrics.jsonl").read_bytes()
    assert arrays(loaded) == arrays(agent)


def test_rows_of_metrics(whole):
    agent, folder, _ = whole
    rows = RunFolder(folder).rows()
    assert [row["step"] for row in rows] == [60 * (e + 1) for e in range(12)]
    assert [row["replay/size"] for row in rows] == [60, 120, 180, 240] + [300] * 8
    assert rows[-1]["sac/critic_loss"] > 0
    assert 0 < rows[-1]["coverage"] <= 1
    assert rows[-1]["train/length"] == 15
    timing = [json.loads(line) for line in (folder / "timing.jsonl").read_text().splitlines()]
    assert len(timing) == 12
    parts = [sum(v for k, v in row.items() if k not in ("step", "total")) for row in timing]
    assert all(part <= row["total"] + 1e-3 for part, row in zip(parts, timing, strict=True))
    assert list(checkpoint.listing(folder)) == [660, 720]
    assert agent.steps == 720


class Misbehaves(small.Field):
    """From its 100th step on."""

    what = "raise"
    calls = 0

    def step(self, action):
        obs, reward, ended, truncated, info = super().step(action)
        self.calls += 1
        if self.calls < 100:
            return obs, reward, ended, truncated, info
        if self.what == "raise":
            raise OSError("the cable came off")
        return (obs * np.nan if self.what == "nan" else obs), 1e30 * self.calls, ended, truncated, info


@pytest.mark.parametrize(
    ("what", "error", "file"),
    [
        ("raise", EnvironmentFailure, "transition.npz"),
        ("nan", EnvironmentFailure, "transition.npz"),
        ("huge", DivergenceError, "metrics.json"),
    ],
)
def test_what_goes_wrong_has_a_name_and_leaves_a_good_checkpoint(tmp_path, what, error, file):
    env = Misbehaves()
    env.what = what
    agent = agent_of("sac", tmp_path / "run", env)
    with pytest.raises(error) as told:
        agent.learn(600, progress=False)
    assert "checkpoint" in str(told.value) or "cable" in str(told.value) or "nan" in str(told.value)
    assert (tmp_path / "run" / "failure" / file).is_file()
    for broken in (lambda: agent.learn(60, progress=False), lambda: agent.save(tmp_path / "run")):
        with pytest.raises(BrokenOffError, match="go on from the last checkpoint"):
            broken()
    assert agent.predict(np.zeros(2))[0].shape == (2,)
    again = mural.Agent.load(tmp_path / "run", env=small.Field())
    assert 60 <= again.steps < 600
    again.learn(60, progress=False)
    assert all(np.isfinite(leaf).all() for leaf in trees.flatten(again.run.agent).values())


def test_a_damaged_checkpoint_is_passed_over_and_said(tmp_path):
    agent = agent_of("sac", tmp_path).learn(180, progress=False)
    file = tmp_path / "checkpoints" / "0000000180" / "agent.safetensors"
    data = bytearray(file.read_bytes())
    data[-5] ^= 1
    file.write_bytes(data)
    with pytest.warns(UserWarning, match=r"0000000180 is damaged: agent\.safetensors does not match its hash"):
        loaded = mural.Agent.load(tmp_path, env=small.Field())
    assert loaded.steps == 120
    loaded.learn(60, progress=False)
    assert arrays(loaded) == arrays(agent)
    assert mural.Agent.load(tmp_path, env=small.Field()).steps == 180  # the damaged one was replaced


class Said(Silent):
    def __init__(self) -> None:
        self.told: list[str] = []

    def say(self, message: str) -> None:
        self.told.append(message)


def test_a_full_disk_does_not_stop_the_training(tmp_path):
    agent = agent_of("sac", tmp_path).learn(300, progress=False)
    size = max((tmp_path / name).stat().st_size for name in ("metrics.jsonl", "config.json"))  # settings still fit
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    display = Said()
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, hard))
    try:
        with pytest.raises(UnsavedError, match=r"checkpoints are intact.*will repeat.*agent\.save\(path\)"):
            agent.learn(120, display=display)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert agent.steps == 420
    assert max(checkpoint.listing(tmp_path)) == 300
    assert any("checkpoints are intact" in line and "tried again" in line for line in display.told)
    assert any("metrics.jsonl are intact" in line for line in display.told)
    agent.save(tmp_path / "elsewhere")
    assert arrays(mural.Agent.load(tmp_path / "elsewhere", env=small.Field())) == arrays(agent)
    loaded = mural.Agent.load(tmp_path, env=small.Field()).learn(120, progress=False)
    assert arrays(loaded) == arrays(agent)
    assert [row["step"] for row in RunFolder(tmp_path).rows()] == [60 * (e + 1) for e in range(7)]


def test_without_any_checkpoint_none_is_said_to_be_intact(tmp_path):
    agent = agent_of("sac", tmp_path / "run", **{"watch.checkpoint_every": 100})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, hard))
    try:
        with pytest.raises(UnsavedError, match="the first checkpoint, of step 120") as told:
            agent.learn(120, display=Said())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "intact" not in str(told.value)


def test_a_last_state_that_went_elsewhere_can_be_brought_back(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    agent = agent_of("sac", tmp_path / "run", **{"watch.checkpoint_every": 100}).learn(120, progress=False)
    agent.run.advance()
    told = save_elsewhere(tmp_path / "run", agent.run)
    where, into = re.search(r"is in (\S+): move that folder into (\S+),", told).groups()
    shutil.move(where, into)
    assert arrays(mural.Agent.load(tmp_path / "run", env=small.Field())) == arrays(agent)


def test_one_process_trains_a_run(tmp_path):
    """A lock of the folder is one of its open descriptor: a second one here is as one in another process."""
    agent = agent_of("sac", tmp_path).learn(120, progress=False)
    before = (tmp_path / "metrics.jsonl").read_bytes()
    told = []

    class Second(Said):
        def on_epoch(self, run, row):
            with pytest.raises(RunningError, match="mural watch") as error:
                mural.Agent.load(tmp_path, env=small.Field()).learn(60, progress=False)
            told.append(error)

    agent.learn(60, display=Second())
    assert len(told) == 1
    assert (tmp_path / "metrics.jsonl").read_bytes().startswith(before)
    assert [row["step"] for row in RunFolder(tmp_path).rows()] == [60, 120, 180]
    mural.Agent.load(tmp_path, env=small.Field()).learn(60, progress=False)


def test_a_folder_knows_how_far_its_run_is_to_go_and_with_which_settings(tmp_path):
    agent_of("sac", tmp_path).learn(120, progress=False)
    assert RunFolder(tmp_path).config().steps == 120
    again = mural.Agent.load(tmp_path, env=small.Field(), config={"sac.learning_rate": 1e-5}).learn(60, progress=False)
    config = RunFolder(tmp_path).config()
    assert (config.steps, config.sac.learning_rate) == (180, 1e-5)
    again.save(tmp_path)
    assert again.run.config == config


def test_rewards_kept_as_they_were_are_still_logged(tmp_path):
    agent = agent_of("vice", tmp_path, **{"loop.stale": True}).learn(240, progress=False)
    rows = RunFolder(tmp_path).rows()
    kept = np.asarray(agent.run.replay.rows.reward).reshape(-1)[:180]
    assert rows[-1]["reward/mean"] == pytest.approx(kept.mean(), rel=1e-5)
    assert rows[-1]["reward/above_half"] == pytest.approx((kept > 0.5).mean())


def test_rows_that_did_not_fit_are_written_when_there_is_room(tmp_path):
    agent = agent_of("sac", tmp_path, **{"watch.checkpoint_every": 100})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    class Frees(Said):
        def on_epoch(self, run, row):
            limit = 30 if row["epoch"] in (2, 3) else soft
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))

    try:
        agent.learn(300, display=Frees())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [row["epoch"] for row in RunFolder(tmp_path).rows()] == [1, 2, 3, 4, 5]


def test_stopping_at_success_looks_at_the_whole_run(tmp_path):
    """Also at evaluations before an interruption."""
    agent = agent_of("sac", tmp_path, stop_at_success=0.0)
    agent.learn(60 * (EVALUATIONS - 1), progress=False)
    loaded = mural.Agent.load(tmp_path, env=small.Field()).learn(6000, progress=False)
    assert loaded.steps == 60 * (EVALUATIONS + 1)  # the random epoch is not evaluated
    steps = loaded.steps
    assert mural.Agent.load(tmp_path, env=small.Field()).learn(6000, progress=False).steps == steps  # it has stopped


def test_terminations_are_said_once():
    class Ends(small.Field):
        terminates_at = 5

    with pytest.warns(UserWarning, match=r"nothing is earned after them \(loop\.terminations=stop\)") as said:
        agent_of("sac", None, Ends()).learn(180, progress=False)
    assert len(said) == 1


def test_no_updates_at_all():
    agent = agent_of("sac", **{"loop.updates_per_step": 0.0})
    before = trees.flatten(agent.run.agent)
    before = {name: np.array(value) for name, value in before.items()}
    agent.learn(120, progress=False)
    for name, value in trees.flatten(agent.run.agent).items():
        if not name.startswith(("view", "base")):  # taken from the first steps and the rewards, not learned
            np.testing.assert_array_equal(value, before[name])


def test_a_replay_too_small_for_the_first_epochs():
    with pytest.raises(ConfigError, match="replay_size is 100; at least 120 are needed"):
        agent_of("sac", **{"loop.replay_size": 100, "loop.random_steps": 120})


def test_an_environment_without_time_limit_is_said():
    class Endless(small.Field):
        horizon = None

    with pytest.warns(UserWarning, match="no time limit"):
        agent = agent_of("sac", None, Endless())
    with warnings.catch_warnings():
        agent.learn(60, progress=False)
    assert agent.history[-1]["train/length"] == 60


def test_the_policy_is_copied_only_when_its_weights_change():
    """What is evaluated and exported is the average, where there is one; what collects is the learning policy."""
    run = agent_of("sac").run
    first = run.policy
    assert run.policy is first
    run.agent = run.agent._replace(average=jax.tree.map(lambda weights: weights + 1, run.agent.average))
    assert run.policy is not first
    np.testing.assert_array_equal(run.policy.layers[0][0], first.layers[0][0] + 1)


@pytest.mark.parametrize(("found", "rests"), [(0.96, True), (0.94, False)])
def test_the_reward_rests_while_success_is_what_is_seen(found, rests):
    agent = agent_of("mural", **{"loop.rest": 0.95})
    agent.learn(180, progress=False)
    agent.run.agent = agent.run.agent._replace(found=jnp.float32(found))
    before = jax.tree.map(np.asarray, agent.run.parts)
    row = agent.run.advance()
    same = jax.tree.map(np.array_equal, before, jax.tree.map(np.asarray, agent.run.parts))
    assert all(jax.tree.leaves(same)) == rests == ("train/resting" in row)
    assert ("classifier/loss" in row) != rests
    assert row["calibration/brier"] >= 0  # still measured


@pytest.mark.parametrize(("found", "share"), [(0.9, 1.0), (0.96, 0.8), (1.0, 0.0)])
def test_the_agent_learns_the_less_the_fewer_episodes_fail(monkeypatch, found, share):
    agent = agent_of("mural", **{"loop.rest": 0.95, "loop.steps_per_call": 2, "loop.updates_per_step": 1.0})
    agent.learn(120, progress=False)
    agent.run.agent = agent.run.agent._replace(found=jnp.float32(found))
    made, real = [], compiled.call
    monkeypatch.setattr(compiled, "call", lambda *args, **keys: made.append(len(args[5])) or real(*args, **keys))
    before = np.array(agent.run.agent.policy[0].w)
    row = agent.run.advance()
    calls = agent.run.calls
    assert len(made) == calls == 30
    assert abs(sum(made) - 2 * calls * share) <= (16 if 0 < share < 1 else 0)  # 3 standard deviations and a half
    moved = not np.array_equal(before, agent.run.agent.policy[0].w)
    assert moved == ("sac/critic_loss" in row) == (share > 0)
