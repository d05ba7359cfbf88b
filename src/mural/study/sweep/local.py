"""A sweep on this machine: a process per core, each pinned to its own; others start as they end.

Where there are fewer processes than cores, none is pinned: another sweep beside this one would pin to the same cores.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mural.study import results
from mural.study.processes import cores_here
from mural.study.sweep import state
from mural.study.sweep.attempt import job, last_lines, start
from mural.study.sweep.board import Board
from mural.study.sweep.spec import Run

TRIES = 3
PAUSE = 0.2  # seconds between two looks at the processes


@dataclass
class Outcome:
    """What became of the runs of a sweep."""

    done: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    """The ends of the logs of the runs that were given up, by name."""
    stopped: bool = False
    """Whether it was interrupted. All can be resumed by the same command."""


@dataclass
class Running:
    """A process at work on a run."""

    run: Run
    process: subprocess.Popen[bytes]
    cores: list[int]


def places(cores: list[int], processes: int) -> list[list[int]]:
    """The cores that each process may use: one each, or all of them where that would leave some idle."""
    return [[cores[i % len(cores)]] for i in range(processes)] if processes >= len(cores) else [cores] * processes


def sweep(runs: Sequence[Run], jobs: int | None, board: Board) -> Outcome:
    """Bring all runs to their ends, `jobs` at once (None: as many as there are cores)."""
    cores = cores_here()
    free = places(cores, min(jobs or len(cores), max(len(runs), 1)))
    waiting, tries, outcome = deque(runs), Counter[str](), Outcome()
    running: list[Running] = []
    told = False
    with termination_as_interrupt(), board:
        try:
            while waiting or running:
                while free and (run := next((run for run in waiting if not state.busy(run.folder)), None)):
                    waiting.remove(run)
                    if state.finished(run.folder):  # another sweep that shares this run has ended it
                        ended(run, 0, 0, outcome, board)
                        continue
                    mine = free.pop(0)
                    tries[run.name] += 1
                    state.failure_path(run).unlink(missing_ok=True)
                    running.append(Running(run, start(job(run), mine, signal.SIGINT), mine))
                    board.started(run, f"core {mine[0]}" if len(mine) == 1 else "any core", tries[run.name])
                if free and waiting and not told:
                    board.say(f"{len(waiting)} runs are trained by another sweep: waiting for it")
                    told = True
                time.sleep(PAUSE)
                board.refresh(len(waiting))
                for one in [one for one in running if one.process.poll() is not None]:
                    running.remove(one)
                    free.append(one.cores)
                    if not ended(one.run, one.process.returncode, tries[one.run.name], outcome, board):
                        waiting.append(one.run)
        except KeyboardInterrupt:
            outcome.stopped = True
            stop(running, board)
    return outcome


def ended(run: Run, code: int, tried: int, outcome: Outcome, board: Board, told: str = "") -> bool:
    """Collect what a process has finished; False if its run is to be tried again. `told`: why, if that is known."""
    if code == 0 and state.finished(run.folder):
        outcome.done.append(run.name)
        result = results.write(run.folder, run.results, run.variant)
        board.ended(run, f"done: success {result['success_of_last_ten']}, solved at {result['solved_at']}")
        return True
    why = told or (f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}")
    if tried < TRIES:
        board.ended(run, f"{why}; to be tried again ({tried} of {TRIES} tries)")
        return False
    outcome.failed[run.name] = f"{why}; {run.log} ends with\n{last_lines(run.log)}"
    run.folder.parent.mkdir(parents=True, exist_ok=True)
    state.failure_path(run).write_text(outcome.failed[run.name] + "\n")
    board.ended(run, f"FAILED {TRIES} times: {why}")
    return True


def stop(running: Sequence[Running], board: Board) -> None:
    """Let each process save and end; a second Ctrl-C ends them at once. Both leave runs that can go on."""
    try:
        for one in running:
            one.process.send_signal(signal.SIGINT)
        board.say(f"stopping {len(running)} runs after their epochs, with checkpoints; Ctrl-C again stops at once")
        for one in running:
            one.process.wait()
    except KeyboardInterrupt:
        for one in running:
            one.process.kill()
        for one in running:
            one.process.wait()


@contextlib.contextmanager
def termination_as_interrupt() -> Iterator[None]:
    """Within it, SIGTERM (a batch system's time limit) is like Ctrl-C."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
