"""Meta-NML with more gradient steps per query beside the ideal that it tends to."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from mural.nml import MetaNMLClassifier, mlp
from mural.study.figures.maze_axes import draw_map
from mural.study.figures.picture import COLUMN, Ask, Drawn, from_scratch, sheet, stacked
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

    figure = sheet(COLUMN, 3.9)
    upper, lower = stacked(figure, 2.3, 1.5)
    axes, curve = upper.subplots(2, 3).ravel(), lower.subplots()
    titled = {"no step": plain} | {f"{n} step{'s' * (n > 1)}": reward for n, reward in maps.items()}
    for ax, (title, reward) in zip(axes, (titled | {"ideal: counts": ideal}).items(), strict=True):
        image = draw_map(ax, reward, title)
    upper.colorbar(image, ax=axes, label="p(success)", shrink=0.8, pad=0.02)
    change = [0.0, *(np.abs(reward - plain)[free].mean() for reward in maps.values())]
    curve.plot([0, *STEPS], change, "o-", color="#0072B2", markersize=4, label="from the network without a step")
    curve.plot(
        [0, *STEPS],
        [np.abs(plain - ideal)[free].mean(), *errors],
        "s-",
        color="#D55E00",
        markersize=4,
        label="from the ideal",
    )
    curve.set(xlabel="gradient steps", ylim=(0, None), xticks=[0, *STEPS])
    curve.set_ylabel("mean difference")
    curve.legend(frameon=False, loc="center right")
    said = "mean distance to the ideal: " + ", ".join(
        f"{error:.3f} after {n} step{'s' * (n > 1)}" for n, error in zip(STEPS, errors, strict=True)
    )
    numbers = {
        "steps": [0, *STEPS], "to_the_network": change, "to_the_ideal": [np.abs(plain - ideal)[free].mean(), *errors],
        "maps": maps, "ideal": ideal, "cells": cells,
    }  # fmt: skip
    return Drawn(figure, numbers, said, from_scratch(seed))
