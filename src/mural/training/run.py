"""A run: its state, and one epoch of it after another. What becomes of the results is others' business."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mural import cache
from mural.agent import replay as replay_buffer
from mural.agent import sac
from mural.agent import view as views
from mural.agent.policy import NumpyPolicy
from mural.agent.replay import COLUMNS, Rows
from mural.agent.sac import SACState
from mural.inputs.world import World, require
from mural.nml.mlp import Params
from mural.nml.products import precision
from mural.rewards import Experience, NotOfStatesError, find_method, total
from mural.rewards.base import STATES, Recent
from mural.settings.config import ConfigError, RunConfig, epoch_steps
from mural.training import compiled, snapshot
from mural.training.collect import (
    Act,
    Collector,
    Noise,
    PolicyFailure,
    first_view,
    policy_actions,
    random_actions,
    seeds,
    starts,
)
from mural.training.diagnostics import Diagnostics
from mural.training.evaluate import evaluate
from mural.training.failures import ADVICE, BrokenOffError, DivergenceError, Row, require_finite
from mural.training.settle import findings, found_by, settled
from mural.training.snapshot import Groups

BLOCK = 4096  # transitions per labelling call
FORGOTTEN = 0.2  # of what earlier epochs say about how often success is found


class Run:
    """Agent, rewards and replay in training."""

    def __init__(
        self, config: RunConfig, world: World, failures: Any = None, found: Mapping[str, Any] | None = None
    ) -> None:
        cache.enable()
        self.config, self.world = config, world
        self.spec = find_method(config.method)
        loop, spaces = config.loop, world.spaces
        self.sac = settled(config.sac, world, found or {})
        self.settled = tuple(findings(config.sac, self.sac, world.horizon))
        problem = dataclasses.replace(world.problem, waves=self.sac.waves or 0)
        self.world = world = dataclasses.replace(world, problem=problem)
        self.program = compiled.Program(self.sac, config.terms, world.columns, config.terminations, self.spec.objective)
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
        key_agent, key_reward = total.first_keys(config.seed)
        self.agent = sac.init(self.sac, spaces.obs_size, spaces.action_size, key=key_agent)
        self.parts = total.init(self.program.terms, world.problem, key=key_reward)
        self.replay = replay_buffer.create(rows, loop.environments, spaces.obs_size, spaces.action_size)
        self.diagnostics = Diagnostics(world)
        self.examples = world.example_obs if "example_obs" in self.spec.needs else None
        self._policy: tuple[SACState, NumpyPolicy] | None = None  # the agent, and what was made of it
        self.epoch = 0
        self.midway = False
        self.recent: list[Rows] = []
        self.timing: dict[str, float] = {}

    @property
    def found(self) -> dict[str, Any]:
        """What it found out when it began, for when it goes on."""
        return found_by(self.sac)

    @property
    def step(self) -> int:
        """Environment steps so far."""
        return self.epoch * self.epoch_steps

    @property
    def longest(self) -> int:
        """Steps of an episode at most, in evaluations and films."""
        return self.world.horizon or self.epoch_steps

    @property
    def policy(self) -> NumpyPolicy:
        """The policy that is evaluated and exported; copied from the agent only when that has changed."""
        if self._policy is None or self._policy[0] is not self.agent:
            self._policy = self.agent, self._in_numpy(self.agent.average or self.agent.policy)
        return self._policy[1]

    def _in_numpy(self, weights: Params) -> NumpyPolicy:
        layers = [(np.asarray(layer.w), np.asarray(layer.b)) for layer in weights]
        return NumpyPolicy(layers, np.stack([np.asarray(v) for v in self.agent.view]), *self.sac.sees)

    @property
    def learned(self) -> bool:
        """Whether the reward has been learned at all."""
        return self.epoch > self.random_epochs

    def advance(self, progress: Callable[[int], None] = lambda step: None) -> Row:
        """The next epoch; returns its row of metrics. Everything random in it derives from the seed and its number."""
        self._require_whole()
        self.midway = True
        begun = time.perf_counter()
        key_learn, key_plan, key_updates = total.epoch_keys(self.config.seed, self.epoch)
        rng = np.random.default_rng([self.config.seed, self.epoch, 1])
        self.collector.restart(seeds(self.config.seed, self.epoch, 2, count=len(self.world.envs)))
        self.timing = dict.fromkeys(("learn", "label", "collect", "update", "evaluate"), 0.0)
        row: Row = {"step": self.step + self.epoch_steps, "epoch": self.epoch + 1}
        with self._precision():
            try:
                if self.epoch < self.random_epochs:
                    self._explore(random_actions(self._noise(rng)), progress)
                else:
                    if self.epoch == self.random_epochs and self.sac.scale_inputs:
                        self.agent = self.agent._replace(view=first_view(self.world, self.recent))
                    row |= self._learn_reward(key_learn)
                    row |= self._epoch(rng, key_plan, key_updates, progress)
                row |= self.collector.report() | self._found()
                self.epoch += 1
                row |= {"replay/size": self._size(), **self.diagnostics.coverage()}
                if self.learned and (self.epoch % self.config.watch.eval_every == 0 or self.step >= self.config.steps):
                    row |= self._timed("evaluate", self.evaluate)
            except PolicyFailure as error:
                raise DivergenceError(f"epoch {row['epoch']}: {error}. {ADVICE}", row) from error
        row |= self.diagnostics.alarm(row)
        row = {name: value.item() if hasattr(value, "item") else value for name, value in row.items()}
        require_finite(row)
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

    def _noise(self, rng: np.random.Generator) -> Noise:
        return Noise(rng, len(self.world.envs), self.world.spaces.action_size, self.config.loop.noise_correlation)

    def _learn_reward(self, key: Array) -> Row:
        """Let every part of the reward learn from what has been seen, unless success is what is seen."""
        seen, terms = self.program.seen, self.program.terms
        rows = jax.tree.map(lambda *c: np.concatenate(c).reshape(-1, *c[0].shape[2:]), *self.recent)
        self.recent = []
        names = {STATES} | (total.learns_from(terms) & COLUMNS.keys())
        recent = Recent({name: jnp.asarray(c) for name, c in compiled.columns(rows, seen, names).items()})
        if self.agent.found > self.config.loop.rest:
            return {"train/resting": 1} | self.diagnostics.classifier(terms, self.parts, recent[STATES])
        experience = Experience(
            size=self._size(),
            draw=lambda n, k, names: compiled.sample(self.replay, seen, n, k, names),
            recent=recent,
            abreast=len(self.world.envs),
            starts=jnp.asarray(rows.obs[rows.step == 0][:, list(seen)]),
            pairs=lambda n, k: compiled.pairs(self.replay, seen, n, k),
            act=lambda obs, k: compiled.act(self.agent.policy, views.see(self.agent.view, obs, obs, *self.sac.sees), k),
        )
        begun = time.perf_counter()
        self.parts, info = total.learn(terms, self.parts, self.world.problem, experience, self.config.units, key=key)
        info = jax.device_get(info)
        self.timing["learn"] += time.perf_counter() - begun
        return info | self.diagnostics.classifier(terms, self.parts, recent[STATES])

    def _epoch(
        self, rng: np.random.Generator, key_plan: Array, key_updates: Array, progress: Callable[[int], None]
    ) -> Row:
        loop = self.config.loop
        key_pool, key_draw = jax.random.split(key_plan)
        pool = compiled.choose(self.replay, pool=loop.pool, n_step=self.sac.steps_ahead, key=key_pool)
        old = np.asarray(pool.labelled)[: int(pool.size)]
        if self.sac.steps_ahead > 1:  # runs may overlap: each transition once
            old = np.unique(old)
        row: Row = {}
        if not loop.stale:
            row = self._timed("label", self._relabel, old)
        elif self.epoch == self.random_epochs:  # the random steps, which have no rewards yet
            row = self._timed("label", self._relabel, np.arange(self._size(), dtype=np.int32))
        else:
            kept = np.asarray(self.replay.rows.reward).reshape(-1)[old]
            row = {"reward/mean": float(kept.mean()), "reward/above_half": float((kept > 0.5).mean())}
        if self.sac.relative:
            base = row["reward/mean"] / (1 - self.sac.discount)
            self.agent = self.agent._replace(base=jnp.asarray(base, jnp.float32))
        ids = compiled.plan(
            self.replay, pool, calls=self.calls, updates=self.updates_per_call, batch=self.sac.batch_size,
            new_rows=self.call_rows, rich=loop.rich, key=key_draw,
        )  # fmt: skip
        noise, pace = self._noise(rng), self._pace()
        infos = []
        keys = jax.random.split(key_updates, self.calls)
        for c in range(self.calls):
            policy = self._timed("update", self._in_numpy, self.agent.policy)  # waits for the last call's updates
            act = policy_actions(policy, noise)
            block = self._timed("collect", self.collector.collect, self.call_rows, act, cut=c == self.calls - 1)
            self._keep(block)
            self.agent, self.replay, info = self._timed(
                "update", compiled.call, self.program, self.agent, self.parts, self.replay, block,
                ids[c] if pace == 1 or rng.random() < pace else ids[c, :0], self.examples, key=keys[c],
            )  # fmt: skip
            infos.append(info)
            progress(self.step + (c + 1) * loop.steps_per_call)
        begun = time.perf_counter()
        fetched = jax.device_get(infos)
        self.timing["update"] += time.perf_counter() - begun
        names = dict.fromkeys(name for info in fetched for name in info)  # a call without updates reports less
        return row | {name: float(np.mean([info[name] for info in fetched if name in info])) for name in names}

    def _pace(self) -> float:
        """Share of the updates that are made: fewer, the fewer episodes fail, while the reward rests."""
        found, rest = float(self.agent.found), self.config.loop.rest
        return (1 - found) / (1 - rest) if found > rest else 1.0

    def _relabel(self, pool: np.ndarray) -> Row:
        """Current rewards for all these ids, in blocks of one shape."""
        size, sums = len(pool), []
        for start in range(0, size, BLOCK):
            ids = np.resize(pool[start : start + BLOCK], BLOCK)
            self.replay, part = compiled.relabel(
                self.program, self.parts, self.replay, jnp.asarray(ids), jnp.int32(min(size - start, BLOCK))
            )
            sums.append(part)
        sums = jax.device_get(sums)
        return {name: float(sum(float(s[name]) for s in sums) / size) for name in sums[0]}

    def _found(self) -> Row:
        """Tell the agent how many episodes end in what the classifier takes for success: a mean that forgets."""
        if self.epoch < self.random_epochs:
            return {}
        ends = np.stack([one.obs for one in self.collector.episodes])[:, list(self.world.columns)]
        share = self.diagnostics.found(self.program.terms, self.parts, ends)
        if share is None:
            return {}
        now = (1 - FORGOTTEN) * np.asarray(self.agent.found) + FORGOTTEN * share
        self.agent = self.agent._replace(found=jnp.asarray(now, jnp.float32))
        return {"train/found": float(now)}

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

    def _require_whole(self) -> None:
        if self.midway:
            raise BrokenOffError(
                "an epoch of this run was broken off: its policy can still be used, but to train or save it, go on "
                "from the last checkpoint (mural.Agent.load, or `mural resume`)"
            )

    # What others ask of a run

    def evaluate(self, episodes: int | None = None, *, sampled: bool = False) -> Row:
        """Episodes with the policy's most likely actions, or drawn ones, from the same starts each time."""
        count = episodes or self.config.watch.eval_episodes
        return evaluate(
            self.world.envs[0], self.world.spaces, self.policy,
            starts(self.config.seed, count), self.label if self.learned else None,
            self.longest, self.collector.failures,
            self.config.loop.noise_correlation if sampled else None,
        )  # fmt: skip

    def label(self, rows: Rows) -> np.ndarray:
        """The current reward of transitions [n]."""
        terms = self.program.terms
        columns = compiled.columns(rows, self.program.seen, total.reads(terms))
        with self._precision():
            return total.rewards(terms, self.parts, jax.tree.map(np.asarray, columns), len(rows.step))

    @property
    def learns_reward(self) -> bool:
        """Whether there is a learned reward: not where the environment tells it, nor where the critic needs none."""
        return self.spec.reward == "learned"

    @property
    def reads(self) -> frozenset[str]:
        """The columns of transitions that the learned reward depends on."""
        return total.reads(total.learned(self.program.terms))

    def reward_of(self, states: np.ndarray, xy: np.ndarray | None = None) -> np.ndarray:
        """The current learned reward [n] of being in states [n, d], at the places `xy` [n, 2] if they are known."""
        if more := self.reads - {STATES, "xy"}:
            what = " and ".join(sorted(more))
            raise NotOfStatesError(f"the reward of {self.config.method!r} is one of transitions: it depends on {what}")
        if xy is None and "xy" in self.reads:
            if not self._places_are_states():
                raise NotOfStatesError(
                    f"the reward of {self.config.method!r} depends on places (info['xy']), which here are not states"
                )
            xy = np.pad(states[:, :2], ((0, 0), (0, 2 - min(states.shape[1], 2))))
        columns = {STATES: states} | ({} if xy is None else {"xy": xy})
        with self._precision():
            return total.rewards(total.learned(self.program.terms), self.parts, columns, len(states))

    def _precision(self) -> AbstractContextManager[None]:
        """Inside it, networks multiply as this run asks for, whoever asks the run."""
        return precision(self.config.loop.precision)

    def _places_are_states(self) -> bool:
        """Whether info['xy'] has been what the classifier sees first, at all of the first steps."""
        rows = jax.tree.map(lambda column: np.asarray(column[:64]).reshape(-1, *column.shape[2:]), self.replay.rows)
        seen = rows.next_obs[:, list(self.world.columns)][:, :2]
        return seen.shape == rows.xy.shape and bool(np.allclose(seen, rows.xy, atol=1e-5))

    def groups(self) -> Groups:
        """All that is needed to go on, as named arrays."""
        self._require_whole()
        return snapshot.take(self)

    def restore(self, epoch: int, groups: Groups) -> None:
        """Go on from what `groups` returned."""
        snapshot.restore(self, groups)
        self.epoch = epoch
