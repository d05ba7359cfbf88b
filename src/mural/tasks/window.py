"""A window that shows frames, for `render_mode="human"`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mural.tasks.base import DisplayError


class Window:
    """One Matplotlib window; `show` replaces its picture."""

    def __init__(self, title: str) -> None:
        from matplotlib import pyplot as plt

        self._plt: Any = plt
        self._figure = plt.figure(title, figsize=(5.12, 5.12))
        if not hasattr(self._figure.canvas.manager, "window"):
            plt.close(self._figure)
            raise DisplayError(
                f"Matplotlib's back end {plt.get_backend()!r} opens no windows; install tkinter or PyQt6, "
                'set MPLBACKEND, or use render_mode="rgb_array"'
            )
        axes = self._figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        self._axes = axes
        self._image: Any = None

    def show(self, frame: NDArray[np.uint8]) -> None:
        """Show a frame [height, width, 3] and let the window react to its user."""
        if self._image is None:
            self._image = self._axes.imshow(frame)
            self._plt.show(block=False)
        self._image.set_data(frame)
        self._figure.canvas.draw_idle()
        self._figure.canvas.flush_events()

    def close(self) -> None:
        """Close the window."""
        self._plt.close(self._figure)
