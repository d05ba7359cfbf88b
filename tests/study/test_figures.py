"""The figures: drawn from real data, with the orientation and the numbers that they claim."""

import sys
from typing import get_args, get_type_hints

import jax
import numpy as np
from matplotlib.figure import Figure

from mural.cli import bench
from mural.nml import MetaNMLClassifier, mlp
from mural.study.figures import FIGURES
from mural.study.figures.importance_weighting import BATCH, PASSES, adapt, importance_weighting
from mural.study.figures.maze_axes import draw_map, map_points
from mural.study.maze_data import zigzag_data


def test_maps_are_drawn_x_to_the_right_and_y_upwards():
    ax = Figure().subplots()
    points = map_points()
    image = draw_map(ax, (points[:, 0] > 3) & (points[:, 1] < -3), "south-east")
    drawn = np.asarray(image.get_array())
    assert drawn[0, -1]  # lower right: rows go up (origin lower), columns to the right
    assert not drawn[-1, 0]


def test_importance_weighting_is_the_picture_of_a_smaller_spread(tmp_path, monkeypatch):
    def small(hidden, **options):
        return MetaNMLClassifier((32, 32), **{**options, "meta_epochs": 15})

    monkeypatch.setattr(sys.modules[importance_weighting.__module__], "MetaNMLClassifier", small)
    path = tmp_path / "new" / "figure.png"
    said = importance_weighting(path, 0)
    assert path.stat().st_size > 10_000
    with_it, without = (float(word) for word in said.replace(",", "").split() if word[0].isdigit())
    assert with_it < without


def test_both_ways_of_adapting_see_the_query():
    """In every batch the query pulls a little; in one batch of a pass it pulls hard, then is forgotten again."""
    params = mlp.init((2, 16, 2), key=jax.random.key(0))
    data = zigzag_data(0)
    count = len(data.x) // BATCH
    steady, lucky = (adapt(params, data, in_every_batch=every, seed=0) for every in (True, False))
    assert len(steady[0]) == len(steady[1]) == len(lucky[1]) == PASSES * count
    falls = 1 + np.flatnonzero(np.diff(lucky[1]) < 0)
    assert (falls // count).tolist() == list(range(PASSES))  # once in each pass; all other batches speak against it
    assert (np.diff(steady[1]) < 0).sum() > 10 * PASSES
    assert np.std(steady[1][count:]) < np.std(lucky[1][count:])


def test_the_command_offers_every_figure():
    offered = get_args(get_args(get_type_hints(bench.Figure, include_extras=True)["name"])[0])
    assert offered == ("all", *FIGURES)
