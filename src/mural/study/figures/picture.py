"""What a figure is made of: a picture, the numbers in it, a sentence, and in small print what made it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from mural.atomic import replacing
from mural.storage.folder import commit
from mural.study.runs import Where

COLUMN, PAGE = 3.4, 7.0  # inches: the width of a column and of a page
STYLE = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "legend.fontsize": 7, "xtick.labelsize": 7,
    "ytick.labelsize": 7, "axes.spines.top": False, "axes.spines.right": False, "svg.fonttype": "none",
    "svg.hashsalt": "mural",
}  # fmt: skip
DPI = {COLUMN: 300, PAGE: 200}

# Okabe and Ito's colours, which the colour-blind can tell apart; a second method of a colour has another dash.
COLOURS: dict[str, tuple[str, Any]] = {
    "mural": ("#D55E00", "-"), "vice": ("#0072B2", "-"), "cnml": ("#CC79A7", "-"), "vice-count": ("#009E73", "-"),
    "vice-rnd": ("#009E73", "--"), "ddl": ("#56B4E9", "-"), "rce": ("#56B4E9", "--"), "icm": ("#E69F00", "-"),
    "icm (with-vice)": ("#E69F00", ":"), "vae-density": ("#E69F00", "--"), "sac-sparse": ("#888888", ":"),
    "sac-distance": ("#000000", "-"),
    "sac": ("#888888", "-"), "mural-no-meta": ("#0072B2", "--"), "mural-negatives": ("#CC79A7", "--"),
}  # fmt: skip
SPARE = [(colour, dash) for dash in ("-.", (0, (1, 1))) for colour in ("#009E73", "#56B4E9", "#E69F00", "#0072B2")]


@dataclass(frozen=True)
class Ask:
    """What a figure is to be made of."""

    where: Where = field(default_factory=Where)
    """Where the results are."""
    runs: Path = Path("runs")
    """Run folders, for what result files do not hold."""
    seed: int = 0
    """Of data and training, for the figures that make their own."""
    partial: bool = False
    """Draw what is there."""


@dataclass(frozen=True)
class Drawn:
    """A figure."""

    figure: Figure
    data: dict[str, Any]
    """The numbers that it shows."""
    said: str
    """One sentence with the most important ones."""
    made_by: str = ""
    """Runs, seeds and commits, in small print."""


def sheet(width: float, height: float) -> Figure:
    """An empty figure of this size in inches on paper."""
    return Figure(figsize=(width, height), layout="constrained")


def stacked(figure: Figure, *heights: float) -> list[Any]:
    """Parts of a figure, one below the other, of these relative heights."""
    parts: Any = figure.subfigures(len(heights), 1, height_ratios=heights)
    return list(parts)


def from_scratch(seed: int, of: str = "") -> str:
    """The small print of a figure that makes its own data."""
    made = commit().get("commit", "unknown")
    return f"made from scratch with seed {seed}{of}, commit {made[:7]}{'+' * made.endswith('+')}"


def colour(label: str, taken: Mapping[str, Any] | None = None) -> tuple[str, Any]:
    """Colour and dash of a method; variants get those that no method has, in their order in `taken`."""
    if label in COLOURS:
        return COLOURS[label]
    others = [name for name in taken or {} if name not in COLOURS]
    return SPARE[others.index(label) % len(SPARE)] if label in others else SPARE[0]


def save(drawn: Drawn, stem: Path) -> list[Path]:
    """Write STEM.svg, STEM.png and STEM.json."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    if drawn.made_by:
        width = drawn.figure.get_figwidth()
        drawn.figure.supxlabel(
            wrapped(drawn.made_by, round(26 * width)), fontsize=5, color="#555555", x=0.01, ha="left"
        )
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in ("svg", "png", "json")]
    for path in paths[:2]:
        software = {"Date": None} if path.suffix == ".svg" else {"Software": f"matplotlib {matplotlib.__version__}"}
        with replacing(path) as scratch:
            drawn.figure.savefig(
                scratch, format=path.suffix[1:], dpi=DPI.get(drawn.figure.get_figwidth(), 200), metadata=software
            )
    words = {"said": drawn.said, "made_by": drawn.made_by, "data": drawn.data}
    with replacing(paths[2]) as scratch:
        scratch.write_text(json.dumps(tidy(words)) + "\n")
    return paths


def tidy(value: Any) -> Any:
    """Plain values for JSON: arrays as lists, numbers with five digits, what is not finite as null."""
    if isinstance(value, Mapping):
        return {str(name): tidy(one) for name, one in value.items()}
    if isinstance(value, np.ndarray):
        return tidy(value.tolist())
    if isinstance(value, list | tuple):
        return [tidy(one) for one in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.5g}") if math.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else value


def wrapped(text: str, width: int) -> str:
    """Text in lines of at most so many characters."""
    import textwrap

    return "\n".join(textwrap.wrap(text, width))
