"""Which inputs are of no known class? Regret, softmax and scikit-learn's detectors on digits with classes held out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import LocalOutlierFactor

from mural.nml import CNMLClassifier, MetaNMLClassifier, MLEClassifier

Row = dict[str, Any]
Floats = NDArray[np.float64]
Score = Callable[[Floats], Floats]
Scores = Callable[[Floats, NDArray[np.int64], int], Score]

HELD_OUT = ((0, 1, 2), (3, 4, 5), (6, 7, 8))  # classes that no detector sees
FEATURES = 10  # principal components for exact CNML, whose price grows with their cube
HIDDEN, EPOCHS = (128, 128), 20


def _meta(x: Floats, y: NDArray[np.int64], seed: int) -> Score:
    return MetaNMLClassifier(HIDDEN, meta_epochs=EPOCHS, random_state=seed).fit(x, y).log_normalizer


def _kernel(x: Floats, y: NDArray[np.int64], seed: int) -> Score:
    return CNMLClassifier("kernel").fit(x, y).log_normalizer


def _logistic(x: Floats, y: NDArray[np.int64], seed: int) -> Score:
    reduce = PCA(FEATURES, random_state=seed).fit(x)
    model = CNMLClassifier("logistic", l2=1.0).fit(reduce.transform(x), y)
    return lambda q: model.log_normalizer(reduce.transform(q))


def _softmax(x: Floats, y: NDArray[np.int64], seed: int) -> Score:
    model = MLEClassifier(HIDDEN, epochs=EPOCHS, random_state=seed).fit(x, y)
    return lambda q: -np.log(model.predict_proba(q).max(axis=1))


def _forest(x: Floats, y: NDArray[np.int64], seed: int) -> Score:
    model = IsolationForest(n_estimators=300, random_state=seed).fit(x)
    return lambda q: -model.score_samples(q)


def _outlier_factor(x: Floats, y: NDArray[np.int64], seed: int) -> Score:
    model = LocalOutlierFactor(novelty=True).fit(x)
    return lambda q: -model.score_samples(q)


DETECTORS: dict[str, Scores] = {
    "regret, meta-NML": _meta,
    "regret, CNML by kernel counts": _kernel,
    f"regret, exact CNML, logistic on {FEATURES} components": _logistic,
    "max-softmax, the same network": _softmax,
    "IsolationForest": _forest,
    "LocalOutlierFactor": _outlier_factor,
}


def bench_ood(
    detectors: Sequence[str] = tuple(DETECTORS),
    held_out: Sequence[Sequence[int]] = HELD_OUT,
    seed: int = 0,
    most: int | None = None,
) -> Iterator[Row]:
    """One row per detector: AUROC of unknown digits against known ones that it was not fitted to; mean and each split.

    Labels are used by the classifiers and not by scikit-learn's two. `most` bounds the rows, for a quick look.
    """
    splits = [_split(tuple(classes), seed, most) for classes in held_out]
    for name in detectors:
        begun, found = time.process_time(), []
        for x, y, known, unknown in splits:
            score = DETECTORS[name](x, y, seed)
            truth = np.repeat([0, 1], [len(known), len(unknown)])
            found.append(float(roc_auc_score(truth, score(np.concatenate([known, unknown])))))
        yield {
            "detector": name,
            "auroc": round(float(np.mean(found)), 4),
            "worst": round(min(found), 4),
            "each": [round(value, 4) for value in found],
            "held_out": ["".join(map(str, classes)) for classes in held_out],
            "cpu_seconds": round(time.process_time() - begun, 1),
        }


def _split(held_out: Sequence[int], seed: int, most: int | None) -> tuple[Floats, NDArray[np.int64], Floats, Floats]:
    """Pixels and labels to fit, known digits to test with, unknown digits."""
    pixels, labels = load_digits(return_X_y=True)
    unknown = np.isin(labels, held_out)
    x, test, y, _ = train_test_split(
        pixels[~unknown] / 16, labels[~unknown], test_size=0.3, random_state=seed, stratify=labels[~unknown]
    )
    return x[:most], y[:most], test[:most], pixels[unknown][:most] / 16
