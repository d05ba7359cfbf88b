"""Dexterous manipulation: a 16-joint hand on an arm moves an object across a table."""

from __future__ import annotations

from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike

from mural.tasks.base import Floats
from mural.tasks.plane import Plane, from_above
from mural.tasks.robots import hand_model
from mural.tasks.robots.hand_model import OBJECT_HEIGHT
from mural.tasks.robots.sawyer import SLACK, STEP, SawyerTask

THRESHOLD = 0.06  # paper A.4.2
SHIFT = (-0.3, -0.3)  # left-over settings of the release: (0.87, 0.30) to (0.57, 0.00)
START = (0.15, 0.70)  # ours: the same shift, where this arm reaches well
GOAL = (START[0] + SHIFT[0], START[1] + SHIFT[1], OBJECT_HEIGHT)
HAND_START = (0.15, 0.70, 0.30)  # ours: above the object
HAND_LOW, HAND_HIGH = (-0.30, 0.36, 0.15), (0.30, 0.80, 0.34)  # ours: the fingers stay inside the rim

EXAMPLE_SPREAD = 0.02  # ours: metres around the goal, along x and y
EXAMPLE_CLEARANCE = 0.26  # ours: lowest palm, so that no finger touches the object
# ours: physics steps (0.5 s), as often as it takes until nothing moves faster than this (m/s, rad/s): fingers that
# cross slide along each other for up to two seconds.
EXAMPLE_SETTLING, EXAMPLE_STILL = 125, 0.01
EXAMPLE_PATIENCE = 10

# The scripted rake: finger joints, and where the object sits in the pocket between fingers and thumb.
RAKE_FINGER = (0.0, -0.15, 0.45, 0.40)
RAKE_THUMB = (-0.25, 0.50, 0.05, 0.05)
RAKE_HEIGHT, CLEAR = 0.182, 0.25  # of the palm: fingertips just above the table; over the object
POCKET = np.array([0.0, -0.058])  # the object, seen from the palm, when the hand goes down
ARRIVED, OVERSHOT = 0.012, 0.058  # metres from the goal at which it lets go: before it, beyond it (still a success)
POCKET_LOW, POCKET_HIGH = np.array([-0.04, -0.10]), np.array([0.08, -0.02])  # still held


class HandReposition(SawyerTask):
    """Observation (29): object xyz, 16 hand joints, 7 arm joints, palm xyz.

    Action (19): targets of the 16 hand joints (-1 and 1 are the ends of their ranges), velocity of the palm.
    """

    hand_low: ClassVar[Floats] = np.array(HAND_LOW)
    hand_high: ClassVar[Floats] = np.array(HAND_HIGH)
    image_size: ClassVar[tuple[int, int]] = (400, 480)
    varies = False
    success_threshold = THRESHOLD

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(render_mode=render_mode)
        self.goal = np.array(GOAL)
        self.action_space = Box(-1.0, 1.0, (19,), dtype=np.float32)
        limits = self.model.jnt_range
        joints = np.array([limits[self.model.joint(name).id] for name in hand_model.joint_names()])
        arm = np.array([limits[self.model.joint(f"right_j{i}").id] for i in range(7)])
        (x0, y0), (x1, y1) = hand_model.TABLE_LOW, hand_model.TABLE_HIGH
        slack = 0.2  # joint limits are springs
        low = np.array([x0, y0, 0.0, *(joints[:, 0] - slack), *(arm[:, 0] - slack), *(self.hand_low - SLACK)])
        high = np.array([x1, y1, 0.6, *(joints[:, 1] + slack), *(arm[:, 1] + slack), *(self.hand_high + SLACK)])
        self.observation_space = Box(low, high, dtype=np.float64)

    def _build_spec(self, mujoco: ModuleType) -> Any:
        return hand_model.build(mujoco, GOAL[:2], THRESHOLD)

    def _build(self) -> None:
        super()._build()
        model = self.model
        self._fingers = [int(model.joint(name).qposadr[0]) for name in hand_model.joint_names()]
        self._object = int(model.joint("object").qposadr[0])
        ranges = np.array(model.actuator_ctrlrange)
        self._centre, self._half = ranges.mean(axis=1), (ranges[:, 1] - ranges[:, 0]) / 2

    def _reset(self) -> None:
        self._arrange(np.array(HAND_START), np.array(START), 0.0, np.zeros(16))

    def _arrange(self, palm: Floats, place: Floats, turn: float, joints: Floats) -> None:
        """Everything at rest: the object at `place`, turned about the vertical, the fingers at `joints`."""
        self._clear()
        self._place_hand(palm)
        at = self._object
        self.data.qpos[at : at + 2] = place
        self.data.qpos[at + 2 : at + 7] = (OBJECT_HEIGHT, np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2))
        self.data.qpos[self._fingers] = self.data.ctrl[:] = joints
        self._settle_kinematics()

    def _control(self, action: Floats) -> None:
        super()._control(action)
        self._fingers_from = self.data.ctrl.copy()
        self._fingers_to = self._centre + self._half * action[:16]

    def _velocity(self, action: Floats) -> Floats:
        return action[16:]

    def _ramp(self, fraction: float) -> None:
        super()._ramp(fraction)
        self.data.ctrl[:] = self._fingers_from + (self._fingers_to - self._fingers_from) * fraction

    def observe(self) -> Floats:
        """Object xyz, hand joints, arm joints, palm xyz."""
        qpos, at = self.data.qpos, self._object
        return np.concatenate([qpos[at : at + 3], qpos[self._fingers], qpos[self._arm], self._hand])

    def distance(self, obs: ArrayLike) -> Floats:
        """L2 distance of the object to the goal."""
        return np.asarray(np.linalg.norm(np.asarray(obs)[..., :3] - self.goal, axis=-1))

    def xy(self) -> Floats:
        """The object's place, [2]."""
        return np.array(self.data.qpos[self._object : self._object + 2])

    @property
    def plane(self) -> Plane:
        """The table from above, as far as the object can be pushed."""
        return from_above(self.observation_space, 0, 1, "the object")

    def classifier_view(self, obs: ArrayLike) -> Floats:
        """The object's position only (paper A.4.1)."""
        return np.asarray(obs, dtype=np.float64)[..., :3]

    def scripted_action(self) -> Floats:
        """Rake: fingers behind the object, thumb beside it, one diagonal stroke; again if it slips away."""
        palm, place = self._mocap, self.data.qpos[self._object : self._object + 2]
        to_goal = self.goal[:2] - place
        held = place - palm[:2]  # where the object is, seen from the palm
        above = place - POCKET
        arrived = np.linalg.norm(to_goal) < (ARRIVED if (to_goal < 0.0).all() else OVERSHOT)
        if arrived:  # let go: it cannot push the other way, and the object stays where it is
            aim = np.array([*palm[:2], CLEAR + 0.02])
        elif palm[2] < RAKE_HEIGHT + 0.01 and (held > POCKET_LOW).all() and (held < POCKET_HIGH).all():
            aim = np.array([*(palm[:2] + to_goal), RAKE_HEIGHT])
        elif np.abs(above - palm[:2]).max() < 0.008:
            aim = np.array([*above, RAKE_HEIGHT])
        else:
            aim = np.array([*(above if palm[2] > CLEAR else palm[:2]), CLEAR + 0.02])
        velocity = (aim - palm) / STEP
        joints = (np.array([*RAKE_FINGER * 3, *RAKE_THUMB]) - self._centre) / self._half
        return np.concatenate([joints, velocity / max(1.0, np.abs(velocity).max())])

    def _succeed(self, rng: np.random.Generator) -> None:
        """The object near the goal, turned at random; the hand anywhere above, in any pose; then settled."""
        place = self.goal[:2] + rng.uniform(-EXAMPLE_SPREAD, EXAMPLE_SPREAD, 2)
        joints = self._centre + self._half * rng.uniform(-1.0, 1.0, 16)
        palm = rng.uniform([*HAND_LOW[:2], EXAMPLE_CLEARANCE], self.hand_high)
        self._arrange(palm, place, rng.uniform(-np.pi, np.pi), joints)
        for _ in range(EXAMPLE_PATIENCE):
            self._simulate(EXAMPLE_SETTLING)
            if np.abs(self.data.qvel).max() < EXAMPLE_STILL:
                break
