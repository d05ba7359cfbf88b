"""`mural.OutcomeReward`: the learned reward by itself, for loops that are not ours. NumPy in, NumPy out."""

from __future__ import annotations

import dataclasses
import json
import zipfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from mural import cache, trees
from mural.atomic import replacing
from mural.errors import MuralError
from mural.limits import MOST_SEED, broken, whole
from mural.rewards import total
from mural.rewards.base import STATES, Experience, NMLPart, NotOfStatesError, Problem, Recent, Term, find_method
from mural.rewards.metric import Units
from mural.rewards.states import Floats, Memory, checked_states
from mural.typed import ConfigError, build, convert, merge, plain, table
from mural.zoo import REWARD, located

FORMAT = 2
READABLE = (1, 2)  # the first files of format 1 lack `units` and the metric, the later ones only `waves`, which are 0
NEEDED = ("method", "config", "seed", "memory", "units", "updates", "seen")
MOST_MEMORY, MOST_WAVES = 10**9, 1024
FEW = 8  # states per compiled call, for those who ask for one after the other


class NotUpdatedError(MuralError, RuntimeError):
    """A reward was asked for before it had learned from any states."""


class NoRegretError(MuralError, ValueError):
    """The regret of a method was asked for that does not have one."""


class RewardFileError(MuralError, ValueError):
    """A file that holds no reward, or a damaged one; the message says what is wrong with it."""


class OutcomeReward:
    """The reward of a method, learned from examples of success and from the states that you report as visited.

    The functions underneath are those of a training run: the same seed and the same states, an epoch per `update`, give
    the same rewards to the bit.

    Parameters
    ----------
    examples : states in which the task is done, [m, d], or `SuccessExamples`.
    method : one that rewards states alone: "mural", its ablations, "cnml", "vice", "vice-rnd", "vae-density", or yours.
    config : settings of the method by dotted name, e.g. {"classifier.hidden": (128, 128)}.
    seed : of the networks and of everything that is drawn.
    memory : the most states that are remembered; of all that were visited, each has the same chance to be among them.
    units : "spread" measures each number of a state by its spread, so that its unit does not matter; "raw" does not.
    waves : sines and cosines that networks see of each number. 0 but for grids whose neighbouring cells have nothing in
        common: there, half as many as a number has values.

    Examples
    --------
    >>> import mural, numpy as np
    >>> reward = mural.OutcomeReward(np.ones((20, 2)), method="cnml")
    >>> report = reward.update(np.zeros((100, 2)))
    >>> reward([1.0, 1.0]) > reward([0.0, 0.0])
    True
    """

    def __init__(
        self,
        examples: ArrayLike,
        method: str = "mural",
        config: Mapping[str, Any] | None = None,
        seed: int = 0,
        memory: int = 65_536,
        units: Units = "spread",
        waves: int = 0,
    ) -> None:
        seed, memory = whole(seed, "seed", 0, MOST_SEED), whole(memory, "memory", 1, MOST_MEMORY)
        waves = whole(waves, "waves", 0, MOST_WAVES)
        spec = find_method(method)
        self.method, self.seed, self.updates = method, seed, 0
        self.units: Units = convert(Units, units, "units")
        self.config = plain(build(spec.config(), merge({}, table(config, "config"))))
        for name, value, words in broken(self.config):
            raise ConfigError(f"{name} is {value}; it must {words}")
        if spec.why_none:
            raise NotOfStatesError(spec.why_none)
        self._terms: total.Terms = tuple(self.config.terms())
        total.check(self._terms)
        _require_states(method, self._terms)
        rows = checked_states(examples, None, "[m, d] is needed: m states in which the task is done", "examples")
        self._problem = Problem(rows.shape[1], 0, rows, waves=waves)
        self._memory = Memory(memory, rows.shape[1])
        cache.enable()
        self._parts = total.init(self._terms, self._problem, key=total.first_keys(self.seed)[1])

    @property
    def examples(self) -> Floats:
        """The examples [m, d]."""
        return self._problem.examples.copy()

    def update(self, states: ArrayLike, starts: ArrayLike | None = None, abreast: int = 1) -> dict[str, float]:
        """Learn once from states [n, d] that were visited since the last call and are not success; returns a report.

        States come in the order of their visits, those of `abreast` environments in turn. `starts` [k, d] are the
        states in which their episodes began. They tell what was given (a goal that differs from episode to episode); in
        the first call, with three or more, also what is right from the beginning (an ant's pose) and need not be
        explored.
        """
        rows = self._checked(states)
        begun = np.zeros((0, rows.shape[1]), np.float32)
        if starts is not None and len(np.asarray(starts)):
            begun = self._checked(starts, "starts")
        abreast = whole(abreast, "abreast", 1)
        self._memory.add(rows, np.random.default_rng([self.seed, self.updates, 4]))
        kept, held = jnp.asarray(self._memory.states), self._memory.held

        def draw(n: int, key: Array, names: tuple[str, ...]) -> tuple[Array, ...]:
            if names != (STATES,):
                raise _unknown(names)
            return (_drawn(kept, held, key, n),)

        def missing(*_: Any) -> Any:
            raise _unknown(("pairs or the policy",))

        recent = Recent({STATES: jnp.asarray(rows)})
        experience = Experience(
            self._memory.seen, draw, recent, missing, missing, abreast=abreast, starts=jnp.asarray(begun), held=held
        )
        key = total.epoch_keys(self.seed, self.updates + 1)[0]  # a run's epoch 0 only collects
        self._parts, info = total.learn(self._terms, self._parts, self._problem, experience, self.units, key=key)
        self.updates += 1
        return {name: float(value) for name, value in info.items()}

    def __call__(self, states: ArrayLike, few: bool = False) -> Floats | float:
        """The current reward [n] of states [n, d]; of one state [d], a number.

        `few` is several times as quick where each call has only a few states; the last digits may then differ.
        """
        rows, block = self._asked(states), FEW if few else total.BLOCK
        return _like(states, total.rewards(self._terms, self._parts, {STATES: rows}, len(rows), block))

    def regret(self, states: ArrayLike) -> Floats | float:
        """log Σ_y p_{θ_y}(y | s) [n] of states [n, d], CNML's log-normaliser: how little is known there.

        It is 0 where the data settle the label, and at most log 2. Of one state [d], a number.
        """
        term = total.find(self._terms, NMLPart)
        if term is None:
            raise NoRegretError(f"method {self.method!r} has no regret: only classifiers by CNML do (mural, cnml)")
        return _like(states, total.regret(term, self._parts, self._asked(states)))

    def save(self, path: str | Path) -> None:
        """Write everything to a file: arrays and settings, no code."""
        about = {
            "method": self.method, "config": dataclasses.asdict(self.config), "seed": self.seed, "units": self.units,
            "updates": self.updates, "seen": self._memory.seen, "memory": len(self._memory.states),
            "waves": self._problem.waves,
        }  # fmt: skip
        arrays = {"format": np.array(FORMAT), "about": np.array(json.dumps(about)), "examples": self._problem.examples}
        arrays["visited"] = self._memory.states[: self._memory.held]
        arrays |= {f"parts.{name}": leaf for name, leaf in trees.flatten(self._parts).items()}
        with replacing(_file(path)) as scratch, scratch.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """A reward as `save` wrote it, or one of the zoo (`zoo:NAME`): it goes on as if it had never been away."""
        arrays = _read(located(_file(path), REWARD))
        leaves = {name.removeprefix("parts."): leaf for name, leaf in arrays.items() if name.startswith("parts.")}
        try:
            about = json.loads(str(arrays["about"]))
            if lacking := [name for name in NEEDED if name not in about]:
                raise RewardFileError(f"it lacks {', '.join(lacking)}")
            method, config = find_method(about["method"]), about["config"]
            of = {name: about[name] for name in ("seed", "memory", "units")} | {"waves": about.get("waves", 0)}
            reward = cls(arrays["examples"], method.name, config, **of)
            return reward._with(leaves, arrays["visited"], int(about["seen"]), int(about["updates"]))
        except (KeyError, TypeError, ValueError) as error:
            told = f"{path} holds no reward that this program can go on with: {error}"
            if arrays["format"] < FORMAT:
                told += (
                    f". It has format {arrays['format']}, of an earlier mural-rl, and this one writes {FORMAT}: load "
                    "it with the version that wrote it, or learn the reward anew"
                )
            raise RewardFileError(told) from error

    @classmethod
    def learned(
        cls,
        examples: ArrayLike,
        method: str,
        config: Mapping[str, Any],
        parts: Mapping[str, Any],
        visited: ArrayLike,
        *,
        seed: int,
        units: Units,
        updates: int,
        seen: int,
        memory: int,
        waves: int = 0,
    ) -> Self:
        """A reward that was learned elsewhere, by a training run: its parts, and of the `seen` states `memory` ones."""
        reward = cls(examples, method, config, seed, memory, units, waves)
        leaves = trees.flatten({name: parts[name] for name in reward._parts})
        return reward._with(leaves, np.asarray(visited, np.float32), seen, updates)

    def _with(self, leaves: Mapping[str, NDArray[Any]], visited: NDArray[Any], seen: int, updates: int) -> Self:
        """This reward with everything that it learned."""
        self._memory.seen, self.updates = seen, updates
        remembered = self._memory.states[: self._memory.held]
        if visited.shape != remembered.shape or not np.isfinite(visited).all():
            raise RewardFileError(f"it remembers states {visited.shape}, and {seen} were seen")
        remembered[:] = visited
        self._parts = trees.restore(self._parts, leaves, total.NEWER)
        return self

    def __repr__(self) -> str:
        m, d = self._problem.examples.shape
        return f"OutcomeReward({self.method!r}, {m} examples of {d} numbers, {self.updates} updates)"

    def _checked(self, states: ArrayLike, what: str = "states") -> Floats:
        d = self._problem.state_size
        return checked_states(states, (d,), f"[n, {d}] is needed, as the examples have it, or one state [{d}]", what)

    def _asked(self, states: ArrayLike) -> Floats:
        """States to be rewarded, if there is anything yet to reward them by."""
        rows = self._checked(states)
        if not self.updates:
            raise NotUpdatedError("there is no learned reward yet: call update(states) first, with visited states")
        return rows


def _like(states: ArrayLike, values: Floats) -> Floats | float:
    """Values of states [n, d] as they are; of one state [d], a number."""
    return float(values[0]) if np.ndim(states) == 1 else values


@partial(jax.jit, static_argnums=3)
def _drawn(states: Array, held: int, key: Array, n: int) -> Array:
    """n of the first `held` states, uniformly, with replacement: the draw of the replay."""
    return states[jax.random.randint(key, (n,), 0, jnp.maximum(held, 1))]


def _require_states(method: str, terms: tuple[Term, ...]) -> None:
    """Raise a `NotOfStatesError` for the first term that depends on more than states."""
    for term in terms:
        for what, names in (("depends on", term.part.reads), ("learns from", term.part.learns_from)):
            more = [name for name in names if name != STATES]
            if more:
                raise NotOfStatesError(
                    f"method {method!r} is no reward of states: its part {term.name!r} {what} {' and '.join(more)}"
                )


def _unknown(names: tuple[str, ...]) -> NotOfStatesError:
    return NotOfStatesError(f"a part learns from {', '.join(names)} without naming that in `learns_from`")


def _file(path: str | Path) -> Path:
    """The path of a file, or a named error."""
    try:
        found = Path(path)
    except TypeError:
        raise RewardFileError(f"the file of a reward is {path!r}; it must be a path, such as 'reward.npz'") from None
    if found.is_dir():
        raise RewardFileError(f"{found} is a folder; name a file, such as {str(found / 'reward.npz')!r}")
    return found


def _read(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file, each compared with its checksum before it is parsed."""
    if not path.is_file():
        raise RewardFileError(f"there is no file {path}")
    try:
        with zipfile.ZipFile(path) as archive:
            if (damaged := archive.testzip()) is not None:
                raise RewardFileError(f"its entry {damaged!r} does not match its checksum")
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        if arrays["format"] not in READABLE:
            raise RewardFileError(
                f"its format is {arrays['format']}, of a later mural-rl, and this one reads up to {FORMAT}: update "
                "mural-rl"
            )
        return arrays
    except Exception as error:  # damage surfaces as a dozen kinds of error in zipfile, zlib and NumPy
        raise RewardFileError(f"{path} is no file of OutcomeReward.save, or is damaged: {error}") from error
