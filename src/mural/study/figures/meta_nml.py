"""How meta-NML works, in real numbers: a query with both labels (fig:meta-nml-flow), meta-training (fig:meta-nml)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from mural.nml import Data, MetaNMLClassifier, mlp
from mural.nml.adaptation import augmented_loss
from mural.nml.mlp import Params
from mural.nml.weights import query_weights
from mural.study.figures.maze_axes import draw_map, map_points
from mural.study.figures.picture import COLUMN, Ask, Drawn, from_scratch, sheet, stacked
from mural.study.maze_data import MAZE_GRID, MazeData, free_cells, zigzag_data

Floats = NDArray[np.float64]
WIDTH, STEP_SIZE, HIDDEN = 0.5, 0.1, (128, 128)
QUERIES = {"visited": (-3.0, -1.0), "unseen": (3.0, -1.0), "goal": (3.0, 3.0)}
EPOCHS = (1, 3, 10, 30)
NARROW = 0.25  # half a cell: the discrete ideal is the right one


def flow(ask: Ask) -> Drawn:
    """From θ, a step on D and the query with each label; the two likelihoods, normalised, are the answer."""
    data = zigzag_data(ask.seed)
    model = classifier(ask.seed, 30).fit(data.x, data.y)
    theta = model.state_.params
    figure = sheet(COLUMN, 3.1)
    upper, lower = stacked(figure, 1.3, 1.6)
    (before, with_0, with_1), bars = upper.subplots(1, 3), lower.subplots()
    place = QUERIES["unseen"]
    adapted = {label: step(theta, data, place, label) for label in (0, 1)}
    for axis, params, title in (
        (before, theta, "θ: of D alone"), (with_0, adapted[0], "θ₀: + (x, 0)"), (with_1, adapted[1], "θ₁: + (x, 1)"),
    ):  # fmt: skip
        draw_map(axis, success(params, map_points()), title, data if axis is before else None)
        axis.plot(*place, marker="X", color="crimson", markeredgecolor="white", markersize=6)
    answers = {name: answer(theta, data, at) for name, at in QUERIES.items()}
    for i, key in enumerate(("p₀", "p₁", "p")):
        values = [answers[name][key] for name in QUERIES]
        words = ("p(0) under θ₀", "p(1) under θ₁", "p₁ / (p₀ + p₁)")[i]
        bars.bar(np.arange(3) + 0.27 * (i - 1), values, 0.25, color=("#56B4E9", "#0072B2", "#D55E00")[i], label=words)
    bars.set_xticks(range(3), list(QUERIES))
    bars.set(ylim=(0, 1.05), yticks=(0, 0.5, 1), xlabel="query x; the cross is the unseen one")
    lower.legend(frameon=False, loc="outside upper center", ncols=3)
    told = ", ".join(f"{name} {answers[name]['p']:.2f}" for name in QUERIES)
    data_out = {"queries": QUERIES, "answers": answers}
    return Drawn(figure, data_out, f"p(success): {told}", from_scratch(ask.seed))


def training(ask: Ask) -> Drawn:
    """The answers after more and more meta-training, and how far they are from the ideal."""
    data = zigzag_data(ask.seed)
    x, y, counts = data.binned()
    cells, ideal, free = MAZE_GRID.centres(), data.ideal(), free_cells(MAZE_GRID, data)
    model, maps, errors = classifier(ask.seed, 1, NARROW), {}, []
    for epoch in range(1, max(EPOCHS) + 1):
        model.partial_fit(x, y, represents=counts)
        if epoch in EPOCHS:
            maps[epoch] = model.predict_proba(cells)[:, 1]
            errors.append(float(np.abs(maps[epoch] - ideal)[free].mean()))
    figure = sheet(COLUMN, 2.7)
    upper, lower = stacked(figure, 1, 1.4)
    axes, curve = upper.subplots(1, len(maps)), lower.subplots()
    for axis, (epochs, reward) in zip(axes, maps.items(), strict=True):
        draw_map(axis, reward, f"{epochs} epoch{'s' * (epochs > 1)}")
    curve.plot(EPOCHS, errors, "o-", color="#D55E00", markersize=4, clip_on=False)
    curve.set(xscale="log", xlabel="meta-epochs", ylabel="distance to the ideal", ylim=(0, None))
    curve.set_xticks(EPOCHS, list(map(str, EPOCHS)), minor=False)
    curve.minorticks_off()
    said = "mean distance to the ideal: " + ", ".join(f"{e:.3f} after {n}" for n, e in zip(maps, errors, strict=True))
    out = {
        "epochs": list(maps),
        "to_the_ideal": errors,
        "maps": {epochs: np.round(reward, 4) for epochs, reward in maps.items()},
    }
    return Drawn(figure, out, said, from_scratch(ask.seed))


def classifier(seed: int, epochs: int, width: float = WIDTH) -> Any:
    """Meta-NML on raw places."""
    return MetaNMLClassifier(
        HIDDEN, kernel_width=width, step_size=STEP_SIZE, standardize=False, meta_epochs=epochs, random_state=seed
    )


def step(theta: Params, data: MazeData, place: tuple[float, float], label: int) -> Params:
    """θ after one gradient step on D and the query with this label."""
    points = Data(jnp.asarray(data.x, jnp.float32), jnp.asarray(data.y), jnp.ones(len(data.x)))
    return _step(theta, points, jnp.asarray(place, jnp.float32), jnp.asarray(label))


@jax.jit
def _step(theta: Params, points: Data, query: Array, label: Array) -> Params:
    weights = query_weights(query[None], points, kernel_width=WIDTH, query_weight=1.0)
    gradient = jax.grad(augmented_loss)(theta, points, weights.data[0], query, label, weights.query[0])
    adapted: Params = jax.tree.map(lambda p, g: p - STEP_SIZE * g, theta, gradient)
    return adapted


def answer(theta: Params, data: MazeData, place: tuple[float, float]) -> dict[str, float]:
    """p_{θ₀}(0), p_{θ₁}(1), and the normalised probability of success."""
    at = np.array([place])
    p0 = 1 - float(success(step(theta, data, place, 0), at)[0])
    p1 = float(success(step(theta, data, place, 1), at)[0])
    return {"p₀": p0, "p₁": p1, "p": p1 / (p0 + p1)}


def success(params: Params, places: Floats) -> Floats:
    """p(1) of the network itself."""
    return np.asarray(jax.nn.softmax(mlp.forward(params, jnp.asarray(places, jnp.float32)))[:, 1], np.float64)
