"""The folder of a run: settings, examples, metrics, events, checkpoints, pictures."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mural.errors import MuralError
from mural.inputs.examples import SuccessExamples
from mural.settings.config import RunConfig, from_dict, read, to_dict
from mural.storage import checkpoint, disk
from mural.storage import metrics as metrics_file
from mural.storage.checkpoint import Checkpoint
from mural.training.run import Run

Say = Callable[[str], None]
HELD_OUT = "held_out.npz"
VERSIONS = ("mural-rl", "jax", "numpy", "gymnasium", "mujoco")


class RunFolderError(MuralError, RuntimeError):
    """A folder that is not a run, or is one that something new would overwrite."""


class RunningError(RunFolderError):
    """Another process trains this run."""


class UnsavedError(MuralError, RuntimeError):
    """Training has ended and its last state could not be saved in the run's folder; the message says what to do."""


class RunFolder:
    """Reads and writes a run's files."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

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

    def exists(self) -> bool:
        """Whether there is a run here."""
        return self.config_path.is_file()

    def create(
        self, config: RunConfig, examples: SuccessExamples | None, held_out: NDArray[np.float32] | None = None
    ) -> None:
        """Begin a new run here. Examples and those held out are kept apart, as the run goes on with the same ones."""
        if self.exists():
            raise RunFolderError(
                f"{self.path} already holds a run: `mural resume {self.path}` goes on with it; or choose another folder"
            )
        self.path.mkdir(parents=True, exist_ok=True)
        if examples is not None:
            examples.save(self.path / "examples.npz")
        if held_out is not None:
            with (self.path / HELD_OUT).open("wb") as file:
                np.savez(file, states=held_out)
        write_json(self.path / "versions.json", versions())
        write_json(self.config_path, to_dict(config))  # last: a folder with settings is a run

    def config(self) -> RunConfig:
        """The settings of the run here."""
        if not self.exists():
            raise RunFolderError(f"{self.path} is not a run: it has no config.json; `mural train` makes one")
        return from_dict(read(self.config_path))

    def set_config(self, config: RunConfig) -> None:
        """The settings with which the run goes on."""
        if config != self.config():
            write_json(self.config_path, to_dict(config))

    def examples(self) -> Path | None:
        """The examples of the run, if it has any."""
        path = self.path / "examples.npz"
        return path if path.is_file() else None

    def held_out(self) -> NDArray[np.float32] | None:
        """What the classifier sees of the examples that were kept back, [h, d]."""
        path = self.path / HELD_OUT
        if not path.is_file():
            return None
        with np.load(path, allow_pickle=False) as arrays:
            return np.asarray(arrays["states"], np.float32)

    def rows(self) -> list[dict[str, Any]]:
        """The metrics so far."""
        return metrics_file.read(self.metrics_path) if self.metrics_path.exists() else []

    def save(self, run: Run, keep: int) -> Path:
        """A checkpoint of everything."""
        return checkpoint.save(self.path, run.step, run.groups(), {"epoch": run.epoch}, keep)

    def load(self, run: Run) -> Checkpoint | None:
        """Put the latest good checkpoint into `run`; None if there is none yet."""
        found = checkpoint.load_latest(self.path)
        if found is not None:
            run.restore(int(found.meta["epoch"]), found.groups)
        return found


class Recorder:
    """Appends to a run's files while it trains; what was written after the last checkpoint is first taken back."""

    def __init__(self, folder: RunFolder, run: Run, say: Say) -> None:
        self.folder, self.run, self.say = folder, run, say
        self.unsaved = False
        self.unwritten: list[tuple[dict[str, Any], dict[str, float]]] = []
        self.lock = alone(folder.path)
        try:
            folder.set_config(run.config)
            for path in (folder.metrics_path, folder.timing_path):
                metrics_file.truncate_after(path, run.step)
            self.metrics = metrics_file.MetricsFile(folder.metrics_path)
            self.timing = metrics_file.MetricsFile(folder.timing_path)
            resumed = run.step if run.step else None
            self.board = metrics_file.TensorBoard(folder.path, resumed) if run.config.watch.tensorboard else None
        except BaseException:
            os.close(self.lock)
            raise

    def record(self, row: dict[str, Any]) -> None:
        """An epoch's row. A full disk is said, and does not stop the training."""
        watch, epoch = self.run.config.watch, self.run.epoch
        self.unwritten.append((row, self.run.timing))
        try:
            while self.unwritten:  # those that did not fit before come first
                first, timing = self.unwritten[0]
                self.metrics.append(first)
                self.unwritten.pop(0)
                self.timing.append({"step": first["step"], **{k: round(v, 4) for k, v in timing.items()}})
                if self.board is not None:
                    self.board.scalars(first, first["step"])
        except disk.OutOfSpaceError as error:
            self.say(f"{error}")
        if watch.picture_every and epoch % watch.picture_every == 0:
            self.picture()
        if self.unsaved or epoch % watch.checkpoint_every == 0:
            self.save()

    def picture(self) -> None:
        """Reward and visits, where the states are a plane."""
        from mural.show.pictures import run_picture  # loads matplotlib

        path = self.folder.path / "pictures" / f"{self.run.step:010d}.png"
        try:
            image = run_picture(self.run, path)
            if image is not None and self.board is not None:
                self.board.image("reward and visits", image, self.run.step)
        except OSError as error:
            self.say(f"no picture: {error}")

    def finish(self) -> None:
        """The last picture and the last checkpoint; if that does not fit, it goes to the folder for temporary files."""
        every = self.run.config.watch.picture_every
        if every and self.run.epoch % every:
            self.picture()
        try:
            self._save()
        except checkpoint.CheckpointSpaceError as error:
            raise UnsavedError(f"{error}. {self._save_elsewhere()}") from error

    def save(self) -> None:
        """A checkpoint; if it does not fit, say so and try again after the next epoch."""
        try:
            self._save()
        except checkpoint.CheckpointSpaceError as error:
            self.unsaved = True
            self.say(f"{error}. Training goes on, and saving is tried again after the next epoch")

    def _save(self) -> None:
        self.folder.save(self.run, self.run.config.watch.keep)
        self.unsaved = False

    def _save_elsewhere(self) -> str:
        """What became of a state that its own folder has no room for."""
        elsewhere = RunFolder(tempfile.mkdtemp(prefix=f"{self.folder.path.name}-"))
        try:
            saved = elsewhere.save(self.run, 1)
        except OSError:
            shutil.rmtree(elsewhere.path, ignore_errors=True)
            return (
                "It fits nowhere else either: resuming will repeat what came after the last checkpoint, and from "
                "Python agent.save(path) still saves it where there is room"
            )
        home = self.folder.path / saved.parent.name
        return f"The state of step {self.run.step} is in {saved}: move that folder into {home}, and the run is whole"

    def failure(self, row: dict[str, Any]) -> None:
        """What the metrics were when a run had to stop."""
        path = self.folder.path / "failure"
        path.mkdir(exist_ok=True)
        write_json(path / "metrics.json", metrics_file.plain(row))

    def close(self) -> None:
        """No more rows; others may train this run."""
        os.close(self.lock)
        self.metrics.close()
        self.timing.close()
        if self.board is not None:
            self.board.close()


def alone(path: Path) -> int:
    """A descriptor that holds a run's lock until it is closed, or its process ends."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise RunningError(
            f"{path} is being trained by another process: `mural watch {path}` looks at it; stop it before going on"
        ) from None
    except OSError:  # some network disks cannot lock folders
        pass
    return descriptor


def versions() -> dict[str, str]:
    """What made a run's results."""
    found = {"python": platform.python_version()}
    for name in VERSIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def write_json(path: Path, value: Any) -> None:
    """Whole or not at all."""
    scratch = path.with_name(path.name + ".part")
    with scratch.open("w") as file:
        file.write(
            json.dumps(value, indent=1, default=lambda x: x.tolist() if isinstance(x, np.ndarray) else str(x)) + "\n"
        )
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)
