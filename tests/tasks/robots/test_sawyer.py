"""The arm's tasks: geometry, physics that stays sane, scripts that solve them, examples of success."""

import importlib.util
import pickle
import sys

import numpy as np
import pytest

from mural.tasks import MissingExtraError, make
from mural.tasks.robots import sawyer_door, sawyer_pick, sawyer_push
from mural.tasks.robots.sawyer import STEP

# Not `importorskip`: MuJoCo chooses its renderer when it is imported, and the tasks do that right.
pytestmark = pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="needs the robot extra")

NAMES = ("sawyer-push", "sawyer-pick", "sawyer-door")
DEEPEST = 0.005  # metres
JOINTS = [f"right_j{i}" for i in range(7)]


@pytest.fixture(scope="module", params=NAMES)
def task(request):
    task = make(request.param, render_mode="rgb_array")
    task.reset(seed=0)
    yield task
    task.close()


@pytest.fixture
def push():
    return make("sawyer-push")


@pytest.fixture
def pick():
    return make("sawyer-pick")


@pytest.fixture
def door():
    return make("sawyer-door")


def run_script(task, seed, steps=100):
    """The last step's info."""
    task.reset(seed=seed)
    for _ in range(steps):
        *_, info = task.step(task.scripted_action())
    return info


def depth(task) -> float:
    """How deep the deepest contact is."""
    return max(0.0, -task.data.contact.dist.min(initial=0.0))


def tilt(task) -> float:
    """How far the hand leans, in degrees."""
    return float(np.degrees(np.arccos(min(1.0, task.data.body("tool").xmat[8]))))


# The numbers


def test_resets_cover_what_the_release_says():
    push, pick, door = (make(name) for name in NAMES)
    pushes = np.array([push.reset(seed=s)[0] for s in range(60)])
    picks = np.array([pick.reset(seed=s)[0] for s in range(60)])
    doors = np.array([door.reset(seed=s)[0] for s in range(60)])
    np.testing.assert_allclose(pushes[:, :3], np.tile([0, 0.45, 0.07], (60, 1)), atol=1e-6)
    np.testing.assert_allclose(pushes[:, 4], 0.6)
    np.testing.assert_allclose(picks[:, :3], np.tile([0, 0.6, 0.2], (60, 1)), atol=1e-6)
    np.testing.assert_allclose(picks[:, 5:], np.tile([0.025, 0.0], (60, 1)), atol=1e-9)
    np.testing.assert_allclose(doors[:, :3], np.tile([-0.05, 0.3, 0.4], (60, 1)), atol=1e-6)
    for values, low, high in (
        (pushes[:, 3], -0.1, 0.1),
        (picks[:, 3], -0.05, 0.05),
        (picks[:, 4], 0.55, 0.65),
        (doors[:, 3], 0.0, np.pi / 12),
    ):
        margin = 0.1 * (high - low)
        assert low <= values.min() < low + margin
        assert high - margin < values.max() <= high


def test_distances_are_the_papers_metrics(push, pick, door):
    batch = np.zeros((2, 3, 5))
    batch[..., 3:] = [0.03, 0.71]
    np.testing.assert_allclose(push.distance(batch), np.full((2, 3), 0.05))
    assert pick.distance([0, 0, 0, 0.02, 0.6, 0.21, 0.4]) == pytest.approx(np.hypot(0.02, 0.01))
    np.testing.assert_allclose(door.distance([[0, 0, 0, np.pi / 4 + 0.03], [0, 0, 0, 0]]), [0.03, np.pi / 4])


# The arm


@pytest.mark.parametrize("name", NAMES)
def test_the_hand_gets_everywhere_without_meeting_a_joint_limit(name):
    """The arm has a joint to spare: where it ends up depends on the way, so many ways are tried."""
    task, rng = make(name), np.random.default_rng(0)
    task.model.geom_contype[:] = task.model.geom_conaffinity[:] = 0  # nothing in the way
    ranges = np.array([task.model.joint(joint).range for joint in JOINTS])
    size = task.action_space.shape[0]
    for leg in range(40):
        if leg % 4 == 0:
            task.reset(seed=leg)
        place = rng.integers(0, 2, 3) if leg % 2 else rng.uniform(size=3)
        aim = task.hand_low + place * (task.hand_high - task.hand_low)
        for _ in range(43):  # 0.8 m and a little
            task.step(np.append(task._towards(aim), 0.0)[:size])
            joints = np.array([task.data.joint(joint).qpos[0] for joint in JOINTS])
            assert (joints > ranges[:, 0] + 0.02).all()
            assert (joints < ranges[:, 1] - 0.02).all()
            assert tilt(task) < 3.0
        np.testing.assert_allclose(task.hand, aim, atol=0.003)


def test_a_place_out_of_reach_is_named(push):
    with pytest.raises(ValueError, match="cannot reach"):
        push._place_hand(np.array([0.0, 3.0, 0.0]))


def test_the_hand_goes_where_it_is_sent_and_stays_upright(task):
    task.reset(seed=1)
    start, action = task.hand, np.zeros(task.action_space.shape)
    action[:2] = (0.5, 0.5)
    for _ in range(3):
        task.step(action)
        assert tilt(task) < 2.5
    task.step(0 * action)
    np.testing.assert_allclose(task.hand - start, [0.03, 0.03, 0.0], atol=0.002)


def test_the_hand_stays_in_its_box(task):
    for sign in (-1.0, 1.0):
        task.reset(seed=0)
        for _ in range(60):
            task.step(np.full(task.action_space.shape, sign))
        assert (task.hand > task.hand_low - 0.01).all()
        assert (task.hand < task.hand_high + 0.01).all()


def test_metaworld_is_only_a_box_of_files(task):
    assert "metaworld" not in sys.modules


def test_without_metaworld_the_error_says_what_to_install(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n, *a: None if n == "metaworld" else find(n, *a))
    with pytest.raises(MissingExtraError, match=r"pip install 'mural-rl\[robots\]'"):
        sawyer_push.SawyerPush()


# Physics


def test_a_pickle_from_the_middle_of_contact_continues_bit_for_bit(task):
    run_script(task, seed=5, steps=27)
    twin = pickle.loads(pickle.dumps(task))
    for _ in range(20):
        action = task.scripted_action()
        np.testing.assert_array_equal(action, twin.scripted_action())
        assert task.step(action)[0].tobytes() == twin.step(action)[0].tobytes()
    twin.close()


def test_a_let_go_puck_stops(push):
    push.reset(seed=0)
    push._arrange(push.puck - (0.0, 0.06), push.puck)
    for _ in range(4):
        push.step([0.0, 1.0])
    before = push.puck
    for _ in range(10):
        push.step([0.0, -1.0])
    assert before[1] > 0.6  # it was pushed
    assert np.linalg.norm(push.puck - before) < 0.01


def test_the_gripper_tells_empty_from_full(pick):
    run_script(pick, seed=0, steps=60)
    assert 0.35 < pick.tightness < 0.45  # around the ball
    for _ in range(12):
        pick.step([0.0, 0.0, 0.0, -1.0])
    assert pick.tightness < 0.01
    assert pick.ball[2] == pytest.approx(sawyer_pick.BALL_RADIUS, abs=0.002)  # it fell back into the tray
    for _ in range(5):
        pick.step([0.0, 0.0, 1.0, 1.0])
    assert pick.tightness > 0.99


def test_a_held_ball_survives_rough_handling(pick):
    run_script(pick, seed=3, steps=40)
    rng = np.random.default_rng(0)
    for _ in range(60):
        pick.step([*rng.choice([-1.0, 1.0], 3), 1.0])
        assert np.linalg.norm(pick.ball - pick.hand) < 0.02


def test_pushing_at_the_closed_door_does_not_go_through(door):
    door.reset(seed=0)
    door._angle[0] = 0.0
    door._place_hand(np.array([0.1, 0.5, 0.1]))
    for _ in range(40):
        door.step([0.0, 1.0, 0.0])
        assert depth(door) < DEEPEST
    front = sawyer_door.HINGE[1] - 2 * sawyer_door.PANEL[1]
    assert door.hand[1] + sawyer_door.PEG_RADIUS < front + DEEPEST
    assert abs(door.angle) < 0.01


def test_the_door_opens_only_by_its_handle(door):
    """Sliding the hook over the front of a closed door never opens it."""
    door.reset(seed=0)
    door._angle[0] = 0.0
    door._place_hand(np.array([0.1, 0.55, 0.1]))
    for dx, dy in ((0.0, 1.0), (1.0, 1.0), (0.0, -1.0)):
        for _ in range(5):
            door.step([dx, dy, 0.0])
    assert door.angle < 0.01


# Scripts and examples


def test_success_examples_are_varied_successes(task):
    task.reset(seed=8)
    before = task.get_physics()
    examples = task.success_examples()
    assert examples.shape == (150, *task.observation_space.shape)
    assert task.is_success(examples).all()
    assert all(example in task.observation_space for example in examples)
    varied = examples[:, [0, 1, 3, 4]] if examples.shape[1] > 4 else examples
    assert (varied.std(axis=0) > 0.004).all()
    assert len(np.unique(examples.round(4), axis=0)) > 145
    np.testing.assert_array_equal(before, task.get_physics())  # the running episode is left alone


def test_what_the_scripts_end_in_is_at_rest(task):
    run_script(task, seed=0)
    assert np.abs(task.data.qvel).max() < 0.05
    before = task.observe()
    task.step(np.zeros(task.action_space.shape) if task.action_space.shape != (4,) else [0, 0, 0, 1])
    np.testing.assert_allclose(task.observe(), before, atol=0.002)


def test_a_full_action_moves_the_target_by_one_step(pick):
    pick.reset(seed=0)
    before = pick.hand
    for _ in range(2):
        pick.step([1.0, 0.0, 0.0, -1.0])
    assert pick.hand[0] - before[0] == pytest.approx(2 * STEP, abs=0.004)


# Pictures


def test_object_and_goal_are_visible(task):
    task.reset(seed=1)
    red, green, blue = task.render().astype(int).transpose(2, 0, 1)
    colours = {
        "goal": (green > red + 40) & (green > blue + 40),
        "arm": (red > 2 * green) & (red > 2 * blue) & (red > 60),
    }
    if isinstance(task, sawyer_push.SawyerPush):
        colours["puck"] = (blue > red + 60) & (blue > green + 60)
    elif isinstance(task, sawyer_pick.SawyerPick):
        colours["ball"] = (red > blue + 110) & (green > blue + 70)
    else:
        colours["handle"] = red + green + blue < 90
    for what, pixels in colours.items():
        assert pixels.sum() > 200, what
