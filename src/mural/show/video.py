"""Films of a policy: .mp4 by ffmpeg, or .gif, which needs nothing more."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from mural.atomic import replacing
from mural.errors import MuralError
from mural.inputs import world as worlds
from mural.inputs.spaces import Env
from mural.training.evaluate import episode
from mural.training.player import Player
from mural.training.run import Run

Frame = NDArray[np.uint8]
FPS = 30  # where the environment does not say


class VideoError(MuralError, RuntimeError):
    """There can be no video: of this environment, in this format, or without a package. The message says which."""


def record(
    played: Run | Player, path: str | Path, episodes: int = 3, progress: Callable[[int], None] = lambda done: None
) -> Path:
    """Film the first episodes of an evaluation. `progress` is called with the number of episodes that are done."""
    path = Path(path)
    write = {".mp4": _write_mp4, ".gif": _write_gif}.get(path.suffix.lower())
    if write is None:
        raise VideoError(f"{path.name}: a video is an .mp4 or a .gif file")
    if episodes < 1:
        raise VideoError(f"{episodes} episodes make no video; at least one is needed")
    player = Player.of(played) if isinstance(played, Run) else played
    with closing(filmable(player)) as env, replacing(path) as scratch:
        write(scratch, _frames(player, env, episodes, progress), int(env.metadata.get("render_fps") or FPS))
    return path


def filmable(player: Player) -> Env:
    """The player's environment made anew, so that it returns its pictures."""
    first, name = player.env, player.task
    spec = first.spec
    how = 'it has to offer render_mode="rgb_array"'
    if spec is None:
        raise VideoError(f"{name} was passed as an object that Gymnasium cannot make again; register it, and {how}")
    if "rgb_array" not in first.metadata.get("render_modes", []):
        raise VideoError(f"{name} cannot render: {how}, which is not among its metadata's render_modes")
    try:
        return worlds.make_env(spec.id, **{**spec.kwargs, "render_mode": "rgb_array"})
    except Exception as error:  # whatever the environment's own drawing needs
        raise VideoError(f"{name} cannot render: {error}") from error


def _frames(player: Player, env: Env, episodes: int, progress: Callable[[int], None]) -> Iterator[Frame]:
    for done, seed in enumerate(player.starts(episodes), start=1):
        seen: list[Frame] = []
        episode(env, player.spaces, player.policy, seed, player.longest, lambda e, seen=seen: seen.append(_frame(e)))  # type: ignore[misc]
        yield from seen
        yield _frame(env)
        progress(done)


def _frame(env: Env) -> Frame:
    try:
        frame: Any = env.render()
    except (gymnasium.error.Error, ImportError, RuntimeError) as error:
        raise VideoError(f"the environment cannot render: {error}") from error
    if not isinstance(frame, np.ndarray) or frame.ndim != 3 or frame.shape[2] != 3:
        raise VideoError("the environment's render() returned no picture [height, width, 3]")
    height, width = frame.shape[0] % 2, frame.shape[1] % 2  # video formats want even sizes
    return np.pad(frame, ((0, height), (0, width), (0, 0)), mode="edge") if height or width else frame


def _write_mp4(path: Path, frames: Iterator[Frame], fps: int) -> None:
    install = "pip install 'imageio[ffmpeg]' brings it; a .gif needs nothing more"
    if any(importlib.util.find_spec(package) is None for package in ("imageio", "imageio_ffmpeg")):
        raise VideoError(f"an .mp4 needs imageio with ffmpeg: {install}")
    import imageio.v2 as imageio

    writer: Any = imageio.get_writer(path, format="FFMPEG", fps=fps, macro_block_size=2)
    with warnings.catch_warnings(), writer:
        # JAX warns of forks, which are dangerous where the child goes on in Python. This one becomes ffmpeg at once.
        warnings.filterwarnings("ignore", message=r"os\.fork\(\) was called", category=RuntimeWarning)
        for frame in frames:
            writer.append_data(frame)


def _write_gif(path: Path, frames: Iterator[Frame], fps: int) -> None:
    from PIL import Image

    first, *rest = (Image.fromarray(frame).quantize(64) for frame in frames)
    first.save(path, save_all=True, append_images=rest, duration=round(1000 / fps), loop=0)
