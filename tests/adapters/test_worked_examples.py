"""The files in examples/ do what they say: each solves its task, from examples of success alone."""

import importlib.util
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples"


@pytest.fixture
def load(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    known = set(sys.modules)

    def load(name):
        spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield load
    for name in set(sys.modules) - known:
        if getattr(sys.modules[name], "__file__", None) and Path(sys.modules[name].__file__).parent == FOLDER:
            del sys.modules[name]


def test_a_plain_loop(load):
    np.testing.assert_array_equal(load("plain_loop").main(), [0, 7])


def test_sac_of_stable_baselines3_solves_is_saved_and_goes_on(load, tmp_path):
    pytest.importorskip("stable_baselines3")
    before, after, steps = load("sb3_sac").main(folder=tmp_path)
    assert before >= 0.8
    assert after >= 0.8
    assert steps > 500  # not by chance


def test_ppo_on_the_wrapped_environment(load):
    pytest.importorskip("stable_baselines3")
    assert load("sb3_ppo").main() >= 0.8


def test_sac_of_sbx(load):
    pytest.importorskip("sbx")
    with jax.numpy_rank_promotion("allow"):  # SBX relies on it
        assert load("sbx_sac").main() >= 0.8
