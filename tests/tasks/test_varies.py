"""Whether the episodes of a task differ, which evaluations go by."""

import numpy as np
import pytest

from mural.tasks import TASKS, make


@pytest.mark.parametrize("name", TASKS)
def test_a_task_knows_whether_its_episodes_differ(name):
    task = make(name)
    actions = np.random.default_rng(0).uniform(-1, 1, (30, *task.action_space.shape)).astype(np.float32)

    def states(seed):
        first, _ = task.reset(seed=seed)
        return np.stack([first, *(task.step(action)[0] for action in actions)]).tobytes()

    assert task.varies == (len({states(seed) for seed in range(4)}) > 1)
    task.close()
