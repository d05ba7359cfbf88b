"""The strip of learned policies: an episode of each of the zoo, a row of frames per task, in one small picture."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from mural.agent.policy import load_policy
from mural.atomic import replacing
from mural.errors import MuralError
from mural.study.report.strips import KEPT, frames
from mural.study.zoo import Animal

PICTURE = Path("docs", "pictures", "policies.png")
FRAMES = 7
EARLY = 1.6  # 1: frames at equal distances; above: more of them early
HIGH = 132  # pixels of a frame
GAP, LABEL = 4, 110  # pixels between frames, and for the names at the left
LARGEST = 400_000  # bytes
COLOURS = (256, 128, 64, 32)  # the most that fit
KEY = "zoo"  # the entry of the file that says what it shows


class TooLargeError(MuralError, ValueError):
    """A picture that cannot be made small enough for a README."""


def shown(picture: Path) -> list[tuple[str, str]]:
    """(name, fingerprint) of the policies in a picture that was drawn; none if there is no such picture."""
    from PIL import Image

    if not picture.is_file():
        return []
    with Image.open(picture) as image:
        return [(str(name), str(mark)) for name, mark in json.loads(getattr(image, "text", {}).get(KEY, "[]"))]


def fingerprints(animals: Sequence[Animal]) -> list[tuple[str, str]]:
    """What `shown` says of a picture of these."""
    return [(animal.name, fingerprint(animal)) for animal in animals]


def fingerprint(animal: Animal) -> str:
    """Changes with the policy."""
    return hashlib.sha256(animal.policy.read_bytes()).hexdigest()[:16]


def draw(animals: Sequence[Animal], path: Path, progress: Callable[[str], None] = lambda name: None) -> Path:
    """Play an episode of each and write the picture."""
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    rows = []
    for animal in animals:
        progress(animal.name)
        rows.append((animal, early(episode(animal), FRAMES)))
    sheet = arranged(rows)
    about = PngInfo()
    about.add_text(KEY, json.dumps(fingerprints(animals)))
    for colours in COLOURS:
        small = sheet.quantize(colours, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        with replacing(path) as scratch:
            small.save(scratch, format="PNG", optimize=True, pnginfo=about)
        if path.stat().st_size <= LARGEST:
            return path
    raise TooLargeError(f"{path} has {path.stat().st_size:,} bytes, more than {LARGEST:,}: show fewer policies")


def episode(animal: Animal, most: int = KEPT) -> list[tuple[int, Any]]:
    """(step, picture) of the first episode of the evaluation that succeeds, `most` of them or somewhat fewer."""
    from mural.show.video import filmable
    from mural.training.player import playing

    with playing(animal.card["task"], animal.policy, animal.card["seed"]) as player, closing(filmable(player)) as env:
        policy = load_policy(animal.policy)
        best: list[tuple[int, Any]] = []
        for seed in player.starts(3):
            found, success = frames(env, policy, seed, most)
            best = best if best and not success else found
            if success:
                break
    return best


def early(found: Sequence[tuple[int, Any]], most: int) -> list[tuple[int, Any]]:
    """At most so many frames, the first and the last among them, closer together at the beginning: there it happens."""
    places = np.linspace(0, 1, most) ** EARLY * (len(found) - 1)
    return [found[i] for i in sorted({round(place) for place in places})]


def titled(name: str, task: str) -> str:
    """A policy's name in short lines: the task's words, and below them what sets it apart."""
    apart = name.removeprefix(task).strip("-") if name.startswith(task) else name
    return task.replace("-", "\n", 1) + (f"\n({apart})" if apart else "")


def arranged(rows: Sequence[tuple[Animal, Sequence[tuple[int, Any]]]]) -> Any:
    """The frames in rows, names at their left, steps in their corners."""
    from matplotlib import font_manager
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.truetype(font_manager.findfont("DejaVu Sans"), 12)
    small = ImageFont.truetype(font_manager.findfont("DejaVu Sans"), 9)
    pictures = [[(step, fitted(picture)) for step, picture in found] for _, found in rows]
    wide = max((sum(image.width + GAP for _, image in found) for found in pictures), default=0)
    sheet = Image.new("RGB", (LABEL + wide, max(1, len(rows)) * (HIGH + GAP)), "white")
    pen = ImageDraw.Draw(sheet)
    for i, ((animal, _), found) in enumerate(zip(rows, pictures, strict=True)):
        top, left = i * (HIGH + GAP), LABEL
        pen.text((2, top + HIGH // 2 - 14), titled(animal.name, animal.card["task"]), fill="#222222", font=font)
        room = (wide - sum(image.width for _, image in found)) // max(1, len(found) - 1) if len(found) > 1 else 0
        for step, image in found:
            sheet.paste(image, (left, top))
            corner = pen.textbbox((left + 3, top + 2), str(step), font=small)
            pen.rectangle((left, top, corner[2] + 3, corner[3] + 2), fill="white")
            pen.text((left + 3, top + 2), str(step), fill="#222222", font=small)
            left += image.width + room
    return sheet


def fitted(picture: Any, high: int = HIGH) -> Any:
    """A frame at the height of a row."""
    from PIL import Image

    image = Image.fromarray(np.asarray(picture, np.uint8))
    return image.resize((round(image.width * high / image.height), high), Image.Resampling.LANCZOS)
