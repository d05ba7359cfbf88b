"""Queries outside D: where each proposal may put them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mural.nml import proposals
from mural.nml.weights import Data

rng = np.random.default_rng(0)
X = rng.normal(size=(6, 2)) * [1.0, 10.0]
DATA = Data(jnp.asarray(np.vstack([X, [[500.0, 500.0]]]), jnp.float32), jnp.zeros(7, int), jnp.ones(7).at[6].set(0.0))


def test_reach_is_the_box_and_a_quarter_without_padding():
    low, high = proposals.reach(DATA)
    extent = X.max(0) - X.min(0)
    np.testing.assert_allclose(low, X.min(0) - extent / 4, rtol=1e-5)
    np.testing.assert_allclose(high, X.max(0) + extent / 4, rtol=1e-5)


def test_box_fills_the_reach():
    low, high = map(np.asarray, proposals.reach(DATA))
    points = np.asarray(proposals.box(jax.random.key(0), DATA, 4000))
    assert ((points >= low) & (points <= high)).all()
    np.testing.assert_allclose(points.min(0), low, atol=0.01 * (high - low).max())
    np.testing.assert_allclose(points.max(0), high, atol=0.01 * (high - low).max())
    # The mean of a uniform variable of extent e has standard error e/√(12·4000).
    assert (np.abs(points.mean(0) - (low + high) / 2) < 4 * (high - low) / np.sqrt(12 * 4000)).all()


def test_pairs_lie_on_lines_through_two_points_and_a_quarter_beyond():
    points = np.asarray(proposals.pairs(jax.random.key(0), DATA, 500), dtype=float)
    a, b = X[:, None], X[None, :]
    line = (b - a)[None]
    length = np.maximum((line**2).sum(-1), 1e-12)
    t = ((points[:, None, None] - a[None]) * line).sum(-1) / length  # [points, a, b]
    apart = np.linalg.norm(a + t[..., None] * line - points[:, None, None], axis=-1)
    on = (apart < 1e-4) & (t > -0.2501) & (t < 1.2501)
    assert on.any((1, 2)).all()
    off_diagonal = on & ~np.eye(len(X), dtype=bool)
    t_of = t[
        np.arange(500)[:, None],
        *np.array([np.argwhere(o)[0] if o.any() else (0, 0) for o in off_diagonal]).T[:, :, None],
    ]
    assert (t_of < 0).any()  # some are beyond
    assert ((t_of > 0) & (t_of < 1)).any()  # some are between


def test_auto_is_box_in_few_dimensions_and_pairs_in_many():
    key = jax.random.key(3)
    np.testing.assert_array_equal(proposals.auto(key, DATA, 10), proposals.box(key, DATA, 10))
    many = Data(jnp.asarray(rng.normal(size=(6, 5)), jnp.float32), jnp.zeros(6, int), jnp.ones(6))
    np.testing.assert_array_equal(proposals.auto(key, many, 10), proposals.pairs(key, many, 10))


def test_a_single_point_still_has_room_around_it():
    one = Data(jnp.ones((3, 2)), jnp.zeros(3, int), jnp.array([1.0, 0.0, 0.0]))
    points = np.asarray(proposals.box(jax.random.key(0), one, 100))
    assert np.isfinite(points).all()
    assert points.std(0).min() > 0.05


def test_resolve():
    assert proposals.resolve("box") is proposals.box
    own = lambda key, data, count: data.x[:count]  # noqa: E731
    assert proposals.resolve(own) is own
    with pytest.raises(ValueError, match=r"'spiral' is unknown: use one of auto, box, pairs, or a function"):
        proposals.resolve("spiral")
