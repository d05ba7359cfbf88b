"""What tells a user that something goes wrong: calibration, coverage, rewards that rise while success does not."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from mural.cells import cells
from mural.inputs.world import World
from mural.rewards import Classifier, total

BINS = 32  # of the visit counts, per axis
RELIABILITY_BINS = 10
FRESH = 512  # policy states that calibration is measured on
HONEST = 1e4  # how many times what is seen first a space may be, to be taken for the room that there is
SURE = 0.75  # probability from which on a state is taken for success
WINDOW = 10  # epochs that the alarm looks back


class Diagnostics:
    """Keeps visit counts and the recent past of a run."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.visits = np.zeros((BINS, BINS), np.int64)
        self.low, self.high = bounds(world)
        self.past = np.full((WINDOW, 2), np.nan, np.float64)  # learned return, true success

    def visit(self, xy: NDArray[np.float32]) -> None:
        """Count places [n, 2]."""
        low, high = xy.min(axis=0), xy.max(axis=0)
        room = np.maximum(high - low, 1e-3)
        far = (
            not self.visits.any() and self.world.problem.plane is None and (self.high - self.low > HONEST * room).any()
        )
        if far or not np.isfinite(self.low).all():  # nothing known before: three times the extent of the first data
            self.low, self.high = low - room, high + room
        cell = cells(xy, self.low, self.high, BINS)
        np.add.at(self.visits, (cell[:, 0], cell[:, 1]), 1)

    def coverage(self) -> dict[str, float]:
        """Share of the cells of the plane that have been visited."""
        return {"coverage": float(np.mean(self.visits > 0))}

    def classifier(self, terms: total.Terms, parts: total.PartStates, recent: jax.Array) -> dict[str, Any]:
        """Calibration on held-out examples (label 1) and as many fresh policy states (label 0).

        `brier` is the mean squared error of p, `ece` Σ_bins (share of points) · |mean p − share of successes|.
        """
        term, held_out = total.find(terms, Classifier), self.world.held_out
        if term is None or not len(held_out):
            return {}
        fresh = np.asarray(recent)[-FRESH:]
        rows = np.concatenate(
            [np.resize(held_out, (FRESH, held_out.shape[1])), np.resize(fresh, (FRESH, fresh.shape[1]))]
        )
        p = total.probability(term, parts, rows.astype(np.float32)).astype(np.float64)
        ece, brier, table = calibration(p, np.repeat([1.0, 0.0], FRESH))
        return {"calibration/ece": ece, "calibration/brier": brier, "calibration/table": table}

    def found(self, terms: total.Terms, parts: total.PartStates, ends: NDArray[np.float32]) -> float | None:
        """Share of the states [n, d] that the classifier takes for success; None if there is no classifier."""
        term = total.find(terms, Classifier)
        return None if term is None else float(np.mean(total.probability(term, parts, ends) >= SURE))

    def alarm(self, row: dict[str, Any]) -> dict[str, Any]:
        """`alarm`: 1 if the learned return rose by half and stayed there, and true success, below 0.5, did not rise.

        It compares the last five evaluations with the five before; stayed means that each of the last is above all of
        those before. A policy that explores finds bright places and darkens them, up and down; one that has found a
        false success stays there.
        """
        if "eval/return" not in row or "eval/success" not in row:
            return {}
        self.past = np.roll(self.past, -1, axis=0)
        self.past[-1] = row["eval/return"], row["eval/success"]
        if np.isnan(self.past).any():
            return {"alarm": 0}
        first, last = self.past[: WINDOW // 2], self.past[WINDOW // 2 :]
        before, after = first.mean(axis=0), last.mean(axis=0)
        risen = after[0] > before[0] + 0.5 * max(abs(before[0]), 1e-6) and last[:, 0].min() > first[:, 0].max()
        return {"alarm": int(risen and after[1] <= before[1] and after[1] < 0.5)}

    def state(self) -> dict[str, NDArray[Any]]:
        """For checkpoints."""
        return {
            "visits": self.visits.astype(np.int32),
            "bounds": np.stack([self.low, self.high]).astype(np.float32),
            "past": self.past,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """From a checkpoint."""
        self.visits = np.asarray(state["visits"]).astype(np.int64)
        self.low, self.high = np.asarray(state["bounds"])
        self.past = np.asarray(state["past"], np.float64).copy()


def calibration(p: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float, list[list[float]]]:
    """Expected calibration error, Brier score, and per occupied tenth of p: [mean p, share of successes, points]."""
    which = np.minimum((p * RELIABILITY_BINS).astype(int), RELIABILITY_BINS - 1)
    table = [
        [float(p[which == b].mean()), float(y[which == b].mean()), float((which == b).sum())]
        for b in range(RELIABILITY_BINS)
        if (which == b).any()
    ]
    ece = sum(n / len(p) * abs(confidence - share) for confidence, share, n in table)
    return float(ece), float(np.mean((p - y) ** 2)), table


def bounds(world: World) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The plane of places: what the task declares, or the observation space's bounds of the first two columns."""
    if (plane := world.problem.plane) is not None:
        return plane[0], plane[1]
    columns = world.spaces.columns[:2]
    low, high = (side[columns].astype(np.float32) for side in (world.spaces.obs_low, world.spaces.obs_high))
    env = world.envs[0].unwrapped
    place_is_state = hasattr(env, "xy") is False or len(world.spaces.columns) == 2
    if len(columns) == 2 and place_is_state and np.isfinite([low, high]).all() and (low < high).all():
        return low, high
    return np.full(2, np.nan, np.float32), np.full(2, np.nan, np.float32)
