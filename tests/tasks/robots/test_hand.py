"""The hand: its model, its physics, its rake."""

import pickle
from importlib.util import find_spec

import numpy as np
import pytest

from mural.tasks.robots.hand import EXAMPLE_SPREAD, GOAL, HAND_START, START, HandReposition
from mural.tasks.robots.hand_model import OBJECT_HEIGHT, TABLE_HIGH, TABLE_LOW, joint_names

pytestmark = pytest.mark.skipif(find_spec("metaworld") is None, reason="needs the robot extra")
LOW, HIGH = np.array(TABLE_LOW), np.array(TABLE_HIGH)


@pytest.fixture(scope="module")
def hand():
    task = HandReposition()
    yield task
    task.close()


def object_speed(task) -> float:
    dof = int(task.model.joint("object").dofadr[0])
    return float(np.linalg.norm(task.data.qvel[dof : dof + 3]))


# The model


def test_the_observation_is_what_it_says(hand):
    obs, info = hand.reset(seed=0)
    np.testing.assert_allclose(obs[:3], [*START, OBJECT_HEIGHT])
    fingers = [hand.data.joint(name).qpos[0] for name in joint_names()]
    arm = [hand.data.joint(f"right_j{i}").qpos[0] for i in range(7)]
    np.testing.assert_array_equal(obs[3:26], fingers + arm)
    np.testing.assert_allclose(obs[26:], HAND_START, atol=1e-6)
    assert len(joint_names()) == 16
    assert info["distance"] == pytest.approx(0.3 * np.sqrt(2))
    np.testing.assert_allclose(np.subtract(GOAL[:2], START), [-0.3, -0.3])
    np.testing.assert_array_equal(hand.classifier_view(obs), obs[:3])


def test_joint_targets_span_their_ranges(hand):
    """An action of -1 or 1 bends a finger's joint to the end of its range (the thumb meets the fingers)."""
    ranges = np.array([hand.model.joint(name).range for name in joint_names()])[:12]
    for side in (-1.0, 1.0):
        hand.reset(seed=0)
        for _ in range(15):
            obs, *_ = hand.step(np.concatenate([np.full(16, side), np.zeros(3)]))
        np.testing.assert_allclose(obs[3:15], ranges[:, int(side > 0)], atol=0.05)


def test_the_palm_moves_two_centimetres_a_step(hand):
    obs, _ = hand.reset(seed=0)
    start = obs[26:]
    for _ in range(5):
        obs, *_ = hand.step(np.concatenate([np.zeros(16), [-1.0, -0.5, -0.5]]))
    np.testing.assert_allclose(obs[26:] - start, [-0.10, -0.05, -0.05], atol=0.01)


def test_the_whole_box_of_the_palm_is_within_the_arms_reach(hand):
    ranges = np.array([hand.model.joint(f"right_j{i}").range for i in range(7)])
    for corner in np.ndindex(2, 2, 2):
        hand._clear()
        hand._place_hand(np.where(corner, hand.hand_high, hand.hand_low))
        joints = hand.data.qpos[hand._arm]
        assert (np.minimum(joints - ranges[:, 0], ranges[:, 1] - joints) > 0.3).all()


def test_fingers_do_not_pass_through_each_other(hand):
    hand.reset(seed=0)
    action = np.zeros(19)
    action[[0, 4, 8]] = [1.0, -1.0, 1.0]  # index and middle finger spread towards each other
    for _ in range(15):
        hand.step(action)
    tips = [hand.data.geom(f"{finger}_geom3").xpos[0] for finger in ("ring", "middle", "index")]
    assert tips[1] < tips[2] - 0.015


# Physics


@pytest.mark.parametrize("direction", [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1)])
def test_a_thrown_object_stays_on_the_table(hand, direction):
    hand.reset(seed=0)
    dof = int(hand.model.joint("object").dofadr[0])
    hand.data.qvel[dof : dof + 3] = [*np.multiply(direction, 4.0), 2.0]
    for _ in range(25):
        obs, *_ = hand.step(np.concatenate([np.zeros(18), [1.0]]))
        assert (obs[:2] > LOW).all()
        assert (obs[:2] < HIGH).all()
    assert obs[2] == pytest.approx(OBJECT_HEIGHT, abs=0.02)


def test_nothing_moves_by_itself(hand):
    hand.reset(seed=0)
    still = np.concatenate([(0.0 - hand._centre) / hand._half, np.zeros(3)])
    first, *_ = hand.step(still)
    for _ in range(20):
        obs, *_ = hand.step(still)
    np.testing.assert_allclose(obs, first, atol=1e-3)
    assert object_speed(hand) < 1e-6


# Controller, examples, pickling


def test_the_rake_works_however_the_object_is_turned(hand):
    reached = 0
    for turn in np.linspace(0.0, 2 * np.pi / 3, 10, endpoint=False):
        hand.reset(seed=0)
        hand._arrange(np.array(HAND_START), np.array(START), turn, np.zeros(16))
        for _ in range(hand.horizon):
            *_, info = hand.step(hand.scripted_action())
        reached += info["is_success"]
    assert reached >= 9


def test_examples_are_settled_and_varied(hand):
    examples = hand.success_examples(40, seed=4)
    np.testing.assert_allclose(examples[:, 2], OBJECT_HEIGHT, atol=1e-3)
    assert (np.abs(examples[:, :2] - GOAL[:2]) <= EXAMPLE_SPREAD + 1e-3).all()
    assert (examples[:, :2].std(axis=0) > 0.5 * EXAMPLE_SPREAD).all()
    assert (examples[:, 3:19].std(axis=0) > 0.1).all()
    assert (examples[:, 26:].std(axis=0) > 0.02).all()


def test_pickling_in_the_middle_of_a_stroke_keeps_everything(hand):
    hand.reset(seed=0)
    for _ in range(14):
        hand.step(hand.scripted_action())
    twin = pickle.loads(pickle.dumps(hand))
    for _ in range(15):
        expected, *_ = hand.step(hand.scripted_action())
        assert twin.step(twin.scripted_action())[0].tobytes() == expected.tobytes()
