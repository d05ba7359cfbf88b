"""What a comparison of methods takes for granted: all have the same agent, noise and budget, and the paper's values."""

import pytest

from mural.rewards import METHODS
from mural.settings.config import epoch_steps
from mural.settings.presets import resolve
from mural.tasks import TASKS

CLASSIFIED = ("vae-density", "mural-negatives")


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("task", TASKS)
def test_all_methods_share_the_agent_the_noise_and_the_budget(task, method):
    ours, theirs = resolve(task, "mural"), resolve(task, method)
    assert theirs.steps == ours.steps
    assert theirs.loop == ours.loop
    own = {"n_step", "temperature"} if method == "rce" else set()  # RCE's targets and temperature are its authors'
    different = {name for name in vars(ours.sac) if getattr(ours.sac, name) != getattr(theirs.sac, name)}
    assert different <= own


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("preset", ["fast", "paper", "release"])
def test_all_methods_get_the_hidden_rewards_of_the_double_maze_once(method, preset):
    config = resolve("double-maze", method, preset)
    assert config.env_scale == (0.0 if method in ("sac", "rce") else 1.0)  # SAC's reward is the environment's
    assert config.num_examples == 5


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("method", CLASSIFIED)
@pytest.mark.parametrize("preset", ["paper", "release"])
def test_decay_follows_vice(task, method, preset):
    decay = resolve(task, "vice", preset).reward.classifier.weight_decay
    assert resolve(task, method, preset).reward.classifier.weight_decay == decay


@pytest.mark.parametrize("preset", ["paper", "release"])
def test_a_million_steps(preset):
    assert {resolve(task, "mural", preset).steps for task in TASKS} == {1_000_000}


@pytest.mark.parametrize(
    ("horizon", "steps"), [(100, 1000), (400, 1200), (120, 1200), (150, 1050), (None, 1000), (999, 2000)]
)
def test_epochs_are_whole_episodes(horizon, steps):
    """But for lengths that share next to nothing with the 50 steps of a call."""
    found = epoch_steps(resolve("zigzag-maze"), horizon)
    assert found == steps
    assert found % resolve("zigzag-maze").loop.steps_per_call == 0
    assert horizon in (None, 999) or found % horizon == 0


def test_the_ants_queries_in_the_release_are_examples_too():
    assert resolve("ant-maze", "mural", "release").reward.classifier.queries == "data"
    assert resolve("hand-reposition", "mural", "release").reward.classifier.queries == "replay"
