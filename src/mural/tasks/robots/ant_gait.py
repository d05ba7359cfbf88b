"""The ant's scripted controller: one sine gait, turned and mirrored by the ant's symmetry."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mural.tasks.base import Floats

# Legs are counted counter-clockwise from (+x, +y), each with hip and ankle; the motors of ant.xml start with
# the last of them.
MOTOR_LEGS = [3, 0, 1, 2]
# With this sign, positive torque presses every foot down: ant.xml turns two of the ankle axes around.
ANKLE_SIGN = np.array([1.0, -1.0, -1.0, 1.0])

# Torque of a joint: offset + amplitude · sin(FREQUENCY · step + phase), clipped to the action box. Found by
# random search (about 1,300 gaits on an open floor, scored by distance in the body's frame minus turning) and
# 35 s of hill climbing from the four best; this one covers 0.28 m per step. Rows: legs; columns: hip, ankle.
AMPLITUDE = np.array([[0.83, 0.60], [0.78, 0.57], [0.89, 1.16], [1.07, 0.94]])
PHASE = np.array([[3.02, 3.30], [5.14, 4.35], [6.82, 2.79], [2.28, 0.34]])
OFFSET = np.array([[0.39, 0.22], [0.08, -0.28], [-0.30, -0.10], [-0.02, -0.46]])
FREQUENCY = 1.152  # radians per control step
HEADING = 0.44  # the way it walks, in radians from the body's x axis
HOLD = 3  # steps between choices of direction
ARRIVED = 1.2  # metres from a waypoint at which the next one counts

OPTIONS = [(turn, mirror) for turn in range(4) for mirror in (False, True)]


def gait(step: int, turn: int = 0, mirror: bool = False) -> Floats:
    """The open-loop gait's action at a step, mirrored left to right, then turned by quarter turns.

    The ant has the symmetry of a square, so the eight copies of a gait walk alike in eight directions.
    """
    torque = OFFSET + AMPLITUDE * np.sin(FREQUENCY * step + PHASE)
    if mirror:
        torque = torque[::-1] * np.array([-1.0, 1.0])
    torque = np.roll(torque, turn, axis=0)
    torque[:, 1] *= ANKLE_SIGN
    return np.clip(torque[MOTOR_LEGS].ravel(), -1.0, 1.0)


def heading(turn: int, mirror: bool) -> float:
    """The direction in which a copy of the gait walks, in radians from the body's x axis."""
    return turn * math.pi / 2 + (-HEADING if mirror else HEADING)


class Steering:
    """Follows a route: the gait is open-loop, but every few steps the copy that points best is chosen."""

    def __init__(self, route: Sequence[tuple[float, float]]) -> None:
        self._route = list(route)
        self._step = 0
        self._copy = OPTIONS[0]

    def act(self, pose: Floats) -> Floats:
        """The action at a torso pose (xyz, quaternion)."""
        x, y, _, w, i, j, k = pose.tolist()
        while len(self._route) > 1 and math.dist((x, y), self._route[0]) < ARRIVED:
            del self._route[0]
        if self._step % HOLD == 0:
            yaw = math.atan2(2.0 * (w * k + i * j), 1.0 - 2.0 * (j * j + k * k))
            bearing = math.atan2(self._route[0][1] - y, self._route[0][0] - x) - yaw
            self._copy = max(OPTIONS, key=lambda option: math.cos(bearing - heading(*option)))
        self._step += 1
        return gait(self._step - 1, *self._copy)
