"""Does our SAC learn? Pendulum-v1 with its own reward, for 20,000 steps: `python -m mural.study.pendulum --json`.

Every seed must end at a mean return of −160 or better over 20 episodes with the most likely actions.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mural.training.api import Agent
from mural.training.folder import versions

FLOOR = -160.0
SETTINGS: dict[str, Any] = {"sac.learning_rate": 1e-3, "watch.eval_every": 1000}  # evaluated once, at the end


def pendulum(seeds: Sequence[int], *, steps: int = 20_000, episodes: int = 20) -> Iterator[dict[str, Any]]:
    """Train on each seed; one dictionary per seed, with the mean return and where it had to be."""
    for seed in seeds:
        begun = time.perf_counter()
        agent = Agent("Pendulum-v1", method="sac", seed=seed, config=SETTINGS).learn(steps, progress=False)
        trained = time.perf_counter() - begun
        found = float(agent.evaluate(episodes)["env_return"])
        sac = agent.config.sac
        agent.close()
        yield {
            "study": "pendulum",
            "seed": seed,
            "steps": agent.steps,
            "episodes": episodes,
            "return": round(found, 2),
            "floor": FLOOR,
            "meets_floor": found >= FLOOR,
            "hidden": list(sac.hidden),
            "batch_size": sac.batch_size,
            "learning_rate": sac.learning_rate,
            "seconds": round(trained, 1),
            "command": f"python -m mural.study.pendulum --json --seeds {seed} --steps {steps} --episodes {episodes}",
            "versions": versions(),
        }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line per seed; the exit code says whether all seeds reached the floor."""
    parser = argparse.ArgumentParser(prog="python -m mural.study.pendulum", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    options = parser.parse_args(arguments)
    rows = []
    for row in pendulum(options.seeds, steps=options.steps, episodes=options.episodes):
        rows.append(row)
        told = f"seed {row['seed']}: return {row['return']} (at least {FLOOR} is asked) in {row['seconds']} s"
        print(json.dumps(row) if options.json else told, flush=True)
    if len(rows) > 1 and not options.json:
        print(f"mean over {len(rows)} seeds: {np.mean([row['return'] for row in rows]):.1f}")
    return 0 if all(row["meets_floor"] for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
