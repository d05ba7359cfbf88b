"""One battery that every task must pass."""

import multiprocessing
import pickle
from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from matplotlib.image import imread

from mural.tasks import TASKS, ActionError, DisplayError, Task, find, make
from mural.tasks.picture import examples_picture

# The paper's table of metrics (A.4.2), and the sizes of A.4.1.
PAPER = {  # observation, action, threshold, horizon
    "zigzag-maze": (2, 2, 0.5, 100),
    "spiral-maze": (2, 2, 0.5, 100),
    "double-maze": (2, 2, 0.5, 100),
    "shuffled-maze": (2, 2, 0.5, 100),
    "sawyer-push": (5, 2, 0.05, 100),
    "sawyer-pick": (7, 4, 0.06, 100),
    "sawyer-door": (4, 3, 0.035, 100),
    "ant-maze": (15, 8, 5.0, 400),
    "hand-reposition": (29, 19, 0.06, 100),
}


@pytest.fixture(scope="module", params=TASKS)
def task(request):
    task = make(request.param)
    yield task
    task.close()


@pytest.fixture
def name(task) -> str:
    return find(task.spec.id).name


def rollout(task: Task, seed: int, actions: np.ndarray) -> list[np.ndarray]:
    observations = [task.reset(seed=seed)[0]]
    observations += [task.step(action)[0] for action in actions]
    return observations


def random_actions(task: Task, n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (n, *task.action_space.shape))


# Spaces and episodes


def test_sizes_are_those_of_the_paper(task, name):
    observation, action, threshold, horizon = PAPER[name]
    assert task.observation_space.shape == (observation,)
    assert task.action_space.shape == (action,)
    assert task.success_threshold == threshold
    assert task.horizon == horizon
    assert task.observation_space.dtype == np.float64
    assert task.action_space.dtype == np.float32  # what other libraries recommend
    assert (task.action_space.low == -1).all()
    assert (task.action_space.high == 1).all()
    assert np.isfinite(task.goal).all()


def test_reset_is_reproducible_and_starts_undone(task):
    first, info = task.reset(seed=7)
    task.step(task.action_space.sample())
    again, _ = task.reset(seed=7)
    np.testing.assert_array_equal(first, again)
    assert first in task.observation_space
    assert not info["is_success"]


def test_an_episode_has_no_reward_no_end_and_is_truncated_at_the_horizon(task, name):
    task.reset(seed=0)
    for t, action in enumerate(random_actions(task, task.horizon), start=1):
        obs, reward, terminated, truncated, info = task.step(action)
        assert obs.dtype == np.float64
        assert obs in task.observation_space, obs
        assert isinstance(reward, float)
        assert reward == 0.0 or name == "double-maze"
        assert terminated is False
        assert truncated is (t == task.horizon)
        assert isinstance(info["distance"], float)
        assert isinstance(info["is_success"], bool)
        assert info["distance"] == pytest.approx(float(task.distance(obs)), abs=1e-12)
        assert info["is_success"] == (info["distance"] < task.success_threshold)
        assert info["xy"].shape == (2,)
        np.testing.assert_array_equal(info["xy"], task.xy())
    kept = info["xy"].copy()
    task.step(-action)
    np.testing.assert_array_equal(info["xy"], kept)  # what was handed out does not change any more


def test_same_seed_and_actions_give_the_same_states(task, name):
    actions = random_actions(task, 60)
    first = rollout(task, 3, actions)
    twin = make(name)
    second = rollout(twin, 3, actions)
    twin.close()
    assert np.array(first).tobytes() == np.array(second).tobytes()
    assert np.array(first).tobytes() == np.array(rollout(task, 3, actions)).tobytes()


# Examples and metric


def test_examples_are_done_varied_and_deterministic(task, name):
    examples = task.success_examples(20, seed=1)
    assert examples.shape == (20, *task.observation_space.shape)
    assert examples.dtype == np.float64
    assert task.is_success(examples).all()
    assert (task.distance(examples) < task.success_threshold).all()
    assert all(example in task.observation_space for example in examples)
    # The shuffled maze has four cells within the threshold; elsewhere no two examples are alike.
    assert len(np.unique(examples, axis=0)) == (4 if name == "shuffled-maze" else 20)
    seen = task.classifier_view(examples)
    assert (np.ptp(seen, axis=0) > 0).any()
    assert (task.success_examples(20, seed=2) != examples).any()
    examples[:] = 0  # what a caller does to its copy is its own affair
    assert task.success_examples(20, seed=1).any()


def test_examples_do_not_depend_on_what_ran_before(task, name):
    from mural.tasks import base

    known = task.success_examples(5, seed=3)
    rollout(task, 1, random_actions(task, 3))
    base._EXAMPLES.clear()
    assert task.success_examples(5, seed=3).tobytes() == known.tobytes()
    twin = make(name)
    base._EXAMPLES.clear()
    assert twin.success_examples(5, seed=3).tobytes() == known.tobytes()
    twin.close()


def test_making_examples_leaves_the_episode_alone(task):
    from mural.tasks import base

    actions = random_actions(task, 20)
    undisturbed = rollout(task, 5, actions)
    observations = rollout(task, 5, actions[:10])
    base._EXAMPLES.clear()
    task.success_examples(2, seed=9)
    observations += [task.step(action)[0] for action in actions[10:]]
    assert np.array(observations).tobytes() == np.array(undisturbed).tobytes()


def test_zero_examples_are_refused(task):
    with pytest.raises(ValueError, match="at least one"):
        task.success_examples(0)


def test_metric_and_view_are_batched(task, name):
    obs = np.array(rollout(task, 0, random_actions(task, 11))).reshape(3, 4, -1)
    distances = task.distance(obs)
    assert distances.shape == (3, 4)
    assert distances[1, 2] == pytest.approx(float(task.distance(obs[1, 2])), abs=1e-12)
    assert (distances >= 0).all()
    np.testing.assert_array_equal(task.is_success(obs), distances < task.success_threshold)
    seen = task.classifier_view(obs)
    assert seen.shape == (3, 4, 3 if name == "hand-reposition" else obs.shape[-1])
    np.testing.assert_array_equal(seen, obs[..., : seen.shape[-1]])


def test_the_scripted_controller_succeeds_nine_times_in_ten(task):
    """At the last step, which is the one that counts."""
    reached = 0
    for seed in range(10):
        *_, info = task.reset(seed=seed)
        for _ in range(task.horizon):
            action = task.scripted_action()
            assert action.shape == task.action_space.shape
            *_, info = task.step(action)
        reached += info["is_success"]
    assert reached >= 9


# Bad input


@pytest.mark.parametrize("size", [0, 1, 30])
def test_actions_of_the_wrong_shape_are_named(task, size):
    task.reset(seed=0)
    needed = task.action_space.shape
    with pytest.raises(ActionError, match=rf"shape \({size},\).*needs \({needed[0]},\)"):
        task.step(np.zeros(size))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_actions_that_are_not_finite_are_named(task, bad):
    task.reset(seed=0)
    action = np.zeros(task.action_space.shape)
    action[-1] = bad
    before = task.observe()
    with pytest.raises(ActionError, match="not finite"):
        task.step(action)
    np.testing.assert_array_equal(task.observe(), before)


def test_actions_that_are_no_numbers_are_named(task):
    task.reset(seed=0)
    with pytest.raises(ActionError):
        task.step("left")
    with pytest.raises(ActionError):
        task.step(None)


def test_actions_outside_the_box_are_clipped(task):
    inside = random_actions(task, 5)
    inside[:, 0] = 1.0
    outside = inside.copy()
    outside[:, 0] = 17.0
    assert np.array(rollout(task, 2, inside)).tobytes() == np.array(rollout(task, 2, outside)).tobytes()


def test_step_before_reset_is_refused(name):
    fresh = make(name)
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset"):
        fresh.step(np.zeros(fresh.action_space.shape))
    fresh.close()


def test_unknown_render_modes_are_refused(name):
    with pytest.raises(ValueError, match="ansi"):
        type(make(name))(render_mode="ansi")


# Living with Gymnasium


def test_gymnasium_checks_the_task_without_a_warning(name):
    task = gymnasium.make(find(name).id, render_mode="rgb_array").unwrapped
    # The checker tries every mode that is declared; a test must not open windows.
    task.metadata = task.metadata | {"render_modes": ["rgb_array"]}
    check_env(task)
    task.close()


def test_the_wrapped_environment_runs_an_episode(name):
    wrapped = gymnasium.make(find(name).id)
    wrapped.reset(seed=0)
    wrapped.action_space.seed(0)
    truncated, steps = False, 0
    while not truncated:
        truncated = wrapped.step(wrapped.action_space.sample())[3]
        steps += 1
    assert steps == PAPER[name][3]
    assert wrapped.unwrapped.success_examples(2).shape[0] == 2
    wrapped.close()


def test_a_pickled_episode_continues_bit_for_bit(task):
    actions = random_actions(task, 20)
    rollout(task, 4, actions[:10])
    twin = pickle.loads(pickle.dumps(task))
    for action in actions[10:]:
        here, there = task.step(action), twin.step(action)
        assert here[0].tobytes() == there[0].tobytes()
        assert here[1:4] == there[1:4]
        assert here[4]["distance"] == there[4]["distance"]
    np.testing.assert_array_equal(task.reset()[0], twin.reset()[0])
    assert task.np_random.random() == twin.np_random.random()  # the random state came along
    twin.close()


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_vectorised_stepping_gives_the_same_states(task, name, kind):
    makers = [partial(make, name)] * 2
    if kind == "sync":
        envs = SyncVectorEnv(makers)
    else:
        # Not "fork": JAX may run threads in this process.
        multiprocessing.set_forkserver_preload(["mural.tasks.mazes.tasks", "gymnasium.vector"])
        envs = AsyncVectorEnv(makers, context="forkserver")
    actions = random_actions(task, 5)
    alone = rollout(task, 11, actions)
    try:
        observations = [envs.reset(seed=[11, 12])[0]]
        for action in actions:
            obs, rewards, terminated, truncated, infos = envs.step(np.stack([action, action]))
            observations.append(obs)
        assert rewards.shape == (2,)
        assert not terminated.any()
        assert not truncated.any()
        assert infos["distance"].shape == (2,)
    finally:
        envs.close()
    assert np.array([obs[0] for obs in observations]).tobytes() == np.array(alone).tobytes()


# Pictures


def test_frames_show_something_and_change(name):
    task = make(name, render_mode="rgb_array")
    task.reset(seed=0)
    before = task.render()
    for _ in range(10):
        task.step(task.scripted_action())
    after = task.render()
    task.close()
    assert before.dtype == np.uint8
    assert before.ndim == 3
    assert before.shape[2] == 3
    assert min(before.shape[:2]) >= 256
    assert before.std() > 10
    assert (before != after).any()


def test_rendering_does_not_disturb_the_episode(task, name):
    actions = random_actions(task, 10)
    plain = rollout(task, 6, actions)
    drawn = make(name, render_mode="rgb_array")
    observations = [drawn.reset(seed=6)[0]]
    for action in actions:
        observations.append(drawn.step(action)[0])
        if len(observations) % 5 == 0:
            drawn.render()
    drawn.close()
    assert np.array(observations).tobytes() == np.array(plain).tobytes()


def test_a_picture_of_examples_is_written(name, tmp_path):
    path = examples_picture(name, tmp_path / "new" / "examples.png", n=2)
    picture = imread(path)
    assert min(picture.shape[:2]) >= 100
    assert picture[..., :3].std() > 0.05
    with pytest.raises(ValueError, match="at least one"):
        examples_picture(name, tmp_path / "none.png", n=0)


def test_a_window_without_a_display_is_refused(name, monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    task = make(name, render_mode="human")
    with pytest.raises(DisplayError, match="rgb_array"):
        task.reset(seed=0)
    task.close()


def test_closing_twice_is_allowed(name):
    task = make(name)
    task.close()
    task.close()
