"""A coreset against a slow one, and what it is for: nobody who was there is forgotten."""

import jax.numpy as jnp
import numpy as np
import pytest

from mural.nml.coreset import coreset


def slow(points, size, counts):
    rows = list(range(size - size // 2))
    while len(rows) < size:
        away = [min(np.linalg.norm(p - points[r]) for r in rows) for p in points]
        rows.append(int(np.argmax(away)))
    owner = [int(np.argmin([np.linalg.norm(p - points[r]) for r in rows])) for p in points]
    return points[rows], [sum(c for c, o in zip(counts, owner, strict=True) if o == k) for k in range(size)]


@pytest.mark.parametrize(("seed", "d", "size"), [(0, 2, 8), (1, 5, 9), (2, 1, 1)])
def test_equals_the_slow_one(seed, d, size):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(60, d)).astype(np.float32)
    counts = rng.integers(0, 5, 60).astype(np.float32)
    chosen, numbers = coreset(jnp.asarray(points), size, jnp.asarray(counts))
    expected, sums = slow(points, size, counts)
    np.testing.assert_array_equal(chosen, expected)
    np.testing.assert_allclose(numbers, sums, rtol=1e-6)


def test_a_place_visited_once_is_kept():
    """Of 999 states in one room and one in another, a random draw of 20 would mostly miss the one."""
    points = np.random.default_rng(0).uniform(0, 1, (1000, 2)).astype(np.float32)
    points[700] = [5.0, 5.0]
    chosen, numbers = coreset(jnp.asarray(points), 20, jnp.full(1000, 3.0))
    at = np.flatnonzero((np.asarray(chosen) == 5.0).all(axis=1))
    assert list(np.asarray(numbers)[at]) == [3.0]
    assert float(jnp.sum(numbers)) == pytest.approx(3000)


def test_fewer_different_points_than_asked_for():
    points = np.repeat(np.eye(3, dtype=np.float32), 4, axis=0)
    chosen, numbers = coreset(jnp.asarray(points), 8, jnp.ones(12))
    for place in np.eye(3):
        here = (np.asarray(chosen) == place).all(axis=1)
        assert np.asarray(numbers)[here].sum() == 4
