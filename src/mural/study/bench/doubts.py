"""How many wrong examples are named, and how many right ones: the check of examples on every task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mural import tasks
from mural.inputs.checks import explore
from mural.inputs.doubts import ordinary_rows
from mural.inputs.spaces import Spaces
from mural.study.wrong_examples import ordinary

Row = dict[str, Any]
SHARES = (0.0, 0.05, 0.2)


def bench_doubts(
    names: Sequence[str] | None = None, shares: Sequence[float] = SHARES, n: int = 150, seed: int = 0
) -> Iterator[Row]:
    """A row per task and share of wrong examples: how many of the wrong ones are named, and how many right ones."""
    for name in names or tuple(tasks.TASKS):
        task = tasks.make(name)
        spaces = Spaces.of(task)
        visited = explore(task, spaces).visited[:, spaces.columns]
        right = task.success_examples(n, seed)
        for share in shares:
            wrong, examples = round(share * n), right.copy()
            if wrong:  # seeds of episodes that the check does not see
                examples[:wrong] = ordinary(task, wrong, 1000 + seed, np.random.default_rng(seed))
            rows = ordinary_rows(examples[:, spaces.columns].astype(np.float64), visited)
            yield {
                "task": name, "examples": n, "wrong": wrong, "wrong_named": int((rows < wrong).sum()),
                "right_named": int((rows >= wrong).sum()), "seed": seed,
            }  # fmt: skip
        task.close()
