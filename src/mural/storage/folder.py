"""The folder of a run: settings, examples, metrics, events, checkpoints, pictures."""

from __future__ import annotations

import fcntl
import io
import os
import platform
import shlex
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mural.atomic import replacing
from mural.errors import ArgumentError, MuralError
from mural.inputs.examples import SuccessExamples
from mural.settings.config import RunConfig, from_dict, to_dict
from mural.storage import checkpoint, disk
from mural.storage import metrics as metrics_file
from mural.storage.checkpoint import Checkpoint
from mural.typed import UnknownSettingError

HELD_OUT = "held_out.npz"
EXAMPLES = "examples.npz"
FOUND = "found.json"
VERSIONS = "versions.json"
PACKAGES = ("mural-rl", "jax", "numpy", "gymnasium", "mujoco")


class RunFolderError(MuralError, RuntimeError):
    """A folder that is not a run, or is one that something new would overwrite."""


class RunningError(RunFolderError):
    """Another process trains this run."""


class RunFolder:
    """Reads and writes a run's files. Knows names and arrays, and nothing of what trains."""

    def __init__(self, path: str | Path) -> None:
        try:
            self.path = Path(path)
        except TypeError:
            raise ArgumentError(f"the folder of a run is {path!r}; it must be a path, such as 'runs/mine'") from None
        self._created: list[Path] = []  # by `create`, where nothing of the name was there

    @property
    def config_path(self) -> Path:
        """The resolved settings."""
        return self.path / "config.json"

    @property
    def metrics_path(self) -> Path:
        """A row per epoch."""
        return self.path / "metrics.jsonl"

    @property
    def timing_path(self) -> Path:
        """Where the time went, a row per epoch."""
        return self.path / "timing.jsonl"

    @property
    def best_path(self) -> Path:
        """The state with the best evaluation, where one is kept: a checkpoint and policy.npz."""
        return self.path / "best"

    def exists(self) -> bool:
        """Whether there is a run here."""
        return self.config_path.is_file()

    def require_free(self) -> None:
        """Raise a `RunFolderError` if no new run can begin here."""
        if self.exists():
            raise RunFolderError(
                f"{self.path} already holds a run: `mural resume {shlex.quote(str(self.path))}` goes on with it "
                "(in Python, mural.Agent.load); or choose another folder"
            )
        for part in (self.path, *self.path.parents):
            if part.exists() and not part.is_dir():
                raise RunFolderError(f"{part} is a file, so {self.path} cannot be the folder of a run; choose another")

    def create(
        self,
        config: RunConfig,
        examples: SuccessExamples | None,
        held_out: NDArray[np.float32] | None = None,
        found: Mapping[str, Any] | None = None,
    ) -> None:
        """Begin a new run here. Keeps the examples, and apart from them the held-out ones, for when the run goes on.

        `found` is what the run has found out about settings that were left open.
        """
        self.require_free()
        self.path.mkdir(parents=True, exist_ok=True)
        ours = (self.config_path.name, EXAMPLES, HELD_OUT, FOUND, VERSIONS)
        self._created = [self.path / name for name in ours if not (self.path / name).exists()]
        if examples is not None:
            examples.save(self.path / EXAMPLES)
        if held_out is not None:
            count = 0 if examples is None else len(examples.states)
            with replacing(self.path / HELD_OUT) as scratch, scratch.open("wb") as file:
                np.savez(file, states=held_out, examples=np.array(count))
        disk.write_json(self.path / FOUND, dict(found or {}))
        disk.write_json(self.path / VERSIONS, versions() | commit())
        disk.write_json(self.config_path, to_dict(config))  # last: a folder with settings is a run

    def withdraw(self) -> None:
        """Take back what `create` wrote, and the empty records of a run that never came to the end of an epoch."""
        records = [self.metrics_path, self.timing_path, *self.path.glob("events.out.tfevents.*")]
        for path in (*self._created, *records):
            path.unlink(missing_ok=True)
        with suppress(OSError):  # something else is in it
            self.path.rmdir()

    def config(self) -> RunConfig:
        """The settings of the run here."""
        if not self.exists():
            raise RunFolderError(f"{self.path} is not a run: it has no config.json; `mural train` makes one")
        try:
            return from_dict(disk.read_json(self.config_path))
        except UnknownSettingError as error:
            raise RunFolderError(
                f"{self.path} was written by {self._writer()}: it has the setting {error.name}, which this version "
                "does not have. Resume it with that version, or train anew"
            ) from error

    def _writer(self) -> str:
        """Which mural-rl wrote the run here, as far as its files say."""
        try:
            before: Mapping[str, Any] = disk.read_json(self.path / VERSIONS)
        except disk.DamagedFileError:
            before = {}
        known = [f"{word}{before[name]}" for name, word in (("mural-rl", ""), ("commit", "commit ")) if name in before]
        kind, form, ours = "another", checkpoint.version_of(self.path), checkpoint.VERSION
        if form is not None:
            kind = "an earlier" if form < ours else "a later" if form > ours else kind
            known.append(f"checkpoint format {form}, here {ours}")
        return f"{kind} mural-rl" + (f" ({', '.join(known)})" if known else "")

    def set_config(self, config: RunConfig) -> None:
        """The settings with which the run goes on."""
        if config != self.config():
            disk.write_json(self.config_path, to_dict(config))

    def found(self) -> dict[str, Any]:
        """What the run found out when it began; nothing if the file is lost, damaged or older than such files."""
        try:
            return disk.read_json(self.path / FOUND)
        except disk.DamagedFileError:
            return {}

    def examples(self) -> Path | None:
        """The examples of the run, if it has any; a `RunFolderError` if it had some and they are gone."""
        path = self.path / EXAMPLES
        if path.is_file():
            return path
        if self._held_out().get("examples", 0):
            raise RunFolderError(
                f"{path} is missing, with the success examples of this run: bring it back from a backup, or start a "
                "new run"
            )
        return None

    def keeps(self, examples: SuccessExamples | None, held_out: NDArray[np.float32]) -> bool:
        """Whether these are the examples of the run here, as far as its files tell."""
        kept, back = self.examples(), self.held_out()
        if (kept is None) != (examples is None):
            return False
        if kept is not None and examples is not None:
            ours = examples.states if examples.observations is None else examples.observations
            try:
                with np.load(kept, allow_pickle=False) as arrays:
                    theirs = arrays["examples"]
            except Exception as error:  # damage surfaces as a dozen kinds of error in zipfile, zlib and NumPy
                raise RunFolderError(
                    f"{kept} is damaged: bring it back from a backup, or choose another folder"
                ) from error
            if not np.array_equal(theirs, ours):
                return False
        return back is None or np.array_equal(back, held_out)

    def held_out(self) -> NDArray[np.float32] | None:
        """What the classifier sees of the examples that were kept back, [h, d]; None if the file is lost or damaged."""
        found = self._held_out().get("states")
        return None if found is None else np.asarray(found, np.float32)

    def _held_out(self) -> dict[str, NDArray[Any]]:
        try:
            data = io.BytesIO((self.path / HELD_OUT).read_bytes())
            with np.load(data, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files}
        except Exception:  # damage surfaces as a dozen kinds of error in zipfile, zlib and NumPy
            return {}

    def rows(self) -> list[dict[str, Any]]:
        """The metrics so far."""
        return metrics_file.read(self.metrics_path) if self.metrics_path.exists() else []

    def save(self, step: int, epoch: int, groups: checkpoint.Groups, keep: int) -> Path:
        """A checkpoint of everything."""
        return checkpoint.save(self.path, step, groups, {"epoch": epoch}, keep)

    def latest(self) -> Checkpoint | None:
        """The latest good checkpoint; None if there is none yet."""
        return checkpoint.load_latest(self.path)

    def best(self) -> Checkpoint | None:
        """The checkpoint with the best evaluation; None if none is kept."""
        return checkpoint.load_latest(self.best_path)

    def changed_packages(self) -> str:
        """Which packages have other versions now than when the run began, in words; '' if none."""
        try:
            before: Mapping[str, Any] = disk.read_json(self.path / VERSIONS)
        except disk.DamagedFileError as error:
            return f"{error}; it says which versions the run began with"
        changed = [
            f"{name} {before[name]} (now {now})" for name, now in versions().items() if before.get(name, now) != now
        ]
        return f"the run began with {', '.join(changed)}: results may differ from then on" if changed else ""


def alone(path: Path) -> int:
    """A descriptor that holds a run's lock until it is closed, or its process ends."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise RunningError(
            f"another process trains {path}: `mural watch {shlex.quote(str(path))}` looks at it; stop it first"
        ) from None
    except OSError:  # some network disks cannot lock folders
        pass
    return descriptor


def versions() -> dict[str, str]:
    """What made a run's results."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def commit() -> dict[str, str]:
    """The commit of the checkout that this package runs from, if it runs from one; "+" after it if its files differ.

    Only the files of the package count: results, which a sweep writes beside it, change nothing of what is computed.
    """
    here = Path(__file__).parents[1]
    try:
        head, changed = (
            subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, timeout=10, check=True).stdout
            for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "--", "."])
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    return {"commit": head.strip() + ("+" if changed.strip() else "")}
