"""Rewards of the pick task in slices at several heights: meta-NML beside maximum likelihood (fig:shaping)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from mural import tasks
from mural.nml import MetaNMLClassifier, MLEClassifier
from mural.study.figures.picture import COLUMN, Ask, Drawn, from_scratch

Floats = NDArray[np.float64]
HEIGHTS = (0.03, 0.08, 0.14, 0.20)  # metres; the ball lies at the first, the goal is at the last
CELLS = 24  # along an edge of a slice
EPISODES = 20  # of correlated random actions
CORRELATION = 0.7
EXAMPLES = 150
BALL = slice(3, 6)  # columns of an observation


def shaping(ask: Ask) -> Drawn:
    """Both classifiers on the states of random episodes and 150 examples, asked about a ball that the hand holds."""
    visits, examples, edges = visited(ask.seed)
    x, y = np.concatenate([visits, examples]), np.repeat([0, 1], [len(visits), len(examples)])
    meta = MetaNMLClassifier((128, 128), meta_epochs=40, random_state=ask.seed).fit(x, y)
    plain = MLEClassifier((128, 128), epochs=100, random_state=ask.seed).fit(x, y)
    mean = examples.mean(axis=0)
    slices = {z: held_at(places(z, edges), mean) for z in HEIGHTS}
    maps = {
        name: {z: model.predict_proba(states)[:, 1] for z, states in slices.items()}
        for name, model in (("MURAL", meta), ("maximum likelihood", plain))
    }
    near = np.concatenate([-np.linalg.norm(states[:, BALL] - mean[BALL], axis=1) for states in slices.values()])
    # In proportion, not by rank: a sharp boundary keeps the order, and leads nowhere.
    by = {name: correlation(np.concatenate(list(of.values())), near) for name, of in maps.items()}
    said = "correlation of reward and nearness of the ball: " + ", ".join(f"{n} {v:.2f}" for n, v in by.items())
    data = {"correlation": by, "maps": maps, "edges": edges, "visits": len(visits), "examples": len(examples)}
    made_by = from_scratch(ask.seed, f": {len(visits)} states of random episodes, {EXAMPLES} examples")
    return Drawn(draw(maps, mean, edges), data, said, made_by)


def visited(seed: int) -> tuple[Floats, Floats, tuple[float, float, float, float]]:
    """States of random episodes, success examples, and the edges of the tray (x0, x1, y0, y1)."""
    task = tasks.make("sawyer-pick")
    rng = np.random.default_rng(seed)
    visits = []
    for episode in range(EPISODES):
        task.reset(seed=1000 * seed + episode)
        noise = np.zeros(task.action_space.shape)
        for _ in range(task.horizon):
            noise = CORRELATION * noise + np.sqrt(1 - CORRELATION**2) * rng.normal(size=noise.shape)
            visits.append(task.step(np.tanh(1.5 * noise))[0])
    examples = np.asarray(task.success_examples(EXAMPLES, seed))
    low, high = task.observation_space.low[BALL], task.observation_space.high[BALL]
    task.close()
    return np.array(visits), examples, (float(low[0]), float(high[0]), float(low[1]), float(high[1]))


def correlation(reward: Floats, near: Floats) -> float:
    """Pearson's; 0 where the reward is the same everywhere."""
    return 0.0 if np.ptp(reward) == 0 else float(np.corrcoef(reward, near)[0, 1])


def places(z: float, edges: tuple[float, float, float, float]) -> Floats:
    """Centres [CELLS², 3] of the cells of a slice, x before y."""
    unit = (np.arange(CELLS) + 0.5) / CELLS
    x, y = np.meshgrid(edges[0] + unit * (edges[1] - edges[0]), edges[2] + unit * (edges[3] - edges[2]), indexing="ij")
    return np.stack([x.ravel(), y.ravel(), np.full(CELLS**2, z)], axis=1)


def held_at(balls: Floats, example: Floats) -> Floats:
    """The mean example with ball and hand moved, so that the ball is at each of these places [n, 3]."""
    states = np.tile(example, (len(balls), 1))
    states[:, :3] += balls - example[BALL]
    states[:, BALL] = balls
    return states


def draw(maps: dict[str, dict[float, Floats]], mean: Floats, edges: Any) -> Figure:
    """A row per classifier, a column per height."""
    figure = Figure(figsize=(COLUMN, 1.9), layout="compressed")
    axes = figure.subplots(len(maps), len(HEIGHTS))
    for i, (row, (name, of)) in enumerate(zip(axes, maps.items(), strict=True)):
        for axis, (z, reward) in zip(row, of.items(), strict=True):
            image = axis.imshow(
                reward.reshape(CELLS, CELLS).T, origin="lower", extent=edges, vmin=0, vmax=1, cmap="viridis"
            )
            axis.plot(
                *mean[BALL][:2], marker="*", color="white", markeredgecolor="black", markersize=5, markeredgewidth=0.5
            )
            axis.set(xticks=[], yticks=[])
            axis.set_title(f"z = {z:.2f} m" if i == 0 else "")
        row[0].set_ylabel(name.replace(" ", "\n"))
    figure.colorbar(image, ax=axes, label="p(success)", shrink=0.8, pad=0.01)
    return figure
