"""How soon a user sees something: `import mural`, `mural --help`, and `mural train` until it has learned an epoch.

Training is started with an empty cache of compiled functions, then again with what the first process left there. Every
start is a process of its own with a fixed number of threads. With one thread, seconds are those of the CPU, so that
waiting for other work on the machine does not count; with more, they are those of the clock on the wall.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from mural import cache
from mural.study import processes

Row = dict[str, Any]

MOMENTS = {
    "step": "mural train to its first environment step",
    "learning": "mural train to the beginning of the first epoch that learns",
    "updated": "mural train to the first step of an updated policy",
    "learned": "mural train to the end of the first epoch that learns",
}
AT_MOST = {"learning": 6.0, "learned": 6.0}  # seconds, for a second process on an idle core
COMMANDS = {
    "import mural": [sys.executable, "-c", "import mural"],
    "mural --help": [sys.executable, "-m", "mural", "--help"],
}
NOTHING = [sys.executable, "-c", "pass"]


def bench_start(threads: int = 1, rounds: int = 3, arguments: Sequence[str] = ()) -> Iterator[Row]:
    """One row per number: what, ours, peer, peer_name, ratio and both clocks. `arguments` are more of `mural train`."""
    clock = "cpu" if threads == 1 else "wall"
    common = {"unit": "s", "threads": threads, "clock": clock}
    bare = middle([whole(NOTHING, threads) for _ in range(rounds)])
    for what, command in COMMANDS.items():
        ours = middle([whole(command, threads) for _ in range(rounds)])
        yield row(what, ours, bare, "python -c pass", clock) | common
    with tempfile.TemporaryDirectory() as folder:
        kept = {cache.SETTING: str(Path(folder) / "cache")}
        cold = train(Path(folder) / "cold", threads, kept, arguments)
        warm = [train(Path(folder) / f"warm-{i}", threads, kept, arguments) for i in range(rounds)]
    for moment, what in MOMENTS.items():
        ours = middle([stamps[moment] for stamps in warm])
        found = row(what, ours, cold[moment], "with an empty cache", clock) | common | {"env": "zigzag-maze"}
        if limit := AT_MOST.get(moment):
            found |= {"at_most": limit, "met": ours[clock] <= limit}
        yield found


def row(what: str, ours: Row, peer: Row, peer_name: str, clock: str) -> Row:
    """A number with its peer, by one clock; and ours by both."""
    return {
        "what": what,
        "ours": round(ours[clock], 2),
        "peer": round(peer[clock], 2),
        "peer_name": peer_name,
        "ratio": round(ours[clock] / peer[clock], 3),
        "cpu_s": round(ours["cpu"], 2),
        "wall_s": round(ours["wall"], 2),
    }


def middle(found: Sequence[Row]) -> Row:
    """Medians of both clocks."""
    return {clock: statistics.median(stamp[clock] for stamp in found) for clock in ("cpu", "wall")}


def whole(command: Sequence[str], threads: int) -> Row:
    """Seconds from the start of a process to its end."""
    begun, before = time.monotonic(), children()
    with processes.spawn(command, threads) as process:
        process.communicate()
    if process.returncode:
        raise processes.WorkerError(f"{' '.join(command)} ended with code {process.returncode}.")
    return {"wall": time.monotonic() - begun, "cpu": children() - before}


def children() -> float:
    """CPU seconds of the processes that this one has started and that have ended."""
    used = os.times()
    return used.children_user + used.children_system


def train(run: Path, threads: int, setting: Mapping[str, str], arguments: Sequence[str]) -> dict[str, Row]:
    """`mural train zigzag-maze` in a process of its own: seconds to each moment."""
    begun = time.monotonic()
    command = [sys.executable, "-m", __name__, str(run), *arguments]
    stamps = list(processes.rows(command, threads, setting))
    return {stamp["moment"]: {"wall": stamp["at"] - begun, "cpu": stamp["cpu"]} for stamp in stamps}


def stamped(folder: str, *arguments: str) -> None:
    """Train, print when each moment is reached, and leave at the last one."""
    (command,) = entry_points(group="console_scripts", name="mural")
    main = command.load()  # as the installed command does, before anything else of ours
    from mural.tasks.mazes.tasks import MazeTask
    from mural.training.run import Run

    step, advance = MazeTask.step, Run.advance
    reached: list[str] = []
    updated_at = math.inf
    made = 0

    def reach(moment: str) -> None:
        if moment not in reached:
            reached.append(moment)
            print(json.dumps({"moment": moment, "at": time.monotonic(), "cpu": time.process_time()}), flush=True)

    def watched_step(self: Any, action: Any) -> Any:
        nonlocal made
        made += 1
        reach("step")
        if made > updated_at:
            reach("updated")
        return step(self, action)

    def watched_advance(self: Run, *args: Any) -> Any:
        nonlocal updated_at
        learns = self.epoch >= self.random_epochs
        if learns:
            reach("learning")
            updated_at = made + self.config.loop.steps_per_call  # one call's steps by the first policy, then updates
        row = advance(self, *args)
        if learns:
            reach("learned")
            os._exit(0)
        return row

    MazeTask.step = watched_step  # type: ignore[method-assign]
    Run.advance = watched_advance  # type: ignore[method-assign, assignment]
    main(["train", "zigzag-maze", "--out", folder, "--seed", "0", *arguments])


if __name__ == "__main__":
    stamped(*sys.argv[1:])
