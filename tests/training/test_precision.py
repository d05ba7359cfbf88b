"""A run that multiplies in bfloat16: close to one in single precision, and the same whoever asks it."""

import numpy as np

import mural
from mural.nml.products import precision
from mural.rewards import total
from mural.rewards.base import STATES
from tests.training import small


def test_a_run_in_bfloat16_is_close_and_says_the_same_of_a_state_whoever_asks(tmp_path):
    """Wide networks, so that there is something to round; with it, a run goes on in the same bytes."""
    wide = small.MURAL | {"sac.hidden": [64, 64], "sac.batch_size": 64, "reward.classifier.hidden": [64, 64]}

    def agent(asked, folder=None):
        config = wide | {"loop.precision": asked}
        return mural.Agent(small.Field(), small.examples(), config=config, run_dir=folder)

    exact, rounded = agent("float32").learn(180, progress=False), agent("bfloat16").learn(180, progress=False)
    states = np.random.default_rng(0).uniform(-1, 1, (50, 2)).astype(np.float32)
    assert not np.array_equal(rounded.reward(states), exact.reward(states))
    np.testing.assert_allclose(rounded.reward(states), exact.reward(states), atol=0.1)
    run, columns = rounded.run, {STATES: states}
    alike = total.rewards(run.program.terms, run.parts, columns, len(states))
    with precision("bfloat16"):
        np.testing.assert_array_equal(
            total.rewards(run.program.terms, run.parts, columns, len(states)), rounded.reward(states)
        )
    assert not np.array_equal(alike, rounded.reward(states))  # the same reward, in single precision
    alone = np.concatenate([rounded.reward(state) for state in states[:5]])
    np.testing.assert_allclose(alone, rounded.reward(states)[:5], rtol=1e-5)
    agent("bfloat16", tmp_path / "run").learn(120, progress=False)
    again = mural.Agent.load(tmp_path / "run", env=small.Field()).learn(60, progress=False)
    for group, found in again.run.groups().items():
        for name, array in found.items():
            assert array.tobytes() == rounded.run.groups()[group][name].tobytes(), f"{group}/{name}"
