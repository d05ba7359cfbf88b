"""Windows for `render_mode="human"`: one that shows frames, one onto a MuJoCo simulation."""

from __future__ import annotations

import atexit
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mural.tasks.base import DisplayError


class Clock:
    """Paces what is shown at the speed of the task: unpaced, an episode is over in a blink."""

    def __init__(self, fps: float) -> None:
        self._period = 1.0 / fps
        self._due = time.monotonic()

    def wait(self) -> None:
        """Wait until the next frame is due."""
        now = time.monotonic()
        self._due = max(self._due + self._period, now)
        time.sleep(self._due - now)


class FrameWindow:
    """One Matplotlib window; `show` replaces its picture. If its user closes it, nothing more is shown."""

    def __init__(self, title: str, fps: float) -> None:
        from matplotlib import pyplot as plt

        self._plt: Any = plt
        self._figure = plt.figure(title, figsize=(5.12, 5.12))
        if self._figure.canvas.required_interactive_framework is None:
            plt.close(self._figure)
            raise DisplayError(
                f"Matplotlib's back end {plt.get_backend()!r} opens no windows; install tkinter or PyQt6, "
                'set MPLBACKEND, or use render_mode="rgb_array"'
            )
        axes = self._figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        self._axes = axes
        self._image: Any = None
        self._clock = Clock(fps)

    def show(self, frame: NDArray[np.uint8]) -> None:
        """Show a frame [height, width, 3] and let the window react to its user."""
        if self._image is None:
            self._image = self._axes.imshow(frame)
            self._plt.show(block=False)
        if not self._plt.fignum_exists(self._figure.number):
            return
        self._image.set_data(frame)
        self._figure.canvas.draw_idle()
        self._figure.canvas.flush_events()
        self._clock.wait()

    def close(self) -> None:
        """Close the window."""
        self._plt.close(self._figure)


class RobotWindow:
    """MuJoCo's passive viewer, looking through a camera of the model.

    The viewer draws in a thread of its own, which goes on for a moment after the viewer was told to close. If
    the process ends within that moment, it crashes; so `close` waits, and a window that nobody closed is
    closed at exit.
    """

    def __init__(self, model: Any, data: Any, camera: str, fps: float) -> None:
        import mujoco
        from mujoco import viewer

        before = set(threading.enumerate())
        self._viewer: Any = viewer.launch_passive(model, data, show_left_ui=False, show_right_ui=False)
        self._threads = [thread for thread in threading.enumerate() if thread not in before]
        # MuJoCo registered its own clean-up while launching; what is registered later runs earlier.
        atexit.register(self.close)
        self._viewer.cam.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._viewer.cam.fixedcamid = model.camera(camera).id
        self._clock = Clock(fps)

    def show(self) -> None:
        """Show the simulation as it is now."""
        self._viewer.sync()
        self._clock.wait()

    def close(self) -> None:
        """Close the window and wait until it is gone."""
        atexit.unregister(self.close)
        self._viewer.close()
        for thread in self._threads:
            thread.join()
