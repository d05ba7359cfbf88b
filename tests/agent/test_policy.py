"""The NumPy policy: the same numbers as the formula, the same actions after a file, and no JAX on the way."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

from mural.agent import policy as module
from mural.agent.policy import (
    LOG_STD_MAX,
    LOG_STD_MIN,
    ActionBox,
    LoadedPolicy,
    NumpyPolicy,
    ObservationError,
    PolicyFileError,
    load_policy,
    save_policy,
)

LOW, HIGH = np.array([-2.0, 0.0], np.float32), np.array([2.0, 10.0], np.float32)
LAYOUT = (("arm/joints", 0, 2), ("goal", 2, 3))


def network(sizes: tuple[int, ...] = (3, 8, 8, 4), seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(seed)
    return [
        (rng.normal(size=(i, o)).astype(np.float32), rng.normal(size=o).astype(np.float32)) for i, o in pairwise(sizes)
    ]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "policy.npz"
    save_policy(path, NumpyPolicy(network()), LOW, HIGH, LAYOUT)
    return path


def by_hand(layers: list[tuple[np.ndarray, np.ndarray]], obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    h = obs.astype(np.float64)
    for w, b in layers[:-1]:
        h = np.where(h @ w + b > 0, h @ w + b, 0)
    out = h @ layers[-1][0] + layers[-1][1]
    return out[..., :2], np.clip(out[..., 2:], LOG_STD_MIN, LOG_STD_MAX)


def test_the_network_is_the_formula() -> None:
    layers, obs = network(), np.random.default_rng(1).normal(size=(50, 3)) * 3
    mean, log_std = by_hand(layers, obs)
    assert (log_std == LOG_STD_MAX).any()  # or clipping from above is not tested
    assert (log_std == LOG_STD_MIN).any()
    policy = NumpyPolicy(layers)
    np.testing.assert_allclose(policy.mode(obs), np.tanh(mean), atol=1e-4)
    noise = np.random.default_rng(2).standard_normal(mean.shape, dtype=np.float32)
    drawn = policy.sample(obs, np.random.default_rng(2))
    np.testing.assert_allclose(drawn, np.tanh(mean + np.exp(log_std) * noise), atol=1e-3)
    assert drawn.dtype == np.float32
    np.testing.assert_allclose(policy.mode(obs[0]), policy.mode(obs)[0], atol=1e-6)


def test_weights_are_copied() -> None:
    layers = network()
    policy, obs = NumpyPolicy(layers), np.ones(3, np.float32)
    before = policy.mode(obs)
    for w, b in layers:
        w[:], b[:] = 0, 0
    assert np.array_equal(policy.mode(obs), before)


@pytest.mark.parametrize(
    ("layers", "why"),
    [
        ([], "no layers"),
        (network((3, 8, 3)), "a mean and a log std"),
        ([*network((3, 8)), *network((7, 4))], "gives 8 values, layer 1 takes 7"),
        ([(np.zeros((3, 4)), np.zeros(3))], "biases"),
        ([(np.zeros(3), np.zeros(4))], "fan_in"),
    ],
)
def test_networks_that_do_not_fit(layers: list[tuple[np.ndarray, np.ndarray]], why: str) -> None:
    with pytest.raises(PolicyFileError, match=why):
        NumpyPolicy(layers)


def test_action_box_both_ways() -> None:
    box = ActionBox(LOW, HIGH)
    ends = np.array([[-1, -1], [0, 0], [1, 1], [-3, 3]], np.float32)
    assert box.to_env(ends).tolist() == [[-2, 0], [0, 5], [2, 10], [-2, 10]]
    assert box.from_env([[-2, 0], [1, 7.5]]).tolist() == [[-1, -1], [0.5, 0.5]]
    wide = ActionBox(np.full((2, 2), -3e38, np.float32), np.full((2, 2), 3e38, np.float32))  # high − low overflows
    assert np.isfinite(wide.to_env(np.zeros((5, 4)))).all()
    assert wide.to_env(np.zeros((5, 4))).shape == (5, 2, 2)
    assert wide.from_env(np.zeros((5, 2, 2))).shape == (5, 4)
    assert wide.to_env(np.zeros(4)).dtype == np.float32


def test_a_file_keeps_the_policy(saved: Path) -> None:
    loaded, obs = load_policy(saved), np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)
    unit = NumpyPolicy(network()).mode(obs)
    actions = loaded(obs)
    np.testing.assert_allclose(actions, unit * [2, 5] + [0, 5], atol=1e-5)
    assert actions.dtype == LOW.dtype
    assert loaded.layout == LAYOUT
    np.testing.assert_allclose(loaded(obs[0]), actions[0], atol=1e-5)
    nested = {"goal": obs[:, 2:], "arm": {"joints": obs[:, :2]}}  # the order of the keys is not that of the columns
    assert np.array_equal(loaded(nested), actions)
    single = {"arm/joints": obs[0, :2], "goal": obs[0, 2:]}
    np.testing.assert_allclose(loaded(single), actions[0], atol=1e-5)
    again = saved.with_name("again.npz")
    save_policy(again, loaded.policy, loaded.actions.low, loaded.actions.high, loaded.layout)
    assert again.read_bytes() == saved.read_bytes()
    assert sorted(path.name for path in saved.parent.iterdir()) == ["again.npz", "policy.npz"]  # no scratch files


@pytest.mark.parametrize(
    ("obs", "why"),
    [
        (np.zeros(4), r"shape \(4,\); the policy expects \[3\]"),
        (np.zeros((2, 4)), "expects"),
        (np.array([0, np.nan, 0]), "not finite"),
        ({"goal": np.zeros(1)}, "has no arm/joints"),
        ({"arm/joints": np.zeros((5, 2)), "goal": np.zeros((4, 1))}, "not equally many"),
    ],
)
def test_observations_it_was_not_made_for(saved: Path, obs: object, why: str) -> None:
    with pytest.raises(ObservationError, match=why):
        load_policy(saved)(obs)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("low", "high", "layout", "why"),
    [
        (LOW[:1], HIGH[:1], LAYOUT, "gives 2 actions"),
        (HIGH, LOW, LAYOUT, "low < high"),
        (LOW, np.full(2, np.inf, np.float32), LAYOUT, "finite"),
        (LOW, HIGH, (("a", 0, 2),), "does not cover"),
        (LOW, HIGH, (("a", 0, 2), ("b", 1, 3)), "does not cover"),
    ],
)
def test_what_does_not_fit_is_not_written(tmp_path: Path, low: object, high: object, layout: object, why: str) -> None:
    with pytest.raises(PolicyFileError, match=why):
        save_policy(tmp_path / "p.npz", NumpyPolicy(network()), low, high, layout)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_damage_is_noticed(saved: Path) -> None:
    data, obs = saved.read_bytes(), np.ones(3, np.float32)
    expected, refused = load_policy(saved)(obs), 0
    for at in range(0, len(data), 7):
        saved.write_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
        try:
            loaded = load_policy(saved)
        except PolicyFileError:
            refused += 1
        else:  # dates and the like in the archive's own tables: of no consequence
            assert np.array_equal(loaded(obs), expected)
    assert refused > len(data) / 7 / 2
    for length in (0, 10, len(data) // 2, len(data) - 1):
        saved.write_bytes(data[:length])
        with pytest.raises(PolicyFileError, match="damaged"):
            load_policy(saved)


def test_other_files_are_refused_and_nothing_is_unpickled(tmp_path: Path) -> None:
    with pytest.raises(PolicyFileError, match="there is no policy file"):
        load_policy(tmp_path / "none.npz")
    path = tmp_path / "objects.npz"
    np.savez(path, format=np.array([{}], dtype=object))
    with pytest.raises(PolicyFileError, match=r"Object arrays|allow_pickle"):
        load_policy(path)
    np.savez(path, examples=np.zeros(3))
    with pytest.raises(PolicyFileError, match="it has no format"):
        load_policy(path)


def test_it_runs_without_jax(saved: Path) -> None:
    code = f"""
import importlib.util, sys
for name in ("jax", "jaxlib", "gymnasium", "mural"):
    sys.modules[name] = None  # importing any of them fails
spec = importlib.util.spec_from_file_location("policy", {module.__file__!r})
policy = importlib.util.module_from_spec(spec)
sys.modules["policy"] = policy
spec.loader.exec_module(policy)
print(policy.load_policy({str(saved)!r})([1.0, 1.0, 1.0]).tolist())
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    loaded = load_policy(saved)
    assert isinstance(loaded, LoadedPolicy)
    assert out.strip() == str(loaded([1.0, 1.0, 1.0]).tolist())


def test_a_save_that_fails_leaves_what_was_there(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, synced = saved.read_bytes(), []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(descriptor) or real(descriptor))
    save_policy(saved, NumpyPolicy(network(seed=1)), LOW, HIGH, LAYOUT)
    assert len(synced) == 2  # the file, and the name of it
    after = saved.read_bytes()
    assert after != before

    def half(file: BinaryIO, **_: object) -> None:
        file.write(b"half")
        raise OSError("full")

    monkeypatch.setattr(np, "savez", half)
    with pytest.raises(OSError, match="full"):
        save_policy(saved, NumpyPolicy(network()), LOW, HIGH, LAYOUT)
    assert saved.read_bytes() == after
    assert [file.name for file in saved.parent.iterdir()] == [saved.name]


def test_a_policy_that_sees_motion_remembers(tmp_path: Path) -> None:
    view = np.array([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [0.1, 0.1, 0.1]])
    policy = NumpyPolicy(network((6, 8, 4)), view, motion=True)
    save_policy(tmp_path / "p.npz", policy, LOW, HIGH, LAYOUT)
    loaded = load_policy(tmp_path / "p.npz")
    first, second = np.float32([0.1, 0.2, 0.3]), np.float32([0.2, 0.1, 0.3])
    at_rest, moving = loaded(first), loaded(second)
    np.testing.assert_allclose(at_rest, loaded.actions.to_env(policy.mode(first, first)))
    np.testing.assert_allclose(moving, loaded.actions.to_env(policy.mode(second, first)))
    assert not np.allclose(moving, loaded.actions.to_env(policy.mode(second, second)))
    loaded.reset()
    np.testing.assert_array_equal(loaded(first), at_rest)
    assert loaded(np.stack([first, second])).shape == (2, 2)  # another number of observations is another episode


def test_a_policy_with_waves_is_the_same_from_its_file(tmp_path: Path) -> None:
    policy = NumpyPolicy(network((15, 8, 4)), waves=2)
    assert policy.obs_size == 3
    save_policy(tmp_path / "p.npz", policy, LOW, HIGH, LAYOUT)
    loaded, obs = load_policy(tmp_path / "p.npz"), np.float32([0.1, 0.2, 0.3])
    np.testing.assert_array_equal(loaded(obs), loaded.actions.to_env(policy.mode(obs)))
    assert not np.allclose(policy.mode(obs), NumpyPolicy(network((15, 8, 4))).mode(np.zeros(15)))
    with pytest.raises(PolicyFileError, match="with 3 waves, 7 per number"):
        NumpyPolicy(network((15, 8, 4)), waves=3)
    with pytest.raises(PolicyFileError, match="-1 waves"):
        NumpyPolicy(network((15, 8, 4)), waves=-1)


@pytest.mark.parametrize("view", [np.ones((3, 2)), np.zeros((3, 3)), np.full((3, 3), np.nan)])
def test_views_that_do_not_fit(view: np.ndarray) -> None:
    with pytest.raises(PolicyFileError, match="view"):
        NumpyPolicy(network(), view)


def test_files_of_the_first_format_are_read(tmp_path: Path, saved: Path) -> None:
    with np.load(saved) as file:
        arrays = {name: file[name] for name in file.files if name not in ("view", "motion")}
    np.savez(tmp_path / "old.npz", **{**arrays, "format": np.array(1)})
    np.testing.assert_array_equal(load_policy(tmp_path / "old.npz")([1, 2, 3]), load_policy(saved)([1, 2, 3]))
    np.savez(tmp_path / "broken.npz", **arrays)
    with pytest.raises(PolicyFileError, match="no view"):
        load_policy(tmp_path / "broken.npz")
