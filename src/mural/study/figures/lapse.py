"""Reward and visits over time: the pictures that runs have kept, a row per run and a column per moment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np


def draw(folders: Sequence[Path], out: Path, columns: int = 4) -> str:
    """Tile the pictures of run folders; returns the path."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        len(folders), columns, figsize=(4.4 * columns, 2.5 * len(folders)), squeeze=False, layout="constrained"
    )
    for line, folder in zip(axes, folders, strict=True):
        kept = sorted((folder / "pictures").glob("*.png"))
        if not kept:
            raise FileNotFoundError(f"{folder} has kept no pictures; train it with --watch.picture-every 10")
        chosen = [kept[round(i)] for i in np.linspace(0, len(kept) - 1, min(columns, len(kept)))]
        for axis in line:
            axis.set_axis_off()
        for axis, picture in zip(line, chosen, strict=False):
            axis.imshow(plt.imread(picture))
            axis.set_title(f"{folder.name}, step {int(picture.stem):,}", fontsize=8)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=110)
    plt.close(figure)
    return str(out)
