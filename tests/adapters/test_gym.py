"""The environment with a learned reward: what it pays, when it learns, and what an end is worth."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import mural
from mural.adapters.gym import OutcomeRewardWrapper
from mural.errors import ArgumentError
from mural.rewards.states import StatesError
from tests.training import small


def wrapped(env=None, **options):
    reward = mural.OutcomeReward(small.examples(), method="cnml", config=small.CNML)
    return OutcomeRewardWrapper(small.Field() if env is None else env, reward, **options)


def walk(env, steps, seed=0):
    """(observation, reward, terminated, truncated, info) of random steps."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    for _ in range(steps):
        result = env.step(rng.uniform(-1, 1, 2).astype(np.float32))
        yield result
        if result[2] or result[3]:
            env.reset()


def test_it_pays_the_learned_reward():
    env = wrapped(every=30)
    steps = list(walk(env, 61))
    assert [step[1] for step in steps[:29]] == [0.0] * 29
    assert env.learned_reward.updates == 2
    assert env.report
    obs, reward, _, _, info = steps[-1]
    assert reward == pytest.approx(env.learned_reward(obs))
    assert reward != 0
    assert info["env_reward"] == pytest.approx(-info["distance"])


def test_actions_may_be_of_any_kind():
    class Steered(gymnasium.ActionWrapper):
        action_space = gymnasium.spaces.Discrete(4)

        def action(self, action):
            return np.array([[1, 0], [-1, 0], [0, 1], [0, -1]], np.float32)[action]

    env = wrapped(Steered(small.Field()), every=10)
    env.reset(seed=0)
    rewards = [env.step(env.action_space.sample())[1] for _ in range(12)]
    assert rewards[-1] != 0


def test_it_tells_the_reward_where_episodes_began(monkeypatch):
    env, told = wrapped(every=30), []
    learn = env.learned_reward.update
    monkeypatch.setattr(
        env.learned_reward, "update", lambda states, starts: told.append(np.asarray(starts)) or learn(states, starts)
    )
    begun = []
    monkeypatch.setattr(env.env, "reset", lambda reset=env.env.reset, **how: begun.append(reset(**how)) or begun[-1])
    list(walk(env, 61))
    assert [len(starts) for starts in told] == [2, 2]  # episodes of 15 steps
    np.testing.assert_array_equal(np.concatenate(told), [obs for obs, _ in begun[:4]])


@pytest.mark.parametrize(("terminations", "factor"), [("absorb", 10), ("stop", 1), ("bootstrap", 1)])
def test_what_a_termination_is_worth(terminations, factor):
    env = small.Field()
    env.terminates_at = 7
    wrapper = wrapped(env, every=14, terminations=terminations, gamma=0.9)
    steps = list(walk(wrapper, 28))
    obs, reward, terminated, truncated, _ = steps[20]
    assert wrapper.learned_reward.updates == 2
    assert (terminated, truncated) == ((False, True) if terminations == "bootstrap" else (True, False))
    again = wrapped(env, every=14, terminations="stop")
    for step in list(walk(again, 28))[:21]:
        plain = step
    np.testing.assert_array_equal(plain[0], obs)
    assert reward == pytest.approx(factor * plain[1], rel=1e-4)


def test_it_is_an_environment_and_sees_what_the_task_says():
    check_env(wrapped().env, skip_render_check=True)
    task = gymnasium.make("mural/ZigzagMaze-v0")
    examples = mural.check_examples(task, None)
    env = OutcomeRewardWrapper(task, mural.OutcomeReward(examples, method="cnml", config=small.CNML), every=20)
    assert len(list(walk(env, 25))) == 25
    assert env.learned_reward.updates == 1


def test_errors_say_what_to_do():
    with pytest.raises(ArgumentError, match="every is 0"):
        wrapped(every=0)
    with pytest.raises(ArgumentError, match="gamma is 1"):
        wrapped(gamma=1)
    with pytest.raises(StatesError, match="would be shown 1"):
        wrapped(classifier_slice="0:1")


def test_examples_are_no_reward():
    with pytest.raises(ArgumentError, match=r"reward is a ndarray; it must be a mural\.OutcomeReward"):
        OutcomeRewardWrapper(small.Field(), small.examples())
