"""How fast training is: steps per second next to other people's SAC, and what an epoch costs.

Everything runs in processes of its own with a fixed number of threads on as many cores. Rivals take turns, so that a
slow moment of the machine strikes all of them, and medians are compared. With one thread, seconds are those of the CPU,
so that waiting for other work on the machine does not count; with more, those of the clock on the wall.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from mural.study import processes
from mural.study.bench import peers, train_workers

Row = dict[str, Any]

ROOFLINE_FLOOR = 0.6
MURAL_CEILING = 1.2


@dataclass(frozen=True)
class Rival:
    """Somebody else's SAC."""

    peer: str
    fused: int
    """Updates per call."""
    floor: float
    """What the ratio has to be at 256², batch 256."""
    large_floor: float | None
    """And with larger networks; None: not measured."""


RIVALS = {
    "SBX as shipped": Rival("sbx", 1, 1.5, 1.2),
    "SBX, 32 updates per call": Rival("sbx", 32, 1.0, 1.2),
    "Stable-Baselines3": Rival("sb3", 1, 3.0, None),
}


@dataclass(frozen=True)
class Size:
    """Networks and batch, and how many steps a turn has."""

    hidden: int
    batch: int
    our_steps: int
    peer_steps: int


SIZES = (Size(256, 256, 500, 256), Size(512, 1024, 100, 64))
PARTS = ("sac", "epochs", "domains", "methods")
DOMAIN = "1000 steps of MURAL / 1000 of VICE"
DOMAINS = ("zigzag-maze", "sawyer-push", "sawyer-door", "sawyer-pick", "ant-maze", "hand-reposition")


def bench_train(
    parts: Sequence[str] = PARTS,
    *,
    envs: Sequence[str] = ("Pendulum-v1", "Ant-v5"),
    threads: Sequence[int] = (1, 2),
    sizes: Sequence[Size] = SIZES,
    replay: Sequence[int] = (10_000, 100_000, 500_000),
    domains: Sequence[str] = DOMAINS,
    methods: Sequence[str] | None = None,
    rounds: int = 3,
    peer_python: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Iterator[Row]:
    """One row per number: what, ours, peer, peer_name, ratio, threads, and what it should be.

    `peer_python` is a Python that has the peers, if this one has not. `overrides` are settings for the epochs that are
    compared among our own methods; without any, they are those of the fast preset.
    """
    for count in threads:
        for size in sizes if "sac" in parts else ():
            for env in envs:
                yield from sac_rows(env, size, count, rounds, peer_python)
        if "epochs" in parts:
            yield from replay_rows(replay, count, rounds, dict(overrides or {}))
    if "domains" in parts:
        yield from domain_rows(domains, min(threads), rounds, dict(overrides or {}))
    if "methods" in parts:
        yield from method_rows(methods, min(threads), rounds, dict(overrides or {}))


class Worker:
    """A process that answers requests, each with one line of JSON."""

    def __init__(self, command: Sequence[str], threads: int) -> None:
        self.command = command
        self.process = processes.spawn(command, threads, stdin=subprocess.PIPE)
        self.about = self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.communicate()

    def turn(self, steps: int) -> Row:
        """Train for so many steps."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"turn": steps}) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> Row:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):  # a peer may say other things too
                return json.loads(line)
        self.process.communicate()  # closes the pipes
        raise processes.WorkerError(f"{' '.join(self.command)} ended with code {self.process.returncode}.")


def ours_command(*arguments: object) -> list[str]:
    """The command of one of our workers."""
    return [sys.executable, "-m", train_workers.__name__, *map(str, arguments)]


def sac_rows(env: str, size: Size, threads: int, rounds: int, peer_python: Path | None) -> Iterator[Row]:
    """Steps per second of SAC, one update per step, next to each peer; and the share of the matmul peak."""
    clock = clock_of(threads)
    floors = {name: r.floor if size.hidden <= 256 else r.large_floor for name, r in RIVALS.items()}
    with ExitStack() as stack:
        ours = stack.enter_context(Worker(ours_command("ours", env, size.hidden, size.batch, size.our_steps), threads))
        rivals: dict[str, Worker] = {}
        for name in (name for name, floor in floors.items() if floor is not None):
            script = [str(peer_python or sys.executable), peers.__file__]
            arguments = (RIVALS[name].peer, env, size.hidden, size.batch, RIVALS[name].fused, threads)
            rivals[name] = stack.enter_context(Worker([*script, *map(str, arguments)], threads))
        present = {name: rival for name, rival in rivals.items() if "missing" not in rival.about}
        speeds: dict[str, list[float]] = {name: [] for name in ("ours", *present)}
        shares = []
        for _ in range(rounds):
            turn = ours.turn(size.our_steps)
            speeds["ours"].append(turn["steps"] / turn[clock])
            shares.append(ours.about["flops"] * speeds["ours"][-1] / turn["peak"][clock])
            for name, rival in present.items():
                turn = rival.turn(size.peer_steps)
                speeds[name].append(turn["steps"] / turn[clock])
    common = {"env": env, "hidden": size.hidden, "batch": size.batch, "threads": threads, "clock": clock}
    middle = {name: statistics.median(found) for name, found in speeds.items()}
    for name, rival in rivals.items():
        ratio = middle["ours"] / middle[name] if name in middle else None
        yield {
            "what": "SAC steps per second",
            "ours": round(middle["ours"], 1),
            "peer": round(middle[name], 1) if name in middle else None,
            "peer_name": name,
            "ratio": None if ratio is None else round(ratio, 3),
            **common,
            "at_least": floors[name],
            "met": None if ratio is None else ratio >= (floors[name] or 0),
            "note": missing(rival.about) if ratio is None else None,
            "versions": {"ours": ours.about["versions"], "peer": rival.about.get("versions")},
        }
    peak = ours.about["flops"] * middle["ours"] / statistics.median(shares)
    yield {
        "what": "GEMM roofline: products of a training epoch per second / matmul peak",
        "ours": round(ours.about["flops"] * middle["ours"] / 1e9, 1),
        "peer": round(peak / 1e9, 1),
        "peer_name": "1024² float32 matmul, GFLOP/s",
        "ratio": round(statistics.median(shares), 3),
        **common,
        "at_least": ROOFLINE_FLOOR,
        "met": statistics.median(shares) >= ROOFLINE_FLOOR,
    }


def missing(about: Row) -> str:
    """What to do about a peer that is not installed."""
    return (
        f"{about['missing']} is not installed ({about['why']}): pip install 'mural-rl[bench]', or name a Python that "
        "has it with --peer-python"
    )


def clock_of(threads: int) -> str:
    """Which seconds count."""
    return "cpu" if threads == 1 else "wall"


def seconds_of(epochs: Sequence[tuple[float, float]], clock: str) -> float:
    """Median seconds."""
    return statistics.median(cpu if clock == "cpu" else wall for cpu, wall in epochs)


def replay_rows(sizes: Sequence[int], threads: int, rounds: int, overrides: Row) -> Iterator[Row]:
    """A MURAL epoch next to a VICE epoch, as the replay grows; then how much dearer it is at the end."""
    clock = clock_of(threads)
    found: list[float] = []
    common = {"env": "zigzag-maze", "unit": "s", "threads": threads, "clock": clock}
    for row in processes.rows(ours_command("replay-sizes", *map(json.dumps, (sizes, rounds, overrides))), threads):
        mural, vice = (seconds_of(row["epochs"][name], clock) for name in ("mural", "vice"))
        found.append(mural)
        yield {
            "what": "epoch of MURAL / epoch of VICE",
            "ours": round(mural, 3),
            "peer": round(vice, 3),
            "peer_name": "vice",
            "ratio": round(mural / vice, 3),
            **common,
            "replay": row["replay"],
            "at_most": MURAL_CEILING,
            "met": mural / vice <= MURAL_CEILING,
        }
    yield {
        "what": "epoch of MURAL, largest replay / smallest",
        "ours": round(found[-1], 3),
        "peer": round(found[0], 3),
        "peer_name": f"mural with {sizes[0]} states",
        "ratio": round(found[-1] / found[0], 3),
        **common,
        "replay": sizes[-1],
    }


def domain_rows(tasks: Sequence[str], threads: int, rounds: int, overrides: Row) -> Iterator[Row]:
    """1000 steps of MURAL next to 1000 of VICE on a task of every domain of the paper."""
    clock = clock_of(threads)
    for row in processes.rows(ours_command("domains", *map(json.dumps, (list(tasks), rounds, overrides))), threads):
        mural, vice = (1000 / row["steps"] * seconds_of(row["epochs"][name], clock) for name in ("mural", "vice"))
        yield {
            "what": DOMAIN,
            "ours": round(mural, 3),
            "peer": round(vice, 3),
            "peer_name": "vice",
            "ratio": round(mural / vice, 3),
            "env": row["task"],
            "unit": "s",
            "threads": threads,
            "clock": clock,
            "rounds": rounds,
            "at_most": MURAL_CEILING,
            "met": mural / vice <= MURAL_CEILING,
        }


def method_rows(names: Sequence[str] | None, threads: int, rounds: int, overrides: Row) -> Iterator[Row]:
    """An epoch of every method next to one of SAC on the environment's reward."""
    if names is None:
        from mural.rewards import METHODS

        names = [name for name in METHODS if name != "sac"]
    clock = clock_of(threads)
    for row in processes.rows(ours_command("methods", *map(json.dumps, (list(names), rounds, overrides))), threads):
        ours, sac = (seconds_of(row["epochs"][name], clock) for name in (row["method"], "sac"))
        yield {
            "what": f"epoch of {row['method']}",
            "ours": round(ours, 3),
            "peer": round(sac, 3),
            "peer_name": "sac",
            "ratio": round(ours / sac, 3),
            "env": "zigzag-maze",
            "unit": "s",
            "threads": threads,
            "clock": clock,
        }
