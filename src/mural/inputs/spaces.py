"""From any environment's spaces to the flat arrays that agents and rewards work on, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from mural.agent.policy import ActionBox, ObservationError
from mural.errors import MuralError
from mural.inputs import selection
from mural.inputs.selection import Selection, SpaceError
from mural.inputs.supported import Entry, action_box, entries_of
from mural.inputs.tables import TableError, by_name, named_table

Floats = NDArray[np.float32]
Env = gymnasium.Env[Any, Any]
NO_ACTIONS = ActionBox(np.zeros(0), np.zeros(0))


class StepError(MuralError, RuntimeError):
    """`reset` or `step` returned something that cannot be learned from; the message says which part of it."""


@dataclass(frozen=True, eq=False)
class Spaces:
    """What an environment's observations and actions look like once flattened. Make one with `Spaces.of(env)`.

    A Box is flattened row by row. A Dict is the concatenation of its entries in Gymnasium's own order, that of
    `gymnasium.spaces.flatten`: sorted by key (unless the space was built from an OrderedDict, which keeps its order),
    nested Dicts in the place of their key. `layout` has the result.
    """

    entries: tuple[Entry, ...]
    columns: NDArray[np.int64]
    """Columns of the flattened observation that the success classifier sees, [d]."""
    obs_low: NDArray[np.float64]
    """Lower bounds of the flattened observation, [o]."""
    obs_high: NDArray[np.float64]
    actions: ActionBox
    _plain_shape: tuple[int, ...] | None = field(init=False, repr=False)  # of an observation that is not a Dict

    def __post_init__(self) -> None:
        only = self.entries[0]
        object.__setattr__(self, "_plain_shape", only.space.shape if only.path == () else None)

    @classmethod
    def of(
        cls,
        env: Env,
        classifier_keys: str | Sequence[str] | None = None,
        classifier_slice: Selection | None = None,
        acts: bool = True,
    ) -> Spaces:
        """The spaces of `env`, or a `SpaceError`; without its actions where nobody `acts` through them.

        The classifier sees the Dict entries `classifier_keys`, in the order given; or the part `classifier_slice` of
        the flattened observation (a slice, a string like "0:3", or column numbers); or what the environment's own
        `classifier_view` selects, as our tasks have it; or everything.
        """
        if isinstance(cast(object, env), gymnasium.vector.VectorEnv):
            raise SpaceError("this is a vector of environments; pass one of them (training makes its own copies)")
        entries = tuple(entries_of(env.observation_space))
        if not entries or entries[-1].stop == 0:
            raise SpaceError(f"the observation space {env.observation_space} is empty; observe at least one number")
        names = [entry.name for entry in entries]
        if len(set(names)) < len(names):
            raise SpaceError(f"two observation entries have the same name among {names}; keys should have no slash")
        columns = selection.columns(
            env, [(e.name, e.start, e.stop) for e in entries], classifier_keys, classifier_slice
        )
        low, high = (
            np.concatenate([np.ravel(getattr(entry.space, side)).astype(np.float64) for entry in entries])
            for side in ("low", "high")
        )
        return cls(entries, columns, low, high, action_box(env.action_space) if acts else NO_ACTIONS)

    @property
    def obs_size(self) -> int:
        """Width o of the flattened observation."""
        return self.entries[-1].stop

    @property
    def action_size(self) -> int:
        """Width a of the flattened action."""
        return int(self.actions.low.size)

    @property
    def layout(self) -> tuple[tuple[str, int, int], ...]:
        """(name, start, stop) of each entry in the flattened observation."""
        return tuple((entry.name, entry.start, entry.stop) for entry in self.entries)

    def column_name(self, column: int) -> str:
        """A column in words, such as ``arm/joints[2]``."""
        entry = next(entry for entry in self.entries if column < entry.stop)
        return entry.name if entry.path and entry.stop - entry.start == 1 else f"{entry.name}[{column - entry.start}]"

    def flatten(self, obs: Any) -> Floats:
        """One observation as single-precision numbers [o], all of them finite, or an `ObservationError`."""
        if self._plain_shape is None:
            return self._finite([self._value(obs, entry) for entry in self.entries])
        raw = np.asarray(obs)
        if raw.shape != self._plain_shape:
            raise ObservationError(f"the observation has shape {raw.shape}; the space says {self._plain_shape}")
        return self._finite([raw])

    def in_order(self, obs: Any) -> Any:
        """The values of a table whose columns have names, in the order of the observation; all else as it is."""
        if (table := named_table(obs)) is None:
            return obs
        try:
            return by_name(table, self)[0]
        except TableError as error:
            raise ObservationError(f"the table of observations {error}") from None

    def rows(self, obs: Any) -> Floats:
        """One observation as [o], or flat ones [n, o] as they are; all finite, or an `ObservationError`.

        The columns of a table are found by their names, where it has some that fit.
        """
        obs = self.in_order(obs)
        if isinstance(obs, Mapping):
            return self.flatten(obs)
        if np.shape(obs) == self._plain_shape or np.ndim(obs) != 2 or np.shape(obs)[1] != self.obs_size:
            return self.flatten(obs)
        with np.errstate(over="ignore"):
            many = np.asarray(obs).astype(np.float32)
        bad = np.argwhere(~np.isfinite(many))
        if len(bad):
            row, column = (int(i) for i in bad[0])
            raise ObservationError(f"row {row}: {self.column_name(column)} is {many[row, column]}, which is not finite")
        return many

    def to_env(self, action: Floats) -> NDArray[Any]:
        """Actions [a] or [n, a] in [−1, 1] → the environment's shape, type and bounds."""
        return self.actions.to_env(action)

    def from_env(self, action: ArrayLike) -> Floats:
        """The inverse of `to_env`."""
        return self.actions.from_env(action)

    def _value(self, obs: Any, entry: Entry) -> NDArray[Any]:
        for depth, key in enumerate(entry.path, 1):
            if not isinstance(obs, Mapping) or key not in obs:
                found = f"keys {sorted(map(str, obs))}" if isinstance(obs, Mapping) else f"a {type(obs).__name__}"
                raise ObservationError(
                    f"the observation lacks {'/'.join(map(str, entry.path[:depth]))!r}: there is {found}"
                )
            obs = obs[key]
        value = np.asarray(obs)
        if value.shape != entry.space.shape:
            raise ObservationError(f"{entry.name!r} has shape {value.shape}; the space says {entry.space.shape}")
        return value

    def _finite(self, values: list[NDArray[Any]]) -> Floats:
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # overflow is looked for below
                if len(values) == 1:
                    flat = values[0].astype(np.float32).ravel()  # a copy: environments may reuse their buffers
                else:
                    flat = np.concatenate([value.ravel() for value in values], dtype=np.float32, casting="unsafe")
        except (TypeError, ValueError):
            raise ObservationError(f"the observation has entries that are not numbers: {values}") from None
        if not np.isfinite(flat).all():
            column = int(np.flatnonzero(~np.isfinite(flat))[0])
            value = float(np.concatenate([value.ravel() for value in values])[column])
            why = "which is too large for single precision" if math.isfinite(value) else "which is not finite"
            raise ObservationError(f"{self.column_name(column)} is {value}, {why}")
        return flat


class Step(NamedTuple):
    """A checked result of `env.step`, the observation flattened."""

    obs: Floats
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


def validate_step(spaces: Spaces, result: Any) -> Step:
    """What `env.step` returned, checked and flattened, or a `StepError`. Cheap: it runs on every step."""
    if not isinstance(result, tuple) or len(result) != 5:
        old = isinstance(result, tuple) and len(result) == 4
        hint = " (4 are old Gym's interface: wrap it with shimmy.GymV21CompatibilityV0)" if old else ""
        raise StepError(f"step() returned {_described(result)}; needed are 5: {', '.join(Step._fields)}{hint}")
    obs, reward, terminated, truncated, info = result
    flat = _flattened(spaces, obs, "step()")
    try:
        number = float(reward if np.ndim(reward) == 0 else np.asarray(reward).item())
    except (TypeError, ValueError):
        raise StepError(f"step() returned the reward {reward!r}; return a number, 0.0 where there is none") from None
    if not math.isfinite(number):
        raise StepError(f"step() returned the reward {number}; return a finite number, 0.0 where there is none")
    if not isinstance(info, dict):
        raise StepError(f"step() returned {type(info).__name__} as info; a dict is needed")
    return Step(flat, number, _flag(terminated, "terminated"), _flag(truncated, "truncated"), info)


def validate_reset(spaces: Spaces, result: Any) -> Floats:
    """The observation that `env.reset` returned, checked and flattened, or a `StepError`."""
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[1], dict):
        raise StepError(f"reset() returned {_described(result)}; needed are 2: the observation and a dict of info")
    return _flattened(spaces, result[0], "reset()")


def horizon_of(env: Any) -> int | None:
    """Steps until an episode is truncated, where that is known: by a `TimeLimit`, or the environment's own `horizon`.

    The limit in `env.spec` is not asked: it does nothing on an environment that was unwrapped.
    """
    layer = env
    while isinstance(layer, gymnasium.Wrapper):
        if isinstance(layer, gymnasium.wrappers.TimeLimit):
            return int(layer._max_episode_steps)
        layer = layer.env
    horizon = getattr(layer, "horizon", None)
    return int(horizon) if isinstance(horizon, int | np.integer) else None


def _flattened(spaces: Spaces, obs: Any, what: str) -> Floats:
    try:
        return spaces.flatten(obs)
    except ObservationError as error:
        raise StepError(f"{what} returned a wrong observation: {error}") from error


def _flag(value: Any, name: str) -> bool:
    if value is True or value is False:
        return value
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "biuf" or array.item() not in (0, 1):
        raise StepError(f"step() returned {value!r} as {name}; True or False is needed")
    return bool(array.item())


def _described(result: Any) -> str:
    return f"{len(result)} things" if isinstance(result, tuple) else f"a {type(result).__name__}, not a tuple"
