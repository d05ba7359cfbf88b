"""The replay buffer inside real Stable-Baselines3 and SBX: current labels, ends of episodes, saving, errors."""

import pickle

import gymnasium
import jax
import numpy as np
import pytest

import mural
from mural.adapters.endings import with_endings
from mural.errors import ArgumentError
from mural.inputs.selection import SpaceError
from mural.rewards.outcome import NotUpdatedError
from mural.rewards.states import StatesError
from mural.typed import ConfigError

pytest.importorskip("stable_baselines3")
import torch
from sb3_contrib import TQC
from stable_baselines3 import DDPG, PPO, SAC, TD3
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from mural.adapters.sb3 import OutcomeCallback, OutcomeDictReplayBuffer, OutcomeReplayBuffer, WrongBufferError
from tests.training import small

BOX = gymnasium.spaces.Box(-1, 1, (2,), np.float32)


def nets():
    return {"policy_kwargs": {"net_arch": [8]}, "batch_size": 16, "device": "cpu"}  # a new one: SAC writes into it


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


def new_reward(examples=None):
    examples = small.examples() if examples is None else examples
    return mural.OutcomeReward(examples, method="cnml", config=small.CNML)


def filled(rows=100, ends=(), n_envs=1, reward=None, size=1000, space=BOX, **options):
    buffer = OutcomeReplayBuffer(
        size, space, BOX, "cpu", n_envs, reward=new_reward() if reward is None else reward, **options
    )
    extend(buffer, rows, ends)
    return buffer


def extend(buffer, rows, ends=(), seed=0):
    rng = np.random.default_rng(seed)
    for row in range(rows):
        obs, after = rng.uniform(-1, 1, (2, buffer.n_envs, *buffer.obs_shape))
        done = np.full(buffer.n_envs, row in ends)
        buffer.add(obs, after, np.zeros((buffer.n_envs, 2)), np.full(buffer.n_envs, 99.0), done, [{}] * buffer.n_envs)


def everything(buffer, rows=None):
    rows = np.arange(buffer.size()) if rows is None else rows
    return buffer._get_samples(rows)


def test_samples_carry_the_reward_as_it_is_now():
    buffer = filled()
    with pytest.raises(NotUpdatedError):
        buffer.sample(4)
    labels = []
    for _ in range(2):
        assert buffer.learn()
        assert buffer.unreported == 0
        found = everything(buffer)
        expected = buffer.reward(found.next_observations.numpy())
        np.testing.assert_allclose(found.rewards.numpy()[:, 0], expected, atol=1e-6)
        labels.append(found.rewards.numpy()[:100])
        extend(buffer, 200, seed=1)
    assert not np.allclose(*labels, atol=1e-3)


def test_what_a_termination_is_worth():
    buffer = filled(ends=(5,), gamma=0.9)
    buffer.learn()
    found = everything(buffer)
    plain = buffer.reward(found.next_observations.numpy())
    assert found.dones.numpy()[5] == 1
    assert found.dones.numpy().sum() == 1
    np.testing.assert_allclose(found.rewards.numpy()[5, 0], 10 * plain[5], rtol=1e-4)
    np.testing.assert_allclose(np.delete(found.rewards.numpy()[:, 0], 5), np.delete(plain, 5), atol=1e-6)
    buffer.gamma = 0.8  # old labels are wrong now
    np.testing.assert_allclose(everything(buffer).rewards.numpy()[5, 0], 5 * plain[5], rtol=1e-4)
    for terminations, done in (("stop", 1), ("bootstrap", 0)):
        other = filled(ends=(5,), terminations=terminations)
        other.learn()
        found = everything(other)
        assert found.dones.numpy().sum() == done
        np.testing.assert_allclose(found.rewards.numpy()[:, 0], plain, atol=1e-6)


def test_absorbing_is_the_value_of_staying():
    rewards, ended = np.array([2.0, 3.0], np.float32), np.array([True, False])
    forever = sum(2.0 * 0.5**k for k in range(60))
    np.testing.assert_allclose(with_endings(rewards, ended, "absorb", 0.5), [forever, 3.0])


def test_a_large_buffer_costs_no_more(monkeypatch):
    """Only a pool of old transitions is labelled; new ones in groups; all that is drawn is current."""
    asked = []
    reward = new_reward()
    real = mural.OutcomeReward.__call__
    monkeypatch.setattr(mural.OutcomeReward, "__call__", lambda self, x: (asked.append(len(x)), real(self, x))[1])
    buffer = filled(600, reward=reward, pool=50)
    buffer.learn()
    for _ in range(5):
        found = buffer.sample(64)
        np.testing.assert_allclose(
            found.rewards.numpy()[:, 0], real(reward, found.next_observations.numpy()), atol=1e-6
        )
    assert asked == [50]
    extend(buffer, 10, seed=2)
    buffer.sample(64)
    assert asked == [50]
    extend(buffer, 60, seed=3)
    rows = everything(buffer, np.arange(600, 670))
    assert asked == [50, 70]
    np.testing.assert_array_equal(rows.next_observations.numpy(), buffer.next_observations[600:670, 0])
    extend(buffer, 700, seed=4)  # the ring is full, and what was in the pool is overwritten
    found = buffer.sample(256)
    np.testing.assert_allclose(found.rewards.numpy()[:, 0], real(reward, found.next_observations.numpy()), atol=1e-6)


def test_the_reward_is_told_where_episodes_began(monkeypatch):
    reward, told = new_reward(), []
    learn = reward.update
    monkeypatch.setattr(reward, "update", lambda *what: told.append(what[1:]) or learn(*what))
    space = gymnasium.spaces.Box(-1, 1, (4,), np.float32)
    buffer = filled(20, n_envs=2, reward=reward, space=space, classifier_slice="1,3")
    done = np.array([False, True])  # one of the two
    buffer.add(*np.ones((2, 2, 4)), np.zeros((2, 2)), np.zeros(2), done, [{}] * 2)
    extend(buffer, 5)
    buffer.learn()
    starts, abreast = told[0]
    first = buffer.observations[[0, 0, 21], [0, 1, 1]][:, [1, 3]]
    np.testing.assert_array_equal(starts, first)
    assert abreast == 2
    extend(buffer, 20, ends=(3,))
    buffer.learn()
    np.testing.assert_array_equal(told[1][0], buffer.observations[[30, 30], [0, 1]][:, [1, 3]])
    extend(buffer, 20)
    buffer.learn()
    assert told[2][0] is None  # no episode began


def test_buffers_of_earlier_versions_go_on():
    buffer = filled(20, n_envs=2)
    state = {name: value for name, value in buffer.__dict__.items() if name not in ("_begins", "_starts")}
    old = OutcomeReplayBuffer.__new__(OutcomeReplayBuffer)
    old.__setstate__(state)
    extend(old, 5)
    assert old.learn()
    assert pickle.loads(pickle.dumps(old)).size() == 25


def test_columns_and_several_environments():
    space = gymnasium.spaces.Box(-1, 1, (4,), np.float32)
    buffer = filled(90, n_envs=3, space=space, classifier_slice="1,3")
    assert buffer.unreported == 270
    buffer.learn()
    found = everything(buffer)
    expected = buffer.reward(found.next_observations.numpy()[:, [1, 3]])
    np.testing.assert_allclose(found.rewards.numpy()[:, 0], expected, atol=1e-6)


class Named(small.Field):
    observation_space = gymnasium.spaces.Dict(
        arm=gymnasium.spaces.Box(-1, 1, (1,)), puck=gymnasium.spaces.Box(-1, 1, (2,))
    )

    def _named(self, obs):
        return {"arm": np.zeros(1, np.float32), "puck": obs}

    def reset(self, **options):
        obs, info = super().reset(**options)
        return self._named(obs), info

    def step(self, action):
        obs, *rest = super().step(action)
        return self._named(obs), *rest


def test_dict_observations():
    model = SAC(
        "MultiInputPolicy", Named(), learning_starts=40, **nets(), replay_buffer_class=OutcomeDictReplayBuffer,
        replay_buffer_kwargs={"reward": new_reward(), "classifier_keys": ["puck"]},
    )  # fmt: skip
    model.learn(60, callback=OutcomeCallback())
    found = model.replay_buffer.sample(20)
    expected = model.replay_buffer.reward(found.next_observations["puck"].numpy())
    np.testing.assert_allclose(found.rewards.numpy()[:, 0], expected, atol=1e-6)


@pytest.mark.parametrize("algorithm", [SAC, TD3, DDPG, TQC])
def test_algorithms_train_and_the_callback_retrains(algorithm):
    reward = new_reward()
    model = algorithm(
        "MlpPolicy", small.Field(), learning_starts=50, gamma=0.9, **nets(),
        replay_buffer_class=OutcomeReplayBuffer, replay_buffer_kwargs={"reward": reward},
    )  # fmt: skip
    logged = {}
    model.set_logger(Logger(None, []))
    model.logger.record = lambda name, value, *_, **__: logged.update({name: value})
    model.learn(150, callback=OutcomeCallback(every=60))
    assert reward.updates == 2  # after step 51, when learning begins, and 60 later
    assert model.replay_buffer.gamma == 0.9
    assert any(name.startswith("outcome/") for name in logged)


def test_the_reward_is_not_normalised_by_the_environments():
    env = VecNormalize(DummyVecEnv([small.Field]))
    model = SAC(
        "MlpPolicy", env, learning_starts=40, **nets(),
        replay_buffer_class=OutcomeReplayBuffer, replay_buffer_kwargs={"reward": new_reward()},
    )  # fmt: skip
    model.learn(60, callback=OutcomeCallback())
    buffer = model.replay_buffer
    found = buffer._get_samples(np.arange(40), env)
    raw = buffer.reward(buffer.next_observations[:40, 0])
    np.testing.assert_allclose(found.rewards.numpy()[:, 0], raw, atol=1e-6)
    assert not np.allclose(found.next_observations.numpy(), buffer.next_observations[:40, 0])


def test_a_saved_model_keeps_its_reward(tmp_path):
    model = SAC(
        "MlpPolicy", small.Field(), learning_starts=40, **nets(),
        replay_buffer_class=OutcomeReplayBuffer, replay_buffer_kwargs={"reward": new_reward()},
    )  # fmt: skip
    model.learn(60, callback=OutcomeCallback())
    model.save(tmp_path / "m")
    model.save_replay_buffer(tmp_path / "b")
    again = SAC.load(tmp_path / "m", env=small.Field())
    places = np.random.default_rng(5).uniform(-1, 1, (30, 2))
    np.testing.assert_array_equal(again.replay_buffer.reward(places), model.replay_buffer.reward(places))
    again.learn(20, callback=OutcomeCallback(), reset_num_timesteps=False)  # with an empty buffer
    again.load_replay_buffer(tmp_path / "b")
    assert again.replay_buffer.size() == 60
    again.learn(20, callback=OutcomeCallback(every=10), reset_num_timesteps=False)
    assert again.replay_buffer.reward.updates > 1
    assert again.replay_buffer_kwargs["reward"] is again.replay_buffer.reward


def test_errors_say_what_to_do():
    with pytest.raises(StatesError, match=r"have 2 numbers and it would be shown 4.*classifier_slice"):
        filled(0, space=gymnasium.spaces.Box(-1, 1, (4,)))
    with pytest.raises(SpaceError, match="out of range"):
        filled(0, classifier_slice="0:9")
    with pytest.raises(ConfigError, match="terminations"):
        filled(0, terminations="never")
    with pytest.raises(ArgumentError, match="gamma is 1"):
        filled(0, gamma=1.0)
    with pytest.raises(ArgumentError, match="pool"):
        filled(0, pool=0)
    with pytest.raises(ArgumentError, match="leave it out"):
        filled(0, optimize_memory_usage=True)
    with pytest.raises(ArgumentError, match="every is 0"):
        OutcomeCallback(0)
    for model in (SAC("MlpPolicy", small.Field(), device="cpu"), PPO("MlpPolicy", small.Field(), device="cpu")):
        with pytest.raises(WrongBufferError, match=r"replay_buffer_class=OutcomeReplayBuffer.*OutcomeRewardWrapper"):
            model.learn(10, callback=OutcomeCallback())


def test_sbx_takes_the_same_buffer():
    sbx = pytest.importorskip("sbx")
    with jax.numpy_rank_promotion("allow"):  # SBX relies on it
        model = sbx.SAC(
            "MlpPolicy", small.Field(), learning_starts=50, batch_size=16, policy_kwargs={"net_arch": [8]},
            replay_buffer_class=OutcomeReplayBuffer, replay_buffer_kwargs={"reward": new_reward()},
        )  # fmt: skip
        model.learn(80, callback=OutcomeCallback(every=20))
    assert model.replay_buffer.reward.updates == 2  # after step 51, when learning begins, and 20 later


def test_what_is_forgotten_is_named():
    with pytest.raises(ArgumentError, match=r"reward is None; .* mural\.OutcomeReward\(examples\)"):
        OutcomeReplayBuffer(100, BOX, BOX)
    with pytest.raises(ArgumentError, match="replay_buffer_class=OutcomeDictReplayBuffer"):
        OutcomeReplayBuffer(100, gymnasium.spaces.Dict({"place": BOX}), BOX, reward=new_reward())
    with pytest.raises(NotUpdatedError, match=r"callback=OutcomeCallback\(\)"):
        filled().sample(8)
