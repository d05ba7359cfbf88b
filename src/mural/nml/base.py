"""What all our estimators share: validation with errors that say what to do, and answers from log-likelihoods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from mural.errors import MuralError

Floats = NDArray[np.float64]

ADVICE = {
    "NaN": "Drop or impute those rows first (for example with sklearn.impute.SimpleImputer in a Pipeline).",
    "infinity": "Clip or rescale the column (for example with sklearn.preprocessing.RobustScaler).",
    "features": "Pass the same columns, in the same order, as in fit.",
    "sample(s)": "At least one labelled point is needed.",
}


FAR = 1e6  # inputs this many times further out than any data are as far away as can be
LARGEST = 1e18  # squares of larger inputs do not fit into single precision


class DataError(MuralError, ValueError):
    """Data that cannot be used, with what to do about it."""


def explained(error: ValueError) -> DataError:
    """scikit-learn's message, with advice where we have some."""
    message = str(error)
    return DataError(" ".join([message, *(advice for word, advice in ADVICE.items() if word in message)]))


class NMLEstimator(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Base of the classifiers: subclasses give `_log_likelihoods(X)`, log p_{θ_y}(y|x) for every row and label."""

    classes: ArrayLike | None
    standardize: bool
    classes_: NDArray[Any]

    @abstractmethod
    def _log_likelihoods(self, X: Floats) -> Floats: ...

    def _validated(
        self, X: ArrayLike, y: ArrayLike, represents: ArrayLike | None, *, reset: bool = True
    ) -> tuple[Floats, NDArray[np.int64], Floats]:
        """Checked inputs, labels as indices into `classes_` (set when `reset`), and a count for each point."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # scikit-learn adds up before it looks closer
                rows, labels = validate_data(self, X, y, dtype=np.float64, reset=reset)
            check_classification_targets(labels)
        except ValueError as error:
            raise explained(error) from error
        labels = np.asarray(labels)
        if reset:
            self.classes_ = np.unique(labels if self.classes is None else np.asarray(self.classes))
        unseen = np.setdiff1d(labels, self.classes_)
        if unseen.size:
            raise DataError(
                f"Labels {unseen.tolist()} are not among the classes {self.classes_.tolist()}: "
                "name all labels with classes=[...] when constructing, or in the first call of partial_fit."
            )
        counts = np.asarray(1.0 if represents is None else represents, dtype=float)
        if counts.shape not in ((), labels.shape):
            raise DataError(f"represents must be one number, or one for each of the {len(labels)} rows.")
        counts = np.broadcast_to(counts, labels.shape)
        if not np.isfinite(counts).all() or (counts < 0).any() or not (counts > 0).any():
            raise DataError("represents must be finite, 0 or more, and above 0 for at least one point.")
        return rows, np.searchsorted(self.classes_, labels), counts.copy()

    def _fit_scaling(self, rows: Floats, counts: Floats) -> None:
        """Fix how inputs are scaled, for this fit and all that are warm-started from it: by the points that the rows
        stand for, so that counts are the same as repeated rows."""
        rows, share = rows[counts > 0], counts[counts > 0] / counts.max()
        self.shift_, self.scale_ = np.zeros(rows.shape[1]), np.ones(rows.shape[1])
        if self.standardize:
            # Divided before adding up: sums and squares of the largest floats overflow.
            size = np.maximum(np.abs(rows).max(0), np.finfo(float).tiny)
            self.shift_ = np.average(rows / size, axis=0, weights=share) * size
            squares = (rows / size - self.shift_ / size) ** 2
            spread = np.sqrt(np.average(squares, axis=0, weights=share)) * size
            # Rounding leaves a constant column with a tiny spread instead of none.
            self.scale_ = np.where(spread > 1e-12 * size, spread, 1.0)
        largest = np.abs((rows - self.shift_) / self.scale_).max()
        if largest > LARGEST:
            raise DataError(f"Inputs of up to {largest:.0e} are too large: use standardize=True, or rescale them.")
        self.limit_ = min(LARGEST, FAR * max(1.0, largest))

    def _scaled(self, rows: Floats) -> Floats:
        """Inputs as the model sees them, in single precision's range."""
        with np.errstate(over="ignore"):
            return np.clip((rows - self.shift_) / self.scale_, -self.limit_, self.limit_)

    def _queries(self, X: ArrayLike) -> Floats:
        check_is_fitted(self)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))
        except ValueError as error:
            raise explained(error) from error

    def predict_log_likelihoods(self, X: ArrayLike) -> Floats:
        """log p_{θ_y}(y|x) [n, k]: each label's log-likelihood when the model has been fitted to that label too."""
        queries = self._queries(X)
        if len(self.classes_) == 1:
            return np.zeros((len(queries), 1))
        return self._log_likelihoods(queries)

    def log_normalizer(self, X: ArrayLike) -> Floats:
        """log Σ_y p_{θ_y}(y|x) [n]: the pNML regret. 0 where the data leave no doubt, log k where they say nothing."""
        log_p = self.predict_log_likelihoods(X)
        top = log_p.max(1)
        return np.asarray(top + np.log(np.exp(log_p - top[:, None]).sum(1)))

    def predict_log_proba(self, X: ArrayLike) -> Floats:
        """log p(y|x) [n, k]."""
        log_p = self.predict_log_likelihoods(X)
        log_p = log_p - log_p.max(1, keepdims=True)
        return np.asarray(log_p - np.log(np.exp(log_p).sum(1, keepdims=True)))

    def predict_proba(self, X: ArrayLike) -> Floats:
        """p(y|x) [n, k], columns in the order of `classes_`."""
        p = np.exp(self.predict_log_proba(X))
        return np.asarray(p / p.sum(1, keepdims=True))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable class of each row."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[best])
