"""Two moons: what an ordinary classifier is sure of, what meta-NML says, and how little it knows where."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from mural.nml import CNMLClassifier, MetaNMLClassifier, MLEClassifier
from mural.study.figures.picture import PAGE, Ask, Drawn, from_scratch

LOW, HIGH, POINTS = (-2.5, -2.0), (3.5, 2.5), 90


def two_moons(ask: Ask) -> Drawn:
    """Draw p(y = 1) of three classifiers, and the regret of meta-NML."""
    seed = ask.seed
    x, y = make_moons(200, noise=0.12, random_state=seed)
    common: dict[str, Any] = {"hidden": (64, 64), "random_state": seed}
    mle = MLEClassifier(epochs=150, **common).fit(x, y)
    meta = MetaNMLClassifier(meta_epochs=40, **common).fit(x, y)
    exact = CNMLClassifier("kernel").fit(x, y)
    axes_points = [np.linspace(a, b, POINTS) for a, b in zip(LOW, HIGH, strict=True)]
    grid = np.stack(np.meshgrid(*axes_points), axis=-1).reshape(-1, 2)
    maps = {
        "maximum likelihood": (mle.predict_proba(grid)[:, 1], "RdBu_r", 1.0),
        "CNML by kernel counts": (exact.predict_proba(grid)[:, 1], "RdBu_r", 1.0),
        "meta-NML": (meta.predict_proba(grid)[:, 1], "RdBu_r", 1.0),
        "its regret (nats)": (meta.log_normalizer(grid), "viridis", float(np.log(2))),
    }
    figure = Figure(figsize=(PAGE, 1.7), layout="compressed")
    for ax, (title, (values, colours, most)) in zip(figure.subplots(1, 4), maps.items(), strict=True):
        image = ax.imshow(
            values.reshape(POINTS, POINTS), origin="lower", extent=(LOW[0], HIGH[0], LOW[1], HIGH[1]),
            cmap=colours, vmin=0.0, vmax=most, aspect="auto",
        )  # fmt: skip
        ax.scatter(*x.T, c=y, cmap="RdBu_r", s=3, edgecolors="k", linewidths=0.2)
        ax.set(title=title, xticks=[], yticks=[])
        figure.colorbar(image, ax=ax, shrink=0.9)
    far = np.array([LOW, HIGH, (LOW[0], HIGH[1]), (HIGH[0], LOW[1])])
    sure, modest = (float(model.predict_proba(far).max(axis=1).mean()) for model in (mle, meta))
    near, away = (float(meta.log_normalizer(points).mean()) for points in (x, far))
    said = (
        f"in the corners maximum likelihood is {sure:.2f} sure and meta-NML {modest:.2f}; the regret of meta-NML is "
        f"{near:.2f} nats at the data and {away:.2f} in the corners (log 2 is 0.69)"
    )
    numbers = {"sure": {"maximum likelihood": sure, "meta-NML": modest}, "regret": {"data": near, "corners": away}}
    return Drawn(figure, numbers, said, from_scratch(seed))
