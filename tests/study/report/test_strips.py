"""Strips: frames of an exported policy, or a sentence."""

import sys
from contextlib import closing

import gymnasium
import numpy as np
import pytest

from mural.agent.policy import NumpyPolicy, save_policy
from mural.study.report.reading import read_run
from mural.study.report.strips import FRAMES, KEPT, StripError, exported, played, strip_of
from tests.study.report.folders import run_folder


class Long(gymnasium.Env):
    """Counts its steps, in the picture too."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    drawn = 0

    def reset(self, *, seed=None, options=None):
        self.t = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.t += 1
        return np.zeros(2, np.float32), 0.0, self.t == 700, False, {"success": self.t == 700}

    def render(self):
        self.drawn += 1
        return np.full((4, 4, 3), self.t % 256, np.uint8)


def policy_file(folder, obs=2, actions=2):
    layers = [(np.zeros((obs, 2 * actions)), np.ones(2 * actions))]
    save_policy(folder / "policy.npz", NumpyPolicy(layers), -np.ones(actions), np.ones(actions), [("o", 0, obs)])
    return folder


def test_a_strip_of_a_maze(tmp_path):
    strip = strip_of(read_run(policy_file(run_folder(tmp_path / "r"))))
    assert len(strip.frames) == FRAMES
    assert (strip.frames[0][0], strip.frames[-1][0], strip.success) == (0, 100, False)
    assert strip.frames[0][1].startswith("data:image/webp;base64,")
    assert strip.frames[0][1] != strip.frames[-1][1]


def test_long_episodes_are_drawn_seldom(tmp_path):
    env = Long()
    strip = played(env, exported(policy_file(tmp_path)), 0)
    steps = [step for step, _ in strip.frames]
    assert (steps[0], steps[-1], len(steps), strip.success) == (0, 700, FRAMES, True)
    assert max(np.diff(steps)) < 200
    assert env.drawn < 5 * KEPT


@pytest.mark.parametrize(
    ("task", "told"),
    [
        ("zigzag-maze", "neither policy.npz nor a checkpoint"),
        ("zigzg-maze", "zigzag-maze"),
        ("unknown/Thing-v0", "unknown/Thing-v0"),
        ("evil_module:Thing-v0", "names a module"),
    ],
)
def test_runs_without_a_strip(tmp_path, monkeypatch, task, told):
    (tmp_path / "evil_module.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(StripError, match=told):
        strip_of(read_run(run_folder(tmp_path / "r", task=task)))
    assert "evil_module" not in sys.modules


def test_a_policy_that_does_not_fit_or_is_damaged(tmp_path):
    folder = policy_file(run_folder(tmp_path / "r"), obs=3)
    with pytest.raises(StripError, match="shape"):
        strip_of(read_run(folder))
    (folder / "policy.npz").write_bytes(b"PK\x03")
    with pytest.raises(StripError, match="No frames of its policy: "):
        strip_of(read_run(folder))


def test_environments_that_do_not_draw(tmp_path):
    gymnasium.register("Undrawn-v0", entry_point=Long, max_episode_steps=5)
    try:
        with pytest.raises(StripError, match="rgb_array"):
            strip_of(read_run(policy_file(run_folder(tmp_path / "r", task="Undrawn-v0"))))
    finally:
        del gymnasium.registry["Undrawn-v0"]
    with closing(Long()) as env, pytest.MonkeyPatch.context() as patch:
        patch.setattr(env, "render", lambda: "text")
        with pytest.raises(StripError, match="returns no picture"):
            played(env, exported(policy_file(tmp_path)), 0)
