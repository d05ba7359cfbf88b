"""Where trained policies and their rewards are that come with the checkout: `zoo:NAME` is a folder of results/zoo."""

from __future__ import annotations

import os
from pathlib import Path

from mural.errors import MuralError, did_you_mean

PREFIX = "zoo:"
PLACE = Path("results", "zoo")
POLICY, REWARD, CARD, PAGE = "policy.npz", "reward.npz", "card.json", "README.md"
CHECKOUT = Path(__file__).resolve().parents[2]


class UnknownZooError(MuralError, ValueError):
    """There is nothing of this name in the zoo, or no zoo; the message has the nearest name and the list."""


def is_zoo(name: str | os.PathLike[str]) -> bool:
    """Whether this names something of the zoo, `zoo:NAME`, and not a file or folder."""
    return os.fspath(name).startswith(PREFIX)


def home() -> Path | None:
    """results/zoo of the current folder, or else of the checkout that this package runs from; None without either."""
    return next((place for place in (PLACE, CHECKOUT / PLACE) if place.is_dir()), None)


def names(place: Path | None = None) -> list[str]:
    """What is there."""
    folder = home() if place is None else place
    return [] if folder is None else sorted(path.parent.name for path in folder.glob(f"*/{CARD}"))


def find(name: str | os.PathLike[str], place: Path | None = None) -> Path:
    """The folder of `zoo:NAME`, or an `UnknownZooError`."""
    plain, folder = os.fspath(name).removeprefix(PREFIX), home() if place is None else place
    known = names(folder)
    if folder is None or not known:
        raise UnknownZooError(
            f"there is no {PREFIX}{plain}: the zoo is the folder {PLACE} of the repository; call this in a checkout of "
            "it, or fill one with `mural zoo add RUN`"
        )
    if plain not in known:
        hint = did_you_mean(plain, known)
        raise UnknownZooError(f"there is no {PREFIX}{plain}; {hint}there are {', '.join(PREFIX + n for n in known)}")
    return folder / plain


def located(path: str | os.PathLike[str], file: str) -> Path:
    """This file of `zoo:NAME`; any other path as it is."""
    return find(path) / file if is_zoo(path) else Path(path)
