"""The scene of the hand task: our own 16-joint hand, a three-pronged object, a table with a rim.

What touches something is made of capsules, spheres and planes, apart from the palm (a box): MuJoCo solves
those contacts in closed form, which is fast and quiet. The hand's frame is at the centre of the palm, aligned
with the world: fingers hang down, the palm faces -y (towards the robot), and the thumb, on that side, opposes
them.
"""

from __future__ import annotations

import itertools
import math
from types import ModuleType
from typing import Any

from mural.tasks.robots import sawyer_scene as scene
from mural.tasks.robots.sawyer_scene import FIXED, OBJECT, SOLIMP, SOLREF, TOOL

# All ours: the authors' hand was never released. Sizes are those of a large human hand.
PALM = (0.050, 0.014, 0.045)  # half sizes
TOOL_LENGTH = 0.11  # flange to palm centre
FINGERS = {"index": 0.036, "middle": 0.0, "ring": -0.036}  # x of the knuckle
LINKS = (0.020, 0.050, 0.036, 0.030)  # lengths: knuckle, proximal, middle, distal
RADII = (0.010, 0.010, 0.0095, 0.009)
MASSES = (0.02, 0.03, 0.02, 0.015)
FINGER_RANGES = ((-0.30, 0.30), (-0.20, 1.40), (0.0, 1.50), (0.0, 1.40))  # spread, then three flexions
THUMB_BASE = (0.030, -0.026, -0.042)
THUMB_RANGES = ((-0.70, 0.70), (-0.30, 1.00), (0.0, 1.30), (0.0, 1.30))
THUMB_TILT = 0.8  # radians by which the straight thumb leans away from the fingers
GAIN, TORQUE = 4.0, 2.0  # position actuators: N·m per radian, largest N·m
DAMPING, ARMATURE = 0.30, 0.002  # a joint follows its target within a control step, without whipping

PRONGS, PRONG_LENGTH, PRONG_RADIUS, OBJECT_MASS = 3, 0.030, 0.016, 0.15
TABLE_LOW, TABLE_HIGH = (-0.42, 0.22), (0.42, 0.88)  # inside of the rim
RIM_HEIGHT, RIM_WIDTH = 0.03, 0.02
FRICTION = (0.8, 0.01, 0.001)
MARGIN = 0.001  # every surface begins to push a millimetre early: a fast fingertip is stopped before it is inside
FINGER_MARGIN = 0.007  # two fingertips close at up to 2 m/s: 8 mm in a physics step
OBJECT_HEIGHT = PRONG_RADIUS + 2 * MARGIN  # of its centre, at rest on the table
RIM = 8  # collision group: the rim touches only the object

SKIN, NAIL, PALM_RGBA = (0.22, 0.24, 0.28, 1.0), (0.90, 0.90, 0.88, 1.0), (0.15, 0.16, 0.19, 1.0)
OBJECT_RGBA, RIM_RGBA = (0.80, 0.15, 0.15, 1.0), (0.45, 0.30, 0.18, 1.0)


def joint_names() -> list[str]:
    """The 16 joints of the hand, finger by finger from the palm outwards."""
    return [f"{finger}_{i}" for finger in (*FINGERS, "thumb") for i in range(4)]


def build(mujoco: ModuleType, goal: tuple[float, float], threshold: float) -> Any:
    """The whole scene as an ``MjSpec``."""
    spec, tool = scene.arm_spec(mujoco, below=TOOL_LENGTH)
    touch = {"friction": FRICTION, "solref": SOLREF, "solimp": SOLIMP, "condim": 3, "margin": MARGIN}
    _add_hand(mujoco, spec, tool, touch)
    _add_object(mujoco, spec, touch)
    _add_table(mujoco, spec, touch)
    spec.worldbody.add_site(
        name="goal", type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[threshold, 0.001, 0.0], pos=[*goal, 0.001],
        rgba=scene.GOAL_GREEN,
    )  # fmt: skip
    scene.add_camera(spec, eye=(1.05, 0.85, 0.68), target=(0.0, 0.54, 0.08), fovy=41.0)
    return spec


def _add_hand(mujoco: ModuleType, spec: Any, tool: Any, touch: dict[str, Any]) -> None:
    tool.add_geom(
        name="palm", type=mujoco.mjtGeom.mjGEOM_BOX, size=PALM, mass=0.35, rgba=PALM_RGBA,
        contype=TOOL, conaffinity=OBJECT, **touch,
    )  # fmt: skip
    tool.add_geom(  # wrist, for the eye
        type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[0.025, (TOOL_LENGTH - PALM[2]) / 2, 0.0], mass=0.1,
        pos=[0.0, 0.0, (TOOL_LENGTH + PALM[2]) / 2], rgba=PALM_RGBA, contype=0, conaffinity=0,
    )  # fmt: skip
    for finger, x in FINGERS.items():
        knuckle = tool.add_body(name=finger, pos=[x, 0.0, -PALM[2]], gravcomp=1.0)
        _add_finger(mujoco, spec, knuckle, finger, FINGER_RANGES, -1.0, touch)
    half = THUMB_TILT / 2  # a turn about x by -THUMB_TILT swings the straight thumb towards -y
    base = tool.add_body(
        name="thumb", pos=THUMB_BASE, quat=[math.cos(half), -math.sin(half), 0.0, 0.0], gravcomp=1.0
    )  # fmt: skip
    _add_finger(mujoco, spec, base, "thumb", THUMB_RANGES, 1.0, touch)
    _keep_fingers_apart(spec)


def _keep_fingers_apart(spec: Any) -> None:
    """Outer links of different fingers touch too, without friction: a third of the cost of a full contact."""
    for one, other in itertools.combinations((*FINGERS, "thumb"), 2):
        for i, j in itertools.product((2, 3), repeat=2):
            pair = spec.add_pair(geomname1=f"{one}_geom{i}", geomname2=f"{other}_geom{j}", condim=1)
            pair.solref, pair.solimp, pair.margin = SOLREF, SOLIMP, FINGER_MARGIN


def _add_finger(
    mujoco: ModuleType, spec: Any, body: Any, finger: str, ranges: Any, flexion: float, touch: dict[str, Any]
) -> None:
    """Four links in a chain along -z; the first joint spreads (about y), the others flex (about x)."""
    for i, (length, radius, mass) in enumerate(zip(LINKS, RADII, MASSES, strict=True)):
        if i > 0:
            body = body.add_body(name=f"{finger}_link{i}", pos=[0.0, 0.0, -LINKS[i - 1]], gravcomp=1.0)
        joint = body.add_joint(
            name=f"{finger}_{i}", type=mujoco.mjtJoint.mjJNT_HINGE, range=ranges[i], armature=ARMATURE,
            axis=[0.0, 1.0, 0.0] if i == 0 else [flexion, 0.0, 0.0], solref_limit=SOLREF,
        )  # fmt: skip
        joint.limited = True
        joint.damping[0] = DAMPING
        body.add_geom(
            name=f"{finger}_geom{i}", type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=[radius, 0.0, 0.0], mass=mass,
            fromto=[0.0, 0.0, 0.0, 0.0, 0.0, -length], rgba=NAIL if i == 3 else SKIN, **touch,
            contype=TOOL, conaffinity=FIXED | OBJECT,
        )  # fmt: skip
        motor = spec.add_actuator(name=f"{finger}_{i}", target=f"{finger}_{i}", trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.set_to_position(kp=GAIN)
        motor.forcelimited, motor.forcerange = True, [-TORQUE, TORQUE]
        motor.ctrllimited, motor.ctrlrange = True, ranges[i]


def _add_object(mujoco: ModuleType, spec: Any, touch: dict[str, Any]) -> None:
    """A valve handle: three prongs. It is the same upside down, so it has no wrong side to land on."""
    body = spec.worldbody.add_body(name="object", pos=[0.0, 0.55, OBJECT_HEIGHT])
    body.add_freejoint(name="object")
    for i in range(PRONGS):
        angle = 2.0 * math.pi * i / PRONGS
        end = [PRONG_LENGTH * math.cos(angle), PRONG_LENGTH * math.sin(angle), 0.0]
        body.add_geom(
            name=f"prong{i}", type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=[PRONG_RADIUS, 0.0, 0.0],
            fromto=[0.0, 0.0, 0.0, *end], mass=OBJECT_MASS / PRONGS, rgba=OBJECT_RGBA,
            contype=OBJECT, conaffinity=0, **touch,
        )  # fmt: skip
        # It stands on the ends of its prongs: half as many contacts with the table as whole capsules have.
        body.add_geom(
            name=f"foot{i}", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[PRONG_RADIUS, 0.0, 0.0], pos=end,
            mass=0.0, rgba=OBJECT_RGBA, contype=0, conaffinity=FIXED | RIM, **touch,
        )  # fmt: skip


def _add_table(mujoco: ModuleType, spec: Any, touch: dict[str, Any]) -> None:
    """Table top and rim are half-spaces to the object: it cannot fall through, hop over or leave."""
    solid = {"type": mujoco.mjtGeom.mjGEOM_PLANE, "contype": FIXED, "conaffinity": 0, **touch}
    (x0, y0), (x1, y1) = TABLE_LOW, TABLE_HIGH
    cx, cy, hx, hy = (x0 + x1) / 2, (y0 + y1) / 2, (x1 - x0) / 2, (y1 - y0) / 2
    spec.worldbody.add_geom(name="table", pos=[cx, cy, 0.0], size=[hx, hy, 0.1], rgba=scene.WOOD, **solid)
    for name, pos, axis in (
        ("left", [x0, cy, 0.0], [1.0, 0.0, 0.0]),
        ("right", [x1, cy, 0.0], [-1.0, 0.0, 0.0]),
        ("near", [cx, y0, 0.0], [0.0, 1.0, 0.0]),
        ("far", [cx, y1, 0.0], [0.0, -1.0, 0.0]),
    ):
        plane = {**solid, "contype": RIM}  # the hand's box keeps the hand inside
        rim = spec.worldbody.add_geom(name=name, pos=pos, size=[1.0, 1.0, 0.1], group=3, **plane)
        rim.alt.type = mujoco.mjtOrientation.mjORIENTATION_ZAXIS
        rim.alt.zaxis = axis
    w, h = RIM_WIDTH / 2, RIM_HEIGHT / 2
    visible = {"type": mujoco.mjtGeom.mjGEOM_BOX, "contype": 0, "conaffinity": 0}
    for x in (x0 - w, x1 + w):
        spec.worldbody.add_geom(pos=[x, cy, h], size=[w, hy + RIM_WIDTH, h], rgba=RIM_RGBA, **visible)
    for y in (y0 - w, y1 + w):
        spec.worldbody.add_geom(pos=[cx, y, h], size=[hx, w, h], rgba=RIM_RGBA, **visible)
    spec.worldbody.add_geom(
        pos=[cx, cy, -0.022], size=[hx + RIM_WIDTH, hy + RIM_WIDTH, 0.02], rgba=scene.WOOD, **visible
    )
