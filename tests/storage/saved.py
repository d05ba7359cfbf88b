"""Checkpoints whose content follows from their step."""

import numpy as np

from mural.storage import checkpoint


def groups(step, size=64):
    return {
        "agent": {"policy.0.w": np.full((size, 2), step, np.float32), "count": np.array(step, np.int32)},
        "replay": {"obs": np.arange(step, step + size, dtype=np.int64), "done": np.arange(size) % 2 == 0},
    }


def save(folder, step, **options):
    return checkpoint.save(folder, step, groups(step), {"epoch": step, "best": [0.1, None], "name": "é"}, **options)


def is_step(loaded, step, size=64):
    assert (loaded.step, loaded.meta["epoch"]) == (step, step)
    assert loaded.groups.keys() == groups(step).keys()
    for name, group in groups(step, size).items():
        assert loaded.groups[name].keys() == group.keys()
        for key, array in group.items():
            assert loaded.groups[name][key].dtype == array.dtype
            np.testing.assert_array_equal(loaded.groups[name][key], array, strict=True)
