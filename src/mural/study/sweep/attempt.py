"""One attempt at a run: a process of the ordinary command, started on this machine, and a record of that."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import mural
from mural.storage.folder import commit
from mural.storage.metrics import MetricsFile
from mural.study import results
from mural.study.processes import environment, pinned
from mural.study.sweep.spec import Run

LINES = 12  # of a log that are shown when a run has failed


@dataclass(frozen=True)
class Job:
    """What a process needs to be started, in plain values: it may travel to another machine."""

    name: str
    folder: str
    log: str
    words: tuple[str, ...]
    imports: tuple[str, ...]
    home: str
    """The folder to work in."""


def job(run: Run) -> Job:
    """The job of a run, from this process's folder."""
    home = os.path.abspath(".")
    return Job(run.name, os.path.abspath(run.folder), os.path.abspath(run.log), run.words, run.imports, home)


def command(job: Job) -> list[str]:
    """`train` with all settings, or `resume` if the run has begun."""
    if (Path(job.folder) / "config.json").is_file():
        extra = [word for module in job.imports for word in ("--import", module)]
        return ["mural", "resume", job.folder, *extra]
    return ["mural", "train", *job.words, "--out", job.folder]


def start(job: Job, cores: Sequence[int] = (), death: int = 0, place: str = "") -> subprocess.Popen[bytes]:
    """Start a process with one thread, on these cores if any are named; its output is added to the run's log.

    Nothing of this process but its environment goes into it. It has a session of its own: a Ctrl-C at the terminal
    reaches only who started it, who then tells it once.
    """
    words = command(job)
    Path(job.folder).mkdir(parents=True, exist_ok=True)
    with MetricsFile(Path(job.folder) / results.ATTEMPTS) as file:
        about = {"time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "command": shlex.join(["mural", "train", *job.words])}
        file.append(about | {"resumed": words[1] == "resume", "place": place} | commit() | results.machine())
    source = str(Path(mural.__file__).parents[1])  # this very package, also where it is not installed
    path = os.pathsep.join(dict.fromkeys(filter(None, [source, *os.environ.get("PYTHONPATH", "").split(os.pathsep)])))
    with open(job.log, "ab") as log:
        log.write(f"$ {shlex.join(words)}\n".encode())
        log.flush()
        return subprocess.Popen(
            pinned([sys.executable, "-m", *words], cores, death),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=job.home, start_new_session=True,
            env=environment(threads=1) | {"PYTHONPATH": path, "COLUMNS": "120"},
        )  # fmt: skip


def last_lines(log: str | Path) -> str:
    """The end of a log."""
    try:
        lines = Path(log).read_text(errors="replace").splitlines()
    except OSError:
        return "(no log)"
    return "\n".join(line[:300] for line in lines[-LINES:])
