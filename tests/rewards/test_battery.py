"""What every method must do, taken from the registry: a new method is tested by being registered."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import jax
import numpy as np
import pytest

from mural import Agent
from mural.agent import sac, view
from mural.agent.replay import Rows
from mural.rewards import METHODS, Classifier, total
from mural.rewards.methods.vae_density import Density
from mural.settings.config import RunConfig, to_dict
from tests.rewards.tiny import TinyRoom, examples, shrink

SEED = 3
EPOCHS = 5
ROOM = {"sac", "sac-distance", "sac-sparse", "cnml", "mural", "mural-negatives", "mural-no-meta"}
SOLVES = sorted(ROOM)  # the others explore, or stay in the corner behind the goal


def make(method: str) -> Agent:
    config = {
        "reward": to_dict(shrink(METHODS[method].config())),
        "sac.hidden": [32],
        "sac.batch_size": 64,
        "sac.learning_rate": 3e-3,
        "sac.initial_temperature": 0.05,
        "loop.epoch_steps": 200,
        "loop.random_steps": 200,
        "loop.steps_per_call": 100,
        "loop.replay_size": 2000,
        "loop.pool": 4096,
        "watch.eval_episodes": 2,
    }
    return Agent(TinyRoom(), examples(), method=method, seed=SEED, classifier_keys=["place"], config=config)


@pytest.fixture(scope="module", params=sorted(METHODS))
def trained(request: pytest.FixtureRequest) -> Agent:
    """One run per method, shared by the tests; the run keeps the rows of its epochs."""
    agent = make(request.param)
    agent.learn(EPOCHS * 200, progress=False)
    return agent


def stored(agent: Agent) -> Rows:
    rows = int(agent.run.replay.written)
    return jax.tree.map(lambda column: np.asarray(column[:rows, 0]), agent.run.replay.rows)


def test_rewards_are_finite_and_one_per_transition(trained: Agent) -> None:
    rows = stored(trained)
    rewards = trained.run.label(rows)
    assert rewards.shape == rows.step.shape
    assert np.isfinite(rewards).all()


def test_metrics_are_finite_and_parts_add_up(trained: Agent) -> None:
    for row in trained.history[1:]:
        numbers = {name: value for name, value in row.items() if isinstance(value, float)}
        assert all(np.isfinite(value) for value in numbers.values()), numbers
        parts = [f"reward/{term.name}" for term in trained.run.program.terms]
        assert row["reward/mean"] == pytest.approx(sum(row[name] for name in parts), rel=1e-4, abs=1e-5)


def test_relabelling_equals_labelling(trained: Agent) -> None:
    run = trained.run
    rows = stored(trained)
    run._relabel(np.arange(len(rows.step), dtype=np.int32))
    rows = stored(trained)
    np.testing.assert_allclose(rows.reward, run.label(rows), rtol=1e-4, atol=1e-5)


def test_same_seed_same_numbers(trained: Agent) -> None:
    again = make(trained.config.method)
    again.learn(2 * 200, progress=False)
    for row, other in zip(again.history, trained.history, strict=False):
        assert json.dumps(row) == json.dumps(other)


def test_checkpoint_goes_on_as_if_nothing_had_happened(trained: Agent, tmp_path: Path) -> None:
    trained.save(tmp_path / "run")
    loaded = Agent.load(tmp_path / "run", env=TinyRoom())
    rows = stored(trained)
    np.testing.assert_array_equal(loaded.run.label(rows), trained.run.label(rows))
    ahead = loaded.run.advance()
    fork = Agent.load(tmp_path / "run", env=TinyRoom())
    assert json.dumps(fork.run.advance()) == json.dumps(ahead)
    for one, other in zip(jax.tree.leaves(loaded.run.agent), jax.tree.leaves(fork.run.agent), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("trained", sorted(METHODS.keys() - {"icm"}), indirect=True)  # icm: of whole observations
def test_reward_does_not_see_what_is_hidden_from_it(trained: Agent) -> None:
    rows = stored(trained)
    noise = rows.next_obs.copy()
    noise[:, 0] += 5.0  # the entry that the classifier must not see
    np.testing.assert_array_equal(trained.run.label(rows._replace(next_obs=noise)), trained.run.label(rows))


def test_every_part_that_learns_has_learned(trained: Agent) -> None:
    """Classifiers tell examples from what was visited, losses fall, counts count; RCE's critic prefers the examples.

    The loss of a density need not fall while what is visited spreads; tests of its own say that it learns.
    """
    run, history = trained.run, trained.history[1:]
    visited, successes = stored(trained), run.world.problem
    for term in run.program.terms:
        if isinstance(term.part, Classifier):
            at_examples, at_visited = (
                total.probability(term, run.parts, states).mean()
                for states in (successes.examples, visited.next_obs[:, list(run.world.columns)])
            )
            assert at_examples > at_visited + 0.01
        elif isinstance(term.part, Density):
            assert np.isfinite([row[f"{term.name}/loss"] for row in history]).all()
        elif f"{term.name}/loss" in history[0]:
            assert history[-1][f"{term.name}/loss"] < history[0][f"{term.name}/loss"]
        elif term.part.learns_from:
            assert history[-1][f"{term.name}/visits"] == (EPOCHS - 1) * 200
    if not run.program.terms:
        # Of one epoch's critic it can be wrong, once every start leads to success; of the mean over epochs it is not.
        anew, starts = make("rce"), visited.obs[visited.step == 0]
        ahead = []
        for _ in range(2 * EPOCHS):
            anew.learn(200, progress=False)
            done, begun = (critic(anew.run.agent, obs) for obs in (successes.example_obs, starts))
            ahead.append(float(done - begun))
        assert np.mean(ahead) > 0


@jax.jit
def critic(agent: sac.SACState, obs: np.ndarray) -> jax.Array:
    """The mean logit of the first critic for the policy's own actions."""
    seen = view.see(agent.view, obs, obs, False)
    action, _ = sac.act(agent.policy, seen, key=jax.random.key(0))
    return sac.q_values(agent.critics[0], seen, action, False).mean()


@pytest.mark.parametrize("trained", SOLVES, indirect=True)
def test_tiny_problem_is_learned(trained: Agent) -> None:
    for _ in range(4):
        if trained.evaluate(2)["distance"] < 0.5:
            break
        trained.learn(3 * 200, progress=False)
    assert trained.evaluate(2)["distance"] < 0.5  # random actions end 1.1 away on average, doing nothing 0.85


def test_method_from_outside_as_the_guide_shows_it() -> None:
    guide = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
    code = next(block for block in re.findall(r"```python\n(.*?)```", guide, re.S) if "register_method" in block)
    code = code.replace(".learn(10_000)", ".learn(200, progress=False)").replace(
        'method="nearness")', 'method="nearness", config=SMALL)'
    )
    small = {"sac.hidden": [8], "sac.batch_size": 8, "loop.epoch_steps": 100, "loop.random_steps": 100}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            space: dict[str, object] = {"SMALL": small, "__name__": "guide"}
            exec(compile(code, "CONTRIBUTING.md", "exec", dont_inherit=True), space)
        assert METHODS["nearness"].summary == "Reward by nearness to the mean example."
    finally:
        METHODS.pop("nearness", None)


def test_every_method_has_settings_with_help_and_a_page() -> None:
    pages = {"mural-no-meta": "ablations", "mural-negatives": "ablations", "sac": "oracle", "sac-sparse": "oracle"}
    for name, spec in METHODS.items():
        page = pages.get(name, "oracle" if name == "sac-distance" else name)
        assert (Path(__file__).parents[2] / "docs" / "methods" / f"{page}.md").is_file(), name
        assert spec.summary
    assert RunConfig().method in METHODS
