"""What the MuJoCo tasks share: building the model, stepping, state, rendering and pickling.

A subclass gives `_build_spec` (the scene as an ``MjSpec`` with a camera named ``task``), `_reset`, `_control`
(what an action sets), `_succeed` (a state in which the task is done) and, if its targets move within a step,
`_ramp`.
"""

from __future__ import annotations

import os
import sys
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes.util import find_library
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mural.errors import MuralError
from mural.tasks.base import DisplayError, Floats, MissingExtraError, Task, has_display, require_display

TRIES = 10  # per success example: most tasks need one, a change of MuJoCo must not make this wait for ever


GL_OFF = ("disable", "disabled", "off", "false", "0")  # values of MUJOCO_GL that switch drawing off


class PhysicsError(MuralError, RuntimeError):
    """The simulation is no longer trustworthy: MuJoCo warned, or the state is not finite."""


def require_mujoco(task: str) -> ModuleType:
    """Import ``mujoco``, or say what to install.

    MuJoCo chooses its OpenGL back end when it is imported. Without a display only EGL can draw, so that
    is what is chosen here, unless ``MUJOCO_GL`` is set or MuJoCo has been imported before. Where there is no EGL
    either, drawing is switched off: importing MuJoCo would fail otherwise, and physics needs no pictures.
    """
    if not has_display() and "mujoco" not in sys.modules:
        os.environ.setdefault("MUJOCO_GL", "egl" if find_library("EGL") else "disabled")
    try:
        import mujoco
    except ImportError as error:
        raise MissingExtraError.robots(task, "mujoco") from error
    except AttributeError as error:  # what OpenGL's own module raises where the library that it asks for is not there
        way = os.environ.get("MUJOCO_GL", "")
        raise MissingExtraError(
            f"MuJoCo cannot draw with MUJOCO_GL={way} here ({error}): install that library, or leave MUJOCO_GL unset"
        ) from error
    module: ModuleType = mujoco
    return module


class MujocoTask(Task):
    """A task whose dynamics are a MuJoCo model.

    One control step is `frame_skip` physics steps, run in `chunks` equal parts; before each part `_ramp`
    may move the targets, so that a target dragged across the table does not hit objects like a hammer.
    """

    frame_skip: ClassVar[int]
    chunks: ClassVar[int] = 1
    camera: ClassVar[str] = "task"
    image_size: ClassVar[tuple[int, int]] = (480, 480)
    """Height and width of rendered frames."""

    model: Any
    data: Any

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(render_mode=render_mode)
        self._build()

    # What a subclass gives

    @abstractmethod
    def _build_spec(self, mujoco: ModuleType) -> Any:
        """The scene as an ``mujoco.MjSpec``."""

    @abstractmethod
    def _control(self, action: Floats) -> None:
        """Set controls and targets for the coming control step."""

    def _ramp(self, fraction: float) -> None:
        """Move targets before a part of the control step that ends at `fraction` (0 to 1] of it."""

    @abstractmethod
    def _succeed(self, rng: np.random.Generator) -> None:
        """Bring the simulation into a state in which the task is done, another one each time."""

    # Model, stepping and state

    def _build(self) -> None:
        self._mujoco = require_mujoco(type(self).__name__)
        spec = self._build_spec(self._mujoco)
        # The sparse solver of MuJoCo 4.0.0 is wrong, and dense is no slower for models of this size.
        spec.option.jacobian = self._mujoco.mjtJacobian.mjJAC_DENSE
        self.model = spec.compile()
        self.data = self._mujoco.MjData(self.model)
        self._warnings = self.data.warning.number  # a view: MuJoCo counts in place
        self._renderer: Any = None
        self._window: Any = None

    def _advance(self, action: Floats) -> None:
        mujoco, model, data = self._mujoco, self.model, self.data
        self._control(action)
        for chunk in range(self.chunks):
            self._ramp((chunk + 1) / self.chunks)
            mujoco.mj_step(model, data, self.frame_skip // self.chunks)
        self._settle_kinematics()

    def _settle_kinematics(self) -> None:
        """Bring body poses up to date with the state (they lag one physics step) and check the state."""
        self._mujoco.mj_kinematics(self.model, self.data)
        if self._warnings.any() or not (np.isfinite(self.data.qpos).all() and np.isfinite(self.data.qvel).all()):
            kinds = [str(self._mujoco.mjtWarning(i).name) for i in np.flatnonzero(self._warnings)]
            raise PhysicsError(
                f"{type(self).__name__}: the simulation became invalid at time {self.data.time:.3f} s "
                f"({', '.join(kinds) or 'state not finite'}); reset the environment"
            )

    def _simulate(self, steps: int) -> None:
        """Run `steps` physics steps with the controls as they are."""
        self._mujoco.mj_step(self.model, self.data, steps)
        self._settle_kinematics()

    def _clear(self) -> None:
        """Put the physics into the model's initial state (the start of every `_reset`)."""
        self._mujoco.mj_resetData(self.model, self.data)

    def get_physics(self) -> Floats:
        """The full state of the integrator: with it, stepping continues bit for bit."""
        kind = self._mujoco.mjtState.mjSTATE_INTEGRATION
        state = np.empty(self._mujoco.mj_stateSize(self.model, kind))
        self._mujoco.mj_getState(self.model, self.data, state, kind)
        return state

    def set_physics(self, state: Floats) -> None:
        """Return to a state from `get_physics`."""
        kind = self._mujoco.mjtState.mjSTATE_INTEGRATION
        self._mujoco.mj_resetData(self.model, self.data)
        self._mujoco.mj_setState(self.model, self.data, state, kind)
        self._mujoco.mj_forward(self.model, self.data)  # poses and contacts, for rendering and inspection

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        """Use the simulation for something else and leave it as it was."""
        state = self.get_physics()
        try:
            yield
        finally:
            self.set_physics(state)

    def _successes(self, n: int, rng: np.random.Generator) -> Iterator[None]:
        """Bring the simulation into `n` states in which the task is done, one after the other, and back."""
        with self._undisturbed():
            found = 0
            for _ in range(TRIES * n):
                self._succeed(rng)
                if self.is_success(self.observe()):
                    found += 1
                    yield
                if found == n:
                    return
        raise PhysicsError(f"{type(self).__name__}: of {TRIES * n} tries to make an example, {found} were successes")

    def _make_examples(self, n: int, rng: np.random.Generator) -> Floats:
        return np.stack([self.observe() for _ in self._successes(n, rng)])

    # Rendering

    def render(self) -> NDArray[np.uint8] | None:
        """A frame (``rgb_array``), or an update of the window (``human``)."""
        if self.render_mode is None:
            return None
        self._mujoco.mj_camlight(self.model, self.data)  # `_settle_kinematics` leaves cameras and lights out
        if self.render_mode == "human":
            self._show()
            return None
        if self._renderer is None:
            if not (has_display() or "MUJOCO_GL" in os.environ):  # the back end was chosen before we could
                raise DisplayError("there is no display: set MUJOCO_GL=egl before mujoco is imported")
            if os.environ.get("MUJOCO_GL", "").lower() in GL_OFF:
                raise DisplayError("drawing without a display needs EGL: install it (Debian and Ubuntu: libegl1)")
            self._renderer = self._mujoco.Renderer(self.model, *self.image_size)
        self._renderer.update_scene(self.data, camera=self.camera)
        frame: NDArray[np.uint8] = self._renderer.render()
        return frame

    def _show(self) -> None:
        if self._window is None:
            require_display()  # without one, MuJoCo's viewer would wait for ever
            from mural.tasks.window import RobotWindow

            self._window = RobotWindow(self.model, self.data, self.camera, self.metadata["render_fps"])
        self._window.show()

    def close(self) -> None:
        """Free the renderer and the window; the environment itself stays usable."""
        for handle in (self._renderer, self._window):
            if handle is not None:
                handle.close()
        self._renderer = self._window = None

    # Pickling: the model is rebuilt, the state is kept

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for name in ("model", "data", "_mujoco", "_warnings", "_renderer", "_window"):
            state.pop(name)
        return state | {"_physics": self.get_physics()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        physics = state.pop("_physics")
        self.__dict__.update(state)
        self._build()
        self.set_physics(physics)
