"""The files in examples/ do what they say, called as a user calls them: each solves its task from examples alone."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from mural.study.processes import environment
from tests.conftest import QUICK

FOLDER = Path(__file__).parents[2] / "examples"


def run(name):
    """What the file prints; with the flags of a user, not with those of the tests, and one thread."""
    env = environment(threads=1)
    env["XLA_FLAGS"] = env["XLA_FLAGS"].replace(QUICK, "").strip()
    command = [sys.executable, FOLDER / f"{name}.py"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return done.stdout


def percentages(text):
    return [int(number) for number in re.findall(r"(\d+)%", text)]


def test_a_plain_loop():
    assert run("plain_loop") == "the greedy policy ends in cell [0 7]; success is in [0 7]\n"


def test_sac_of_stable_baselines3_solves_is_saved_and_goes_on():
    pytest.importorskip("stable_baselines3")
    out = run("sb3_sac")
    before, after = percentages(out)
    assert before >= 90
    assert after >= 90
    assert int(re.search(r"(\d+) steps", out)[1]) > 500  # not by chance


def test_ppo_on_the_wrapped_environment():
    pytest.importorskip("stable_baselines3")
    assert percentages(run("sb3_ppo"))[0] >= 90


def test_sac_of_sbx():
    pytest.importorskip("sbx")
    assert percentages(run("sbx_sac"))[0] >= 90
