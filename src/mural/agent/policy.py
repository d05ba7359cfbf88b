"""The policy for where there is no JAX: a tanh-Gaussian network in NumPy, and the small file that holds one.

This file needs nothing but NumPy and the standard library: copied to a robot next to a policy file, it is all that is
needed there. Where the package is installed too, its errors are `MuralError`s.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    from mural.errors import MuralError
    from mural.zoo import POLICY, located
except ImportError:  # this file alone was copied to a robot
    POLICY = "policy.npz"

    class MuralError(Exception):  # type: ignore[no-redef]
        """Stands in for the base class of the package's errors."""

    def located(path: str | os.PathLike[str], file: str) -> Path:
        """There is no zoo on a robot: any path as it is."""
        return Path(path)


LOG_STD_MIN = -10.0
LOG_STD_MAX = 2.0
FORMAT = 2
READABLE = (1, 2)  # 1 has no view: its networks see raw observations
FASTEST = 10.0  # changes since the last observation are cut at this many of their usual size

Floats = NDArray[np.float32]
Layout = tuple[tuple[str, int, int], ...]


class PolicyFileError(MuralError, ValueError):
    """A policy that cannot be saved or loaded: widths that do not fit, or a damaged file; the message says which."""


class ObservationError(MuralError, ValueError):
    """An observation that the policy was not made for; the message says what it expects."""


class NumpyPolicy:
    """a = tanh(μ(s) + σ(s) ε): a ReLU network whose last layer gives [μ, log σ]."""

    def __init__(
        self,
        layers: Sequence[tuple[ArrayLike, ArrayLike]],
        view: ArrayLike | None = None,
        motion: bool = False,
        waves: int = 0,
    ) -> None:
        # Copies: what is given may be a view of memory that the next training step overwrites.
        self.layers = tuple((np.array(w, np.float32, order="C"), np.array(b, np.float32)) for w, b in layers)
        problem = _misfit(self.layers, motion, waves)
        if problem:
            raise PolicyFileError(f"this is not a policy: {problem}")
        inputs = int(self.layers[0][0].shape[0])
        self.motion, self.waves = motion, waves
        self.obs_size = inputs // (1 + motion + 2 * waves)
        self.view = np.repeat([[0.0], [1.0], [1.0]], self.obs_size, axis=1) if view is None else np.array(view)
        if self.view.shape != (3, self.obs_size) or not np.isfinite(self.view).all() or (self.view[1:] <= 0).any():
            raise PolicyFileError(f"its view must be a centre and two scales above 0 for {self.obs_size} numbers")
        self.view = self.view.astype(np.float32)
        self.centre, self.scale, self.change = self.view
        self.action_size = int(self.layers[-1][1].shape[0]) // 2

    def see(self, obs: ArrayLike, before: ArrayLike | None = None) -> Floats:
        """Network inputs for observations; with motion also for the change since those `before` (None: at rest).

        With waves, sines and cosines of each number stand beside it.
        """
        now = np.asarray(obs, dtype=np.float32)
        seen = (now - self.centre) / self.scale
        if self.waves:
            angles = seen[..., None] * (np.pi * np.arange(1, self.waves + 1)).astype(np.float32)
            angles = angles.reshape(*seen.shape[:-1], -1)
            seen = np.concatenate([seen, np.sin(angles), np.cos(angles)], axis=-1)
        if not self.motion:
            return seen
        past = now if before is None else np.asarray(before, dtype=np.float32)
        change = np.minimum(np.maximum((now - past) / self.change, -FASTEST), FASTEST)
        return np.concatenate([seen, change], axis=-1)

    def distribution(self, obs: ArrayLike, before: ArrayLike | None = None) -> tuple[Floats, Floats]:
        """μ and clipped log σ, each [a] or [n, a], for observations [o] or [n, o]."""
        h = self.see(obs, before)
        for w, b in self.layers[:-1]:
            h = h @ w
            h += b
            np.maximum(h, 0.0, out=h)
        w, b = self.layers[-1]
        out = h @ w + b
        mean, log_std = out[..., : self.action_size], out[..., self.action_size :]
        return mean, np.minimum(np.maximum(log_std, LOG_STD_MIN), LOG_STD_MAX)

    def mode(self, obs: ArrayLike, before: ArrayLike | None = None) -> Floats:
        """The deterministic action tanh(μ), in [−1, 1]."""
        return np.tanh(self.distribution(obs, before)[0])

    def perturbed(self, obs: ArrayLike, noise: Floats, before: ArrayLike | None = None) -> Floats:
        """The action for given standard normal noise [a] or [n, a], in [−1, 1]."""
        mean, log_std = self.distribution(obs, before)
        return np.tanh(mean + np.exp(log_std) * noise)

    def sample(self, obs: ArrayLike, rng: np.random.Generator, before: ArrayLike | None = None) -> Floats:
        """A random action, in [−1, 1]."""
        shape = (*np.shape(obs)[:-1], self.action_size)
        return self.perturbed(obs, rng.standard_normal(shape, dtype=np.float32), before)


@dataclass(frozen=True, eq=False)
class ActionBox:
    """The environment's bounds, in its shape and type: between them and [−1, 1] lies one affine map per action."""

    low: NDArray[Any]
    high: NDArray[Any]
    _flat: tuple[NDArray[np.float64], ...] = field(init=False, repr=False)  # low, high, middle, half the width; [a]

    def __post_init__(self) -> None:
        low, high = np.ravel(self.low).astype(np.float64), np.ravel(self.high).astype(np.float64)
        object.__setattr__(
            self, "_flat", (low, high, low / 2 + high / 2, high / 2 - low / 2)
        )  # high − low may overflow

    def to_env(self, action: ArrayLike) -> NDArray[Any]:
        """Actions [a] or [n, a] in [−1, 1] (clipped to it) → the environment's shape, type and bounds."""
        unit = np.asarray(action, dtype=np.float64)
        low, high, middle, half = self._flat
        scaled = np.minimum(np.maximum(middle + unit * half, low), high)
        return scaled.astype(self.low.dtype).reshape(unit.shape[:-1] + self.low.shape)

    def from_env(self, action: ArrayLike) -> Floats:
        """The inverse of `to_env`."""
        values = np.asarray(action, dtype=np.float64)
        _, _, middle, half = self._flat
        flat = values.reshape(*values.shape[: values.ndim - self.low.ndim], middle.size)
        return np.minimum(np.maximum((flat - middle) / half, -1.0), 1.0).astype(np.float32)


@dataclass(eq=False)
class LoadedPolicy:
    """A policy with the environment's bounds: call it with an observation, get the action for `env.step`.

    A policy that sees motion remembers the last observation: call `reset` where an episode begins.
    """

    policy: NumpyPolicy
    actions: ActionBox
    layout: Layout
    """Which columns [start, stop) of the flattened observation each named entry has."""
    _before: Floats | None = field(default=None, init=False, repr=False)

    def reset(self) -> None:
        """Forget the last observation: a new episode begins."""
        self._before = None

    def __call__(self, obs: ArrayLike | Mapping[str, Any]) -> NDArray[Any]:
        """The deterministic action for one observation (flat, or a dict of arrays), or [n, …] for n of them."""
        rows = self._rows(obs)
        if not np.isfinite(rows).all():
            raise ObservationError(f"the observation has {int((~np.isfinite(rows)).sum())} entries that are not finite")
        before = self._before if self._before is not None and self._before.shape == rows.shape else None
        if self.policy.motion:
            self._before = rows.copy()
        return self.actions.to_env(self.policy.mode(rows, before))

    def _rows(self, obs: ArrayLike | Mapping[str, Any]) -> Floats:
        if isinstance(obs, Mapping):
            found = dict(flat_entries(obs))
            missing = [name for name, _, _ in self.layout if name not in found]
            if missing:
                raise ObservationError(f"the observation has no {', '.join(missing)}; it has {', '.join(found)}")
            entries = [_fit(found[name], stop - start, name) for name, start, stop in self.layout]
            if len({entry.shape[:-1] for entry in entries}) > 1:
                lengths = {name: entry.shape[:-1] for (name, _, _), entry in zip(self.layout, entries, strict=True)}
                raise ObservationError(f"the entries are not equally many observations: {lengths}")
            return np.concatenate(entries, axis=-1)
        return _fit(obs, self.policy.obs_size, "the observation")


def save_policy(
    path: str | Path,
    policy: NumpyPolicy,
    low: ArrayLike,
    high: ArrayLike,
    layout: Sequence[tuple[str, int, int]],
) -> None:
    """Write a policy as .npz, without pickle: weights, the environment's action bounds, the observation's layout."""
    arrays: dict[str, NDArray[Any]] = {
        "format": np.array(FORMAT),
        "low": np.asarray(low),
        "high": np.asarray(high),
        "layout_names": np.array([name for name, _, _ in layout], dtype=np.str_),
        "layout_spans": np.array([(start, stop) for _, start, stop in layout], dtype=np.int64),
        "view": policy.view,
        "motion": np.array(policy.motion),
        "waves": np.array(policy.waves),
    }
    for i, (w, b) in enumerate(policy.layers):
        arrays |= {f"w{i}": w, f"b{i}": b}
    _assemble(arrays)  # what could not be loaded is not written
    from mural.atomic import replacing  # on a robot, policies are only loaded

    with replacing(Path(path)) as scratch, scratch.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def load_policy(path: str | Path) -> LoadedPolicy:
    """Read what `save_policy` wrote, or a policy of the zoo (`zoo:NAME`). The file is data: nothing in it is run."""
    path = located(path, POLICY)
    if not path.is_file():
        raise PolicyFileError(f"there is no policy file {path}; `mural policy export RUN` writes one")
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()  # compares the checksums before anything is parsed
        if damaged is not None:
            raise PolicyFileError(f"its entry {damaged!r} does not match its checksum")
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return _assemble(arrays)
    except Exception as error:  # damage surfaces as a dozen kinds of error in zipfile, zlib and NumPy
        raise PolicyFileError(
            f"{path} is not a policy file, or is damaged: {error}. Export the policy again"
        ) from error


def _assemble(arrays: Mapping[str, NDArray[Any]]) -> LoadedPolicy:
    """The policy in a file's arrays, after checking that all of it fits together."""
    missing = [k for k in ("format", "low", "high", "layout_names", "layout_spans", "w0", "b0") if k not in arrays]
    if missing:
        raise PolicyFileError(f"it has no {', '.join(missing)}")
    if arrays["format"].shape != () or arrays["format"] not in READABLE:
        raise PolicyFileError(
            f"its format is {arrays['format']}, this version reads up to {FORMAT}; install a newer mural-rl"
        )
    if arrays["format"] == FORMAT and not {"view", "motion"} <= set(arrays):
        raise PolicyFileError("it has no view of the observation, or does not say whether it sees motion")
    depth = sum(name[0] == "w" and name[1:].isdigit() for name in arrays)
    layers = [(arrays[f"w{i}"], arrays[f"b{i}"]) for i in range(depth)]
    policy = NumpyPolicy(layers, arrays.get("view"), bool(arrays.get("motion", False)), int(arrays.get("waves", 0)))
    low, high = arrays["low"], arrays["high"]
    if low.dtype.kind != "f" or low.dtype != high.dtype or low.shape != high.shape or low.size != policy.action_size:
        raise PolicyFileError(
            f"its bounds are {low.dtype}{low.shape} and {high.dtype}{high.shape}; "
            f"the network gives {policy.action_size} actions"
        )
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        raise PolicyFileError("its action bounds are not finite with low < high")
    names, spans = arrays["layout_names"], arrays["layout_spans"]
    if names.dtype.kind != "U" or names.ndim != 1 or spans.dtype.kind != "i" or spans.shape != (len(names), 2):
        raise PolicyFileError("its layout is not a list of (name, start, stop)")
    layout = tuple((str(name), int(start), int(stop)) for name, (start, stop) in zip(names, spans, strict=True))
    ends = [0, *(stop for _, _, stop in layout)]
    if [start for _, start, _ in layout] != ends[:-1] or ends[-1] != policy.obs_size or sorted(set(ends)) != ends:
        raise PolicyFileError(f"its layout {layout} does not cover the network's {policy.obs_size} inputs in order")
    return LoadedPolicy(policy, ActionBox(low, high), layout)


def _misfit(layers: tuple[tuple[Floats, Floats], ...], motion: bool, waves: int) -> str:
    """What is wrong with a network, or ''."""
    if not layers:
        return "it has no layers"
    for i, (w, b) in enumerate(layers):
        if w.ndim != 2 or 0 in w.shape or b.shape != w.shape[1:]:
            return f"layer {i} has weights {w.shape} and biases {b.shape}; [fan_in, fan_out] and [fan_out] are needed"
    for i, ((left, _), (right, _)) in enumerate(pairwise(layers)):
        if left.shape[1] != right.shape[0]:
            return f"layer {i} gives {left.shape[1]} values, layer {i + 1} takes {right.shape[0]}"
    if waves < 0:
        return f"it has {waves} waves"
    each = 1 + motion + 2 * waves
    if layers[0][0].shape[0] % each:
        with_ = " and ".join(["motion"] * motion + [f"{waves} waves"] * (waves > 0))
        return (
            f"the first layer takes {layers[0][0].shape[0]} values; with {with_}, {each} per number observed are needed"
        )
    if layers[-1][1].size % 2:
        return f"the last layer gives {layers[-1][1].size} values; a mean and a log std per action are needed"
    return ""


def flat_entries(obs: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(name, value) of all entries; those of nested mappings are named 'outer/inner'."""
    for key, value in obs.items():
        if isinstance(value, Mapping):
            yield from flat_entries(value, f"{prefix}{key}/")
        else:
            yield f"{prefix}{key}", value


def _fit(values: ArrayLike, width: int, name: str) -> Floats:
    """One observation as [width], or n of them as [n, width]."""
    array = np.asarray(values, dtype=np.float32)
    if array.ndim == 1 and array.shape[0] == width:
        return array
    if array.ndim and array[:1].size == width and (array.ndim == 2 or array.size != width):
        return array.reshape(-1, width)
    if array.size == width:
        return array.reshape(width)
    raise ObservationError(
        f"{name} has shape {array.shape}; the policy expects [{width}], or [n, {width}] for n of them"
    )
