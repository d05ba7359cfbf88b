"""Theorem 1 by solving its two maximum-likelihood problems, and counts on a grid."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from mural.nml.tabular import Grid, tabular_cnml, tabular_log_likelihoods


def likelihood_after_adding(failures, successes, label):
    """p(label) at the p(success) that is most likely for the counts with one `label` added, found by search."""
    failures, successes = failures + (label == 0), successes + (label == 1)

    def negative_log_likelihood(p):
        # 0 log 0 = 0: a label that never occurs says nothing.
        return -sum(n * np.log(q) for n, q in ((failures, 1 - p), (successes, p)) if n)

    p = minimize_scalar(negative_log_likelihood, bounds=(1e-12, 1 - 1e-12), options={"xatol": 1e-12}).x
    return p if label == 1 else 1 - p


def test_theorem_1_for_all_small_counts():
    for n in range(21):
        for g in range(21):
            failure, success = (likelihood_after_adding(n, g, label) for label in (0, 1))
            solved = success / (failure + success)
            assert solved == pytest.approx((g + 1) / (n + g + 2), abs=1e-5)
            assert tabular_cnml(n, g) == pytest.approx(solved, abs=1e-5)


def test_many_states_at_once_and_unvisited_ones():
    p = tabular_cnml([0, 9, 0], [0, 0, 9])
    np.testing.assert_allclose(p, [1 / 2, 1 / 11, 10 / 11])
    with pytest.raises(ValueError, match="0 or more"):
        tabular_cnml([-1], [0])


@pytest.mark.parametrize("counts", [[0, 0, 0], [5, 0, 2], [1, 1, 1], [30, 2, 0, 7]])
def test_k_classes_by_solving(counts):
    for label in range(len(counts)):
        augmented = np.array(counts, dtype=float)
        augmented[label] += 1

        def negative_log_likelihood(logits, n=augmented):
            return n.sum() * np.logaddexp.reduce(logits) - n @ logits

        logits = minimize(negative_log_likelihood, np.zeros(len(counts)), tol=1e-10).x
        solved = np.exp(logits[label] - np.logaddexp.reduce(logits))
        assert np.exp(tabular_log_likelihoods(counts)[label]) == pytest.approx(solved, abs=1e-4)


def test_two_classes_are_theorem_1():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 50, (40, 2))
    p = np.exp(tabular_log_likelihoods(counts))
    np.testing.assert_allclose(p[:, 1] / p.sum(1), tabular_cnml(counts[:, 0], counts[:, 1]), rtol=1e-12)


def test_grid_centres_lie_in_their_own_cells():
    grid = Grid((-1.0, 0.0, 5.0), (1.0, 3.0, 6.0), 4)
    centres = grid.centres()
    assert centres.shape == (64, 3)
    np.testing.assert_array_equal(grid.index(centres), np.arange(64))
    nudged = centres + 0.49 * grid.cell_size * np.random.default_rng(0).uniform(-1, 1, centres.shape)
    np.testing.assert_array_equal(grid.index(nudged), np.arange(64))


def test_grid_counts_and_ideal():
    grid = Grid((0.0, 0.0), (2.0, 4.0), 2)  # cells of 1 × 2
    visits = [[0.5, 0.5], [0.6, 1.9], [1.5, 3.0]]
    successes = [[1.5, 0.5], [1.5, 3.0]]
    np.testing.assert_array_equal(grid.counts(visits), [2, 0, 0, 1])
    np.testing.assert_array_equal(grid.counts(successes), [0, 0, 1, 1])
    np.testing.assert_allclose(grid.ideal(visits, successes), [1 / 4, 1 / 2, 2 / 3, 1 / 2])


def test_points_outside_belong_to_the_nearest_cell():
    grid = Grid((0.0, 0.0), (1.0, 1.0), 2)
    outside = [[-7.0, -0.1], [-7.0, 9.0], [1.0, 0.2], [1e9, 1.0]]
    np.testing.assert_array_equal(grid.index(outside), [0, 1, 2, 3])
    assert grid.counts(outside).sum() == 4
