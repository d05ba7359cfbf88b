"""How near meta-NML comes to the CNML that it stands for.

Truth is twofold: exact CNML of the same network, trained to convergence for every query and label (`exact`), and, on
the binned maze, Theorem 1 (`ideal`). Beside meta-NML with 1 to 20 gradient steps stand what it must beat: maximum
likelihood, and the same one-step query from a network without meta-training. `growing-maze` asks what a warm start and
the kernel are worth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau
from sklearn import datasets as sklearn_datasets
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from mural.nml import CNMLClassifier, Fit, MetaNMLClassifier, MLEClassifier
from mural.study.maze_data import MAZE_GRID, MazeData, free_cells, zigzag_data

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STEPS = (1, 2, 5, 10, 20)
BINS = 10  # of the expected calibration error
GROWING = "growing-maze"
EPOCHS = 6  # in which its data come
FIRST, MANY = 10, 30  # meta-epochs: of the first, as in the presets; and of what is trained anew


@dataclass(frozen=True)
class Problem:
    """A data set D, the queries at which methods are compared, and labelled points for calibration."""

    name: str
    x: Floats
    y: Ints
    represents: Floats
    queries: Floats
    exact_rows: Ints
    """Those of the queries for which exact CNML is solved: it takes seconds for each."""
    x_test: Floats
    y_test: Ints
    hidden: tuple[int, ...]
    kernel_width: float | str
    meta_epochs: int
    l2: float
    ideal: Floats | None = None
    """Theorem 1 at the queries, p of both labels [q, 2]."""
    seen: NDArray[np.bool_] | None = None
    """Which queries are cells with data. All others share the ideal 0.5, and ties bound Kendall's τ below 1."""


def maze(seed: int) -> Problem:
    """The zigzag maze in cells of 0.5: queries are all free cells."""
    data, later = zigzag_data(seed), zigzag_data(seed + 1)
    free = free_cells(MAZE_GRID, data)
    success = data.ideal()[free]
    x, y, counts = data.binned()
    seen = (MAZE_GRID.counts(data.x) > 0)[free]
    return Problem(
        name="maze",
        x=x,
        y=y,
        represents=counts,
        queries=MAZE_GRID.centres()[free],
        exact_rows=np.random.default_rng(seed).permutation(free.sum())[:64],
        x_test=MAZE_GRID.centres()[MAZE_GRID.index(later.x)],
        y_test=later.y,
        hidden=(256, 256),
        kernel_width=0.25,
        meta_epochs=100,
        l2=1e-3,  # next to nothing: cells may differ as they like, as in the ideal
        ideal=np.stack([1 - success, success], axis=1),
        seen=seen,
    )


def classic(name: str, seed: int) -> Problem:
    """A data set of scikit-learn: standardised, 30 % held out, 45 of those as queries."""
    x, y = getattr(sklearn_datasets, f"load_{name.replace('-', '_')}")(return_X_y=True)
    x, x_test, y, y_test = train_test_split(x, y, test_size=0.3, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(x)
    x, x_test = scaler.transform(x), scaler.transform(x_test)
    return Problem(
        name=name,
        x=x,
        y=y,
        represents=np.ones(len(x)),
        queries=x_test[:45],
        exact_rows=np.arange(min(45, len(x_test))),
        x_test=x_test,
        y_test=y_test,
        hidden=(64, 64),
        kernel_width="auto",
        meta_epochs=60,
        l2=1.0,  # a standard normal prior: with much less, the network can learn any label by heart
    )


def calibration_error(p: Floats, y: Ints) -> float:
    """Expected calibration error of the predicted class, over equal-width bins of its probability."""
    confidence, right = p.max(1), p.argmax(1) == y
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = [abs(confidence[bins == b].sum() - right[bins == b].sum()) for b in np.unique(bins)]
    return float(np.sum(gaps) / len(y))


def compare(p: Floats, truth: Floats) -> dict[str, float]:
    """Mean and largest absolute difference, and Kendall's τ, over all labels (for two, over that of success)."""
    if truth.shape[1] == 2:
        p, truth = p[:, 1:], truth[:, 1:]
    error = np.abs(p - truth)
    return {
        "mean_error": float(error.mean()),
        "max_error": float(error.max()),
        "tau": float(kendalltau(p.ravel(), truth.ravel()).statistic),
    }


def methods(problem: Problem, seed: int) -> Iterator[tuple[str, Any]]:
    """Fitted classifiers by name."""
    common: dict[str, Any] = {"hidden": problem.hidden, "standardize": False, "random_state": seed}
    data = problem.x, problem.y, problem.represents
    mle = MLEClassifier(epochs=400, **common).fit(*data)
    yield "mle", mle
    meta = MetaNMLClassifier(kernel_width=problem.kernel_width, meta_epochs=problem.meta_epochs, **common).fit(*data)
    for steps in STEPS:
        yield f"meta-{steps}", meta.set_params(steps=steps)
    untrained = meta.set_params(steps=1)
    untrained.state_ = Fit(mle.params_, untrained.state_.optimiser)
    yield "one-step-without-meta-training", untrained


def bench_fidelity(names: Sequence[str], seed: int = 0) -> Iterator[dict[str, Any]]:
    """One row per data set, method and truth."""
    for name in names:
        if name == GROWING:
            yield from growing(seed)
            continue
        problem = maze(seed) if name == "maze" else classic(name, seed)
        exact = CNMLClassifier(
            "mlp", hidden=problem.hidden, l2=problem.l2, standardize=False, max_iter=20, random_state=seed
        ).fit(problem.x, problem.y, problem.represents)
        p_exact = exact.predict_proba(problem.queries[problem.exact_rows])
        common = {"dataset": name, "hidden": list(problem.hidden), "seed": seed}
        if problem.ideal is not None:
            yield from against_ideal(common | {"method": "exact"}, problem, p_exact, problem.exact_rows)
        for method, classifier in methods(problem, seed):
            p = classifier.predict_proba(problem.queries)
            row = common | {"method": method}
            cases, which = np.unique(problem.x_test, axis=0, return_inverse=True)
            error = calibration_error(classifier.predict_proba(cases)[which], problem.y_test)
            rows = problem.exact_rows
            yield row | {"truth": "exact", "queries": len(rows)} | compare(p[rows], p_exact) | {"ece": error}
            if problem.ideal is not None:
                yield from against_ideal(row | {"ece": error}, problem, p, np.arange(len(p)))


def growing(seed: int) -> Iterator[dict[str, Any]]:
    """The maze's data come in epochs. One meta-epoch per epoch from the last network, beside networks trained anew."""
    problem, data = maze(seed), zigzag_data(seed)
    common: dict[str, Any] = {"hidden": problem.hidden, "standardize": False, "random_state": seed}

    def anew(epochs: int, kernel_width: Any) -> Any:
        model = MetaNMLClassifier(kernel_width=kernel_width, meta_epochs=epochs, **common)
        return model.fit(problem.x, problem.y, problem.represents)

    warm = MetaNMLClassifier(kernel_width=problem.kernel_width, **common)
    for epoch in range(1, EPOCHS + 1):
        so_far = MazeData(data.visits[: len(data.visits) * epoch // EPOCHS], data.examples)
        x, y, counts = so_far.binned()
        for _ in range(FIRST if epoch == 1 else 1):
            warm.partial_fit(x, y, represents=counts)
    fitted: dict[str, Callable[[], Any]] = {
        "warm, 1 meta-epoch per epoch": lambda: warm,
        "anew, 1 meta-epoch": lambda: anew(1, problem.kernel_width),
        f"anew, {MANY} meta-epochs": lambda: anew(MANY, problem.kernel_width),
        f"anew, {MANY} meta-epochs, no kernel": lambda: anew(MANY, None),
    }
    for method, make in fitted.items():
        row = {"dataset": GROWING, "hidden": list(problem.hidden), "seed": seed, "method": method}
        yield from against_ideal(row, problem, make().predict_proba(problem.queries), np.arange(len(problem.queries)))


def against_ideal(row: dict[str, Any], problem: Problem, p: Floats, rows: Ints) -> Iterator[dict[str, Any]]:
    """Compared with Theorem 1: at all free cells, and at those with data, where ranks are without the great tie."""
    assert problem.ideal is not None
    assert problem.seen is not None
    ideal, seen = problem.ideal[rows], problem.seen[rows]
    yield row | {"truth": "ideal", "queries": len(rows)} | compare(p, ideal)
    yield row | {"truth": "ideal, cells with data", "queries": int(seen.sum())} | compare(p[seen], ideal[seen])
