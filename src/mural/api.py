"""`mural.Agent`: learn a task from examples of success, in the manner of Stable-Baselines3."""

from __future__ import annotations

import dataclasses
import operator
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mural import tasks
from mural.errors import MuralError
from mural.inputs import checks
from mural.inputs import world as worlds
from mural.inputs.selection import HOW_TO_WRITE, SpaceError
from mural.inputs.spaces import Env
from mural.inputs.world import TaskLacksError
from mural.limits import whole
from mural.rewards import find_method
from mural.rewards.states import checked_states
from mural.settings import presets
from mural.settings.config import ConfigError, RunConfig, overlay, validate
from mural.show.snapshots import Pictures
from mural.storage import checkpoint
from mural.storage.folder import HELD_OUT, RunFolder, RunFolderError
from mural.training.callbacks import Display, KeepBest, Silent, StopAtSuccess, TerminationNotice, as_list
from mural.training.export import export_policy, export_reward
from mural.training.failures import Row
from mural.training.recorder import Recorder
from mural.training.run import Run
from mural.training.train import train
from mural.typed import convert, table

# What a run is: another value of these would make it another run.
FIXED = (
    "task", "method", "preset", "seed", "examples", "num_examples", "keep_ordinary", "classifier_keys",
    "classifier_slice", "loop.epoch_steps", "loop.steps_per_call", "loop.environments",
)  # fmt: skip


class NotLearnedError(MuralError, RuntimeError):
    """Something was asked for that exists only after `learn`."""


class Agent:
    """A policy and the reward that it is learned from.

    Parameters
    ----------
    env : a task's short name ("zigzag-maze"), any Gymnasium id, or an environment.
    examples : states in which the task is done: an array, a table, a file (.npz, .npy, .csv, .parquet),
        `SuccessExamples`; None: the task's own.
    method, preset : `mural methods` lists them; None: "mural" and "fast".
    seed : of everything; None: 0.
    run_dir : where to record settings, metrics and checkpoints; None records nothing.
    classifier_keys, classifier_slice : which part of an observation the classifier sees.
    config : further settings by dotted name, e.g. {"sac.gamma": 0.95, "loop.environments": 4}, or a whole `RunConfig`,
        which must not contradict the other arguments.
    check : whether to try out an environment that is not ours, and to look for mistakes in examples, before anything is
        learned (`check_env`, `check_examples`); that resets the environment and takes some thousand steps in it. A few
        examples that look like states that random actions come to are left out.

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
        check: bool = True,
    ) -> None:
        own = None if isinstance(env, str) else checks.require_env(env)
        name = env if isinstance(env, str) else checks.name_of(env)
        given: dict[str, Any] = {} if seed is None else {"seed": seed}
        if classifier_keys is not None:
            keys: Any = (classifier_keys,) if isinstance(classifier_keys, str) else classifier_keys
            given["classifier_keys"] = tuple(keys) if isinstance(keys, Iterable) else keys
        if classifier_slice is not None:
            given["classifier_slice"] = as_text(classifier_slice)
        if isinstance(config, RunConfig):
            given |= {"task": None if own is not None else name, "method": method, "preset": preset}
            self.config = validate(consistent(config, given))
        else:
            if isinstance(examples, str | Path):
                given["examples"] = str(examples)
            chosen = "fast" if preset is None else convert(presets.Preset, preset, "preset")
            over = {**given, **table(config, "config")}
            self.config = presets.resolve(name, "mural" if method is None else method, chosen, over)
        if not check:  # nothing is looked at, so nothing is left out, and the settings say so
            self.config = dataclasses.replace(self.config, keep_ordinary=True)
        self.folder = RunFolder(run_dir) if run_dir is not None else None
        if self.folder is not None:
            self.folder.require_free()
        self._build(own, examples, check=check)

    def _build(
        self,
        env: Env | None,
        examples: Any,
        held_out: NDArray[np.float32] | None = None,
        found: Mapping[str, Any] | None = None,
        check: bool = False,
    ) -> None:
        self._closes = env is None
        world = worlds.build(self.config, find_method(self.config.method), env, examples, held_out, check)
        failures = None if self.folder is None else self.folder.path / "failure"
        self.run = Run(self.config, world, failures, found)

    @property
    def env(self) -> Env:
        """The first of its environments."""
        return self.run.world.envs[0]

    @property
    def steps(self) -> int:
        """Environment steps so far."""
        return self.run.step

    def learn(self, steps: float, progress: bool = True, callback: Any = None, display: Display | None = None) -> Self:
        """Train for this many more environment steps (rounded up to whole epochs).

        Ctrl-C or SIGTERM ends it after the current epoch, with a checkpoint; the same again ends it at once.

        `callback` hears of it: a function ``(run, row)``, called after every epoch, which stops the training by
        returning False; or a list of functions and objects with any of ``on_start(run)``, ``on_epoch(run, row)`` and
        ``on_end(run)``; see `docs/callbacks.md`.
        """
        self._require_going_on()
        target = self.run.step + whole(steps, "steps", 1)
        heard = as_list(callback)
        if self.folder is None and self.config.watch.keep_best:
            raise ConfigError("watch.keep_best needs a folder to keep the best state in: pass run_dir")
        self.config = self.run.config = dataclasses.replace(self.config, steps=target)
        begins = self.folder is not None and not self.folder.exists()
        if begins and self.folder is not None:
            self.folder.create(self.config, self.run.world.examples, self.run.world.held_out, self.run.found)
        if display is None:
            display = terminal() if progress else Silent()
        ours: list[Any] = [display, TerminationNotice(display.say)]
        past: Callable[[], Sequence[Row]] = list
        if self.folder is not None:
            recorder = Recorder(self.folder, display.say)  # the first to start and the last to end: it has the lock
            ours = [recorder, *ours, Pictures(recorder, display.say)]
            ours += [KeepBest(self.folder, display.say)] if self.config.watch.keep_best else []
            past = self.folder.rows
        try:
            self.history = train(self.run, [*ours, StopAtSuccess(past), *heard], display)
        except TaskLacksError:  # method and environment do not fit, as the first steps show
            if begins and self.folder is not None:
                self.folder.withdraw()  # or the same call, put right, would be told that a run is there already
            raise
        return self

    def predict(
        self,
        obs: Any,
        state: NDArray[np.float32] | None = None,
        deterministic: bool = True,
        rng: np.random.Generator | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.float32] | None]:
        """The environment's action for an observation, or for flat ones [n, o].

        The second value is None, or what a policy that sees motion has to be given as `state` with the next
        observation of the episode; at the start of an episode `state` is None.
        """
        spaces = self.run.world.spaces
        rows = spaces.rows(obs)
        policy = self.run.policy
        unit = policy.mode(rows, state)
        if not deterministic:
            unit = policy.sample(rows, rng or np.random.default_rng(), state)
        return spaces.to_env(unit), rows if policy.motion else None

    def reward(self, states: ArrayLike | Mapping[str, Any]) -> NDArray[np.float32]:
        """The learned reward [n] of what the classifier sees [n, d], whole observations [n, o], or one as a dict."""
        if not self.run.learned:
            raise NotLearnedError("there is no learned reward yet: call learn() first, for more than the random steps")
        if not self.run.learns_reward:
            raise NotLearnedError(self.run.spec.why_none)
        world = self.run.world
        d, o = len(world.columns), world.spaces.obs_size
        rows = world.spaces.flatten(states) if isinstance(states, Mapping) else world.spaces.in_order(states)
        rows = checked_states(rows, (d, o), f"[n, {d}] is needed (what the classifier sees) or [n, {o}]")
        return self.run.reward_of(rows[:, list(world.columns)] if rows.shape[1] == o else rows)

    def evaluate(self, episodes: int = 20) -> Row:
        """Means over episodes with the most likely actions: success, distance, best_distance, return, …"""
        found = self.run.evaluate(whole(episodes, "episodes", 1))
        return {name.removeprefix("eval/"): value for name, value in found.items()}

    def save(self, path: str | Path) -> None:
        """Everything, so that training can go on from it: settings, examples, a checkpoint."""
        self._require_going_on()
        folder = RunFolder(path)
        if not folder.exists():
            folder.create(self.config, self.run.world.examples, self.run.world.held_out, self.run.found)
        elif dataclasses.replace(folder.config(), steps=self.config.steps) != self.config:
            raise RunFolderError(f"{path} holds a run with other settings; choose another folder")
        elif not folder.keeps(self.run.world.examples, self.run.world.held_out):
            raise RunFolderError(f"{path} holds a run with other success examples; choose another folder")
        elif (later := max(checkpoint.listing(folder.path), default=0)) > self.run.step:
            raise RunFolderError(f"{path} holds a run that is at step {later} already; choose another folder")
        folder.set_config(self.config)
        folder.save(self.run.step, self.run.epoch, self.run.groups(), self.config.watch.keep)

    def _require_going_on(self) -> None:
        if self.stays:
            raise ConfigError(self.stays)

    @classmethod
    def load(
        cls, path: str | Path, env: Env | None = None, config: Mapping[str, Any] | None = None, best: bool = False
    ) -> Self:
        """An agent from a run's folder, at its latest good checkpoint; `learn` goes on with it and records there.

        `best`: at the checkpoint with the best evaluation instead (`watch.keep_best`); what that agent learns is not
        recorded. `config` changes settings that a run may go on with, such as {"sac.learning_rate": 1e-4}.
        """
        folder = RunFolder(path)
        agent = cls.__new__(cls)
        before = folder.config()
        agent.config = overlay(before, table(config, "config"))
        for name in FIXED:
            if operator.attrgetter(name)(agent.config) != operator.attrgetter(name)(before):
                raise ConfigError(f"{name} cannot change when a run goes on: start a new run with it")
        agent.folder = None if best else folder
        if best:  # nothing more is recorded, so nothing is kept
            watch = dataclasses.replace(agent.config.watch, keep_best=False)
            agent.config = dataclasses.replace(agent.config, watch=watch)
        held_out = folder.held_out()
        try:
            known = np.zeros((0, 0), np.float32) if held_out is None else held_out
            agent._build(env, folder.examples(), known, folder.found())
        except tasks.UnknownTaskError as error:
            raise tasks.UnknownTaskError(
                f"{error}. If the run was trained on an environment object of your own, pass one like it: "
                f"mural.Agent.load({str(path)!r}, env=...)"
            ) from None
        found = folder.best() if best else folder.latest()
        if best and found is None:
            raise RunFolderError(f"{path} keeps no best state: train with watch.keep_best (`mural train --keep-best`)")
        if found is not None:
            agent.run.restore(int(found.meta["epoch"]), found.groups)
            if agent.run.step != found.step:
                agent.stays = (
                    f"epochs of this run had {found.step // agent.run.epoch} steps, and with this environment they "
                    f"would have {agent.run.epoch_steps}: to go on, give it the time limit that it had"
                )
        lost = f"{folder.path / HELD_OUT} is missing or damaged: the calibration is no longer measured"
        skipped = () if found is None else found.skipped
        agent.notices = (*skipped, *([lost] if held_out is None else []), *([agent.stays] if agent.stays else []))
        for notice in agent.notices:
            warnings.warn(notice, stacklevel=2)
        return agent

    notices: tuple[str, ...] = ()
    """What was amiss when this agent was loaded: damaged checkpoints that were passed over, lost files."""
    stays: str = ""
    """Why this agent can be used but cannot go on with its run; '' if it can."""
    history: Sequence[Row] = ()
    """The rows of the last call of `learn`."""

    def export_policy(self, path: str | Path) -> None:
        """A small file that `mural.load_policy` runs with NumPy alone."""
        export_policy(self.run, path)

    def export_reward(self, path: str | Path) -> None:
        """A file that `mural.OutcomeReward.load` reads, for methods whose reward is one of states."""
        export_reward(self.run, path)

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
