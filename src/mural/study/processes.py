"""Processes with a fixed number of compute threads: fixed before they start, as JAX and BLAS look only then."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mural.errors import MuralError

# Sets the cores of the process that it then becomes, and the signal that it gets when its parent dies (both if any:
# Linux has them). Popen's preexec_fn would do this in a fork, which JAX's threads do not like. What a shell starts in
# the background ignores SIGINT, what Ray starts blocks it, and their children inherit that; here it counts again.
PIN = """
import ctypes, os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
cores, death, parent, *command = sys.argv[1:]
if cores:
    os.sched_setaffinity(0, map(int, cores.split(",")))
if int(death):
    ctypes.CDLL(None).prctl(1, int(death))
    if os.getppid() != int(parent):
        os.kill(os.getpid(), int(death))
os.execv(command[0], command)
"""
ONE_THREAD = ("--xla_cpu_multi_thread_eigen=false", "intra_op_parallelism_threads=1")


class WorkerError(MuralError, RuntimeError):
    """A process that was to measure something ended with an error; what it printed says why."""


def environment(threads: int) -> dict[str, str]:
    """This process's environment variables, changed to ask for this number of threads."""
    count = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    others = {name: value for name, value in os.environ.items() if name not in ("XLA_FLAGS", "NPROC")}
    flags = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if flag not in ONE_THREAD]
    if threads == 1:
        flags += ONE_THREAD  # behind the others: XLA stops reading at a word without dashes
        count["NPROC"] = "1"  # the size of XLA's own pool, which also runs independent operations side by side
    if flags:
        count["XLA_FLAGS"] = " ".join(flags)
    return others | count


def spawn(
    command: Sequence[str], threads: int, setting: Mapping[str, str] | None = None, **pipes: Any
) -> subprocess.Popen[str]:
    """Start a process with this number of compute threads, on as many cores; its output is read.

    `setting` are environment variables beside those of this process.
    """
    env = environment(threads) | dict(setting or {})
    return subprocess.Popen(
        pinned(command, cores_here()[-threads:]), env=env, stdout=subprocess.PIPE, text=True, **pipes
    )


def pinned(command: Sequence[str], cores: Sequence[int] = (), death: int = 0) -> list[str]:
    """A command that runs on these cores only, and gets the signal `death` (0: none) when its parent dies.

    Its parent is the thread that starts it, which should live as long as its process.
    """
    if not sys.platform.startswith("linux"):
        return list(command)
    return [sys.executable, "-c", PIN, ",".join(map(str, cores)), str(int(death)), str(os.getpid()), *command]


def cores_here() -> list[int]:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def rows(command: Sequence[str], threads: int, setting: Mapping[str, str] | None = None) -> Iterator[dict[str, Any]]:
    """The lines of JSON that such a process prints, until it ends."""
    with spawn(command, threads, setting) as process:
        assert process.stdout is not None
        yield from (json.loads(line) for line in process.stdout if line.startswith("{"))
    if process.returncode:
        raise WorkerError(f"{' '.join(command)} ended with code {process.returncode}.")
