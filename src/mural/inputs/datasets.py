"""Success examples out of recorded data: episodes of a Minari dataset, columns of a table, Parquet files."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mural.agent.policy import flat_entries
from mural.errors import MuralError, did_you_mean
from mural.inputs.tables import Named, named_table

Select = Literal["last", "success"] | Callable[[Any], Any]
SUCCESS = ("success", "is_success", "goal_achieved")  # what environments call it in their info


class DatasetError(MuralError, ValueError):
    """Recorded data that no success examples can be taken from; the message says why, and what to do."""


class MissingReaderError(MuralError, ImportError):
    """A package that reads this kind of data is not installed; the message says which extra brings it."""


def minari_rows(dataset: Any, select: Select) -> tuple[NDArray[np.float64], str]:
    """The observations of a Minari dataset that `select` chooses, flat as Gymnasium has them, and their provenance."""
    dataset = _opened(dataset) if isinstance(dataset, str) else dataset
    if not callable(getattr(dataset, "iterate_episodes", None)):
        raise DatasetError(
            f"a {type(dataset).__name__} is no Minari dataset; pass one, or its name ('D4RL/door/human-v2')"
        )
    space = dataset.spec.observation_space
    rows: list[NDArray[np.float64]] = []
    used = episodes = 0
    for episode in dataset.iterate_episodes():
        flat = np.concatenate([part.reshape(len(part), -1) for part in _parts(episode.observations, space)], axis=1)
        chosen = flat[_chosen(episode, select, len(flat))]
        rows.append(chosen)
        used += len(chosen) > 0
        episodes += 1
    how = select if isinstance(select, str) else getattr(select, "__name__", "a function")
    found = np.concatenate(rows) if rows else np.zeros((0, 0))
    if not len(found):
        raise DatasetError(
            f"select={how} chose nothing from the {episodes} episodes; choose with a function of an episode"
        )
    return found, f"Minari {dataset.spec.dataset_id}, {how}: {len(found)} states of {used} of {episodes} episodes"


def _opened(name: str) -> Any:
    try:
        import minari
    except ModuleNotFoundError as error:
        raise MissingReaderError(f"Minari is needed: pip install 'mural-rl[data]' ({error})") from error
    try:
        return minari.load_dataset(name)
    except (FileNotFoundError, ValueError) as error:
        raise DatasetError(
            f"there is no dataset {name!r} here; `minari download {name}` fetches it ({error})"
        ) from error


def _parts(observations: Any, space: Any) -> Iterator[NDArray[np.float64]]:
    """The arrays of an episode's observations [T + 1, …], in the order of the observation space."""
    inside = getattr(space, "spaces", None)
    if isinstance(inside, Mapping):
        for key, part in inside.items():
            yield from _parts(observations[key], part)
        return
    array = np.asarray(observations)
    if array.dtype.kind not in "biuf" or inside is not None:
        raise DatasetError(f"the observation space is {space}; a Box or a Dict of Boxes is needed")
    yield array.astype(np.float64)


def _chosen(episode: Any, select: Select, n: int) -> Any:
    """An index into the n observations of an episode."""
    if select == "last":
        return slice(n - 1, n)
    if select == "success":
        told = dict(flat_entries(episode.infos or {}))
        name = next((name for name in SUCCESS if name in told), None)
        if name is None:
            raise DatasetError(
                f"the infos of episode {episode.id} have none of {', '.join(SUCCESS)}, only {sorted(told)}; choose "
                "by select='last' or a function of an episode"
            )
        flags = np.asarray(told[name]).reshape(-1).astype(bool)
        return np.flatnonzero(flags) + n - len(flags)  # one per observation, or one per step
    if not callable(select):
        raise DatasetError(f"select is {select!r}; it has to be 'last', 'success', or a function of an episode")
    index = np.asarray(select(episode))
    whole = index.dtype == bool and index.shape == (n,)
    numbers = index.dtype.kind in "iu" and index.ndim <= 1 and (index.size == 0 or -n <= index.min() <= index.max() < n)
    if index.size and not whole and not numbers:
        raise DatasetError(
            f"select returned {index.dtype} {index.shape} for an episode of {n} observations: needed is a mask of that "
            "length, or the numbers of some of them"
        )
    return np.atleast_1d(index) if index.size else slice(0, 0)


def table_rows(table: Any, columns: Sequence[str] | None) -> tuple[NDArray[np.float64], str]:
    """These columns of a data frame (pandas, polars, …) or structured array (None: all), and their provenance."""
    named = table if isinstance(table, Named) else named_table(table)
    if named is None:
        raise DatasetError(
            f"a {type(table).__name__} is no table with named columns (a data frame of pandas or polars)"
        )
    wanted = named.names if columns is None else tuple(columns)
    for name in wanted:
        if name not in named.names:
            there = f"{did_you_mean(name, named.names)}there are {', '.join(named.names)}"
            raise DatasetError(f"the table has no column {name!r}; {there}")
    try:
        values = named.values[:, [named.names.index(name) for name in wanted]].astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DatasetError(
            f"the columns {', '.join(wanted)} are not all numbers ({error}); name those to take"
        ) from None
    return values, f"table, columns {', '.join(wanted)}"


def read_parquet(data: bytes, path: Path) -> Named:
    """The table in a Parquet file."""
    try:
        from pyarrow import ArrowException, parquet
    except ModuleNotFoundError as error:
        raise MissingReaderError(f"to read {path}: pip install 'mural-rl[data]' ({error})") from error
    try:
        table = parquet.read_table(io.BytesIO(data))
        columns = [np.asarray(column.to_numpy(), np.float64) for column in table.itercolumns()]
    except (ArrowException, OSError, TypeError, ValueError) as error:
        raise DatasetError(f"cannot read {str(path)!r}: it is damaged, or not a table of numbers ({error})") from error
    names = tuple(name for name in table.column_names if name != "__index_level_0__")  # pandas' row numbers
    keep = [i for i, name in enumerate(table.column_names) if name in names]
    return Named(names, np.stack([columns[i] for i in keep], axis=1) if keep else np.zeros((0, 0)))
