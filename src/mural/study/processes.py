"""Processes with a fixed number of compute threads: fixed before they start, as JAX and BLAS look only then."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mural.errors import MuralError

# Sets the cores of the process that it then becomes. (Popen's preexec_fn would fork; JAX's threads do not like that.)
PIN = "import os, sys; os.sched_setaffinity(0, map(int, sys.argv[1].split(','))); os.execv(sys.argv[2], sys.argv[2:])"
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
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[-threads:]))
    pinned = [sys.executable, "-c", PIN, cores, *command]
    env = environment(threads) | dict(setting or {})
    return subprocess.Popen(pinned, env=env, stdout=subprocess.PIPE, text=True, **pipes)


def rows(command: Sequence[str], threads: int, setting: Mapping[str, str] | None = None) -> Iterator[dict[str, Any]]:
    """The lines of JSON that such a process prints, until it ends."""
    with spawn(command, threads, setting) as process:
        assert process.stdout is not None
        yield from (json.loads(line) for line in process.stdout if line.startswith("{"))
    if process.returncode:
        raise WorkerError(f"{' '.join(command)} ended with code {process.returncode}.")
