"""Meta-NML with more gradient steps per query beside the ideal that it tends to."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from mural.nml import MetaNMLClassifier, mlp
from mural.study.figures.maze_axes import draw_map
from mural.study.figures.picture import PAGE, Ask, Drawn
from mural.study.maze_data import MAZE_GRID, free_cells, zigzag_data

STEPS = (1, 2, 5, 10)
KERNEL_WIDTH = 0.25  # half a cell: neighbours count for 1 %, so that the discrete ideal is the right one


def gradient_steps(ask: Ask) -> Drawn:
    """Draw the maps for 1, 2, 5 and 10 steps, the ideal, and how far each is from maximum likelihood and ideal."""
    seed = ask.seed
    data = zigzag_data(seed)
    x, y, counts = data.binned()
    cells, ideal, free = MAZE_GRID.centres(), data.ideal(), free_cells(MAZE_GRID, data)
    classifier = MetaNMLClassifier(
        (256, 256), kernel_width=KERNEL_WIDTH, standardize=False, meta_epochs=60, random_state=seed
    ).fit(x, y, counts)
    plain = np.asarray(jax.nn.softmax(mlp.forward(classifier.state_.params, jnp.asarray(cells, jnp.float32))))[:, 1]
    maps = {n: classifier.set_params(steps=n).predict_proba(cells)[:, 1] for n in STEPS}
    errors = [np.abs(reward - ideal)[free].mean() for reward in maps.values()]

    figure = Figure(figsize=(PAGE, 3.4), layout="compressed")
    *axes, curve = figure.subplots(2, 3).ravel()
    for ax, (n, reward) in zip(axes, maps.items(), strict=False):
        draw_map(ax, reward, f"{n} step{'s' * (n > 1)}")
    image = draw_map(axes[-1], ideal, "ideal: counts")
    figure.colorbar(image, ax=axes, label="p(success)", shrink=0.8, pad=0.01)
    change = [0.0, *(np.abs(reward - plain)[free].mean() for reward in maps.values())]
    curve.plot([0, *STEPS], change, "o-", label="to the network at θ")
    curve.plot([0, *STEPS], [np.abs(plain - ideal)[free].mean(), *errors], "s-", label="to the ideal")
    curve.set(xlabel="gradient steps", ylim=(0, None), xticks=[0, *STEPS])
    curve.set_title("mean difference")
    curve.legend(frameon=False, loc="center right", fontsize=6)
    said = "mean distance to the ideal: " + ", ".join(
        f"{error:.3f} after {n} step{'s' * (n > 1)}" for n, error in zip(STEPS, errors, strict=True)
    )
    numbers = {
        "steps": [0, *STEPS], "to_the_network": change, "to_the_ideal": [np.abs(plain - ideal)[free].mean(), *errors],
        "maps": maps, "ideal": ideal, "cells": cells,
    }  # fmt: skip
    return Drawn(figure, numbers, said, f"made from scratch with seed {seed}")
