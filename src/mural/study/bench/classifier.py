"""Time per state of feed-forward, meta-NML and exact CNML, measured side by side.

Every (width, threads) runs in a process of its own: threads are fixed when JAX starts, and peak memory is that of a
process. Within it, rivals take turns and the medians of the turns are compared.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from mural.study import processes

NARROW = 512  # up to this width, naive CNML is run to its end
DATA_POINTS = 2048
SCORED = 1_000_000


def bench_classifier(hidden: Sequence[int] = (512, 2048), threads: Sequence[int] = (1, 2)) -> Iterator[dict[str, Any]]:
    """One row per width, threads, states and adaptation points; one more for a million states at the least width."""
    steps = 0
    for count in threads:
        for width in sorted(hidden):
            for row in _worker("times", width, count, steps):
                steps = row["naive_adam_steps"]
                yield row
    yield from _worker("million", min(hidden), max(threads))


def _worker(what: str, width: int, threads: int, steps: int = 0) -> Iterator[dict[str, Any]]:
    """Rows printed by this module, run with the given number of compute threads on as many cores."""
    yield from processes.rows([sys.executable, "-m", __name__, what, *map(str, (width, threads, steps))], threads)


def take_turns(contestants: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median seconds of each, called in turn so that all of them meet the same disturbances."""
    import jax

    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(rounds + 1):
        for name, run in contestants.items():
            begun = time.perf_counter()
            for leaf in jax.tree.leaves(run()):
                leaf.block_until_ready()
            if turn:  # the first compiles
                seconds[name].append(time.perf_counter() - begun)
    return {name: statistics.median(values) for name, values in seconds.items()}


def peak_mb() -> int:
    """Most memory that this process has held."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def measure_times(width: int, threads: int, steps: int) -> Iterator[dict[str, Any]]:
    """Feed-forward, meta-NML and naive CNML at one width."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from mural.nml import Data, MetaNML, meta, mlp
    from mural.study.maze_data import zigzag_data

    rng = np.random.default_rng(0)
    maze = zigzag_data()
    half = DATA_POINTS // 2
    x = np.concatenate(
        [maze.visits[rng.integers(len(maze.visits), size=half)], maze.examples[rng.integers(150, size=half)]]
    )
    data = Data(jnp.asarray(x, jnp.float32), jnp.repeat(jnp.arange(2), half), jnp.ones(DATA_POINTS))
    state = meta.init((2, width, width, 2), key=jax.random.key(0))
    states = jnp.asarray(rng.uniform(-4, 4, (1000, 2)), jnp.float32)
    key = jax.random.key(1)

    feed_forward = jax.jit(lambda params, rows: jax.nn.softmax(mlp.forward(params, rows))[:, 1])

    @jax.jit
    def products(params: mlp.Params, rows: jax.Array) -> jax.Array:
        """The four products of the hidden layers that two labels need, and nothing else: a floor for meta-NML."""
        w = params[1].w
        a = jax.nn.relu(mlp.affine(rows, params[0]))
        back = jax.nn.relu(a @ w) @ w.T
        return jnp.sum((a + back) @ w, axis=1) + jnp.sum((a - back) @ w, axis=1)

    def query(points: int) -> Callable[[jax.Array], jax.Array]:
        config = MetaNML(adapt_points=points)
        ask = jax.jit(lambda params, rows: meta.log_likelihoods(config, params, data, rows, 0.5, key=key))
        return partial(ask, state.params)

    epoch = partial(meta.epoch, MetaNML(train_points=63, outer_points=64), state, data, 0.5, 1e-3, key=key)
    naive_s, steps = naive_seconds(state.params, data, states[:1], width, steps)
    for count in (1000, 1):
        rows = states[:count]
        timed = take_turns(
            {
                "feedforward": partial(feed_forward, state.params, rows),
                "floor": partial(products, state.params, rows),
                "63": partial(query(63), rows),
                "2048": partial(query(DATA_POINTS), rows),
            }
            | ({"epoch": epoch} if count == 1000 else {}),
            rounds=9 if width <= NARROW else 4,
        )
        if count == 1000:
            epoch_s, batched = timed["epoch"], timed["63"] / count
        for points in (63, DATA_POINTS):
            per_state = timed[str(points)] / count
            yield {
                "hidden": width,
                "threads": threads,
                "states": count,
                "adapt_points": points,
                "feedforward_s": timed["feedforward"] / count,
                "meta_nml_s": per_state,
                "naive_cnml_s_per_state": naive_s,
                "naive_adam_steps": steps,
                "meta_over_feedforward": timed[str(points)] / timed["feedforward"],
                "four_products_over_feedforward": timed["floor"] / timed["feedforward"],
                "naive_over_meta": naive_s / per_state,
                "meta_epoch_s": epoch_s,
                "meta_epoch_in_scored_states": epoch_s / batched,
                "peak_mb": peak_mb(),
            }


def naive_seconds(params: Any, data: Any, query: Any, width: int, steps: int) -> tuple[float, int]:
    """Seconds of converged CNML for one state, both labels, from the maximum-likelihood network on, and Adam steps.

    Up to width 512 all steps are made. A wider network is timed over a few and charged the number that the narrower
    one needed (`steps`): all of them would take the better part of an hour.
    """
    from mural.nml import network

    def seconds(training: network.Training, start: Any) -> float:
        begun = time.perf_counter()
        network.log_likelihoods(training, start, data, query)
        return time.perf_counter() - begun

    if width > NARROW:
        few, steps = network.Training(max_rounds=1, round_steps=2), steps or 1000
        seconds(few, params)  # compiles
        return seconds(few, params) / few.round_steps * steps, steps
    whole, one_round = network.Training(max_rounds=10, tol=0.01), network.Training(max_rounds=1, tol=0.01)
    fitted, _, _ = network.fit(network.Training(max_rounds=4), params, data)
    seconds(one_round, fitted)
    total, single = seconds(whole, fitted), seconds(one_round, fitted)
    return total, round(total / single) * whole.round_steps


def measure_million(width: int, threads: int, _: int) -> Iterator[dict[str, Any]]:
    """A million states scored through the estimator, and the memory that it took."""
    import numpy as np

    from mural.nml import MetaNMLClassifier
    from mural.study.maze_data import zigzag_data

    maze = zigzag_data()
    classifier = MetaNMLClassifier(
        (width, width), standardize=False, kernel_width=0.5, adapt_points=63, meta_epochs=1, random_state=0
    ).fit(maze.x, maze.y)
    states = np.random.default_rng(0).uniform(-4, 4, (SCORED, 2))
    before = peak_mb()
    begun = time.perf_counter()
    classifier.predict_proba(states)
    seconds = time.perf_counter() - begun
    yield {
        "hidden": width,
        "threads": threads,
        "states": SCORED,
        "adapt_points": 63,
        "meta_nml_s": seconds / SCORED,
        "peak_mb": peak_mb(),
        "peak_mb_before": before,
    }


if __name__ == "__main__":
    measure = {"times": measure_times, "million": measure_million}[sys.argv[1]]
    for row in measure(*map(int, sys.argv[2:])):
        print(json.dumps(row), flush=True)
