"""The figures: drawn from real data, with the orientation and the numbers that they claim."""

import sys

import jax
import numpy as np
from matplotlib.figure import Figure

from mural.nml import MetaNMLClassifier, mlp
from mural.study.figures import FIGURES
from mural.study.figures.importance_weighting import adapt, importance_weighting
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


def test_both_ways_of_adapting_see_the_query(tmp_path):
    params = mlp.init((2, 16, 2), key=jax.random.key(0))
    data = zigzag_data(0)
    for in_every_batch in (True, False):
        batch, query = adapt(params, data, in_every_batch=in_every_batch, seed=0)
        assert len(batch) == len(query) == 2 * (len(data.x) // 32)
        assert min(query) < query[0] + 1e-6 or max(query) > query[0]


def test_every_figure_says_where_it_stands_in_the_paper():
    assert all(spec.paper.startswith("fig:") for spec in FIGURES.values())
