"""The callback that draws a run while it trains."""

from __future__ import annotations

import math
from pathlib import Path

from mural.training.callbacks import Say
from mural.training.failures import Row
from mural.training.recorder import Recorder
from mural.training.run import Run

MOMENTS = 30  # maps of a run, about, however long it is: the slider of `mural report`


class Pictures:
    """Draws reward and visits every `watch.picture_every` epochs and at the end, where the states are a plane.

    It also keeps them as numbers, a few kB each, at about `MOMENTS` epochs.
    """

    def __init__(self, recorder: Recorder, say: Say) -> None:
        self._recorder, self._say = recorder, say
        self._due = self._behind = False  # whether the last epoch has no picture, no map

    def on_epoch(self, run: Run, row: Row) -> None:
        """Draw when it is time."""
        every = run.config.watch.picture_every
        self._due = bool(every and run.epoch % every)
        if every and not self._due:
            self._draw(run)
        self._behind = bool(every and run.epoch % between(run.config.steps, run.epoch_steps))
        if every and not self._behind:
            self._keep(run)

    def on_failure(self, run: Run, error: BaseException) -> None:
        """No last picture of what broke off."""
        self._due = self._behind = False

    def on_end(self, run: Run) -> None:
        """The last picture and the last map, if the last epoch has none."""
        if self._due:
            self._draw(run)
        if self._behind:
            self._keep(run)

    def _keep(self, run: Run) -> None:
        from mural.show.pictures import run_map  # loads matplotlib

        try:
            kept = run_map(run)
            if kept is not None:
                kept.save(self._recorder.folder.path / "maps" / f"{run.step:010d}.npz")
        except OSError as error:
            self._say(f"no map: {error}")

    def _draw(self, run: Run) -> None:
        from mural.show.pictures import run_picture  # loads matplotlib

        path: Path = self._recorder.folder.path / "pictures" / f"{run.step:010d}.png"
        try:
            image = run_picture(run, path)
            if image is not None and self._recorder.board is not None:
                self._recorder.board.image("reward and visits", image, run.step)
        except OSError as error:
            self._say(f"no picture: {error}")


def between(steps: int, epoch_steps: int) -> int:
    """Epochs from one map to the next, for a run of so many steps."""
    return max(1, math.ceil(steps / epoch_steps / MOMENTS))
