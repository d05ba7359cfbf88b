"""Four classifiers of the same zigzag-maze data as rewards: two by maximum likelihood, the ideal, and meta-NML."""

from __future__ import annotations

from typing import Any

import numpy as np

from mural.nml import MetaNMLClassifier, MLEClassifier
from mural.study.figures.maze_axes import PLANE, draw_map, map_points
from mural.study.figures.picture import COLUMN, Ask, Drawn, from_scratch, sheet
from mural.study.maze_data import MAZE_GRID, zigzag_data
from mural.tasks.mazes.layouts import ZIGZAG

HIDDEN = (256, 256)
KERNEL_WIDTH = 0.5  # λ_dist of the mazes in the 2021 release


def reward_classifiers(ask: Ask) -> Drawn:
    """Draw the four reward maps side by side."""
    seed = ask.seed
    data = zigzag_data(seed)
    common: dict[str, Any] = {"hidden": HIDDEN, "standardize": False, "random_state": seed}
    converged = MLEClassifier(epochs=150, **common).fit(data.x, data.y)
    regularised = MLEClassifier(epochs=150, weight_decay=0.3, mixup=1.0, early_stopping=True, **common)
    regularised.fit(data.x, data.y)
    meta_nml = MetaNMLClassifier(kernel_width=KERNEL_WIDTH, meta_epochs=40, **common).fit(data.x, data.y)
    points = map_points()
    maps = {
        "maximum likelihood": converged.predict_proba(points)[:, 1],
        "… regularised": regularised.predict_proba(points)[:, 1],
        "ideal CNML: counts": data.ideal(),
        "meta-NML, one step": meta_nml.predict_proba(points)[:, 1],
    }
    figure = sheet(COLUMN, 3.2)
    axes = figure.subplots(2, 2).ravel()
    for ax, (title, reward) in zip(axes, maps.items(), strict=True):
        image = draw_map(ax, reward, title, data)
    figure.colorbar(image, ax=axes, label="p(success)", shrink=0.8, pad=0.02)
    at_visits = meta_nml.predict_proba(data.visits)[:, 1].mean()
    unseen = MAZE_GRID.centres()[
        (MAZE_GRID.counts(data.x) == 0) & ZIGZAG.is_free(MAZE_GRID.centres()) & (MAZE_GRID.centres()[:, 0] > 1.6)
    ]
    unseen = unseen[(abs(unseen - ZIGZAG.goal) > 1.5).any(1)]
    new, known = (float(meta_nml.predict_proba(x)[:, 1].mean()) for x in (unseen, data.examples))
    said = f"meta-NML: {at_visits:.2f} at visited states, {new:.2f} in the unseen corridor, {known:.2f} at the examples"
    named = {title.replace("… ", ""): reward for title, reward in maps.items()}
    numbers = {
        "extent": PLANE.extent, "maps": {title: np.round(reward, 4) for title, reward in named.items()},
        "at_visits": at_visits, "unseen": new, "at_examples": known,
        "tau": {title: follows(points, reward) for title, reward in named.items() if len(reward) == len(points)},
    }  # fmt: skip
    return Drawn(figure, numbers, said, from_scratch(seed))


def follows(points: Any, reward: Any) -> dict[str, float]:
    """Kendall's τ of the reward and the nearness of the goal, in a straight line and around the walls."""
    from scipy.stats import kendalltau

    free = ZIGZAG.is_free(points)
    near = {"straight": np.linalg.norm(points - np.array(ZIGZAG.goal), axis=1), "around": ZIGZAG.distance(points)}
    return {way: float(kendalltau(reward[free], -far[free]).statistic) for way, far in near.items()}
