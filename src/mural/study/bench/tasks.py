"""How many steps per second the tasks make on one core, with other people's environments in the same run."""

from __future__ import annotations

import importlib
import itertools
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from mural.tasks import TASKS, find, make
from mural.tasks.mazes.tasks import MazeTask, ShuffledMaze

# What each task has to reach, in steps per second.
SINGLE_FLOOR = {
    "zigzag-maze": 20_000,
    "spiral-maze": 20_000,
    "double-maze": 20_000,
    "shuffled-maze": 20_000,
    "sawyer-push": 1_500,
    "sawyer-pick": 2_000,
    "sawyer-door": 2_500,
    "ant-maze": 2_500,
    "hand-reposition": 800,
}
BATCHED_FLOOR = 500_000

POINT_MAZE, ANT = "PointMaze_UMaze-v3", "Ant-v5"
PACKAGES = ("mural-rl", "numpy", "gymnasium", "mujoco", "gymnasium-robotics")

Run = Callable[[float], float]
"""Steps for about that many seconds of CPU time, and says how many steps there were per second."""


def bench_tasks(
    names: Sequence[str] | None = None, *, seconds: float = 1.0, rounds: int = 3, batch: int = 4096
) -> Iterator[dict[str, Any]]:
    """Measure tasks (all nine unless `names` are given); one dictionary per task and mode.

    Seconds are CPU seconds of this process, so that waiting for other work on the machine does not count. A
    task and its peer take turns, `rounds` times `seconds` each, and the medians are compared. Mazes also have
    a batched mode, in which `batch` agents move at once and have their distances computed.
    """
    versions = {package: _version(package) for package in PACKAGES}
    for name in names if names is not None else list(TASKS):
        spec = find(name)
        task = make(spec.name)
        peer_name = POINT_MAZE if isinstance(task, MazeTask) else ANT if spec.name == "ant-maze" else None
        peer, note = _peer(peer_name)
        ours, theirs = _turns(_stepper(task), _stepper(peer) if peer is not None else None, seconds, rounds)
        yield {
            "task": spec.name,
            "mode": "single",
            "clock": "cpu",
            "steps_per_s": round(ours),
            "floor": SINGLE_FLOOR[spec.name],
            "meets_floor": ours >= SINGLE_FLOOR[spec.name],
            "peer_name": peer_name,
            "peer_steps_per_s": round(theirs) if theirs is not None else None,
            "ratio": round(ours / theirs, 2) if theirs is not None else None,
            "peer_note": note,
            "versions": versions,
        }
        if isinstance(task, MazeTask):
            ours, _ = _turns(_batch_stepper(task, batch), None, seconds, rounds)
            yield {
                "task": spec.name,
                "mode": "batched",
                "clock": "cpu",
                "batch": batch,
                "steps_per_s": round(ours),
                "floor": BATCHED_FLOOR,
                "meets_floor": ours >= BATCHED_FLOOR,
                "versions": versions,
            }
        for env in (task, peer):
            if env is not None:
                env.close()


def _turns(ours: Run, theirs: Run | None, seconds: float, rounds: int) -> tuple[float, float | None]:
    """Medians of both, measured in turns so that a slow moment of the machine strikes both."""
    ours(0.1 * seconds)  # first calls fill caches
    if theirs is None:
        return statistics.median(ours(seconds) for _ in range(rounds)), None
    theirs(0.1 * seconds)
    pairs = [(ours(seconds), theirs(seconds)) for _ in range(rounds)]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def _stepper(env: gymnasium.Env[Any, Any]) -> Run:
    """Random actions, drawn beforehand; episodes start again as they end."""
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(1000)]

    def run(seconds: float) -> float:
        env.reset(seed=0)
        start = time.process_time()
        for steps in itertools.count(1):
            _, _, terminated, truncated, _ = env.step(actions[steps % 1000])
            if terminated or truncated:
                env.reset()
            if steps % 50 == 0 and (elapsed := time.process_time() - start) >= seconds:
                return steps / elapsed
        raise AssertionError("unreachable")

    return run


def _batch_stepper(task: MazeTask, batch: int) -> Run:
    """Whole episodes of random actions for many agents; a step is a move and the distance for `info`."""
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (task.horizon, batch, 2))
    move: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
    distance: Callable[[NDArray[Any]], NDArray[Any]]
    first: NDArray[Any] = np.tile(task.layout.start, (batch, 1))
    if isinstance(task, ShuffledMaze):
        grid = task.grid
        move, distance, first = grid.move, grid.distance.__getitem__, grid.cell_at(first)
    else:
        move, distance = task.layout.move, task.layout.distance

    def run(seconds: float) -> float:
        state = first
        start = time.process_time()
        for passes in itertools.count(1):
            state = move(state, actions[passes % task.horizon])
            distance(state)
            if passes % task.horizon == 0:
                state = first
            if (elapsed := time.process_time() - start) >= seconds:
                return passes * batch / elapsed
        raise AssertionError("unreachable")

    return run


def _peer(name: str | None) -> tuple[gymnasium.Env[Any, Any] | None, str | None]:
    """A peer without Gymnasium's wrappers, as the tasks are measured, or what to install to have it."""
    if name is None:
        return None, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about other people's versions, not ours
        try:
            if name == POINT_MAZE:
                gymnasium.register_envs(importlib.import_module("gymnasium_robotics"))
            return gymnasium.make(name, disable_env_checker=True).unwrapped, None
        except ImportError as error:
            package = "gymnasium-robotics" if name == POINT_MAZE else "'mural-rl[robots]'"
            return None, f"not measured ({error}): pip install {package}"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
