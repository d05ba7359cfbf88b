"""Sawyer Door Opening: the arm, with a hook for a hand, opens a door to 45 degrees."""

from __future__ import annotations

from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike

from mural.tasks.base import Floats
from mural.tasks.plane import Plane, from_above
from mural.tasks.robots import sawyer_scene as scene
from mural.tasks.robots.sawyer import SLACK, SawyerTask
from mural.tasks.robots.sawyer_scene import FIXED, OBJECT, SOLIMP, SOLREF, TOOL

GOAL = np.pi / 4  # paper, A.4.1: 45 degrees (release: 0.80 rad)
THRESHOLD = 0.035  # paper, A.4.2
START_ANGLE = np.pi / 12  # paper, A.4.1: between 0 and 15 degrees (release: half exactly 0, half U(0, 0.3))
HAND_LOW, HAND_HIGH = (-0.30, 0.30, -0.40), (0.30, 0.65, 0.40)  # release
HAND_START = (-0.05, 0.30, 0.40)  # release
EXAMPLE_SPREAD = 0.02  # ours: the scripted pull ends within so many radians of the goal

# All that follows is ours; the release's door model no longer loads.
HINGE = (0.18, 0.60, 0.09)  # at the door's closed position: right edge, back, half height
PANEL = (0.18, 0.010, 0.21)  # half sizes
ANGLE_MAX = np.pi / 2
BAR = (-0.27, -0.07, 0.03)  # centre of the handle's bar, seen from the hinge of a closed door
BAR_HALF, BAR_RADIUS = 0.07, 0.008
PEG_RADIUS, PEG_LENGTH = 0.010, 0.09
HOOK_AHEAD, HOOK_BELOW = 0.09, 0.14  # from the flange to the tip of the hook
SLOT = (-0.27, -0.042)  # between bar and panel: where the hook goes in
GRIP = (-0.27, BAR[1] + BAR_RADIUS + PEG_RADIUS)  # where the hook pulls
# A door that stops where it is let go: it coasts I/D = 15 ms, that is 0.01 rad, a third of the threshold.
DOOR_MASS, DOOR_DAMPING, DOOR_FRICTION = 1.0, 3.0, 0.3
FRICTION = (0.5, 0.005, 0.0001)


class SawyerDoor(SawyerTask):
    """The hand's velocity (3) opens a door to `GOAL`. Observation: hand xyz, door angle in radians."""

    hand_low: ClassVar[Floats] = np.array(HAND_LOW)
    hand_high: ClassVar[Floats] = np.array(HAND_HIGH)
    success_threshold = THRESHOLD

    def __init__(self, render_mode: str | None = None) -> None:
        self.goal = np.array([GOAL])
        self.observation_space = Box(
            np.append(self.hand_low - SLACK, -0.1),
            np.append(self.hand_high + SLACK, ANGLE_MAX + 0.1),
            dtype=np.float64,
        )
        self.action_space = Box(-1.0, 1.0, (3,))
        super().__init__(render_mode=render_mode)

    def _build_spec(self, mujoco: ModuleType) -> Any:
        shape = mujoco.mjtGeom
        spec, tool = scene.arm_spec(mujoco, below=HOOK_BELOW, ahead=HOOK_AHEAD, posture=scene.POSTURE)
        touch = {"friction": FRICTION, "solref": SOLREF, "solimp": SOLIMP, "condim": 3}
        hook = {"contype": TOOL, "conaffinity": FIXED | OBJECT, "rgba": scene.STEEL, **touch}
        back = -HOOK_AHEAD
        for name, ends in (
            ("peg", [0.0, 0.0, PEG_RADIUS, 0.0, 0.0, PEG_LENGTH]),
            ("arm", [0.0, 0.0, PEG_LENGTH, 0.0, back, PEG_LENGTH]),
            ("stem", [0.0, back, PEG_LENGTH, 0.0, back, HOOK_BELOW]),
        ):
            tool.add_geom(
                name=name,
                type=shape.mjGEOM_CAPSULE,
                fromto=ends,
                size=[PEG_RADIUS, 0.0, 0.0],
                mass=0.15,
                **hook,
            )
        # The wrist's outline, unseen: without it, the hand could reach through the door from below.
        hook["rgba"] = [0.0, 0.0, 0.0, 0.0]
        tool.add_geom(
            name="wrist",
            type=shape.mjGEOM_CAPSULE,
            fromto=[0.0, back, 0.19, 0.0, back, 0.30],
            size=[0.055, 0.0, 0.0],
            mass=0.0,
            **hook,
        )
        self._add_door(mujoco, spec, touch)
        scene.add_camera(spec, eye=(0.85, -0.25, 0.62), target=(-0.02, 0.47, 0.15), fovy=38.0)
        return spec

    def _add_door(self, mujoco: ModuleType, spec: Any, touch: dict[str, Any]) -> None:
        shape, world = mujoco.mjtGeom, spec.worldbody
        x, y, z = HINGE
        fixed = {"contype": FIXED, "conaffinity": TOOL, "rgba": [0.42, 0.27, 0.15, 1.0], **touch}
        world.add_geom(type=shape.mjGEOM_BOX, size=[PANEL[0], 0.12, PANEL[2]], pos=[0.0, y + 0.122, z], **fixed)
        foot = 0.5 * (z - PANEL[2] - scene.FLOOR)
        world.add_geom(type=shape.mjGEOM_BOX, size=[0.08, 0.06, foot], pos=[0.0, y + 0.16, scene.FLOOR + foot], **fixed)

        door = world.add_body(name="door", pos=HINGE)
        door.add_joint(
            name="hinge",
            type=mujoco.mjtJoint.mjJNT_HINGE,
            axis=[0.0, 0.0, 1.0],
            range=[0.0, ANGLE_MAX],
            limited=True,
            damping=[DOOR_DAMPING, 0.0, 0.0],
            frictionloss=DOOR_FRICTION,
            solref_limit=SOLREF,
            solimp_limit=SOLIMP,
        )
        moving = {"contype": OBJECT, "conaffinity": TOOL, **touch}
        door.add_geom(
            name="panel",
            type=shape.mjGEOM_BOX,
            size=PANEL,
            pos=[-PANEL[0], -PANEL[1], 0.0],
            rgba=[0.72, 0.50, 0.30, 1.0],
            mass=DOOR_MASS,
            **moving,
        )
        left, right = BAR[0] - BAR_HALF, BAR[0] + BAR_HALF
        for ends in (
            [left, BAR[1], BAR[2], right, BAR[1], BAR[2]],
            [left, BAR[1], BAR[2], left, -PANEL[1], BAR[2]],
            [right, BAR[1], BAR[2], right, -PANEL[1], BAR[2]],
        ):
            door.add_geom(
                type=shape.mjGEOM_CAPSULE,
                fromto=ends,
                size=[BAR_RADIUS, 0.0, 0.0],
                rgba=[0.10, 0.10, 0.12, 1.0],
                mass=0.02,
                **moving,
            )
        # The goal is an outline where the door should be: top, free edge and bottom.
        x, y = self._on_door(GOAL, 0.0, -PANEL[1])
        edge_x, edge_y = self._on_door(GOAL, -2 * PANEL[0], -PANEL[1])
        low, high = z - PANEL[2], z + PANEL[2]
        for ends in (
            [x, y, high, edge_x, edge_y, high],
            [edge_x, edge_y, high, edge_x, edge_y, low],
            [x, y, low, edge_x, edge_y, low],
        ):
            world.add_site(type=shape.mjGEOM_CAPSULE, fromto=ends, size=[0.006, 0.0, 0.0], rgba=scene.GOAL_GREEN)

    def _build(self) -> None:
        super()._build()
        start = int(self.model.joint("hinge").qposadr[0])
        self._angle = self.data.qpos[start : start + 1]

    @property
    def angle(self) -> float:
        """How far the door is open, in radians."""
        return float(self._angle[0])

    def _reset(self) -> None:
        self._start(self.np_random)

    def _start(self, rng: np.random.Generator) -> None:
        self._clear()
        self._place_hand(np.array(HAND_START))
        self._angle[0] = rng.uniform(0.0, START_ANGLE)
        self._settle_kinematics()

    def observe(self) -> Floats:
        """Hand xyz, door angle."""
        return np.array([*self._hand, self.angle])

    def distance(self, obs: ArrayLike) -> Floats:
        """Difference of the door's angle to the goal, in radians (paper, A.4.2)."""
        return np.asarray(np.abs(np.asarray(obs)[..., 3] - self.goal[0]))

    def xy(self) -> Floats:
        """The hook's place, seen from above, [2]."""
        return self.hand[:2]

    @property
    def plane(self) -> Plane:
        """From above, as far as the hook reaches."""
        return from_above(self.observation_space, 0, 1, "the hook")

    def _succeed(self, rng: np.random.Generator) -> None:
        """The scripted controller opens the door to an angle near the goal, hooked somewhere along the bar."""
        self._start(rng)
        angle = GOAL + rng.uniform(-EXAMPLE_SPREAD, EXAMPLE_SPREAD)
        shift, depth = rng.uniform((-0.03, -0.03), (0.03, 0.01))
        for _ in range(36):  # done since about the 27th
            self._advance(self._script(angle, shift, depth))

    def scripted_action(self) -> Floats:
        """Hook the handle from above and pull along the door's arc."""
        return self._script(GOAL, 0.0, 0.0)

    def _on_door(self, angle: float, along: float, out: float) -> Floats:
        """The xy of a point of the door (seen from its hinge when closed) when it is open by `angle`."""
        c, s = np.cos(angle), np.sin(angle)
        return np.array([HINGE[0] + c * along - s * out, HINGE[1] + s * along + c * out])

    def _script(self, angle: float, shift: float, depth: float) -> Floats:
        """Open to `angle` with the hook `shift` along the bar and `depth` from its usual height in it."""
        hand, bar = self.hand, HINGE[2] + BAR[2]
        low = bar - 0.03 + depth
        slot = self._on_door(self.angle, SLOT[0] + shift, SLOT[1])
        aim = np.array([*slot, hand[2]])
        if hand[2] < bar - 0.01 and np.linalg.norm(hand[:2] - slot) < 0.03:  # hooked
            aim[:2] = self._on_door(min(self.angle + 0.12, angle), GRIP[0] + shift, GRIP[1])
            aim[2] = low
        elif np.linalg.norm(hand[:2] - slot) < 0.008:
            aim[2] = low
        else:  # over the handle as long as there is room
            aim[2] = bar + 0.05
            if hand[2] < bar + 0.02:
                aim[:2] = hand[:2]
        return self._towards(aim)
