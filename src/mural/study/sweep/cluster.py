"""A sweep on a Ray cluster: each run is a task of one CPU that starts the same process where Ray puts it.

Run folders are on storage that all nodes share, under the same path. When a node is lost, Ray gives its runs to others,
which resume them from their last checkpoints.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mural.errors import MuralError
from mural.storage.folder import commit, versions
from mural.study import results
from mural.study.sweep import state
from mural.study.sweep.attempt import Job, job, start
from mural.study.sweep.board import Board
from mural.study.sweep.local import Outcome, ended, termination_as_interrupt
from mural.study.sweep.spec import Run

LOST = 100  # times that a run may lose its node, or be ended by Ray for want of memory, before it counts as failed
MEMORY = 1 << 30  # bytes that Ray sets aside for a run
PAUSE = 0.5
TAKEN = 120.0  # seconds that a process of a lost node may go on before its run is given up
STOPPED = -int(signal.SIGINT)


class ClusterError(MuralError, RuntimeError):
    """The cluster cannot be used; the message says what to do."""


def sweep(runs: Sequence[Run], address: str, board: Board) -> Outcome:
    """Bring all runs to their ends on the cluster at this address ("auto": the one that this machine is part of)."""
    ray = connect(address)
    attempt = ray.remote(num_cpus=1, memory=MEMORY, max_retries=LOST)(work)
    about = versions() | commit()
    flag = runs[0].folder.parent.absolute() / f".stop-{uuid.uuid4().hex}"
    tries, outcome = Counter[str](), Outcome()
    starts = {run.name: len(results.attempts(run.folder)) for run in runs}
    pending: dict[Any, Run] = {}

    def submit(run: Run) -> None:
        tries[run.name] += 1
        state.failure_path(run).unlink(missing_ok=True)
        pending[attempt.options(name=run.name).remote(job(run), str(flag), about)] = run

    with contextlib.ExitStack() as endings:
        endings.callback(ray.shutdown)
        endings.enter_context(termination_as_interrupt())
        endings.enter_context(board)
        try:
            for run in runs:
                submit(run)
            while pending:
                ready, _ = ray.wait(list(pending), timeout=PAUSE)
                tell_starts(pending.values(), starts, board)
                for one in ready:
                    run = pending.pop(one)
                    code, why = exit_code(ray, one)
                    if not ended(run, code, tries[run.name], outcome, board, why):
                        submit(run)
                board.refresh(len(pending) - len(board.lines))
        except KeyboardInterrupt:
            outcome.stopped = True
            tell_starts(pending.values(), starts, board)
            stop(ray, pending, flag, board)
    return outcome


def connect(address: str) -> Any:
    """The module `ray`, connected; or what is missing."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # runs decide themselves what they compute on
    try:
        import ray
    except ModuleNotFoundError:
        raise ClusterError("--ray needs Ray, on this machine and on all nodes: pip install 'mural-rl[ray]'") from None
    try:
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        why = str(error).strip().splitlines()[0]
        raise ClusterError(
            f"there is no Ray cluster at {address} that lets us in ({why}). Start one with `ray start --head`, name "
            "its HOST:PORT, and use its token (RAY_AUTH_MODE, RAY_AUTH_TOKEN_PATH): see docs/clusters.md"
        ) from error
    return ray


def work(task: Job, flag: str, about: Mapping[str, str]) -> int:
    """What a worker does: start the process and wait for it; returns its exit code. It dies with this worker.

    When a file `flag` appears, the process is told to save and end. Ray's own way to cancel a task would be lost where
    SIGINT is ignored, as it is below anything that a shell has started in the background. `about` is what the sweep
    was started with: another commit or other packages here would make other results.
    """
    import ray

    here = versions() | commit()
    different = [f"{name} {here.get(name)}, not {value}" for name, value in about.items() if here.get(name) != value]
    if different:
        raise ClusterError(f"a node has other packages than the sweep: {'; '.join(different)}. Install the same on all")
    deadline = time.monotonic() + TAKEN
    while not os.path.exists(flag) and state.busy(Path(task.folder)) and time.monotonic() < deadline:
        time.sleep(PAUSE)  # the process of a lost node is still ending
    if os.path.exists(flag):
        return STOPPED
    return attend(start(task, death=signal.SIGKILL, place=ray.get_runtime_context().get_node_id()), flag)


def attend(process: subprocess.Popen[bytes], flag: str) -> int:
    """Wait for a process; tell it once to save and end when the file `flag` appears, or when Ray cancels this task."""
    told = False
    while process.poll() is None:
        try:
            time.sleep(PAUSE)
            due = os.path.exists(flag)
        except KeyboardInterrupt:  # the sweep was stopped just as this began, and took it for one that waits
            due = True
        if due and not told:
            process.send_signal(signal.SIGINT)
            told = True
    return process.returncode


def exit_code(ray: Any, one: Any) -> tuple[int, str]:
    """What became of a task: the exit code of its process, or 1 and the reason if Ray gave it up."""
    try:
        return int(ray.get(one)), ""
    except ray.exceptions.RayError as error:
        lines = str(error).strip().splitlines()  # a traceback of the worker, or what befell it and then advice
        return 1, f"Ray: {lines[-1 if isinstance(error, ray.exceptions.RayTaskError) else 0]}"


def tell_starts(runs: Any, starts: dict[str, int], board: Board) -> None:
    """Tell the board of processes that nodes have started since the last look."""
    for run in runs:
        tries = results.attempts(run.folder)
        if len(tries) > starts[run.name]:
            starts[run.name] = len(tries)
            board.started(run, f"node {tries[-1].get('place', '')[:8]}", 1)


def stop(ray: Any, pending: Mapping[Any, Run], flag: Path, board: Board) -> None:
    """Let each process save and end; a second Ctrl-C leaves them to Ray, which ends them at once."""
    with contextlib.suppress(KeyboardInterrupt):
        flag.parent.mkdir(parents=True, exist_ok=True)  # no node has made it if none has begun
        flag.touch()
        board.say(f"stopping {len(board.lines)} runs after their epochs, with checkpoints; Ctrl-C again stops at once")
        for one, run in pending.items():
            if run.name not in board.lines:  # it has not begun
                ray.cancel(one)
        ray.wait(list(pending), num_returns=len(pending), timeout=None)
    flag.unlink(missing_ok=True)
