"""Success examples some of which are none: how wrong may a user be?"""

from __future__ import annotations

import numpy as np

from mural.errors import ArgumentError
from mural.tasks.base import Floats, Task

EPISODE = 100  # steps before the task starts anew
PATIENCE = 1000  # episodes without a single failure before we give up


def wrong_examples(task: Task, n: int, share: float, seed: int) -> Floats:
    """`n` examples in any order; this share of them are states that random actions came to, and no success."""
    if not 0 <= share <= 1:
        raise ArgumentError(f"the share of wrong examples is {share}; it must be between 0 and 1")
    rng = np.random.default_rng(seed)
    wrong = round(n * share)
    mixed = [*task.success_examples(n, seed)[: n - wrong], *ordinary(task, wrong, seed, rng)]
    return np.stack(mixed)[rng.permutation(n)]


def ordinary(task: Task, n: int, seed: int, rng: np.random.Generator) -> list[Floats]:
    """States visited by random actions, a random one of each episode, none of them a success."""
    found: list[Floats] = []
    task.action_space.seed(seed)
    for episode in range(n + PATIENCE):
        if len(found) == n:
            return found
        task.reset(seed=seed + episode)
        states = [task.step(task.action_space.sample())[0] for _ in range(EPISODE)]
        state = states[rng.integers(EPISODE)]
        if not task.is_success(state[None])[0]:
            found.append(state)
    raise ArgumentError("random actions hardly ever miss success in this task: no example of it can be wrong")
