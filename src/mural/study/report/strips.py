"""Strips: a few frames of an episode of a run's exported policy."""

from __future__ import annotations

import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mural.agent.policy import LoadedPolicy, load_policy
from mural.errors import MuralError
from mural.study.report.moments import encoded, thinned
from mural.study.report.reading import RunData, text

FRAMES = 6
KEPT = 24  # frames that are kept on the way, as nobody knows how long an episode gets
LONGEST = 2000  # steps of an episode
WIDE = 260  # pixels of a frame


class StripError(MuralError, RuntimeError):
    """There can be no strip of a run; the message says why."""


@dataclass(frozen=True)
class Strip:
    """An episode in a few frames."""

    frames: list[tuple[int, str]]
    """Step and data URI."""
    success: bool | None
    """Whether the episode ends in success; None: not reported."""


def strip_of(run: RunData) -> Strip:
    """Frames of the first evaluation's episode, or a `StripError` that says why there are none."""
    try:
        with closing(scene(run)) as env:
            return played(env, exported(run.path), first_seed(run.seed))
    except StripError:
        raise
    except Exception as error:  # whatever the environment, its drawing, or a damaged policy raises
        raise StripError(f"No frames of its policy: {text(error) or type(error).__name__}.") from error


def scene(run: RunData) -> Any:
    """The environment that returns its pictures. A name from a run's folder must not make Python import anything."""
    from mural.inputs.world import make_env

    if ":" in run.task:
        raise StripError(
            "No frames of its policy: its task names a module. Import that with --import, and train by the id alone."
        )
    with closing(make_env(run.task)) as env:
        if "rgb_array" not in env.metadata.get("render_modes", []):
            raise StripError('No frames of its policy: its environment does not offer render_mode="rgb_array".')
    return make_env(run.task, render_mode="rgb_array")


def exported(folder: Path) -> LoadedPolicy:
    """The policy.npz of a run's folder, or else what its latest checkpoint exports."""
    file = folder / "policy.npz"
    if file.is_file():
        return load_policy(file)
    if not (folder / "checkpoints").is_dir():
        raise StripError("No frames of its policy: it has neither policy.npz nor a checkpoint.")
    from mural.api import Agent  # loads JAX

    with tempfile.TemporaryDirectory() as scratch, closing(Agent.load(folder)) as agent:
        if not agent.steps:
            raise StripError("No frames of its policy: it has no good checkpoint.")
        agent.export_policy(Path(scratch) / "policy.npz")
        return load_policy(Path(scratch) / "policy.npz")


def first_seed(seed: str) -> int:
    """The seed of a run's first evaluation episode."""
    from mural.training.collect import starts

    return starts(int(seed), 1)[0] if seed.isascii() and seed.isdigit() else 0


def played(env: Any, policy: LoadedPolicy, seed: int) -> Strip:
    """Run an episode, and keep a few small frames of it."""
    kept, success = frames(env, policy, seed)
    return Strip([(step, small(picture)) for step, picture in thinned(kept, FRAMES)], success)


def frames(env: Any, policy: LoadedPolicy, seed: int, most: int = KEPT) -> tuple[list[tuple[int, Any]], bool | None]:
    """(step, picture) during an episode, drawn more seldom the longer it gets; and whether it ends in success."""
    obs, _ = env.reset(seed=seed)
    policy.reset()
    kept, every = [(0, frame(env))], 1
    success: bool | None = None
    for step in range(1, LONGEST + 1):
        obs, _, terminated, truncated, info = env.step(policy(obs))
        told = info.get("is_success", info.get("success"))
        success = None if told is None else bool(told)
        ends = bool(terminated or truncated or step == LONGEST)
        if ends or step % every == 0:
            kept.append((step, frame(env)))
        if len(kept) > most:
            kept, every = kept[::2] + (kept[-1:] if len(kept) % 2 == 0 else []), every * 2
        if ends:
            break
    return kept, success


def frame(env: Any) -> Any:
    """What the environment looks like now."""
    picture = env.render()
    if not isinstance(picture, np.ndarray) or picture.ndim != 3 or picture.shape[2] != 3:
        raise StripError("No frames of its policy: its render() returns no picture [height, width, 3].")
    return picture


def small(picture: Any) -> str:
    """A frame as a small data URI."""
    from PIL import Image

    image = Image.fromarray(np.asarray(picture, np.uint8))
    image.thumbnail((WIDE, WIDE))
    return encoded(image, "WEBP", quality=80, method=4)
