"""Our side of `mural bench train`: each function runs in a process of its own, with threads fixed by its parent."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from mural.study.bench.peers import REPLAY, clocked, serve

if TYPE_CHECKING:
    from mural.agent.replay import Rows
    from mural.training.run import Run

NEVER = 10**9
Row = dict[str, Any]


def update_flops(obs: int, actions: int, hidden: int, batch: int) -> int:
    """Multiplications and additions in the matrix products of one SAC update with two hidden layers, none for free.

    With p and q those of a forward pass of policy and critic: targets p + 2q; critics 2q and twice that backward;
    policy p + 2q, 2q backward through the critics and 2p through itself; less the errors of observations (and, for
    the critics' own loss, of actions), which nobody needs. Activations, Adam, the targets' step and the gathering of
    batches count nothing.
    """

    def product(inputs: int, outputs: int) -> int:
        return 2 * batch * inputs * outputs

    p = product(obs, hidden) + product(hidden, hidden) + product(hidden, 2 * actions)
    q = product(obs + actions, hidden) + product(hidden, hidden) + product(hidden, 1)
    target, critic = p + 2 * q, 2 * q + 2 * (2 * q - product(obs + actions, hidden))
    policy = p + 2 * q + 2 * (q - product(obs, hidden)) + 2 * p - product(obs, hidden)
    return target + critic + policy


def serve_ours(env: str, hidden: str, batch: str, steps: str) -> None:
    """SAC on the environment's own reward through `mural.Agent`: n steps per turn, in epochs of `steps`."""
    import mural

    settings = {
        "sac.hidden": [int(hidden)] * 2,
        "sac.n_step": 1,
        "sac.batch_size": int(batch),
        "loop.epoch_steps": int(steps),
        "loop.random_steps": int(steps),
        "loop.replay_size": REPLAY,
        "watch.eval_every": NEVER,
        "steps": NEVER,
    }
    agent = mural.Agent(env, method="sac", config=settings)

    def turn(n: int) -> int:
        before = agent.steps
        while agent.steps < before + n:
            agent.run.advance()  # `learn` would end with an evaluation
        return agent.steps - before

    turn(2 * int(steps))  # random steps, then what compiles
    spaces = agent.run.world.spaces
    packages = ("gymnasium", "jax", "numpy") + (("mujoco",) if env.startswith("Ant") else ())
    about = {
        "flops": update_flops(spaces.obs_size, spaces.action_size, int(hidden), int(batch)),
        "versions": {package: version(package) for package in packages},
    }
    serve(about, turn, matmul)


def matmul() -> tuple[int, Callable[[], object]]:
    """Floating-point operations of one product of square matrices, and a function that does it."""
    import jax
    import jax.numpy as jnp

    n = 1024
    a = jnp.ones((n, n), jnp.float32)
    product = jax.jit(lambda x: x @ x)
    return 2 * n**3, lambda: product(a).block_until_ready()


def maze_rows(run: Run, n: int, seed: int = 0) -> Rows:
    """n made-up transitions of a maze, all over it, in episodes of 100: enough to fill a replay."""
    import numpy as np

    from mural.agent.replay import empty_rows

    rng = np.random.default_rng(seed)
    task: Any = run.world.envs[0].unwrapped
    obs = rng.uniform(-4, 4, (n, 1, 2)).astype(np.float32)
    action = rng.uniform(-1, 1, (n, 1, 2)).astype(np.float32)
    next_obs = np.clip(obs + 0.5 * action, -4, 4).astype(np.float32)
    distance = task.distance(next_obs[:, 0].astype(np.float64)).astype(np.float32)[:, None]
    step = (np.arange(n, dtype=np.int32) % 100)[:, None]
    return empty_rows((n, 1), 2, 2, np.zeros)._replace(
        obs=obs,
        action=action,
        next_obs=next_obs,
        xy=next_obs,
        distance=distance,
        l2=distance,
        last=step == 99,
        step=step,
    )


def fill(run: Run, size: int) -> None:
    """Made-up transitions until the replay holds `size`."""
    import jax
    import jax.numpy as jnp

    from mural.training import compiled

    missing = size - int(run.replay.written)
    if missing > 0:
        run.replay = compiled.insert(run.replay, jax.tree.map(jnp.asarray, maze_rows(run, missing)))


def make_run(method: str, overrides: Row, task: str = "zigzag-maze") -> Run:
    """A run at the fast preset, past its random steps and the first epoch that learns."""
    import mural

    settings = {"watch.eval_every": NEVER, "steps": NEVER, "loop.replay_size": REPLAY, **overrides}
    run = mural.Agent(task, method=method, config=settings).run
    while not run.learned:
        run.advance()
    return run


def timed_epochs(runs: dict[str, Run], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """CPU and wall seconds of epochs, made in turn so that all of them meet the same disturbances."""
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            _, cpu, wall = clocked(run.advance)
            seconds[name].append((cpu, wall))
    return seconds


def replay_sizes(sizes: Sequence[int], rounds: int, overrides: Row) -> Iterator[Row]:
    """Epochs of MURAL and of VICE, with more and more transitions in the replay."""
    runs = {method: make_run(method, overrides) for method in ("mural", "vice")}
    for size in sizes:
        for run in runs.values():
            fill(run, size)
        if size == sizes[0]:
            timed_epochs(runs, 1)  # the first after what was made up is not like the others
        yield {"replay": size, "epochs": timed_epochs(runs, rounds)}


def domains(tasks: Sequence[str], rounds: int, overrides: Row) -> Iterator[Row]:
    """Epochs of MURAL and of VICE on one task after the other, once the replay holds more than is labelled anew."""
    for task in tasks:
        runs = {method: make_run(method, overrides, task) for method in ("mural", "vice")}
        for run in runs.values():
            while int(run.replay.written) * len(run.world.envs) <= run.config.loop.pool:
                run.advance()
        timed_epochs(runs, 1)
        before = int(runs["vice"].replay.written)
        timed = timed_epochs(runs, rounds)
        steps = (int(runs["vice"].replay.written) - before) // rounds
        yield {"task": task, "steps": steps, "epochs": timed}


def methods(names: Sequence[str], rounds: int, overrides: Row) -> Iterator[Row]:
    """Epochs of `sac` and of every other method."""
    rival = make_run("sac", overrides)
    for name in names:
        runs = {"sac": rival, name: make_run(name, overrides)}
        timed_epochs(runs, 1)
        yield {"method": name, "epochs": timed_epochs(runs, rounds)}


if __name__ == "__main__":
    what, arguments = sys.argv[1], sys.argv[2:]
    if what == "ours":
        serve_ours(*arguments)
    else:
        workers: dict[str, Callable[..., Iterator[Row]]] = {"replay-sizes": replay_sizes, "domains": domains}
        rows = workers.get(what, methods)
        for row in rows(*map(json.loads, arguments)):
            print(json.dumps(row), flush=True)
