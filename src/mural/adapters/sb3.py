"""Stable-Baselines3 and SBX: a replay buffer whose samples carry current rewards, and a callback that retrains.

Three lines in a script that trains SAC, TD3, TQC or DDPG (`docs/adapters.md`)::

    reward = mural.OutcomeReward(examples)
    model = SAC("MlpPolicy", env, replay_buffer_class=OutcomeReplayBuffer, replay_buffer_kwargs={"reward": reward})
    model.learn(50_000, callback=OutcomeCallback())

A reward that has learned anew makes all old labels wrong. As our own loop does, the buffer then labels a pool of old
transitions, all of them while they fit, and until the next time draws old ones from that pool and new ones as they
come in: every reward that the agent sees is current, and it costs the same however large the buffer has grown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from mural.adapters.endings import checked_endings, require_reward, require_width, with_endings
from mural.agent.replay import Terminations
from mural.errors import ArgumentError, MuralError
from mural.inputs.selection import Selection, of_keys, of_slice
from mural.inputs.supported import entries_of
from mural.rewards.outcome import NotUpdatedError, OutcomeReward

try:
    from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer
    from stable_baselines3.common.callbacks import BaseCallback
except ModuleNotFoundError as error:
    from mural.tasks import MissingExtraError

    raise MissingExtraError(f"Stable-Baselines3 is needed: pip install 'mural-rl[sb3]' ({error})") from error

POOL = 8192  # old transitions that get new labels when the reward has learned
LAG, LAG_SHARE = 64, 0.1  # new transitions, and their share, that are labelled together; until then others are drawn
UNLABELLED, STALE = -1, -2


class WrongBufferError(MuralError, TypeError):
    """The model's replay buffer is not one of ours; the message says how to pass it."""


class _Outcome(ReplayBuffer):
    """What both buffers share."""

    def __init__(
        self,
        buffer_size: int,
        observation_space: Any,
        action_space: Any,
        device: Any = "auto",
        n_envs: int = 1,
        optimize_memory_usage: bool = False,
        handle_timeout_termination: bool = True,
        *,
        reward: OutcomeReward | None = None,
        classifier_keys: str | Sequence[str] | None = None,
        classifier_slice: Selection | None = None,
        terminations: Terminations = "absorb",
        gamma: float = 0.99,
        pool: int = POOL,
    ) -> None:
        if optimize_memory_usage:
            raise ArgumentError(
                "optimize_memory_usage keeps no next observations, which are what is rewarded: leave it out"
            )
        if isinstance(observation_space, spaces.Dict) and not isinstance(self, DictReplayBuffer):
            raise ArgumentError("observations are a Dict: pass replay_buffer_class=OutcomeDictReplayBuffer")
        self.reward = require_reward(reward)
        if pool < 1:
            raise ArgumentError(f"pool is {pool}; at least one transition is needed")
        self.terminations, self._gamma = checked_endings(terminations, gamma)
        super().__init__(
            buffer_size, observation_space, action_space, device, n_envs,
            optimize_memory_usage=False, handle_timeout_termination=handle_timeout_termination,
        )  # fmt: skip
        entries = list(entries_of(observation_space))
        layout = [(entry.name, entry.start, entry.stop) for entry in entries]
        self._keys = [entry.path[0] for entry in entries if entry.path]
        self._columns = (
            of_keys(layout, classifier_keys)
            if classifier_keys is not None
            else of_slice(":" if classifier_slice is None else classifier_slice, entries[-1].stop)
        )
        require_width(self.reward, len(self._columns))
        self._pool_rows = max(1, pool // n_envs)
        self._pool = np.zeros(0, np.int64)
        self._labelled_at = np.full(self.buffer_size, UNLABELLED, np.int64)  # updates that the reward had had
        self._current_at = STALE
        self._rng = np.random.default_rng([self.reward.seed, 8])  # not NumPy's own: what SB3 draws stays what it was
        self._unreported = 0
        self._begins = np.ones(n_envs, bool)  # whether the next transition is the first of an episode
        self._starts: list[NDArray[np.float32]] = []

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A pickled buffer; those of earlier versions did not gather starts."""
        self.__dict__.update({"_begins": np.ones(state["n_envs"], bool), "_starts": []} | state)

    @property
    def gamma(self) -> float:
        """The discount: what a terminal state that is absorbing is worth depends on it."""
        return self._gamma

    @gamma.setter
    def gamma(self, gamma: float) -> None:
        self._gamma = checked_endings(self.terminations, gamma)[1]
        self._labelled_at[self._labelled_at >= 0] = self._current_at = STALE

    @property
    def unreported(self) -> int:
        """Transitions that the reward has not learned from yet."""
        return self._unreported * self.n_envs

    def add(self, obs: Any, next_obs: Any, action: Any, reward: Any, done: Any, infos: list[dict[str, Any]]) -> None:
        """Keep transitions, one per environment; the environment's reward is forgotten."""
        row = self.pos
        super().add(obs, next_obs, action, reward, done, infos)
        if self.terminations == "bootstrap":
            self.timeouts[row] = 1.0
        self.rewards[row], self._labelled_at[row] = 0.0, UNLABELLED
        self._unreported = min(self._unreported + 1, self.buffer_size)
        if self._begins.any():
            self._starts.append(self._seen(self.observations, np.array([row]))[self._begins])
        self._begins = np.asarray(done, bool).reshape(-1)

    def states(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """What the reward sees of where the transitions in these rows lead, [rows · environments, d]."""
        return self._seen(self.next_observations, rows)

    def _seen(self, observations: Any, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        n = len(rows) * self.n_envs
        found = [observations[key] for key in self._keys] if self._keys else [observations]
        flat = [np.asarray(part[rows], np.float32).reshape(n, -1) for part in found]
        return np.concatenate(flat, axis=1)[:, self._columns]

    def learn(self) -> dict[str, float]:
        """Let the reward learn from the states that came since it last did; returns its report."""
        rows = np.arange(self.pos - self._unreported, self.pos) % self.buffer_size
        starts = np.concatenate(self._starts) if self._starts else None
        report = self.reward.update(self.states(rows), starts, self.n_envs)
        self._unreported, self._starts = 0, []
        return report

    def _get_samples(self, batch_inds: NDArray[Any], env: Any = None) -> Any:
        return super()._get_samples(self._current(batch_inds), env)

    @staticmethod
    def _normalize_reward(reward: NDArray[Any], env: Any = None) -> NDArray[Any]:
        return reward  # VecNormalize has measured the environment's rewards, not these

    def _current(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The same rows, those without a current label replaced by others of the pool."""
        if not self.reward.updates:
            raise NotUpdatedError("the reward has not learned yet: pass callback=OutcomeCallback() to model.learn()")
        if self._current_at != self.reward.updates:
            self._current_at = self.reward.updates
            held = self.size()
            all_of_them = held <= self._pool_rows
            self._pool = np.arange(held) if all_of_them else self._rng.choice(held, self._pool_rows, replace=False)
            self._labelled_at[:held] = STALE
            self._label(self._pool)
        labelled = self._labelled_at[: self.size()]
        new, ready = np.flatnonzero(labelled == UNLABELLED), np.flatnonzero(labelled == self._current_at)
        if len(new) and (len(new) >= min(LAG / self.n_envs, LAG_SHARE * len(labelled)) or not len(ready)):
            self._label(new)
            ready = np.concatenate([ready, new])
        found = labelled[rows]
        if (found == self._current_at).all():
            return rows
        old = self._pool[labelled[self._pool] == self._current_at]  # the others have been overwritten
        instead = [self._rng.choice(some if len(some) else ready, len(rows)) for some in (old, ready)]
        return np.where(found == self._current_at, rows, np.where(found == UNLABELLED, instead[1], instead[0]))

    def _label(self, rows: NDArray[np.int64]) -> None:
        values = np.asarray(self.reward(self.states(rows)), np.float32).reshape(len(rows), self.n_envs)
        ended = (self.dones[rows] * (1 - self.timeouts[rows])).astype(bool)
        self.rewards[rows] = with_endings(values, ended, self.terminations, self._gamma)
        self._labelled_at[rows] = self._current_at


class OutcomeReplayBuffer(_Outcome):
    """A `replay_buffer_class` for SB3 and SBX whose samples carry the current reward of an `OutcomeReward`.

    Pass in `replay_buffer_kwargs`:

    reward : the `mural.OutcomeReward`; `OutcomeCallback` retrains it.
    classifier_keys, classifier_slice : what the reward sees of an observation: entries of a Dict (with
        `OutcomeDictReplayBuffer`), or columns ("0:3", "0,2"); all, unless you say otherwise.
    terminations : what follows a termination. "absorb": the last reward goes on for ever; "stop": nothing; "bootstrap":
        as at a time limit, what the critic thinks would have followed.
    gamma : the discount, for "absorb"; `OutcomeCallback` takes it from the model.
    pool : old transitions that get new labels when the reward has learned.
    """


class OutcomeDictReplayBuffer(_Outcome, DictReplayBuffer):
    """The same for observations that are a Dict (`MultiInputPolicy`)."""


class OutcomeCallback(BaseCallback):
    """Lets the reward of the model's `OutcomeReplayBuffer` learn: when training begins, then once per `every` steps."""

    def __init__(self, every: int = 1000, verbose: int = 0) -> None:
        super().__init__(verbose)
        if every < 1:
            raise ArgumentError(f"every is {every}; it must be at least one step")
        self.every = every

    @property
    def buffer(self) -> _Outcome:
        """The model's replay buffer."""
        found = getattr(self.model, "replay_buffer", None)
        if not isinstance(found, _Outcome):
            raise WrongBufferError(
                f"the model's replay buffer is a {type(found).__name__}; make the model with replay_buffer_class="
                "OutcomeReplayBuffer, replay_buffer_kwargs={'reward': reward}; for PPO and others without a replay "
                "buffer there is mural.adapters.gym.OutcomeRewardWrapper"
            )
        return found

    def _on_training_start(self) -> None:
        buffer, model = self.buffer, self.model
        if buffer.gamma != model.gamma:
            buffer.gamma = model.gamma
        model.replay_buffer_kwargs["reward"] = buffer.reward  # what `model.save` keeps; a loaded buffer brings its own

    def _on_rollout_end(self) -> None:
        buffer = self.buffer
        begun = self.num_timesteps > self.model.learning_starts
        if begun and (buffer.unreported >= self.every or buffer.reward.updates == 0):
            for name, value in buffer.learn().items():
                self.logger.record(f"outcome/{name}", value)

    def _on_step(self) -> bool:
        return True
