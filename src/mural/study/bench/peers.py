"""Other people's SAC, to be measured next to ours: a script that talks in lines of JSON.

It imports nothing of this package, so that a Python which has only the peers can run it by its path. After a warm-up
it says what it is; then, for each line `{"turn": n}` on its input, it trains for n environment steps and says how long
they took. Between turns it waits, and leaves the cores to the others.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

PEERS = {"sbx": "sbx-rl", "sb3": "stable-baselines3"}
REPLAY = 500_000
WARM_UP = 192  # steps, of which the first 100 are random
PRODUCTS = 20


def clocked(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float, float]:
    """What the function returns, and the CPU and wall seconds it took."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = function(*arguments)
    return result, time.process_time() - cpu, time.perf_counter() - wall


def serve(
    about: dict[str, Any],
    turn: Callable[[int], int],
    matmul: Callable[[], tuple[int, Callable[[], object]]] | None = None,
) -> None:
    """Say `about`, then answer every request with the steps made by `turn(n)` and the seconds they took.

    With `matmul`, the best speed of a matrix product in this process is measured after each turn.
    """
    print(json.dumps(about), flush=True)
    flops, product = matmul() if matmul else (0, None)
    for line in sys.stdin:
        steps, cpu, wall = clocked(turn, json.loads(line)["turn"])
        answer: dict[str, Any] = {"steps": steps, "cpu": cpu, "wall": wall}
        if product is not None:
            times = [clocked(product) for _ in range(PRODUCTS)]
            answer["peak"] = {"cpu": flops / min(t[1] for t in times), "wall": flops / min(t[2] for t in times)}
        print(json.dumps(answer), flush=True)


def learner(peer: str, env: str, hidden: int, batch: int, fused: int, threads: int) -> Callable[[int], int]:
    """A function that trains a peer's SAC for n steps: one update per step, `fused` of them at a time."""
    if peer == "sb3":
        importlib.import_module("torch").set_num_threads(threads)
        sac = importlib.import_module("stable_baselines3").SAC
    else:
        sac = importlib.import_module("sbx").SAC
    model = sac(
        "MlpPolicy",
        env,
        batch_size=batch,
        buffer_size=REPLAY,
        learning_starts=100,
        train_freq=fused,
        gradient_steps=fused,
        policy_kwargs={"net_arch": [hidden, hidden]},
        seed=0,
        **({"device": "cpu"} if peer == "sb3" else {}),
    )

    logger = importlib.import_module("stable_baselines3.common.logger").Logger
    model.set_logger(logger(None, []))  # by itself each call of learn would leave a folder behind

    def turn(steps: int) -> int:
        before = model.num_timesteps
        model.learn(steps, reset_num_timesteps=before == 0)
        return model.num_timesteps - before

    return turn


def main(peer: str, env: str, hidden: str, batch: str, fused: str, threads: str) -> None:
    """Warm up, then serve turns; says what is missing if the peer is not installed."""
    try:
        turn = learner(peer, env, int(hidden), int(batch), int(fused), int(threads))
    except ImportError as error:
        print(json.dumps({"missing": PEERS[peer], "why": str(error)}), flush=True)
        return
    turn(WARM_UP if int(hidden) <= 256 else WARM_UP - 32)
    packages = (PEERS[peer], "gymnasium", "numpy") + (("mujoco",) if env.startswith("Ant") else ())
    serve({"versions": {package: version(package) for package in packages}}, turn)


if __name__ == "__main__":
    main(*sys.argv[1:])
