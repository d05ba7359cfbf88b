"""A run: its state, and one epoch of it after another. What becomes of the results is others' business."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mural import cache
from mural.agent import replay as replay_buffer
from mural.agent import sac
from mural.agent.policy import NumpyPolicy
from mural.agent.replay import Replay, Rows
from mural.inputs.world import World, require
from mural.rewards import Experience, find_method, total
from mural.settings.config import ConfigError, RunConfig
from mural.storage import trees
from mural.training import epoch as compiled
from mural.training.collect import Act, Collector, PolicyFailure, policy_actions, random_actions, seeds
from mural.training.diagnostics import Diagnostics
from mural.training.evaluate import evaluate

BLOCK = 4096  # transitions per labelling call

ADVICE = (
    "The last good checkpoint is kept; go on from it with smaller steps "
    "(`mural resume RUN --set sac.learning_rate=1e-4`) or smaller scales of the reward"
)

Row = dict[str, Any]
Groups = dict[str, dict[str, np.ndarray]]


class NotOfStatesError(ValueError):
    """A reward that states alone do not have was asked of states."""


class DivergenceError(RuntimeError):
    """A loss or a reward is no longer finite."""

    def __init__(self, message: str, row: Row) -> None:
        super().__init__(message)
        self.row = row


class BrokenOffError(RuntimeError):
    """An epoch was not finished, so what is in memory is no state to go on from."""


class Run:
    """Agent, rewards and replay in training."""

    def __init__(self, config: RunConfig, world: World, failures: Any = None) -> None:
        cache.enable()
        self.config, self.world = config, world
        self.spec = find_method(config.method)
        loop, spaces = config.loop, world.spaces
        self.setting = compiled.Setting(
            config.sac, tuple(config.reward.terms()), world.columns, config.terminations, self.spec.objective
        )
        self.epoch_steps = epoch_steps(config, world.horizon)
        self.calls = self.epoch_steps // loop.steps_per_call
        self.call_rows = loop.steps_per_call // loop.environments
        self.updates_per_call = round(loop.steps_per_call * loop.updates_per_step)
        self.random_epochs = max(1, math.ceil(loop.random_steps / self.epoch_steps))
        rows = math.ceil(loop.replay_size / loop.environments / self.call_rows) * self.call_rows
        waiting = self.random_epochs * self.epoch_steps
        if rows * loop.environments < waiting:
            raise ConfigError(
                f"loop.replay_size is {loop.replay_size}; at least {waiting} are needed, all that is collected before "
                "the reward first learns"
            )
        self.collector = Collector(world.envs, spaces, failures)
        self.key = jax.random.key(config.seed)
        key_agent, key_reward = jax.random.split(jax.random.fold_in(self.key, 2**31 - 1))
        self.agent = sac.init(config.sac, spaces.obs_size, spaces.action_size, key=key_agent)
        self.rewards = total.init(self.setting.terms, world.problem, key=key_reward)
        self.replay = replay_buffer.create(rows, loop.environments, spaces.obs_size, spaces.action_size)
        self.diagnostics = Diagnostics(world)
        self.examples = world.example_obs if self.spec.objective == "rce" else None
        self.epoch = 0
        self.midway = False
        self.recent: list[Rows] = []
        self.timing: dict[str, float] = {}

    @property
    def step(self) -> int:
        """Environment steps so far."""
        return self.epoch * self.epoch_steps

    @property
    def policy(self) -> NumpyPolicy:
        """The current policy, in NumPy."""
        return NumpyPolicy([(np.asarray(layer.w), np.asarray(layer.b)) for layer in self.agent.policy])

    @property
    def learned(self) -> bool:
        """Whether the reward has been learned at all."""
        return self.epoch > self.random_epochs

    # One epoch

    def advance(self, progress: Callable[[int], None] = lambda step: None) -> Row:
        """The next epoch; returns its row of metrics. Everything random in it derives from the seed and its number."""
        self._require_whole()
        self.midway = True
        begun = time.perf_counter()
        key_learn, key_plan, key_updates = jax.random.split(jax.random.fold_in(self.key, self.epoch), 3)
        rng = np.random.default_rng([self.config.seed, self.epoch, 1])
        self.collector.restart(seeds(self.config.seed, self.epoch, 2, count=len(self.world.envs)))
        self.timing = dict.fromkeys(("learn", "label", "collect", "update", "evaluate"), 0.0)
        row: Row = {"step": self.step + self.epoch_steps, "epoch": self.epoch + 1}
        try:
            if self.epoch < self.random_epochs:
                self._explore(random_actions(rng, self.world.spaces.action_size), progress)
            else:
                row |= self._learn_reward(key_learn)
                row |= self._epoch(rng, key_plan, key_updates, progress)
            row |= self._episodes()
            self.epoch += 1
            row |= {"replay/size": self._size(), **self.diagnostics.coverage()}
            if self.learned and (self.epoch % self.config.watch.eval_every == 0 or self.step >= self.config.steps):
                row |= self._timed("evaluate", self.evaluate)
        except PolicyFailure as error:
            raise DivergenceError(f"epoch {row['epoch']}: {error}. {ADVICE}", row) from error
        row |= self.diagnostics.alarm(row)
        row = {name: value.item() if hasattr(value, "item") else value for name, value in row.items()}
        self._check(row)
        self.timing["total"] = time.perf_counter() - begun
        self.midway = False
        return row

    def _explore(self, act: Act, progress: Callable[[int], None]) -> None:
        for c in range(self.calls):
            block = self._timed("collect", self.collector.collect, self.call_rows, act, cut=c == self.calls - 1)
            if self.epoch == 0 and c == 0:
                require(self.spec, {name: getattr(block, name)[0, 0] for name in ("success", "distance")})
            self._keep(block)
            self.replay = compiled.insert(self.replay, block)
            progress(self.step + (c + 1) * self.config.loop.steps_per_call)

    def _learn_reward(self, key: Array) -> Row:
        """Let every part of the reward learn from what has been seen."""
        columns = self.setting.columns
        recent = jax.tree.map(lambda *c: np.concatenate(c).reshape(-1, *c[0].shape[2:]), *self.recent)
        self.recent = []
        batch = jax.tree.map(jnp.asarray, compiled.transitions(recent, columns))
        experience = Experience(
            size=self._size(),
            sample=lambda n, k: compiled.sample(self.replay, columns, n, k),
            recent=batch,
            pairs=lambda n, k: compiled.pairs(self.replay, columns, n, k),
            log_prob=lambda obs, action: compiled.log_prob(self.agent.policy, obs, action),
            act=lambda obs, k: compiled.act(self.agent.policy, obs, k),
        )
        begun = time.perf_counter()
        self.rewards, info = total.learn(self.setting.terms, self.rewards, self.world.problem, experience, key=key)
        info = jax.device_get(info)
        self.timing["learn"] += time.perf_counter() - begun
        return info | self.diagnostics.classifier(self.setting.terms, self.rewards, batch.states)

    def _epoch(
        self, rng: np.random.Generator, key_plan: Array, key_updates: Array, progress: Callable[[int], None]
    ) -> Row:
        loop = self.config.loop
        plan = compiled.plan(
            self.replay,
            calls=self.calls,
            updates=self.updates_per_call,
            batch=self.config.sac.batch_size,
            new_rows=self.call_rows,
            pool=loop.pool,
            n_step=self.config.sac.n_step,
            key=key_plan,
        )
        row: Row = {}
        if not loop.stale:
            row = self._timed("label", self._relabel, np.asarray(plan.pool)[: int(plan.size)])
        elif self.epoch == self.random_epochs:  # the random steps, which have no rewards yet
            row = self._timed("label", self._relabel, np.arange(self._size(), dtype=np.int32))
        else:
            kept = np.asarray(self.replay.rows.reward).reshape(-1)[np.asarray(plan.pool)[: int(plan.size)]]
            row = {"reward/mean": float(kept.mean()), "reward/above_half": float((kept > 0.5).mean())}
        infos = []
        keys = jax.random.split(key_updates, self.calls)
        for c in range(self.calls):
            act = policy_actions(self._timed("update", lambda: self.policy), rng)  # waits for the last call's updates
            block = self._timed("collect", self.collector.collect, self.call_rows, act, cut=c == self.calls - 1)
            self._keep(block)
            self.agent, self.replay, info = self._timed(
                "update", compiled.call, self.setting, self.agent, self.rewards, self.replay, block,
                plan.ids[c], self.examples, key=keys[c],
            )  # fmt: skip
            infos.append(info)
            progress(self.step + (c + 1) * loop.steps_per_call)
        begun = time.perf_counter()
        fetched = jax.device_get(infos)
        self.timing["update"] += time.perf_counter() - begun
        return row | {name: float(np.mean([info[name] for info in fetched])) for name in fetched[0]}

    def _relabel(self, pool: np.ndarray) -> Row:
        """Current rewards for all these ids, in blocks of one shape."""
        size, sums = len(pool), []
        for start in range(0, size, BLOCK):
            ids = np.resize(pool[start : start + BLOCK], BLOCK)
            self.replay, part = compiled.relabel(
                self.setting, self.rewards, self.replay, jnp.asarray(ids), jnp.int32(min(size - start, BLOCK))
            )
            sums.append(part)
        sums = jax.device_get(sums)
        return {name: float(sum(float(s[name]) for s in sums) / size) for name in sums[0]}

    def _episodes(self) -> Row:
        """What the training episodes of this epoch ended with."""
        episodes = self.collector.episodes
        names = {"success": "train/success", "distance": "train/distance", "length": "train/length"}
        row = {new: float(np.mean([e[old] for e in episodes])) for old, new in names.items() if episodes}
        return {name: value for name, value in row.items() if not math.isnan(value)}

    def _keep(self, block: Rows) -> None:
        self.recent.append(block)
        self.diagnostics.visit(np.asarray(block.xy).reshape(-1, 2))

    def _size(self) -> int:
        return int(replay_buffer.filled(self.replay)) * self.config.loop.environments

    def _timed(self, phase: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        begun = time.perf_counter()
        result = function(*args, **kwargs)
        self.timing[phase] = self.timing.get(phase, 0.0) + time.perf_counter() - begun
        return result

    def _check(self, row: Row) -> None:
        wrong = [name for name, value in row.items() if isinstance(value, float) and math.isinf(value)]
        wrong += [
            name for name in ("sac/critic_loss", "sac/policy_loss", "reward/mean") if math.isnan(row.get(name, 0.0))
        ]
        if wrong:
            raise DivergenceError(
                f"epoch {row['epoch']}: {', '.join(wrong)} is no longer finite. {ADVICE}",
                row,
            )

    def _require_whole(self) -> None:
        if self.midway:
            raise BrokenOffError(
                "an epoch of this run was broken off: its policy can still be used, but to train or save it, go on "
                "from the last checkpoint (mural.Agent.load, or `mural resume`)"
            )

    # What others ask of a run

    def evaluate(self, episodes: int | None = None, *, render: Callable[[Any], None] | None = None) -> Row:
        """Episodes with the policy's most likely actions, from the same starts each time."""
        count = episodes or self.config.watch.eval_episodes
        return evaluate(
            self.world.envs[0], self.world.spaces, self.policy,
            seeds(self.config.seed, 0, 3, count=count), self.label if self.learned else None,
            self.world.horizon or self.epoch_steps, render, self.collector.failures,
        )  # fmt: skip

    def label(self, rows: Rows) -> np.ndarray:
        """The current reward of transitions [n], in blocks of one shape."""
        n = len(rows.step)
        results = []
        for start in range(0, n, BLOCK // 8):
            index = np.resize(np.arange(start, min(start + BLOCK // 8, n)), BLOCK // 8)
            batch = compiled.transitions(jax.tree.map(lambda column, i=index: column[i], rows), self.setting.columns)
            results.append(np.asarray(compiled.label(self.setting, self.rewards, jax.tree.map(jnp.asarray, batch))))
        return np.concatenate(results)[:n]

    @property
    def learns_reward(self) -> bool:
        """Whether there is a reward of states: not where the environment tells it, nor where the critic needs none."""
        told = {"env_reward", "success", "distance"} & set(self.spec.needs) and "examples" not in self.spec.needs
        return not told and self.spec.objective == "td"

    @property
    def reads(self) -> set[str]:
        """What the labels of the reward depend on, beside the state that a transition leads to."""
        return {name for term in self.setting.terms for name in getattr(term.part, "reads", ())}

    def reward_of(self, obs: np.ndarray, xy: np.ndarray | None = None) -> np.ndarray:
        """The current reward [n] of being in whole observations [n, o], with nothing reported about them but `xy`."""
        if moves := self.reads & {"obs", "action"}:
            what = " and ".join(sorted(moves))
            raise NotOfStatesError(f"the reward of {self.config.method!r} is one of transitions: it depends on {what}")
        n = len(obs)
        blank, no = np.zeros(n, np.float32), np.zeros(n, bool)
        if xy is None:
            xy = obs[:, list(self.world.columns)][:, :2]
            if "xy" in self.reads and not self._places_are_states():
                raise NotOfStatesError(
                    f"the reward of {self.config.method!r} depends on places (info['xy']), which here are not states"
                )
        rows = Rows(
            obs=obs, action=np.zeros((n, self.world.spaces.action_size), np.float32), next_obs=obs,
            xy=np.pad(xy, ((0, 0), (0, 2 - xy.shape[1]))), env_reward=blank, success=blank, distance=blank, l2=blank,
            reward=blank, terminated=no, last=no, step=blank.astype(np.int32),
        )  # fmt: skip
        return self.label(rows)

    def _places_are_states(self) -> bool:
        """Whether info['xy'] has been what the classifier sees first, at all of the first steps."""
        rows = jax.tree.map(lambda column: np.asarray(column[:64]).reshape(-1, *column.shape[2:]), self.replay.rows)
        seen = rows.next_obs[:, list(self.world.columns)][:, :2]
        return seen.shape == rows.xy.shape and bool(np.allclose(seen, rows.xy, atol=1e-5))

    # Everything, as arrays

    def groups(self) -> Groups:
        """All that is needed to go on."""
        self._require_whole()
        filled = int(replay_buffer.filled(self.replay))
        rows = jax.tree.map(lambda column: np.asarray(column)[:filled], self.replay.rows)  # JAX would compile the slice
        waiting = sum(len(block.step) for block in self.recent)
        return {
            "agent": trees.flatten(self.agent),
            "reward": trees.flatten({"states": self.rewards, "visits": self.diagnostics.state()}),
            "replay": trees.flatten({"rows": rows})
            | {"count": np.asarray(self.replay.written), "waiting": np.array([waiting])},
        }

    def restore(self, epoch: int, groups: Groups) -> None:
        """Go on from what `groups` returned."""
        self.agent = trees.restore(self.agent, groups["agent"])
        reward = trees.restore({"states": self.rewards, "visits": self.diagnostics.state()}, groups["reward"])
        self.rewards = reward["states"]
        self.diagnostics.set_state(reward["visits"])
        stored = dict(groups["replay"])
        count, waiting = jnp.asarray(stored.pop("count")), int(stored.pop("waiting")[0])
        filled = int(min(int(count), replay_buffer.capacity(self.replay)))
        template = jax.tree.map(lambda column: np.asarray(column)[:filled], self.replay.rows)
        rows = trees.restore({"rows": template}, stored)["rows"]
        self.replay = compiled.insert(self.replay, rows)._replace(written=count)
        self.recent = recent_rows(self.replay, waiting)
        self.epoch = epoch


def recent_rows(replay: Replay, count: int) -> list[Rows]:
    """The last `count` rows of the replay, as one block: what the reward has not learned from yet."""
    rows = replay_buffer.capacity(replay)
    index = (int(replay.written) - count + np.arange(count)) % rows
    return [jax.tree.map(lambda column: np.asarray(column)[index], replay.rows)] if count else []


def epoch_steps(config: RunConfig, horizon: int | None) -> int:
    """Steps per epoch: as set, or 1000, or an episode of every environment; a multiple of the steps per call."""
    if config.loop.epoch_steps is not None:
        return config.loop.epoch_steps
    least = max(1000, (horizon or 0) * config.loop.environments)
    return math.ceil(least / config.loop.steps_per_call) * config.loop.steps_per_call
