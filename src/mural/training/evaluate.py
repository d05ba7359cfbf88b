"""How good a policy is: episodes without noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mural.agent.policy import NumpyPolicy
from mural.agent.replay import Rows
from mural.inputs.spaces import Env, Spaces
from mural.training.collect import Collector, Floats, Noise

Render = Callable[[Any], None]


def evaluate(
    env: Env,
    spaces: Spaces,
    policy: NumpyPolicy,
    seed_of: Sequence[int],
    label: Callable[[Rows], np.ndarray] | None,
    longest: int,
    failures: Path | None = None,
    correlation: float | None = None,
) -> dict[str, Any]:
    """One episode per seed, with the most likely actions, or drawn with noise of this correlation.

    `eval/success` and `eval/distance` are those of the last step, `eval/success_ever` and `eval/best_distance` the best
    on the way (all means over episodes, left out if the environment does not report them), `eval/return` is the sum of
    the learned reward and `eval/env_return` that of the environment's own.
    """
    episodes: list[Rows] = []
    most = distinct(env, len(seed_of)) if correlation is None else len(seed_of)
    for seed in seed_of:
        again = len(episodes) >= most and alike(episodes)
        episodes.append(
            episodes[0] if again else episode(env, spaces, policy, seed, longest, None, failures, correlation)
        )
    row = {
        "eval/success": mean(float(e.success[-1]) for e in episodes),
        "eval/success_ever": mean(float(np.max(e.success)) for e in episodes),
        "eval/distance": mean(float(e.distance[-1]) for e in episodes),
        "eval/best_distance": mean(float(np.min(e.distance)) for e in episodes),
        "eval/env_return": mean(float(np.sum(e.env_reward)) for e in episodes),
        "eval/length": mean(float(len(e.step)) for e in episodes),
    }
    if label is not None:
        rewards = label(Rows(*(np.concatenate(column) for column in zip(*episodes, strict=True))))
        row["eval/return"] = float(np.sum(rewards, dtype=np.float64)) / len(episodes)
    return {name: value for name, value in row.items() if not np.isnan(value)}


def episode(
    env: Env,
    spaces: Spaces,
    policy: NumpyPolicy,
    seed: int,
    longest: int,
    render: Render | None = None,
    failures: Path | None = None,
    correlation: float | None = None,
) -> Rows:
    """The transitions [n, …] of one episode with the most likely actions; `render` sees the environment before each."""
    collector = Collector((env,), spaces, failures)
    collector.restart([seed])
    noise = None if correlation is None else Noise(np.random.default_rng([seed, 1]), 1, spaces.action_size, correlation)

    def act(obs: Floats, before: Floats) -> Floats:
        if render is not None:
            render(env)
        return policy.mode(obs, before) if noise is None else policy.perturbed(obs, noise(), before)

    blocks: list[Rows] = []
    while not blocks or (not blocks[-1].last[-1, 0] and len(blocks) < longest):
        blocks.append(collector.collect(1, act, reset=False))
    return Rows(*(np.concatenate(column)[:, 0] for column in zip(*blocks, strict=True)))


def distinct(env: Env, episodes: int) -> int:
    """How many of these episodes have to be run: two where a task says that none differs (`Task.varies`)."""
    return episodes if getattr(env.unwrapped, "varies", True) else min(episodes, 2)


def alike(episodes: Sequence[Rows]) -> bool:
    """Whether the first two are the same to the last bit, so that a task which says that none differs can be believed:
    a wrapper around it may still draw something."""
    if len(episodes) < 2:
        return False
    pairs = zip(*episodes[:2], strict=True)
    return all(np.array_equal(one, other, equal_nan=one.dtype.kind == "f") for one, other in pairs)


def mean(values: Any) -> float:
    """Plain mean."""
    return float(np.mean(list(values)))
