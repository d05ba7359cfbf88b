"""The ant maze: a quadruped walks around a wall.

The robot is Gymnasium's own ``ant.xml`` with weaker motors; the walls are added here.
"""

from __future__ import annotations

import math
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike

from mural.tasks.base import Floats
from mural.tasks.plane import Plane, columns
from mural.tasks.robots.ant_gait import Steering
from mural.tasks.robots.mujoco_base import MujocoTask

HORIZON = 400  # release
THRESHOLD = 5.0  # paper A.4.2
START = (-5.5, 4.5)  # release
GOAL = (5.5, 4.5)  # release
ARENA = (7.0, 5.5)  # release: |x| < 7, |y| < 5.5
WALL_X = (-1.25, 1.25)  # release
WALL_Y = (-2.5, 5.5)  # release: the passage is below
GEAR = 30.0  # release; Gymnasium's ant has 150
STEP_TIME = 0.15  # release: seconds per control step

# ours: implicit integration in steps of 10 ms, and contacts that begin softly 5 cm before touching. With RK4
# in steps of 30 ms, random actions sink the feet up to 10 cm into the floor, or they must float 12 cm above
# it. With these settings they stay out, a step costs a third less, and random sine gaits go as far (35 m in
# 400 steps; RK4 33 m).
TIMESTEP = 0.01
CONTACT_MARGIN = 0.05
CONTACT_SOLIMP = (0.2, 0.95, 0.05, 0.5, 2.0)
START_HEIGHT = 0.59  # ours: it stands; Gymnasium's ant is dropped from 0.75
START_JOINTS = (0.0, 1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0)  # Gymnasium's: all ankles bent by 1 rad
WALL_HEIGHT = 0.5  # for the eye; ours: what stops the ant is taller, since it can jump
BARRIER_HEIGHT = 3.0
HIDDEN = 3  # the geom group that MuJoCo does not draw by default

EXAMPLE_X = (-1.0, 0.5)  # release: examples start this far from the goal …
EXAMPLE_Y = (-2.0, 0.5)
EXAMPLE_ACTIONS = 10  # … and take this many random actions

# ours: waypoints of the scripted controller, around the free end of the wall
ROUTE = ((-2.6, -4.0), (2.6, -4.0), GOAL)

WALL_RGBA, GOAL_RGBA = (0.36, 0.43, 0.55, 1.0), (0.10, 0.75, 0.25, 1.0)


class AntMaze(MujocoTask):
    """An ant starts at the upper left of a U-shaped room; its goal is at the upper right.

    Observation (15): torso xyz, torso quaternion (w first), 8 joint angles. Action (8): torques.
    Success: the torso's maze distance to the goal is below 5.
    """

    frame_skip: ClassVar[int] = round(STEP_TIME / TIMESTEP)
    image_size: ClassVar[tuple[int, int]] = (400, 480)
    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array", "human"], "render_fps": 7}  # type: ignore[misc]
    varies = False
    horizon = HORIZON
    success_threshold = THRESHOLD

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(render_mode=render_mode)
        self.goal = np.array(GOAL)
        # Bounds that no state reaches: the arena, twice the height that the ant can jump, soft joint limits.
        high = np.array([*ARENA, 4.0, *[1.01] * 4, *[math.pi] * 8])
        low = -high
        low[2] = -0.1
        self.observation_space = spaces.Box(low, high, dtype=np.float64)
        self.action_space = spaces.Box(-1.0, 1.0, (8,), dtype=np.float32)
        self._steering = Steering(ROUTE)

    def _build_spec(self, mujoco: ModuleType) -> Any:
        assets = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
        spec = mujoco.MjSpec.from_file(str(assets / "ant.xml"))
        spec.option.timestep = TIMESTEP
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        for motor in spec.actuators:
            motor.gear[0] = GEAR
        for geom in spec.geoms:
            geom.margin = 0.0  # the floor and the walls have it; MuJoCo adds the two
        _add_walls(mujoco, spec)
        _furnish(mujoco, spec)
        return spec

    def _reset(self) -> None:
        self._place(*START)
        self._steering = Steering(ROUTE)

    def _place(self, x: float, y: float) -> None:
        """Stand the ant at (x, y), at rest."""
        self._clear()
        self.data.qpos[:] = (x, y, START_HEIGHT, 1.0, 0.0, 0.0, 0.0, *START_JOINTS)
        self._mujoco.mj_forward(self.model, self.data)

    def _control(self, action: Floats) -> None:
        self.data.ctrl[:] = action

    def observe(self) -> Floats:
        """Positions only, as in the paper."""
        return np.array(self.data.qpos)

    def distance(self, obs: ArrayLike) -> Floats:
        """Length of the shortest path along the axes from the torso around the wall to the goal.

        The release measures in Manhattan legs, which is where its 25 from start to goal comes from (11 across,
        7 down, 7 up); the threshold of 5 belongs to that measure, so it is used here. The wall is as drawn:
        not inflated by the ant's size.
        """
        torso = np.asarray(obs, dtype=np.float64)
        x, y = torso[..., 0], torso[..., 1]
        lowest = np.minimum(y, WALL_Y[0])
        vertical = np.where(x >= WALL_X[1], np.abs(y - GOAL[1]), (y - lowest) + (GOAL[1] - lowest))
        return np.asarray(np.abs(x - GOAL[0]) + vertical)

    def _straight(self, distance: float) -> float:
        return math.hypot(self.data.qpos[0] - GOAL[0], self.data.qpos[1] - GOAL[1])

    def xy(self) -> Floats:
        """The torso's place, [2]."""
        return np.array(self.data.qpos[:2])

    @property
    def plane(self) -> Plane:
        """The room from above, as the torso moves in it."""
        (x0, x1), (y0, y1) = WALL_X, WALL_Y
        low = -ARENA[0], -ARENA[1]
        return Plane(low, ARENA, places=columns(0, 1), walls=((x0, y0, x1, y1),), start=START)

    def scripted_action(self) -> Floats:
        """A fixed sine gait, turned to whichever of eight directions points along the route."""
        return self._steering.act(self.data.qpos[:7])

    def _succeed(self, rng: np.random.Generator) -> None:
        """As in the release: placed near the goal, then ten random actions."""
        self._place(GOAL[0] + rng.uniform(*EXAMPLE_X), GOAL[1] + rng.uniform(*EXAMPLE_Y))
        while self._touches_wall():  # the upper edge of the release's range puts the legs into the wall
            self._place(GOAL[0] + rng.uniform(*EXAMPLE_X), GOAL[1] + rng.uniform(*EXAMPLE_Y))
        for action in rng.uniform(-1.0, 1.0, (EXAMPLE_ACTIONS, 8)):
            self._advance(action)

    def _touches_wall(self) -> bool:
        return bool((self.data.contact.geom != self.model.geom("floor").id).all(axis=1).any())


def _add_walls(mujoco: ModuleType, spec: Any) -> None:
    """Solid walls. The outer ones are half-spaces: however fast the ant is, there is no other side."""
    contact = {"margin": CONTACT_MARGIN, "solimp": CONTACT_SOLIMP, "priority": 1, "conaffinity": 1}
    floor = spec.geom("floor")
    for name, value in contact.items():
        setattr(floor, name, value)
    for name, (nx, ny) in {"east": (-1, 0), "west": (1, 0), "north": (0, -1), "south": (0, 1)}.items():
        plane = spec.worldbody.add_geom(
            name=name, type=mujoco.mjtGeom.mjGEOM_PLANE, pos=[-nx * ARENA[0], -ny * ARENA[1], 0.0],
            size=[1.0, 1.0, 1.0], group=HIDDEN, **contact,
        )  # fmt: skip
        plane.alt.type = mujoco.mjtOrientation.mjORIENTATION_ZAXIS
        plane.alt.zaxis = [nx, ny, 0]
    (x0, x1), (y0, y1) = WALL_X, WALL_Y
    spec.worldbody.add_geom(
        name="wall", **_box(mujoco, x0, x1, y0, y1, BARRIER_HEIGHT), group=HIDDEN, **contact
    )  # fmt: skip
    width, depth = ARENA
    edge = 0.25  # thickness of the outer walls
    for low_x, high_x, low_y, high_y in (
        (x0, x1, y0, y1),
        (-width - edge, -width, -depth - edge, depth + edge),
        (width, width + edge, -depth - edge, depth + edge),
        (-width, width, depth, depth + edge),
        (-width, width, -depth - edge, -depth),
    ):
        box = _box(mujoco, low_x, high_x, low_y, high_y, WALL_HEIGHT)
        spec.worldbody.add_geom(**box, rgba=WALL_RGBA, contype=0, conaffinity=0)


def _box(mujoco: ModuleType, x0: float, x1: float, y0: float, y1: float, height: float) -> dict[str, Any]:
    return {
        "type": mujoco.mjtGeom.mjGEOM_BOX,
        "pos": [(x0 + x1) / 2, (y0 + y1) / 2, height / 2],
        "size": [(x1 - x0) / 2, (y1 - y0) / 2, height / 2],
    }


def _furnish(mujoco: ModuleType, spec: Any) -> None:
    """Camera, lights, colours and the goal's mark: for the eye only."""
    for light in spec.lights:
        spec.delete(light)
    floor = spec.geom("floor")
    floor.size = [ARENA[0] + 0.25, ARENA[1] + 0.25, 1.0]
    floor.rgba = [1.0, 1.0, 1.0, 1.0]
    tiles = spec.texture("texplane")
    tiles.rgb1, tiles.rgb2 = [0.66, 0.69, 0.72], [0.60, 0.63, 0.66]
    for texture in spec.textures:
        if int(texture.type) == int(mujoco.mjtTexture.mjTEXTURE_SKYBOX):
            texture.rgb1, texture.rgb2 = [0.75, 0.82, 0.90], [0.45, 0.52, 0.60]
    material = spec.material("MatPlane")
    material.texuniform, material.texrepeat = True, [0.5, 0.5]  # a tile is two metres wide
    material.reflectance = material.specular = 0.0
    spec.visual.headlight.ambient = [0.4, 0.4, 0.4]
    spec.visual.headlight.diffuse = [0.3, 0.3, 0.3]
    spec.visual.quality.shadowsize = 4096
    spec.worldbody.add_light(
        pos=[-3.0, -4.0, 12.0], dir=[0.25, 0.35, -1.0], type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        diffuse=[0.5, 0.5, 0.5], castshadow=True,
    )  # fmt: skip
    spec.worldbody.add_site(
        name="goal",
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        pos=[*GOAL, 0.01],
        size=[0.6, 0.01, 0.0],
        rgba=GOAL_RGBA,
    )
    camera = spec.worldbody.add_camera(name="task", pos=[0.0, -8.6, 15.5], fovy=44.0)
    camera.alt.type = mujoco.mjtOrientation.mjORIENTATION_XYAXES
    camera.alt.xyaxes = [1.0, 0.0, 0.0, 0.0, 15.5, 8.2]
