"""Films of the zoo's policies: an episode each, small enough to be kept beside the strip."""

from __future__ import annotations

from pathlib import Path

from mural.atomic import replacing
from mural.study.pages.strip import TooLargeError, episode, fingerprint, fitted
from mural.study.zoo import Animal

FOLDER = Path("docs", "films")
FRAMES = 64
HIGH = 220  # pixels
COLOURS = (64, 32)  # the most that fit
PACE, REST = 80, 1500  # milliseconds that a frame is shown, and the last one
LARGEST = 500_000  # bytes


def film_of(name: str) -> Path:
    """Where the film of a policy is, from the root of the repository."""
    return FOLDER / f"{name}.gif"


def shown(film: Path) -> str:
    """The fingerprint of the policy in a film that was made; '' if there is no such film."""
    from PIL import Image

    if not film.is_file():
        return ""
    with Image.open(film) as image:
        return bytes(image.info.get("comment", b"")).decode()


def make(animal: Animal, path: Path) -> Path:
    """Play an episode and write the film."""
    from PIL import Image

    pictures = [fitted(picture, HIGH) for _, picture in episode(animal, FRAMES)]
    times = [PACE] * (len(pictures) - 1) + [REST]
    for colours in COLOURS:
        first, *rest = (image.quantize(colours, dither=Image.Dither.NONE) for image in pictures)
        with replacing(path) as scratch:
            first.save(scratch, save_all=True, append_images=rest, duration=times, loop=0, comment=fingerprint(animal))
        if path.stat().st_size <= LARGEST:
            return path
    raise TooLargeError(f"{path} has {path.stat().st_size:,} bytes, more than {LARGEST:,}: make it lower or shorter")
