"""The same task and the same reward in our fused loop and in SAC of Stable-Baselines3: speed, and steps to success.

Each contestant has a process of its own with a fixed number of threads. Both have the settings of the preset: widths,
batch, updates per step, discount, rates, first temperature, entropy, steps between updates of the reward. What our loop
adds beyond these (scaled inputs, layer norm, correlated noise, batches that hold what is new, entropy that falls once
the goal is found; n-step returns where episodes are long) is part of what is compared.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from mural.settings.stopping import succeeded
from mural.study import processes

Row = dict[str, Any]
CONTESTANTS = ("ours", "Stable-Baselines3")
WANTED = 0.9  # mean success of five evaluations in a row
FLOOR = 3.0  # ours is to be so many times as fast


def bench_loops(
    task: str = "zigzag-maze",
    method: str = "mural",
    seeds: Sequence[int] = (0,),
    steps: int = 50_000,
    threads: int = 1,
    overrides: Mapping[str, Any] | None = None,
) -> Iterator[Row]:
    """A row per contestant and seed; then the ratio of their speeds. With one thread, seconds are those of the CPU."""
    speeds: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    for seed in seeds:
        for name in CONTESTANTS:
            words = json.dumps([name, task, method, seed, steps, dict(overrides or {}), threads])
            for row in processes.rows([sys.executable, "-m", __name__, words], threads):
                if row["steps_per_second"] is not None:
                    speeds[name].append(row["steps_per_second"])
                yield {"loop": name, "task": task, "method": method, "seed": seed, "threads": threads, **row}
    if all(speeds.values()):
        ours, theirs = (statistics.median(speeds[name]) for name in CONTESTANTS)
        yield {
            "loop": "ours / Stable-Baselines3", "task": task, "method": method, "threads": threads,
            "ratio": round(ours / theirs, 2), "at_least": FLOOR, "met": ours / theirs >= FLOOR,
        }  # fmt: skip


class Record:
    """What a contestant has done: seconds per epoch, and the evaluations."""

    def __init__(self, threads: int) -> None:
        self.clock = time.process_time if threads == 1 else time.perf_counter
        self.evaluations: list[Row] = []
        self.epochs: list[tuple[int, float, bool]] = []
        self.begun = self.since = self.clock()
        self.solved: tuple[int, float] | None = None

    def epoch(self, steps: int, evaluated: bool) -> None:
        """So many steps have been made since the last call; whether an evaluation was among them."""
        now = self.clock()
        self.epochs.append((steps, now - self.since, evaluated))
        self.since = now

    def evaluated(self, step: int, success: float) -> bool:
        """Keep an evaluation; whether the task is solved."""
        self.evaluations.append({"eval/success": success})
        if succeeded(self.evaluations, WANTED):
            self.solved = step, self.clock() - self.begun
        return self.solved is not None

    def row(self) -> Row:
        """The result. For the speed, the first three epochs, which compile, and those with evaluations do not count."""
        speeds = [steps / seconds for steps, seconds, evaluated in self.epochs[3:] if not evaluated]
        found = [row["eval/success"] for row in self.evaluations]
        return {
            "steps_per_second": round(statistics.median(speeds), 1) if speeds else None,
            "steps_to_success": self.solved[0] if self.solved else None,
            "seconds_to_success": round(self.solved[1], 1) if self.solved else None,
            "best_success": max(found, default=None),
            "steps": sum(steps for steps, _, _ in self.epochs),
        }


def ours(task: str, method: str, seed: int, steps: int, overrides: Row, threads: int) -> Row:
    """Our loop."""
    import mural

    agent = mural.Agent(task, method=method, seed=seed, config=overrides)
    record = Record(threads)

    def after(run: Any, row: Row) -> bool:
        record.epoch(run.epoch_steps, "eval/success" in row)
        return "eval/success" not in row or not record.evaluated(row["step"], row["eval/success"])

    agent.learn(steps, progress=False, callback=after)
    return record.row() | {"versions": {name: version(name) for name in ("jax", "gymnasium")}}


def theirs(task: str, method: str, seed: int, steps: int, overrides: Row, threads: int) -> Row:
    """SAC of Stable-Baselines3 on the same reward, settings, examples and evaluations."""
    import numpy as np
    import torch
    from stable_baselines3 import SAC
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.logger import Logger

    import mural
    from mural.adapters.sb3 import OutcomeCallback, OutcomeReplayBuffer
    from mural.inputs import world
    from mural.rewards import find_method
    from mural.settings import presets
    from mural.settings.config import epoch_steps, to_dict
    from mural.training.collect import starts
    from mural.training.evaluate import distinct
    from mural.training.settle import settled

    torch.set_num_threads(threads)
    config = presets.resolve(task, method, "fast", {"seed": seed, **overrides})
    made = world.build(config, find_method(method))
    every = epoch_steps(config, made.horizon)
    sac, record = settled(config.sac, made, {}), Record(threads)
    reward = mural.OutcomeReward(
        made.problem.examples, method, to_dict(config)["reward"], seed, units=config.units, waves=sac.sees[1]
    )
    env = world.make_env(task)

    class Watch(BaseCallback):  # type: ignore[misc]
        def _on_step(self) -> bool:
            if self.num_timesteps % every:
                return True
            due = self.num_timesteps > every and self.num_timesteps % (every * config.watch.eval_every) == 0
            go_on = not (due and record.evaluated(self.num_timesteps, self.success()))
            record.epoch(every, due)
            return go_on

        def success(self) -> float:
            ends = []
            for start in starts(seed, distinct(made.envs[0], config.watch.eval_episodes)):  # as ours does it
                obs, _ = made.envs[0].reset(seed=start)
                ended = False
                while not ended:
                    action, _ = self.model.predict(obs, deterministic=True)
                    obs, _, terminated, truncated, info = made.envs[0].step(action)
                    ended = terminated or truncated
                ends.append(float(info["is_success"]))
            return float(np.mean(ends))

    model = SAC(
        "MlpPolicy", env, seed=seed, device="cpu", batch_size=sac.batch_size, learning_rate=sac.learning_rate,
        gamma=sac.discount, tau=sac.tau, buffer_size=config.loop.replay_size, learning_starts=config.loop.random_steps,
        ent_coef=f"auto_{sac.initial_temperature}",
        target_entropy=sac.entropy_per_action * made.spaces.action_size,
        train_freq=1, gradient_steps=max(1, round(config.loop.updates_per_step)),
        policy_kwargs={"net_arch": list(sac.hidden)}, replay_buffer_class=OutcomeReplayBuffer,
        replay_buffer_kwargs={
            "reward": reward, "classifier_slice": list(made.columns), "pool": config.loop.pool,
            "terminations": config.terminations,
        },
    )  # fmt: skip
    model.set_logger(Logger(None, []))
    model.learn(steps, callback=[OutcomeCallback(every), Watch()])
    return record.row() | {"versions": {name: version(name) for name in ("stable-baselines3", "torch", "gymnasium")}}


def main(words: str) -> None:
    """One contestant: prints its row."""
    name, *rest = json.loads(words)
    print(json.dumps({"ours": ours, "Stable-Baselines3": theirs}[name](*rest)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
