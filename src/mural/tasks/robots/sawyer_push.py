"""Sawyer 2D Pusher: the arm, moving in a plane, pushes a puck to a fixed place on the table."""

from __future__ import annotations

from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike

from mural.tasks.base import Floats
from mural.tasks.plane import Plane, columns
from mural.tasks.robots import sawyer_scene as scene
from mural.tasks.robots.sawyer import FRAME_SKIP, SLACK, SawyerTask
from mural.tasks.robots.sawyer_scene import FIXED, OBJECT, SOLIMP, SOLREF, TOOL

GOAL = (0.0, 0.75)  # release
THRESHOLD = 0.05  # paper, A.4.2
HAND_LOW, HAND_HIGH = (-0.28, 0.30), (0.28, 0.90)  # release: xy of the hand box
HAND_START = (0.0, 0.45)  # release: somewhere between y = 0.4 and 0.52
HAND_Z = 0.07  # release
PUCK_X, PUCK_Y = 0.10, 0.60  # release: x is drawn from U(-0.1, 0.1)
EXAMPLE_SPREAD = 0.01  # release: hand and puck at the goal, ±0.01

PUCK_RADIUS, PUCK_HALF_HEIGHT, PUCK_MASS = 0.03, 0.02, 0.25  # ours
PADDLE = (0.030, 0.010, 0.055)  # ours: half sizes; its foot hovers 8 mm above the table
CONTACT = (PUCK_RADIUS + PADDLE[0], PUCK_RADIUS + PADDLE[1])  # hand to puck, along x and y, when they touch
PUCK_HOP_DAMPING = 50.0  # ours: N·s/m, vertical; without it a hit puck hops by 4 mm
FRICTION = (0.6, 0.005, 0.0001)  # ours: at the hand's 0.2 m/s the puck stops within 4 mm
REACH = 0.10  # how far outside the hand's box the puck can be pushed (paddle and puck), with room to spare


class SawyerPush(SawyerTask):
    """The hand (2 velocities) pushes a puck to `GOAL`. Observation: hand xyz, puck xy."""

    hand_low: ClassVar[Floats] = np.array([*HAND_LOW, HAND_Z])
    hand_high: ClassVar[Floats] = np.array([*HAND_HIGH, HAND_Z])
    success_threshold = THRESHOLD

    def __init__(self, render_mode: str | None = None) -> None:
        self.goal = np.array(GOAL)
        self.observation_space = Box(
            np.concatenate([self.hand_low - SLACK, self.hand_low[:2] - REACH]),
            np.concatenate([self.hand_high + SLACK, self.hand_high[:2] + REACH]),
            dtype=np.float64,
        )
        self.action_space = Box(-1.0, 1.0, (2,))
        super().__init__(render_mode=render_mode)

    def _build_spec(self, mujoco: ModuleType) -> Any:
        shape = mujoco.mjtGeom
        spec, tool = scene.arm_spec(mujoco, below=0.12, posture=scene.POSTURE)
        touch = {"friction": FRICTION, "solref": SOLREF, "solimp": SOLIMP, "condim": 3}
        tool.add_geom(
            name="paddle",
            type=shape.mjGEOM_BOX,
            size=PADDLE,
            pos=[0.0, 0.0, PADDLE[2] - HAND_Z + 0.008],
            rgba=[0.15, 0.45, 0.25, 1.0],
            mass=0.3,
            contype=TOOL,
            conaffinity=0,
            **touch,
        )
        tool.add_geom(
            type=shape.mjGEOM_CYLINDER,
            size=[0.012, 0.035, 0.0],
            pos=[0.0, 0.0, 0.075],
            rgba=scene.STEEL,
            mass=0.2,
            contype=0,
            conaffinity=0,
        )
        scene.add_table(mujoco, spec, FRICTION, condim=3)
        puck = spec.worldbody.add_body(name="puck", pos=[0.0, 0.0, PUCK_HALF_HEIGHT])
        # Four joints instead of a free one: the puck slides and turns but cannot tip over.
        for name, axis in (("x", [1.0, 0.0, 0.0]), ("y", [0.0, 1.0, 0.0]), ("z", [0.0, 0.0, 1.0])):
            drag = PUCK_HOP_DAMPING * axis[2]
            puck.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=axis, damping=[drag, 0.0, 0.0])
        puck.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0.0, 0.0, 1.0])
        puck.add_geom(
            name="puck",
            type=shape.mjGEOM_CYLINDER,
            size=[PUCK_RADIUS, PUCK_HALF_HEIGHT, 0.0],
            mass=PUCK_MASS,
            rgba=[0.10, 0.25, 0.85, 1.0],
            contype=OBJECT,
            conaffinity=FIXED,
            **touch,
        )
        # What the paddle meets. The paddle is upright and reaches above and below the sphere's centre, so
        # they touch where paddle and cylinder would, without the noise of a general convex collision.
        puck.add_geom(
            name="side",
            type=shape.mjGEOM_SPHERE,
            size=[PUCK_RADIUS, 0.0, 0.0],
            mass=0.0,
            rgba=[0.0, 0.0, 0.0, 0.0],
            contype=0,
            conaffinity=TOOL,
            **touch,
        )
        spec.worldbody.add_site(
            name="goal",
            type=shape.mjGEOM_CYLINDER,
            size=[THRESHOLD, 0.001, 0.0],
            pos=[*GOAL, 0.001],
            rgba=scene.GOAL_GREEN,
        )
        scene.add_camera(spec, eye=(0.85, 0.05, 0.78), target=(0.02, 0.63, 0.11), fovy=34.0)
        return spec

    def _build(self) -> None:
        super()._build()
        start = int(self.model.joint("x").qposadr[0])
        self._puck = self.data.qpos[start : start + 2]

    @property
    def puck(self) -> Floats:
        """Where the puck is (xy)."""
        return np.array(self._puck)

    def _reset(self) -> None:
        self._arrange(np.array(HAND_START), np.array([self.np_random.uniform(-PUCK_X, PUCK_X), PUCK_Y]))

    def _arrange(self, hand: Floats, puck: Floats) -> None:
        self._clear()
        self._place_hand(np.array([*hand, HAND_Z]))
        self._puck[:] = puck
        self._settle_kinematics()

    def _velocity(self, action: Floats) -> Floats:
        return np.array([action[0], action[1], 0.0])

    def observe(self) -> Floats:
        """Hand xyz, puck xy."""
        return np.array([*self._hand, *self._puck])

    def distance(self, obs: ArrayLike) -> Floats:
        """L2 distance of the puck to the goal (paper, A.4.2)."""
        return np.asarray(np.linalg.norm(np.asarray(obs)[..., 3:5] - self.goal, axis=-1))

    def xy(self) -> Floats:
        """The puck's place, [2]."""
        return self.puck

    @property
    def plane(self) -> Plane:
        """The table from above, as far as the puck can be pushed."""
        (x0, y0), (x1, y1) = HAND_LOW, HAND_HIGH
        low, high = (x0 - REACH, y0 - REACH), (x1 + REACH, y1 + REACH)
        return Plane(low, high, ("x of the puck", "y of the puck"), places=columns(3, 4))

    def _succeed(self, rng: np.random.Generator) -> None:
        """Puck near the goal, hand right behind it, both jittered, then half a second to settle."""
        puck, hand = self.goal + rng.uniform(-EXAMPLE_SPREAD, EXAMPLE_SPREAD, (2, 2))
        self._arrange(hand - (0.0, CONTACT[1] + 2 * EXAMPLE_SPREAD), puck)
        self._simulate(5 * FRAME_SKIP)

    def scripted_action(self) -> Floats:
        """Push the puck sideways until it faces the goal, then forwards from behind."""
        hand, puck = self.hand[:2], self.puck
        error = self.goal - puck
        if np.linalg.norm(error) < 0.02:
            return np.zeros(2)
        along = 0 if abs(error[0]) > 0.008 else 1  # the axis to push along
        across = 1 - along
        side = -np.sign(error[along])  # the side of the puck from which to push
        gap = side * (hand[along] - puck[along]) - CONTACT[along]  # between paddle and puck
        aim = hand.copy()
        if abs(hand[across] - puck[across]) < 0.006 and gap > -0.005:
            aim[along] = self.goal[along] + side * CONTACT[along]
        elif gap > 0.01:
            aim[across] = puck[across]
        else:  # back off without touching the puck
            aim[along] = puck[along] + side * (CONTACT[along] + 0.02)
        return self._towards(np.array([*aim, HAND_Z]))[:2]
