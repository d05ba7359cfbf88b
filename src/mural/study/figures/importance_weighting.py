"""Adapting to a query by minibatches: with the query in every batch (A.2.1), and with luck."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mural.nml import Data, MetaNMLClassifier, mlp
from mural.nml.adaptation import augmented_loss
from mural.nml.mlp import Params
from mural.nml.weights import query_weights
from mural.study.figures.maze_axes import draw_map, map_points
from mural.study.figures.picture import COLUMN, Ask, Drawn, from_scratch, sheet
from mural.study.maze_data import MazeData, zigzag_data

BATCH = 32
PASSES = 2
STEP_SIZE = 0.1
KERNEL_WIDTH = 0.5
QUERY = (-3.0, -1.0)  # among visited states; asked with the label of success


@jax.jit
def _step(params: Params, batch: Data, query: Array, query_weight: Array) -> tuple[Params, Array, Array]:
    """One gradient step on a batch; the loss of the batch before it, and that of the query after it."""
    weights = query_weights(query[None], batch, kernel_width=KERNEL_WIDTH, query_weight=query_weight)
    label = jnp.asarray(1)
    loss, gradient = jax.value_and_grad(augmented_loss)(params, batch, weights.data[0], query, label, weights.query[0])
    params = jax.tree.map(lambda p, g: p - STEP_SIZE * g, params, gradient)
    return params, loss, mlp.cross_entropy(mlp.forward(params, query), label)


def adapt(params: Params, data: MazeData, *, in_every_batch: bool, seed: int) -> tuple[list[float], list[float]]:
    """Losses of the batches and of the query, over `PASSES` through the data."""
    rng = np.random.default_rng(seed)
    x, y, query = data.x, data.y, jnp.asarray(QUERY, jnp.float32)
    count = len(x) // BATCH
    batch_losses, query_losses = [], []
    for _ in range(PASSES):
        lucky = rng.integers(count)
        for i, rows in enumerate(rng.permutation(len(x))[: count * BATCH].reshape(count, BATCH)):
            batch = Data(jnp.asarray(x[rows], jnp.float32), jnp.asarray(y[rows]), jnp.ones(BATCH))
            weight = 1 / count if in_every_batch else float(i == lucky)
            params, loss, on_query = _step(params, batch, query, jnp.asarray(weight, jnp.float32))
            batch_losses.append(float(loss))
            query_losses.append(float(on_query))
    return batch_losses, query_losses


def importance_weighting(ask: Ask) -> Drawn:
    """Draw the query among the data, and the two losses during adaptation with and without importance weighting."""
    seed = ask.seed
    data = zigzag_data(seed)
    classifier = MetaNMLClassifier(
        (128, 128), kernel_width=KERNEL_WIDTH, standardize=False, meta_epochs=30, random_state=seed
    ).fit(data.x, data.y)
    figure = sheet(COLUMN, 3.0)
    (place, batches), (key, queries) = figure.subplots(2, 2, width_ratios=[1, 2])
    draw_map(place, classifier.predict_proba(map_points())[:, 1], "query with y = 1", data)
    place.plot(*QUERY, marker="X", color="crimson", markeredgecolor="white", markersize=9)
    spread, losses = {}, {}
    for in_every_batch, colour in ((False, "#D55E00"), (True, "#0072B2")):
        on_batch, on_query = adapt(classifier.state_.params, data, in_every_batch=in_every_batch, seed=seed)
        label = "query in every batch, down-weighted" if in_every_batch else "query in one batch per pass"
        losses[label] = {"batch": on_batch, "query": on_query}
        batches.plot(on_batch, color=colour, linewidth=0.9, label=label)
        queries.plot(on_query, color=colour, linewidth=1.2, label=label)
        spread[in_every_batch] = np.std(on_query[len(on_query) // 2 :])
    batches.set(title="loss of the batch")
    queries.set(xlabel="gradient step", title="loss of the query")
    key.set_axis_off()
    lines = queries.get_lines()
    key.legend(lines, ["query in one\nbatch per pass", "query in every\nbatch, weighted"], frameon=False, loc="center")
    said = (
        f"deviation of the query's loss over the last pass: {spread[True]:.2f} with the weighting, "
        f"{spread[False]:.2f} without"
    )
    return Drawn(figure, {"losses": losses, "query": QUERY}, said, from_scratch(seed))
