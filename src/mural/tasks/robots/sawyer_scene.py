"""The scene of the Sawyer tasks: the arm on its pedestal, the leash that drags its hand, table and light.

The Sawyer's links and meshes come from the ``metaworld`` package, which is used as a box of files and never
imported. Everything that touches something (tools, objects, table) is our own, made of simple shapes.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from mural.tasks.base import MissingExtraError

TIMESTEP = 0.004  # ours
FLOOR = -0.913  # foot of the pedestal in the metaworld model
SOLREF = (0.008, 1.0)  # ours: the stiffest contact that two physics steps can resolve
SOLIMP = (0.98, 0.998, 0.001, 0.5, 2.0)
# ours: a leash that pulls with about 300 N when the hand is 9 mm behind; the usual stiff weld pulls with
# thousands and crushes whatever is in the way
WELD_SOLREF, WELD_SOLIMP = (0.010, 1.0), (0.3, 0.3, 0.001, 0.5, 2.0)
WELD_TORQUE = 2.0  # ours: the hand tilts by at most 2 degrees in free motion (4 at MuJoCo's default of 1)
ARMATURE, DAMPING = 0.2, 3.0  # ours: inertia of the motors, without which the light wrist bends under load
# ours: elbow up, wrist turned: the hand points down and no joint comes near a limit in the three workspaces.
# metaworld's own pose sits on a limit, which tilts the hand.
HOME = (1.006, -1.110, 0.449, 1.868, -0.256, 0.869, 0.184)
# ours: the hand fixes six of the arm's seven degrees of freedom. Without springs the seventh drifts, until some
# joint meets its limit and the hand is stuck. The springs displace the hand by 2 mm at most, at far corners.
POSTURE = 2.0
SHOULDER_RANGE = (-3.8095, 2.2736)  # the real robot's; metaworld narrows it to (-3.8, -0.5)
FIXED, OBJECT, TOOL = 1, 2, 4  # collision groups

WOOD = (0.78, 0.61, 0.43, 1.0)
STEEL = (0.25, 0.27, 0.30, 1.0)
GOAL_GREEN = (0.05, 0.85, 0.20, 0.40)


def arm_file() -> Path:
    """The Sawyer model inside the installed ``metaworld`` package."""
    found = importlib.util.find_spec("metaworld")
    if found is None or not found.submodule_search_locations:
        raise MissingExtraError.robots("The Sawyer arm", "metaworld")
    return Path(found.submodule_search_locations[0]) / "assets" / "objects" / "xyz_base.xml"


def add_camera(spec: Any, eye: tuple[float, float, float], target: tuple[float, float, float], fovy: float) -> None:
    """The camera of the task's frames: at `eye`, looking at `target`, upright."""
    back = np.subtract(eye, target)
    right = np.cross((0.0, 0.0, 1.0), back)
    axes = [vector / np.linalg.norm(vector) for vector in (right, np.cross(back, right), back)]
    quat = Rotation.from_matrix(np.stack(axes, axis=1)).as_quat(scalar_first=True)
    spec.worldbody.add_camera(name="task", pos=eye, quat=quat, fovy=fovy)


def arm_spec(mujoco: ModuleType, below: float, ahead: float = 0.0, posture: float = 0.0) -> tuple[Any, Any]:
    """The arm in an otherwise empty room, and the body to which a task adds the geoms of its tool.

    The tool's frame is the hand that the tasks observe and move: aligned with the world and, seen from the
    flange, so many metres `below` and `ahead` (towards y). `posture` is the stiffness, in N·m/rad, of springs
    that draw the joints to `HOME`.
    """
    spec = mujoco.MjSpec.from_file(str(arm_file()))
    spec.delete(spec.body("hand"))
    spec.delete(spec.body("mocap"))
    spec.compiler.inertiagrouprange = [0, 5]  # metaworld weighs only its collision shapes
    spec.compiler.fusestatic = True  # 16 of the arm's bodies only hold meshes; fewer bodies, faster steps
    spec.option.timestep = TIMESTEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.joint("right_j1").range = SHOULDER_RANGE
    for joint, home in zip(spec.joints, HOME, strict=True):
        joint.stiffness, joint.springref = [posture, 0.0, 0.0], home
        joint.solref_limit, joint.solimp_limit = SOLREF, SOLIMP
        joint.armature, joint.damping = ARMATURE, [DAMPING, 0.0, 0.0]
    for body in spec.bodies[1:]:
        body.gravcomp = 1.0  # the weld carries only the motion, so the hand does not sag
    for geom in spec.geoms:
        if geom.rgba[3] == 0.0:
            spec.delete(geom)  # metaworld's invisible collision shapes
        else:
            geom.contype = geom.conaffinity = 0  # only tools touch things

    tool = spec.body("right_hand").add_body(
        name="tool", pos=[0.0, -ahead, below], quat=[0.0, 1.0, 0.0, 0.0], gravcomp=1.0
    )
    spec.worldbody.add_body(name="target", mocap=True)
    weld = spec.add_equality(
        name="leash",
        type=mujoco.mjtEq.mjEQ_WELD,
        objtype=mujoco.mjtObj.mjOBJ_BODY,
        name1="target",
        name2="tool",
    )
    weld.data[:] = 0.0
    weld.data[6] = 1.0  # relpose: the identity; left at zero, the pose of the model file would be kept
    weld.data[10] = WELD_TORQUE
    weld.solref, weld.solimp = WELD_SOLREF, WELD_SOLIMP

    _furnish(mujoco, spec)
    return spec, tool


def _furnish(mujoco: ModuleType, spec: Any) -> None:
    """Floor, light and sky: for the eye only."""
    spec.visual.headlight.ambient = [0.4, 0.4, 0.4]
    spec.visual.headlight.diffuse = [0.45, 0.45, 0.45]
    spec.visual.global_.offwidth = spec.visual.global_.offheight = 1024
    spec.visual.map.znear = 0.02
    spec.visual.quality.shadowsize = 2048
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.75, 0.82, 0.90],
        rgb2=[0.45, 0.52, 0.60],
        width=64,
        height=384,
    )
    spec.worldbody.add_light(
        pos=[0.4, -0.6, 2.5],
        dir=[-0.1, 0.45, -1.0],
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        diffuse=[0.3, 0.3, 0.3],
        castshadow=True,
    )
    spec.worldbody.add_geom(
        name="floor",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        pos=[0.0, 0.0, FLOOR],
        size=[3.0, 3.0, 0.1],
        rgba=[0.55, 0.58, 0.62, 1.0],
        contype=0,
        conaffinity=0,
    )


def add_table(mujoco: ModuleType, spec: Any, friction: tuple[float, float, float], condim: int) -> None:
    """A table with its top at z = 0: a plane for contacts (nothing can fall through), a slab for the eye.

    With `condim` 6 it resists rolling, with 3 only sliding.
    """
    spec.worldbody.add_geom(
        name="table",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        pos=[0.0, 0.6, 0.0],
        size=[0.7, 0.4, 0.1],
        rgba=WOOD,
        contype=FIXED,
        conaffinity=OBJECT,
        friction=friction,
        condim=condim,
        solref=SOLREF,
        solimp=SOLIMP,
    )
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=[0.0, 0.6, -0.028],
        size=[0.7, 0.4, 0.025],
        rgba=WOOD,
        contype=0,
        conaffinity=0,
    )
    for x in (-0.64, 0.64):
        for y in (0.26, 0.94):
            spec.worldbody.add_geom(
                type=mujoco.mjtGeom.mjGEOM_BOX,
                pos=[x, y, FLOOR / 2 - 0.02],
                size=[0.03, 0.03, -FLOOR / 2 - 0.02],
                rgba=STEEL,
                contype=0,
                conaffinity=0,
            )
