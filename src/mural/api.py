"""`mural.Agent`: learn a task from examples of success, in the manner of Stable-Baselines3."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mural import tasks
from mural.agent.policy import save_policy
from mural.errors import ArgumentError, MuralError
from mural.inputs import world as worlds
from mural.inputs.selection import HOW_TO_WRITE, SpaceError
from mural.inputs.spaces import Env
from mural.rewards import find_method
from mural.settings import presets
from mural.settings.config import ConfigError, RunConfig, overlay, validate
from mural.storage.folder import RunFolder, RunFolderError
from mural.training.run import Row, Run
from mural.training.train import Display, Silent, train


class NotLearnedError(MuralError, RuntimeError):
    """Something was asked for that exists only after `learn`."""


class Agent:
    """A policy and the reward that it is learned from.

    Parameters
    ----------
    env : a task's short name ("zigzag-maze"), any Gymnasium id, or an environment.
    examples : states in which the task is done: an array, a file (.npz, .csv), `SuccessExamples`; None: the task's own.
    method, preset : `mural methods` lists them; None: "mural" and "fast".
    seed : of everything; None: 0.
    run_dir : where to record settings, metrics and checkpoints; None records nothing.
    classifier_keys, classifier_slice : which part of an observation the classifier sees.
    config : further settings by dotted name, e.g. {"sac.gamma": 0.95, "loop.environments": 4}, or a whole `RunConfig`,
        which must not contradict the other arguments.

    Examples
    --------
    >>> import mural
    >>> agent = mural.Agent("zigzag-maze", seed=0)  # doctest: +SKIP
    >>> agent.learn(100_000)  # doctest: +SKIP
    >>> action, _ = agent.predict(obs)  # doctest: +SKIP
    """

    def __init__(
        self,
        env: str | Env,
        examples: Any = None,
        method: str | None = None,
        preset: str | None = None,
        seed: int | None = None,
        run_dir: str | Path | None = None,
        classifier_keys: str | Sequence[str] | None = None,
        classifier_slice: str | slice | Sequence[int] | None = None,
        config: Mapping[str, Any] | RunConfig | None = None,
    ) -> None:
        own = None if isinstance(env, str) else env
        name = env if isinstance(env, str) else env.spec.id if env.spec is not None else type(env.unwrapped).__name__
        given: dict[str, Any] = {} if seed is None else {"seed": seed}
        if classifier_keys is not None:
            given["classifier_keys"] = (
                (classifier_keys,) if isinstance(classifier_keys, str) else tuple(classifier_keys)
            )
        if classifier_slice is not None:
            given["classifier_slice"] = as_text(classifier_slice)
        if isinstance(config, RunConfig):
            given |= {"task": None if own is not None else name, "method": method, "preset": preset}
            self.config = validate(consistent(config, given))
        else:
            if isinstance(examples, str | Path):
                given["examples"] = str(examples)
            self.config = presets.resolve(name, method or "mural", preset or "fast", {**given, **(config or {})})
        self.folder = RunFolder(run_dir) if run_dir is not None else None
        if self.folder is not None and self.folder.exists():
            raise RunFolderError(
                f"{self.folder.path} already holds a run: mural.Agent.load({str(self.folder.path)!r}) goes on with it"
            )
        self._build(own, examples)

    def _build(self, env: Env | None, examples: Any, held_out: NDArray[np.float32] | None = None) -> None:
        self._closes = env is None
        world = worlds.build(self.config, find_method(self.config.method), env, examples, held_out)
        failures = None if self.folder is None else self.folder.path / "failure"
        self.run = Run(self.config, world, failures)

    @property
    def env(self) -> Env:
        """The first of its environments."""
        return self.run.world.envs[0]

    @property
    def steps(self) -> int:
        """Environment steps so far."""
        return self.run.step

    def learn(self, steps: int, progress: bool = True, display: Display | None = None) -> Self:
        """Train for so many more environment steps (rounded up to whole epochs)."""
        if steps < 1:
            raise ArgumentError(f"steps is {steps}; at least one is needed")
        target = self.run.step + steps
        self.config = self.run.config = dataclasses.replace(self.config, steps=target)
        if self.folder is not None and not self.folder.exists():
            self.folder.create(self.config, self.run.world.examples, self.run.world.held_out)
        if display is None:
            display = terminal() if progress else Silent()
        self.history = train(self.run, target, self.folder, display)
        return self

    def predict(
        self, obs: Any, deterministic: bool = True, rng: np.random.Generator | None = None
    ) -> tuple[NDArray[Any], None]:
        """The environment's action for an observation, or for flat ones [n, o]; the second value is always None."""
        spaces = self.run.world.spaces
        rows = spaces.rows(obs)
        policy = self.run.policy
        unit = policy.mode(rows) if deterministic else policy.sample(rows, rng or np.random.default_rng())
        return spaces.to_env(unit), None

    def reward(self, states: ArrayLike) -> NDArray[np.float32]:
        """The learned reward [n] of states: what the classifier sees [n, d], or whole observations [n, o]."""
        if not self.run.learned:
            raise NotLearnedError("there is no learned reward yet: call learn() first, for more than the random steps")
        if not self.run.learns_reward:
            raise NotLearnedError(f"{self.config.method!r} learns no reward: it is told one, or does without")
        world = self.run.world
        rows = np.atleast_2d(np.asarray(states, np.float32))
        d, o = len(world.columns), world.spaces.obs_size
        if rows.ndim != 2 or rows.shape[1] not in (d, o):
            raise ArgumentError(
                f"states have shape {rows.shape}; [n, {d}] is needed (what the classifier sees) or [n, {o}]"
            )
        if rows.shape[1] != o:
            whole = np.zeros((len(rows), o), np.float32)
            whole[:, list(world.columns)] = rows
            rows = whole
        return self.run.reward_of(rows)

    def evaluate(self, episodes: int = 20) -> Row:
        """Means over episodes with the most likely actions: success, distance, best_distance, return, …"""
        return {name.removeprefix("eval/"): value for name, value in self.run.evaluate(episodes).items()}

    def save(self, path: str | Path) -> None:
        """Everything, so that training can go on from it: settings, examples, a checkpoint."""
        folder = RunFolder(path)
        if not folder.exists():
            folder.create(self.config, self.run.world.examples, self.run.world.held_out)
        elif dataclasses.replace(folder.config(), steps=self.config.steps) != self.config:
            raise RunFolderError(f"{path} holds a run with other settings; choose another folder")
        folder.set_config(self.config)
        folder.save(self.run, self.config.watch.keep)

    @classmethod
    def load(cls, path: str | Path, env: Env | None = None, config: Mapping[str, Any] | None = None) -> Self:
        """An agent from a run's folder, at its latest good checkpoint; `learn` goes on with it and records there."""
        folder = RunFolder(path)
        agent = cls.__new__(cls)
        agent.config = overlay(folder.config(), config or {})
        agent.folder = folder
        try:
            agent._build(env, folder.examples(), folder.held_out())
        except tasks.UnknownTaskError as error:
            raise tasks.UnknownTaskError(
                f"{error}. If the run was trained on an environment object of your own, pass one like it: "
                f"mural.Agent.load({str(path)!r}, env=...)"
            ) from None
        found = folder.load(agent.run)
        agent.notices = () if found is None else found.skipped
        for notice in agent.notices:
            warnings.warn(notice, stacklevel=2)
        return agent

    notices: tuple[str, ...] = ()
    """What was passed over when this agent was loaded: damaged checkpoints."""
    history: Sequence[Row] = ()
    """The rows of the last call of `learn`."""

    def export_policy(self, path: str | Path) -> None:
        """A small file that `mural.load_policy` runs with NumPy alone."""
        spaces = self.run.world.spaces
        save_policy(path, self.run.policy, spaces.actions.low, spaces.actions.high, spaces.layout)

    def close(self) -> None:
        """Close the environments that this agent made."""
        envs = self.run.world.envs
        for env in envs if self._closes else envs[1:]:
            env.close()


def terminal() -> Display:
    """A live display on a terminal, plain lines elsewhere."""
    from mural.show.display import terminal_display  # loads rich

    return terminal_display()


def as_text(selection: str | slice | Sequence[int]) -> str:
    """A selection of columns as the settings have it."""
    if isinstance(selection, str):
        return selection
    if isinstance(selection, slice):
        parts = [selection.start, selection.stop] + [selection.step] * (selection.step is not None)
        return ":".join("" if part is None else str(part) for part in parts)
    columns = np.asarray(selection)
    if columns.ndim != 1 or columns.dtype.kind not in "iu":
        raise SpaceError(f"classifier_slice {selection!r} is not understood; {HOW_TO_WRITE}")
    return ",".join(str(column) for column in columns.tolist())


def consistent(config: RunConfig, given: Mapping[str, Any]) -> RunConfig:
    """The same settings, or a `ConfigError` if an argument (None: not given) contradicts them."""
    for name, value in given.items():
        there = getattr(config, name)
        same = tasks.short_name(value) == tasks.short_name(there) if name == "task" and value else value == there
        if value is not None and not same:
            raise ConfigError(f"{name} is {value!r}, and {there!r} in the RunConfig: make them the same")
    return config
