"""Every environment that can be trained on is flattened as stated; every other is refused with what to do."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces as gs

import mural.tasks
from mural.inputs.spaces import ObservationError, SpaceError, Spaces, StepError, validate_reset, validate_step

UNIT = gs.Box(-1.0, 1.0, (2,))
ARM = {"joints": gs.Box(-3, 3, (2, 2)), "grip": gs.Box(0, 1, ())}
NESTED = gs.Dict({"puck": gs.Box(-np.inf, np.inf, (3,), np.float64), "arm": gs.Dict(ARM)})


class Fake(gymnasium.Env[Any, Any]):
    """Only spaces."""

    def __init__(self, observation: gs.Space[Any] = UNIT, action: gs.Space[Any] = UNIT) -> None:
        self.observation_space, self.action_space = observation, action


class Viewed(Fake):
    """With a view of its own."""

    def __init__(self, view: Any) -> None:
        super().__init__(gs.Box(-1, 1, (4,)))
        self.classifier_view = view


def test_box_of_every_rank() -> None:
    for shape in [(), (3,), (2, 3)]:
        spaces = Spaces.of(Fake(gs.Box(-9, 9, shape, np.float64)))
        obs = np.arange(np.prod(shape, dtype=int), dtype=np.float64).reshape(shape)
        flat = spaces.flatten(obs)
        assert flat.dtype == np.float32
        assert flat.tolist() == obs.ravel().tolist()
        assert spaces.layout == (("observation", 0, obs.size),)
        assert spaces.columns.tolist() == list(range(obs.size))
        assert spaces.obs_size == obs.size


def test_flat_observations_do_not_share_the_buffers_of_the_environment() -> None:
    buffer = np.zeros(2, np.float32)
    flat = Spaces.of(Fake()).flatten(buffer)
    buffer[:] = 1
    assert flat.tolist() == [0, 0]


def test_nested_dict_in_gymnasiums_order() -> None:
    spaces = Spaces.of(Fake(NESTED))
    assert spaces.layout == (("arm/grip", 0, 1), ("arm/joints", 1, 5), ("puck", 5, 8))
    NESTED.seed(0)
    for _ in range(5):
        obs = NESTED.sample()
        shuffled = {key: obs[key] for key in reversed(list(obs))}
        np.testing.assert_array_equal(spaces.flatten(shuffled), gs.flatten(NESTED, obs).astype(np.float32))
    assert [spaces.column_name(i) for i in (0, 1, 7)] == ["arm/grip", "arm/joints[0]", "puck[2]"]
    assert spaces.obs_low.tolist() == [0, -3, -3, -3, -3, -np.inf, -np.inf, -np.inf]
    ordered = gs.Dict(OrderedDict(b=gs.Box(0, 1, (1,)), a=gs.Box(0, 1, (1,))))
    assert [name for name, _, _ in Spaces.of(Fake(ordered)).layout] == ["b", "a"]


def test_what_the_classifier_sees() -> None:
    def columns(**choice: Any) -> list[int]:
        return Spaces.of(Fake(NESTED), **choice).columns.tolist()

    assert columns(classifier_keys=["puck", "arm/grip"]) == [5, 6, 7, 0]
    assert columns(classifier_keys="arm") == [0, 1, 2, 3, 4]
    assert columns(classifier_slice="5:") == columns(classifier_slice=slice(-3, None)) == [5, 6, 7]
    assert columns(classifier_slice="0:8:3") == [0, 3, 6]
    assert columns(classifier_slice=[7, 2, -8]) == columns(classifier_slice="7, 2,-8") == [7, 2, 0]
    assert columns(classifier_slice="3") == [3]
    assert columns() == list(range(8))


def test_a_tasks_own_view() -> None:
    assert Spaces.of(Viewed(lambda obs: obs[..., 2:])).columns.tolist() == [2, 3]
    assert Spaces.of(Viewed(lambda obs: obs[..., 2:]), classifier_slice=":").columns.tolist() == [0, 1, 2, 3]
    for view in (lambda obs: obs * 2.0, lambda obs: np.floor(obs), lambda obs: obs.sum(), lambda obs: obs[..., [0, 0]]):
        with pytest.raises(SpaceError, match=r"classifier_slice|twice"):
            Spaces.of(Viewed(view))
    assert Spaces.of(mural.tasks.make("zigzag-maze")).columns.tolist() == [0, 1]
    maze, space = mural.tasks.make("zigzag-maze"), gs.Box(-9, 9, (3,), np.float64)
    longer = gymnasium.wrappers.TransformObservation(maze, lambda obs: np.append(obs, 0.0), space)
    with pytest.raises(SpaceError, match="a wrapper changes the shape"):
        Spaces.of(longer)
    assert Spaces.of(longer, classifier_slice="0:2").obs_size == 3


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        ({"classifier_keys": ["pack"]}, "did you mean 'puck'"),
        ({"classifier_keys": []}, "empty"),
        ({"classifier_keys": ["arm", "arm/grip"]}, "twice"),
        ({"classifier_slice": "0:9"}, "out of range.* 8 columns"),
        ({"classifier_slice": [0, 8]}, "columns 0 to 7"),
        ({"classifier_slice": "3:3"}, "empty"),
        ({"classifier_slice": []}, "empty"),
        ({"classifier_slice": "x:2"}, "write it like '0:3'"),
        ({"classifier_slice": ""}, "write it like '0:3' or '0,2'"),
        ({"classifier_slice": "1,x"}, "write it like '0:3' or '0,2'"),
        ({"classifier_slice": "0:1:2:3"}, "write it like '0:3' or '0,2'"),
        ({"classifier_slice": "0,8"}, "columns 0 to 7"),
        ({"classifier_slice": [0.5]}, "write it like '0:3'"),
        ({"classifier_keys": ["puck"], "classifier_slice": ":"}, "not both"),
    ],
)
def test_wrong_choices(choice: dict[str, Any], why: str) -> None:
    with pytest.raises(SpaceError, match=why):
        Spaces.of(Fake(NESTED), **choice)


@pytest.mark.parametrize(
    ("observation", "why"),
    [
        (gs.Discrete(3), "FlattenObservation"),
        (gs.Text(3), "TransformObservation"),
        (gs.Tuple([UNIT, UNIT]), "Dict of Boxes"),
        (gs.Dict(a=gs.MultiBinary(2)), "entry 'a'"),
        (gs.Box(0, 1, (8, 8, 3)), "image.*vector of state"),
        (gs.Box(0, 255, (84, 84), np.uint8), "image.*vector of state"),
        (gs.Dict(), "empty"),
        (gs.Dict({"a/b": UNIT, "a": gs.Dict(b=UNIT)}), "no slash"),
    ],
)
def test_observations_that_are_refused(observation: gs.Space[Any], why: str) -> None:
    with pytest.raises(SpaceError, match=why):
        Spaces.of(Fake(observation))


@pytest.mark.parametrize(
    ("action", "why"),
    [
        (gs.Discrete(3), "use a continuous-action environment"),
        (gs.MultiDiscrete([2, 2]), "use a continuous-action environment"),
        (gs.Box(0, 5, (1,), np.int64), "use a continuous-action environment"),
        (gs.Box(-np.inf, np.inf, (1,)), "TransformAction"),
        (gs.Box(0, np.inf, (1,)), "RescaleAction"),
        (gs.Box(-1, np.finfo(np.float32).max, (1,)), "unbounded"),
        (gs.Box(np.array([0.0, 1.0]), np.array([1.0, 1.0]), dtype=np.float64), r"action \[1\] has low >= high"),
        (gs.Box(-1, 1, (0,)), "empty"),
    ],
)
def test_actions_that_are_refused(action: gs.Space[Any], why: str) -> None:
    with pytest.raises(SpaceError, match=why):
        Spaces.of(Fake(action=action))


def test_the_wrappers_that_are_advised_help() -> None:
    clipped = gymnasium.wrappers.ClipAction(gymnasium.make("Pendulum-v1"))
    with pytest.raises(SpaceError, match="ClipAction makes a space unbounded: leave it out"):
        Spaces.of(clipped)
    bounded = gymnasium.wrappers.TransformAction(clipped, lambda action: action, gs.Box(-2, 2, (1,)))
    assert Spaces.of(bounded).actions.high.tolist() == [2]


def test_vectors_of_environments_are_refused() -> None:
    vector = gymnasium.make_vec("Pendulum-v1", num_envs=2)
    with pytest.raises(SpaceError, match="pass one of them"):
        Spaces.of(vector)  # type: ignore[arg-type]
    vector.close()


def test_actions_go_to_the_bounds_and_back() -> None:
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        low = rng.normal(size=(2, 3)) * 10.0 ** rng.integers(-3, 4, (2, 3))
        box = gs.Box(low.astype(dtype), (low + rng.uniform(0.1, 5, (2, 3))).astype(dtype), dtype=dtype)
        spaces = Spaces.of(Fake(action=box))
        assert spaces.action_size == 6
        actions = rng.uniform(-1, 1, (500, 6)).astype(np.float32)
        batch = spaces.to_env(actions)
        assert batch.dtype == dtype
        assert all(action in box for action in batch)
        assert np.array_equal(spaces.to_env(actions[0]), batch[0])
        np.testing.assert_allclose(spaces.from_env(batch), actions, atol=2e-2 if dtype == np.float32 else 1e-6)
        assert spaces.from_env(batch[0]).shape == (6,)
        np.testing.assert_allclose(spaces.to_env(np.ones(6, np.float32)), box.high, rtol=1e-12)
        np.testing.assert_allclose(spaces.to_env(-np.ones(6, np.float32)), box.low, rtol=1e-12)


def test_flatten_refuses_what_the_space_does_not_promise() -> None:
    spaces = Spaces.of(Fake(NESTED))
    good = {"puck": np.zeros(3), "arm": {"grip": np.float32(0), "joints": np.zeros((2, 2))}}
    assert spaces.flatten(good).shape == (8,)
    for change, why in [
        ({"puck": np.zeros(2)}, r"'puck' has shape \(2,\)"),
        ({"puck": [0, np.nan, 0]}, r"puck\[1\] is nan, which is not finite"),
        ({"puck": [0, 0, 1e39]}, r"puck\[2\] is 1e\+39, which is too large for single precision"),
        ({"puck": ["a", "b", "c"]}, "not numbers"),
        ({"arm": {"grip": 0}}, "lacks 'arm/joints'"),
        ({"arm": 0}, "lacks 'arm/grip': there is a int"),
    ]:
        with pytest.raises(ObservationError, match=why):
            spaces.flatten(good | change)
    with pytest.raises(ObservationError, match=r"shape \(3,\); the space says \(2,\)"):
        Spaces.of(Fake()).flatten(np.zeros(3))


def test_steps_are_checked() -> None:
    spaces, obs = Spaces.of(Fake()), np.zeros(2)
    step = validate_step(spaces, (obs, np.array([2.0]), np.True_, 0, {"a": 1}))
    assert (step.reward, step.terminated, step.truncated, step.info) == (2.0, True, False, {"a": 1})
    assert step.terminated is True
    for result, why in [
        ((obs, 0.0, False, {}), "4 things.*old Gym"),
        ([obs, 0.0, False, False, {}], "a list, not a tuple"),
        ((np.zeros(3), 0.0, False, False, {}), "wrong observation.*shape"),
        ((np.array([0, np.inf]), 0.0, False, False, {}), r"observation\[1\] is inf"),
        ((obs, np.nan, False, False, {}), "reward nan"),
        ((obs, None, False, False, {}), "0.0 where there is none"),
        ((obs, [0.0, 1.0], False, False, {}), "0.0 where there is none"),
        ((obs, 0.0, None, False, {}), "None as terminated"),
        ((obs, 0.0, False, 2, {}), "2 as truncated"),
        ((obs, 0.0, False, False, None), "as info"),
    ]:
        with pytest.raises(StepError, match=why):
            validate_step(spaces, result)
    assert validate_reset(spaces, (obs, {})).tolist() == [0, 0]
    for result in (obs, (obs,), (obs, None), (np.array([0, np.nan]), {})):
        with pytest.raises(StepError, match=r"reset\(\)"):
            validate_reset(spaces, result)


def test_checking_a_step_costs_little() -> None:
    spaces = Spaces.of(Fake(gs.Box(-1, 1, (17,), np.float64)))
    result = (np.zeros(17), 0.0, False, False, {})
    seconds = []
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(200):
            validate_step(spaces, result)
        seconds.append((time.perf_counter() - start) / 200)
    assert min(seconds) < 30e-6  # about 5 µs on an idle core
