"""How far a run of a sweep is, told from its folder or its result file, and whether it is the run that is asked for."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mural.errors import MuralError
from mural.settings.config import RunConfig, from_dict, to_dict
from mural.settings.stopping import succeeded
from mural.storage import checkpoint, disk, metrics
from mural.study.runs import LAST
from mural.study.sweep.spec import Run, same
from mural.typed import leaves

State = Literal["waiting", "half done", "running", "done", "collected", "differs", "failed"]
FINISHED: tuple[State, ...] = ("done", "collected")
TAIL = 1 << 18  # bytes at the end of a metrics file: ten evaluations at least


@dataclass(frozen=True)
class Look:
    """What a look at a run finds."""

    state: State
    step: int = 0
    success: float | None = None
    note: str = ""


def look(run: Run) -> Look:
    """How far a run is."""
    if (run.folder / "config.json").is_file():
        return _look_inside(run)
    if run.result.is_file():
        return _look_at_result(run)
    return Look("failed", note=failure(run)) if failure(run) else Look("waiting")


def _look_inside(run: Run) -> Look:
    step, success = progress(run.folder)
    try:
        different = ", ".join(differences(run.config, disk.read_json(run.folder / "config.json")))
        over = finished(run.folder)
    except MuralError as error:
        return Look("differs", step, success, str(error))
    if different:
        remedy = f"move {run.folder} away to run it anew, or change the spec"
        return Look("differs", step, success, f"its settings are not those of the spec: {different}; {remedy}")
    if over:
        return Look("done", step, success)
    if busy(run.folder):
        return Look("running", step, success)
    return Look("failed" if failure(run) else "half done", step, success, failure(run))


def _look_at_result(run: Run) -> Look:
    """The run's folder is not here (another machine's, or deleted), and its result is."""
    try:
        result = disk.read_json(run.result)
        different = ", ".join(differences(run.config, result["config"]))
        step, success = result["steps"], result["success_of_last_ten"]
    except (MuralError, KeyError) as error:
        return Look("differs", note=f"{run.result} cannot be read ({error}): remove it")
    if different:
        remedy = f"remove {run.result} to run it anew, or name another folder with --results"
        return Look("differs", step, success, f"its settings are not those of the spec: {different}; {remedy}")
    whole = step >= run.config.steps or (run.config.stop_at_success is not None and result["stopped"])
    return Look("collected", step, success) if whole else Look("waiting")


def differences(wanted: RunConfig, found: Mapping[str, Any]) -> Iterator[str]:
    """Which settings of a run are not those wanted, in words. A setting that is newer than the run has its default."""
    theirs, ours = (dict(leaves(to_dict(config))) for config in (from_dict(found), wanted))
    names = ours.keys() | theirs.keys()
    if ours["examples"] is None and theirs["examples"] is None:
        names -= {"keep_ordinary"}  # of the examples that a task makes itself none is left out
    for name in sorted(names):
        if not same(name, ours.get(name), theirs.get(name), wanted.task):
            yield f"{name} {theirs.get(name)} (spec: {ours.get(name)})"


def finished(folder: Path) -> bool:
    """Whether a run has used up its steps, or may stop, and its last state is saved."""
    if not (folder / "config.json").is_file() or not (folder / "metrics.jsonl").is_file():
        return False
    config, rows = disk.read_json(folder / "config.json"), metrics.read(folder / "metrics.jsonl")
    if not rows or not (rows[-1]["step"] >= config["steps"] or succeeded(rows, config.get("stop_at_success"))):
        return False
    saved = checkpoint.listing(folder)
    return not saved or max(saved) >= rows[-1]["step"]  # no checkpoint at all: deleted to save space


def progress(folder: Path) -> tuple[int, float | None]:
    """The step that a run has come to and the mean success of its last ten evaluations, from the end of its metrics."""
    rows = tail(folder / "metrics.jsonl")
    success = [row["eval/success"] for row in rows if row.get("eval/success") is not None]
    last = success[-LAST:]
    return (rows[-1]["step"] if rows else 0), (sum(last) / len(last) if last else None)


def tail(path: Path) -> list[dict[str, Any]]:
    """The last rows of a file of metrics, cheaply; none if there is no file."""
    try:
        with path.open("rb") as file:
            start = max(0, file.seek(0, os.SEEK_END) - TAIL)
            file.seek(start)
            lines = file.read().split(b"\n")
        return [json.loads(line) for line in lines[1 if start else 0 : -1]]
    except (OSError, ValueError):
        return []


def busy(folder: Path) -> bool:
    """Whether a process trains this run now."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a disk that cannot lock folders
        return False
    finally:
        os.close(descriptor)
    return False


def failure_path(run: Run) -> Path:
    """The file that says why a run was given up."""
    return run.folder.with_name(f"{run.name}.error")


def failure(run: Run) -> str:
    """Why a run was given up the last time; '' if it was not."""
    path = failure_path(run)
    return path.read_text() if path.is_file() else ""
