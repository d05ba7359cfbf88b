"""Sawyer 3D Pick-and-Place: the arm grasps a ball and raises it to a fixed place high above the table."""

from __future__ import annotations

from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from mural.tasks.base import Floats
from mural.tasks.plane import Plane, from_above
from mural.tasks.robots import sawyer_scene as scene
from mural.tasks.robots.sawyer import SLACK, SawyerTask
from mural.tasks.robots.sawyer_scene import FIXED, OBJECT, SOLIMP, SOLREF, TOOL

GOAL = (0.0, 0.60, 0.20)  # release
THRESHOLD = 0.06  # paper, A.4.2
HAND_LOW, HAND_HIGH = (-0.05, 0.55, 0.01), (0.05, 0.65, 0.25)  # release
HAND_START = (0.0, 0.60, 0.20)  # release
BALL_LOW, BALL_HIGH = (-0.05, 0.55), (0.05, 0.65)  # release
EXAMPLE_SPREAD = 0.02  # ours: the scripted lift ends within this of the goal, per axis

BALL_RADIUS, BALL_MASS = 0.025, 0.20  # ours
# ours: drag in N·s/m. A dropped ball falls at no more than 1 m/s, so that one physics step of 4 ms cannot
# carry it deeper than 4 mm into the table.
BALL_DRAG = 2.0
# ours: sliding, torsional and rolling friction; a knocked ball rolls a few centimetres, a held one stays
FRICTION = (1.5, 0.01, 0.002)
OPEN = 0.042  # ours: from the hand to the face of an open finger
FINGER = (0.003, 0.0125, 0.030)  # ours: half sizes
FINGER_DROP = 0.008  # ours: how far the fingertips reach below the hand; at its lowest, 2 mm above the table
GRIP_FORCE, FINGER_DAMPING = 30.0, 60.0  # ours: the fingers close at 0.25 m/s; 15 N let a shaken ball slip
# ours: half sizes of the tray's inside. The fingers just fit in wherever the hand goes, and the ball cannot
# come to lie where they cannot reach it; on a bare table one knock would end the episode's chances.
TRAY = (0.100, 0.085)
BALL_CEILING = 0.35  # ours: higher than any ball gets, 10 cm above the hand's highest place
RIM = (0.004, 0.0125)  # half thickness and half height


class SawyerPick(SawyerTask):
    """Hand velocity and gripper (4) raise a ball to `GOAL`. Observation: hand xyz, ball xyz, tightness."""

    hand_low: ClassVar[Floats] = np.array(HAND_LOW)
    hand_high: ClassVar[Floats] = np.array(HAND_HIGH)
    success_threshold = THRESHOLD

    def __init__(self, render_mode: str | None = None) -> None:
        self.goal = np.array(GOAL)
        self.observation_space = Box(
            np.array([*(self.hand_low - SLACK), -TRAY[0], self.goal[1] - TRAY[1], 0.0, 0.0]),
            np.array([*(self.hand_high + SLACK), TRAY[0], self.goal[1] + TRAY[1], BALL_CEILING, 1.0]),
            dtype=np.float64,
        )
        self.action_space = Box(-1.0, 1.0, (4,))
        super().__init__(render_mode=render_mode)

    def _build_spec(self, mujoco: ModuleType) -> Any:
        shape, slide = mujoco.mjtGeom, mujoco.mjtJoint.mjJNT_SLIDE
        spec, tool = scene.arm_spec(mujoco, below=0.16, posture=scene.POSTURE)
        touch = {"friction": FRICTION, "solref": SOLREF, "solimp": SOLIMP}
        palm = 2 * FINGER[2] - FINGER_DROP
        tool.add_geom(
            type=shape.mjGEOM_BOX,
            size=[0.05, 0.016, 0.008],
            pos=[0.0, 0.0, palm + 0.008],
            rgba=scene.STEEL,
            mass=0.3,
            contype=0,
            conaffinity=0,
        )
        tool.add_geom(
            type=shape.mjGEOM_CYLINDER,
            size=[0.02, 0.02, 0.0],
            pos=[0.0, 0.0, palm + 0.03],
            rgba=scene.STEEL,
            mass=0.2,
            contype=0,
            conaffinity=0,
        )
        for name, side in (("right", 1.0), ("left", -1.0)):
            finger = tool.add_body(name=name, pos=[side * FINGER[0], 0.0, FINGER[2] - FINGER_DROP], gravcomp=1.0)
            finger.add_joint(
                name=name,
                type=slide,
                axis=[side, 0.0, 0.0],
                range=[0.0, OPEN],
                limited=True,
                armature=0.2,
                damping=[FINGER_DAMPING, 0.0, 0.0],
                solref_limit=SOLREF,
            )
            finger.add_geom(
                name=name,
                type=shape.mjGEOM_BOX,
                size=FINGER,
                rgba=[0.15, 0.45, 0.25, 1.0],
                mass=0.05,
                contype=TOOL,
                conaffinity=0,
                condim=4,
                **touch,
            )
        mirror = spec.add_equality(
            type=mujoco.mjtEq.mjEQ_JOINT, objtype=mujoco.mjtObj.mjOBJ_JOINT, name1="left", name2="right"
        )
        mirror.data[:2] = (0.0, 1.0)
        mirror.solref = SOLREF
        grip = spec.add_actuator(name="grip", target="right", trntype=mujoco.mjtTrn.mjTRN_JOINT)
        grip.set_to_position(kp=2000.0, dampratio=1.0)
        grip.forcerange = [-GRIP_FORCE, GRIP_FORCE]

        scene.add_table(mujoco, spec, FRICTION, condim=6)
        self._add_tray(mujoco, spec, touch)
        ball = spec.worldbody.add_body(name="ball")
        # Three slides and a ball joint: a free joint, but for drag that slows the fall and not the rolling.
        for name, axis in (("x", [1.0, 0.0, 0.0]), ("y", [0.0, 1.0, 0.0]), ("z", [0.0, 0.0, 1.0])):
            ball.add_joint(name=name, type=slide, axis=axis, damping=[BALL_DRAG, 0.0, 0.0])
        ball.add_joint(type=mujoco.mjtJoint.mjJNT_BALL)
        ball.add_geom(
            name="ball",
            type=shape.mjGEOM_SPHERE,
            size=[BALL_RADIUS, 0.0, 0.0],
            mass=BALL_MASS,
            rgba=[0.95, 0.80, 0.10, 1.0],
            contype=OBJECT,
            conaffinity=FIXED | TOOL,
            **touch,
        )
        spec.worldbody.add_site(
            name="goal",
            type=shape.mjGEOM_SPHERE,
            size=[THRESHOLD, 0.0, 0.0],
            pos=GOAL,
            rgba=[*scene.GOAL_GREEN[:3], 0.22],
        )
        scene.add_camera(spec, eye=(0.55, 0.05, 0.42), target=(0.0, 0.6, 0.13), fovy=38.0)
        return spec

    def _add_tray(self, mujoco: ModuleType, spec: Any, touch: dict[str, Any]) -> None:
        """A low rim for the eye, and upright planes that only the ball feels: it cannot hop over those."""
        for axis in (0, 1):
            for sign in (-1.0, 1.0):
                size, pos = [TRAY[0] + 2 * RIM[0], TRAY[1], RIM[1]], [0.0, 0.6, RIM[1]]
                size[axis] = RIM[0]
                pos[axis] += sign * (TRAY[axis] + RIM[0])
                spec.worldbody.add_geom(
                    type=mujoco.mjtGeom.mjGEOM_BOX,
                    size=size,
                    pos=pos,
                    rgba=[0.55, 0.38, 0.22, 1.0],
                    contype=0,
                    conaffinity=0,
                )
                inwards, face = [0.0, 0.0, 0.0], [0.0, 0.6, 0.0]
                inwards[axis] = -sign
                face[axis] += sign * TRAY[axis]
                spec.worldbody.add_geom(
                    type=mujoco.mjtGeom.mjGEOM_PLANE,
                    size=[1.0, 1.0, 0.1],
                    pos=face,
                    rgba=[0.0, 0.0, 0.0, 0.0],
                    quat=Rotation.align_vectors([inwards], [[0.0, 0.0, 1.0]])[0].as_quat(scalar_first=True),
                    contype=FIXED,
                    conaffinity=OBJECT,
                    **touch,
                )

    def _build(self) -> None:
        super()._build()
        start = int(self.model.joint("x").qposadr[0])
        self._ball = self.data.qpos[start : start + 3]
        self._right = int(self.model.joint("right").qposadr[0])
        self._left = int(self.model.joint("left").qposadr[0])

    @property
    def ball(self) -> Floats:
        """Where the ball is."""
        return np.array(self._ball)

    @property
    def tightness(self) -> float:
        """How far the gripper is closed, from 0 (open) to 1."""
        opening = 0.5 * (self.data.qpos[self._right] + self.data.qpos[self._left])
        return float(min(max(1.0 - opening / OPEN, 0.0), 1.0))

    def _reset(self) -> None:
        self._start(self.np_random)

    def _start(self, rng: np.random.Generator) -> None:
        self._clear()
        self._place_hand(np.array(HAND_START))
        self.data.qpos[[self._right, self._left]] = self.data.ctrl[0] = OPEN
        self._ball[:] = [*rng.uniform(BALL_LOW, BALL_HIGH), BALL_RADIUS]
        self._settle_kinematics()

    def _control(self, action: Floats) -> None:
        super()._control(action)
        self.data.ctrl[0] = OPEN * 0.5 * (1.0 - action[3])  # -1 opens, 1 closes

    def observe(self) -> Floats:
        """Hand xyz, ball xyz, tightness of the gripper."""
        return np.array([*self._hand, *self._ball, self.tightness])

    def distance(self, obs: ArrayLike) -> Floats:
        """L2 distance of the ball to the goal (paper, A.4.2)."""
        return np.asarray(np.linalg.norm(np.asarray(obs)[..., 3:6] - self.goal, axis=-1))

    def xy(self) -> Floats:
        """The ball's place, seen from above, [2]."""
        return self.ball[:2]

    @property
    def plane(self) -> Plane:
        """The tray from above."""
        return from_above(self.observation_space, 3, 4, "the ball")

    def _succeed(self, rng: np.random.Generator) -> None:
        """The scripted controller grasps a ball somewhere and holds it somewhere near the goal."""
        self._start(rng)
        place = self.goal + rng.uniform(-EXAMPLE_SPREAD, EXAMPLE_SPREAD, 3)
        grasp = rng.uniform((0.0, -0.006, -0.010), (0.0, 0.006, 0.005))
        for _ in range(30):  # done since about the 20th
            self._advance(self._script(place, grasp))

    def scripted_action(self) -> Floats:
        """Open above the ball, go down, close, and bring the ball to the goal."""
        return self._script(self.goal, np.zeros(3))

    def _script(self, place: Floats, grasp: Floats) -> Floats:
        """Hold the ball by the point `grasp` (seen from its centre) and bring it to `place`."""
        hand, grip = self.hand, -1.0
        offset = self.ball + grasp - hand
        over = np.abs(offset[:2]).max() < 0.006
        if np.abs(offset).max() < 0.012 and self.tightness > 0.30:  # held
            aim, grip = place + hand - self.ball, 1.0
        elif over and offset[2] > -0.005:  # around the ball
            aim, grip = hand, 1.0
        elif over or hand[2] > 0.09:  # go over it as long as there is room, then down
            aim = hand + offset if over else hand + offset * (1.0, 1.0, 0.0)
        else:
            aim = np.array([hand[0], hand[1], 0.11])
        return np.append(self._towards(aim), grip)
