"""What the three Sawyer tasks share: a hand on a leash, and its home pose.

The hand is dragged by a weld to a mocap body, as in the 2021 release; what differs is that the target
glides within a control step and may run only a little ahead of the hand, so that a blocked arm presses
gently instead of throwing things.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mural.errors import ArgumentError
from mural.tasks.base import Floats
from mural.tasks.robots.mujoco_base import MujocoTask
from mural.tasks.robots.sawyer_scene import HOME

HORIZON = 100  # release
STEP = 0.02  # release: metres that the hand's target moves in one step at full action
FRAME_SKIP = 25  # ours: with the scene's 4 ms, the release's 0.1 s (50 physics steps of 2 ms) at half the cost
CHUNKS = 5  # ours: the target glides in five parts; in one jump it throws the puck off the table
LEAD = 0.009  # ours: metres by which the target may run ahead of the hand (free motion needs 7 mm)
SLACK = 0.05  # ours: metres around the hand's box that the observation space leaves it, pressed or swinging

_ONE = np.ones(3)


def _clip(x: Floats, low: Floats, high: Floats) -> Floats:
    """`np.clip` without its overhead, which would cost a tenth of a step."""
    return np.minimum(np.maximum(x, low), high)


class SawyerTask(MujocoTask):
    """A task for the arm. A subclass gives the scene and the box that confines the hand."""

    frame_skip = FRAME_SKIP
    chunks = CHUNKS
    horizon = HORIZON

    hand_low: ClassVar[Floats]
    """Lower corner of the box that confines the hand's target."""
    hand_high: ClassVar[Floats]

    def _build(self) -> None:
        super()._build()
        model, data = self.model, self.data
        self._tool = model.body("tool").id
        self._arm = [int(model.joint(f"right_j{i}").qposadr[0]) for i in range(7)]
        self._arm_dofs = [int(model.joint(f"right_j{i}").dofadr[0]) for i in range(7)]
        # Views into the simulation: MuJoCo writes in place.
        self._hand = data.xpos[self._tool]
        self._mocap = data.mocap_pos[0]

    @property
    def hand(self) -> Floats:
        """Where the hand is."""
        return np.array(self._hand)

    def _control(self, action: Floats) -> None:
        self._from = self._mocap.copy()
        self._to = _clip(self._from + STEP * self._velocity(action), self.hand_low, self.hand_high)

    def _velocity(self, action: Floats) -> Floats:
        """The part of the action that moves the hand, as a vector in [-1, 1]³."""
        return action[:3]

    def _ramp(self, fraction: float) -> None:
        glide = self._from + (self._to - self._from) * fraction
        self._mocap[:] = _clip(glide, self._hand - LEAD, self._hand + LEAD)

    def _place_hand(self, position: Floats) -> None:
        """Put the hand, at rest and pointing down, at `position`: inverse kinematics from the home pose."""
        mujoco, model, data = self._mujoco, self.model, self.data
        data.qpos[self._arm] = HOME
        data.qvel[:] = 0.0
        jacobian = np.zeros((6, model.nv))
        for _ in range(100):
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_jacBody(model, data, jacobian[:3], jacobian[3:], self._tool)
            axes = data.xmat[self._tool].reshape(3, 3).T
            error = np.concatenate([position - self._hand, 0.5 * np.cross(axes, np.eye(3)).sum(axis=0)])
            if np.abs(error).max() < 1e-7:
                break
            arm = jacobian[:, self._arm_dofs]
            change = arm.T @ np.linalg.solve(arm @ arm.T + 1e-4 * np.eye(6), error)
            data.qpos[self._arm] += np.clip(change, -0.2, 0.2)
        else:
            raise ArgumentError(f"the hand cannot reach {position}")
        data.mocap_pos[0] = position
        data.mocap_quat[0] = (1.0, 0.0, 0.0, 0.0)

    def _towards(self, aim: Floats) -> Floats:
        """The velocity action that brings the hand's target to `aim`, or as near as one step can."""
        return _clip((aim - self._mocap) / STEP, -_ONE, _ONE)
