"""`examples/foreign.py`: its examples are success, its starts are not, and it trains."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import mural
from mural.study import results
from tests.training import small

FILE = Path(__file__).parents[1] / "examples" / "foreign.py"
CASES = runpy.run_path(str(FILE))["CASES"]
ROBOTS = "gymnasium_robotics"
NEEDS = {
    "adroit-door": ROBOTS, "point-maze": ROBOTS, "point-maze-anywhere": ROBOTS, "cart-pole": "shimmy",
    "ball-in-cup": "shimmy", "lunar-lander": "Box2D",
}  # fmt: skip


def rows(examples):
    """Observations one by one, also of a Dict."""
    if isinstance(examples, dict):
        return [dict(zip(examples, parts, strict=True)) for parts in zip(*(v for v in examples.values()), strict=True)]
    return list(examples)


@pytest.mark.filterwarnings("ignore")  # of the libraries that the environments come from
@pytest.mark.parametrize("name", sorted(CASES))
def test_examples_are_success_and_starts_are_not(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason="needs the extra foreign")
    case = CASES[name]
    examples = case.examples(30, 3)
    assert all(case.success(row) for row in rows(examples))
    env = case.make()
    starts = [case.success(env.reset(seed=seed)[0]) for seed in range(20)]
    anywhere = name in ("pendulum", "point-maze-anywhere")  # some start where they are to be
    assert np.mean(starts) <= (0.25 if anywhere else 0.0)
    assert len(mural.check_examples(env, examples, warn=False).states) == 30
    env.close()


def test_a_share_of_the_examples_is_spoilt():
    spoilt, case = runpy.run_path(str(FILE))["spoilt"], CASES["mountain-car"]
    examples = spoilt(case, 40, 0.25, 0)
    assert [bool(case.success(row)) for row in examples] == [False] * 10 + [True] * 30
    np.testing.assert_array_equal(spoilt(case, 40, 0.0, 0), case.examples(40, 0))


def test_it_trains_and_judges(tmp_path, monkeypatch):
    words = ["foreign.py", "pendulum", "--steps", "240", "--episodes", "1", "--out", str(tmp_path / "runs")]
    words += ["--results", str(tmp_path / "results")]
    monkeypatch.setattr(sys, "argv", words)
    agent = mural.Agent
    monkeypatch.setattr(
        mural, "Agent", lambda *args, **kw: agent(*args, **kw | {"config": small.MURAL | kw["config"]}), raising=False
    )
    runpy.run_path(str(FILE), run_name="__main__")
    (result,) = results.load(tmp_path / "results")
    assert result["curves"]["eval/success"][-1][0] == result["steps"] == 240
    assert result["curves"]["eval/success"][-1][1] in (0.0, 1.0)
    assert result["command"] == "python examples/foreign.py pendulum --steps 240 --episodes 1"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["point-maze", "reacher"])
def test_environments_are_as_the_checker_wants_them(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason="needs the extra foreign")
    mural.check_env(CASES[name].make())
