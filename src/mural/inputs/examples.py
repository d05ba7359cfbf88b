"""Success examples from wherever they are: arrays, files, or the task itself; checked, and with their provenance."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import gymnasium
import numpy as np
from numpy.typing import NDArray

from mural.agent.policy import flat_entries
from mural.atomic import replacing
from mural.inputs import datasets
from mural.inputs.example_files import ExamplesError, read_bytes, read_examples
from mural.inputs.selection import choice
from mural.inputs.spaces import Floats, Spaces
from mural.inputs.tables import Named, TableError, by_name, named_table
from mural.tasks import TASKS

WRAPPED = 5  # examples that are shown to the wrappers of an environment that brings them
TOLERANCE = 1e-5  # how far outside the observation space an example may be, relative to the bound
HOW_TO_MAKE = (
    "Collect about 150 observations of the task done (drive the environment there by hand or by a script, or set its "
    "state), one per row, and pass the array, or a .npz with the array `examples`, or a .csv or .parquet."
)


@dataclass(frozen=True, eq=False)
class SuccessExamples:
    """States in which the task is done, and where they come from."""

    states: Floats
    """What the classifier sees of them, [m, d]."""
    observations: Floats | None
    """The whole flattened observations [m, o], where they are known."""
    provenance: str

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The states: what `mural.OutcomeReward` and NumPy take examples for."""
        return np.array(self.states, dtype, copy=copy)

    def __repr__(self) -> str:
        whole = "" if self.observations is None else f", observations {list(self.observations.shape)}"
        return f"SuccessExamples(states {list(self.states.shape)}{whole}, provenance {self.provenance!r})"

    @classmethod
    def from_minari(cls, dataset: Any, select: datasets.Select = "success") -> Self:
        """Observations of a Minari dataset, or of the one with this name, in which the task is done.

        `select`: "success", where the infos say so; "last", the last of each episode; or a function of an episode that
        returns a mask over its observations, or the numbers of some of them.
        """
        return cls._of(*datasets.minari_rows(dataset, select), whole=True)

    @classmethod
    def from_table(cls, table: Any, columns: Sequence[str] | None = None) -> Self:
        """The rows of a data frame (pandas, polars, …): these columns, in this order; all of them if not named.

        For `OutcomeReward`, and to choose what the classifier sees. `Agent` takes a table as it is, by names.
        """
        return cls._of(*datasets.table_rows(table, columns))

    @classmethod
    def from_parquet(cls, path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> Self:
        """The same from a Parquet file."""
        table = datasets.read_parquet(read_bytes(Path(path)), Path(path))
        states, how = datasets.table_rows(table, columns)
        return cls._of(states, f"{path}, {how}")

    @classmethod
    def _of(cls, rows: NDArray[np.float64], provenance: str, whole: bool = False) -> Self:
        """Rows of numbers, all finite."""
        single = checked_rows(rows)
        return cls(single, single if whole else None, provenance)

    def without(self, rows: NDArray[np.int64]) -> SuccessExamples:
        """The others; the provenance says how many are missing."""
        if not len(rows):
            return self
        whole = None if self.observations is None else np.delete(self.observations, rows, axis=0)
        told = f"{self.provenance}; {len(rows)} of {len(self.states)} left out, which look like ordinary states"
        return SuccessExamples(np.delete(self.states, rows, axis=0), whole, told)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .npz that `load_examples` reads: `examples` (whole observations where known) and `provenance`."""
        rows = self.states if self.observations is None else self.observations
        with replacing(Path(path)) as scratch, scratch.open("wb") as file:
            np.savez(file, examples=rows, provenance=np.array(self.provenance))


def load_examples(source: Any, spaces: Spaces, task: Any = None, n: int = 150, seed: int = 0) -> SuccessExamples:
    """Examples from an array, list, mapping, data frame, .npz, .npy, .csv, or `SuccessExamples`, or an `ExamplesError`.

    Rows are whole observations or what the classifier sees of them; if both have the same width, whole observations.
    Columns that have names are found by them.
    Without a source, `task` (an environment with `success_examples`, as all of ours) makes `n` of them.
    """
    if source is None:
        source, provenance = _from_task(task, n, seed)
        if names := rescaling(task, source, spaces):
            raise ExamplesError(
                f"the environment's own success examples are states as it reports them, and {names} changes their "
                "numbers: pass examples that are observations of the wrapped environment"
            )
    elif isinstance(source, SuccessExamples):
        source, provenance = source.states if source.observations is None else source.observations, source.provenance
    elif isinstance(source, str | os.PathLike):
        source, provenance = read_examples(Path(source), spaces)
    elif (table := named_table(source)) is not None:
        source, how = _columns(table, spaces)
        provenance = f"table, {how}"
    else:
        provenance = "array"
    if isinstance(source, Sequence) and len(source) and isinstance(source[0], Mapping):
        source = _stacked(source)
    rows, whole = _from_mapping(source, spaces) if isinstance(source, Mapping) else _from_array(source, spaces)
    return _checked(rows, whole, spaces, provenance)


def _checked(rows: NDArray[np.float64], whole: bool, spaces: Spaces, provenance: str) -> SuccessExamples:
    """Examples of the right width, if their values can be."""
    columns = np.arange(spaces.obs_size) if whole else spaces.columns
    single = checked_rows(rows)
    low, high = spaces.obs_low[columns], spaces.obs_high[columns]
    slack_low, slack_high = (
        TOLERANCE * np.maximum(1.0, np.abs(np.nan_to_num(bound, posinf=0, neginf=0))) for bound in (low, high)
    )
    outside = (rows < low - slack_low) | (rows > high + slack_high)
    if outside.any():
        i = int(outside.sum(axis=0).argmax())
        count, worst = int(outside.any(axis=1).sum()), rows[outside[:, i], i]
        raise ExamplesError(
            f"{count} of {len(rows)} success examples are outside the observation space: "
            f"{spaces.column_name(int(columns[i]))} is {worst[0]:g} in row {np.flatnonzero(outside[:, i])[0]}, and the "
            f"space allows {low[i]:g} to {high[i]:g}. Are columns in the order {_layout(spaces)}, in the same units?"
        )
    return SuccessExamples(single[:, spaces.columns] if whole else single, single if whole else None, provenance)


def checked_rows(rows: NDArray[np.float64]) -> Floats:
    """Rows in single precision: at least one, all finite, or an `ExamplesError`."""
    if len(rows) == 0:
        raise ExamplesError(f"there are no rows in the success examples. {HOW_TO_MAKE}")
    with np.errstate(over="ignore"):
        single = rows.astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(single).all(axis=1))
    if len(bad):
        what = "values too large for single precision" if np.isfinite(rows[bad]).all() else "NaN or infinite values"
        raise ExamplesError(f"rows {_some(bad)} of the success examples have {what}; remove or repair them")
    return single


def _numbers(values: Any, what: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(values)
    except ValueError:
        raise ExamplesError(f"{what}: rows are not all of the same length") from None
    if array.dtype.kind not in "biuf":
        raise ExamplesError(f"{what}: entries are of type {array.dtype}, and numbers are needed")
    return array.astype(np.float64)


def _from_array(source: Any, spaces: Spaces) -> tuple[NDArray[np.float64], bool]:
    rows = _numbers(source, "success examples")
    if rows.size == 0:
        return np.zeros((0, spaces.obs_size)), True
    only = spaces.entries[0]
    if len(spaces.entries) == 1 and rows.shape[1:] == only.space.shape:
        rows = rows.reshape(len(rows), -1)
    if rows.ndim == 2 and rows.shape[1] in (spaces.obs_size, len(spaces.columns)):
        return rows, rows.shape[1] == spaces.obs_size
    raise ExamplesError(
        f"success examples have shape {rows.shape}; needed is one row per example, with {spaces.obs_size} columns for "
        f"whole observations ({_layout(spaces)})"
        + ("" if len(spaces.columns) == spaces.obs_size else f", or {_seen(spaces)} for what the classifier sees")
    )


def _from_mapping(source: Mapping[str, Any], spaces: Spaces) -> tuple[NDArray[np.float64], bool]:
    entries = dict(flat_entries(source))
    names = [entry.name for entry in spaces.entries]
    if list(entries) == ["examples"] and "examples" not in names:
        return _from_array(entries["examples"], spaces)
    columns = [spaces.column_name(i) for i in range(spaces.obs_size)]
    if not set(entries) & set(names) and set(entries) & set(columns):  # a column each, and not an entry
        parts = [_numbers(entries[name], f"success examples, column {name!r}") for name in entries]
        if any(part.ndim != 1 or len(part) != len(parts[0]) for part in parts):
            raise ExamplesError(f"the columns {', '.join(entries)} of the success examples are not equally long")
        return _from_array(_columns(Named(tuple(entries), np.stack(parts, axis=1)), spaces)[0], spaces)
    for name in entries:
        if name not in names:
            raise ExamplesError(
                f"the success examples have an entry {name!r}, the observations have not; {choice(name, names)}"
            )
    rows = np.full((max((len(np.atleast_1d(value)) for value in entries.values()), default=0), spaces.obs_size), np.nan)
    given = np.zeros(spaces.obs_size, dtype=bool)
    for entry in spaces.entries:
        if entry.name in entries:
            values = _numbers(entries[entry.name], f"success examples, entry {entry.name!r}")
            if values.shape != (len(rows), *entry.space.shape):
                raise ExamplesError(
                    f"entry {entry.name!r} of the success examples has shape {values.shape}; needed is one row for "
                    f"each of {len(rows)} examples, {(len(rows), *entry.space.shape)}"
                )
            rows[:, entry.start : entry.stop] = values.reshape(len(rows), -1)
            given[entry.start : entry.stop] = True
    if given.all():
        return rows, True
    if not given[spaces.columns].all():
        missing = [
            e.name
            for e in spaces.entries
            if not given[e.start : e.stop].all() and np.isin(range(e.start, e.stop), spaces.columns).any()
        ]
        raise ExamplesError(f"the success examples lack {', '.join(missing)}, which the classifier sees")
    return rows[:, spaces.columns], False


def _columns(table: Named, spaces: Spaces) -> tuple[Any, str]:
    try:
        return by_name(table, spaces)
    except TableError as error:
        raise ExamplesError(f"the table of success examples {error}") from None


def _from_task(task: Any, n: int, seed: int) -> tuple[Any, str]:
    base = getattr(task, "unwrapped", task)
    make = getattr(base, "success_examples", None)
    if make is None:
        raise ExamplesError(f"there are no success examples, and the environment brings none. {HOW_TO_MAKE}")
    id = getattr(getattr(base, "spec", None), "id", type(base).__name__)
    name = next((spec.name for spec in TASKS.values() if spec.id == id), id)
    return make(n, seed), f"task {name}, seed {seed}"


def rescaling(env: Any, states: Any, spaces: Spaces) -> str:
    """The wrappers that change these whole observations of the environment within, but not their shape; or ''.

    Only what the classifier sees of them counts.
    """
    wrappers: list[gymnasium.ObservationWrapper[Any, Any, Any]] = []
    inner = env
    while isinstance(inner, gymnasium.Wrapper):
        if isinstance(inner, gymnasium.ObservationWrapper):
            wrappers.append(inner)
        inner = inner.env
    own = np.asarray(states)[:WRAPPED]
    if not wrappers or own.shape[1:] != inner.observation_space.shape:
        return ""
    try:
        seen = [functools.reduce(lambda obs, wrapper: wrapper.observation(obs), wrappers[::-1], row) for row in own]
    except Exception:  # one that counts steps, for example, has to be reset first: its shape is another
        return ""
    if any(isinstance(obs, Mapping) or np.shape(obs) != own.shape[1:] for obs in seen):
        return ""
    before, after = (np.reshape(rows, (len(own), -1))[:, spaces.columns] for rows in (own, seen))
    return "" if np.allclose(before, after) else " and ".join(type(wrapper).__name__ for wrapper in wrappers)


def _stacked(observations: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Observations of a Dict space, one by one → one list per entry."""
    flat = [dict(flat_entries(obs)) for obs in observations]
    for row, obs in enumerate(flat):
        if obs.keys() != flat[0].keys():
            raise ExamplesError(f"row {row} of the success examples has entries {sorted(obs)}, row 0 {sorted(flat[0])}")
    return {name: [obs[name] for obs in flat] for name in flat[0]}


def _some(rows: NDArray[np.int64]) -> str:
    return ", ".join(map(str, rows[:10])) + (f" and {len(rows) - 10} others" if len(rows) > 10 else "")


def _layout(spaces: Spaces) -> str:
    return ", ".join(f"{name} {start}:{stop}" for name, start, stop in spaces.layout)


def _seen(spaces: Spaces) -> str:
    names = [spaces.column_name(int(column)) for column in spaces.columns]
    return f"{len(names)} ({', '.join(names[:12])}{', …' if len(names) > 12 else ''})"
