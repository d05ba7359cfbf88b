"""`CNMLClassifier`: exact CNML as a scikit-learn estimator, the ground truth for meta-NML."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Self

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from mural.errors import ArgumentError
from mural.nml import kernel, mlp, network
from mural.nml.base import DataError, Floats, NMLEstimator
from mural.nml.logistic import Logistic
from mural.nml.network import Training
from mural.nml.scoring import in_chunks
from mural.nml.weights import Data

NEIGHBOUR, NEIGHBOURHOODS = 10, 512  # of at most so many rows the 10th neighbour is looked for
COPIES_MB = 512  # memory for the private networks of a chunk of queries

_counted = jax.jit(kernel.log_likelihoods, static_argnums=3)


class CNMLClassifier(NMLEstimator):
    """p(y|x) by conditional normalized maximum likelihood, solved exactly for every query and label.

    Parameters
    ----------
    model : "logistic" (Newton, unique optimum), "mlp" (a network trained to convergence for each query and label), or
        "kernel" (one probability per label and query, likelihood weighted by the kernel: counts, nothing is trained).
    features : for "logistic": a function of NumPy arrays [n, d] → [n, m] to use instead of the inputs.
    hidden : for "mlp": widths of the hidden layers.
    kernel_width : for "kernel": λ, the distance at which a point counts for a tenth, in units of the
        standardised inputs. None takes the median distance from a row to its 10th neighbour.
    l2 : strength of ½ l2 ‖θ‖² beside the summed loss. Keeps the optimum finite on separable data.
    tol : for "logistic", of the gradient relative to the size of the data; for "mlp", of the change of probabilities.
        None takes 1e-8 and 2e-3.
    max_iter : Newton steps, or rounds of 200 Adam steps.
    learning_rate : for "mlp": of Adam.
    standardize : shift and scale inputs to mean 0 and deviation 1 first.
    classes : all labels, if some of them may be missing from y.
    random_state : seed, RandomState or None; only "mlp" uses it.

    Examples
    --------
    >>> import numpy as np
    >>> from mural.nml import CNMLClassifier
    >>> X, y = np.array([[-1.0], [-1.2], [1.0], [1.1]]), [0, 0, 1, 1]
    >>> CNMLClassifier(l2=0.1).fit(X, y).predict_proba([[-1.1], [1.0]]).round(1)
    array([[0.7, 0.3],
           [0.3, 0.7]])
    """

    def __init__(
        self,
        model: str = "logistic",
        *,
        features: Callable[[Floats], Floats] | None = None,
        hidden: Sequence[int] = (64, 64),
        kernel_width: float | None = None,
        l2: float = 1e-2,
        tol: float | None = None,
        max_iter: int = 100,
        learning_rate: float = 3e-3,
        standardize: bool = True,
        classes: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.model = model
        self.features = features
        self.hidden = hidden
        self.kernel_width = kernel_width
        self.l2 = l2
        self.tol = tol
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.standardize = standardize
        self.classes = classes
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, represents: ArrayLike | None = None) -> Self:
        """Maximum likelihood on D, where each query's problems start. `represents`: points each row stands for."""
        if self.model not in ("logistic", "mlp", "kernel"):
            raise ArgumentError(f"model={self.model!r}: use 'logistic', 'mlp' or 'kernel'.")
        if self.kernel_width is not None and not self.kernel_width > 0:
            raise ArgumentError(f"kernel_width={self.kernel_width}: must be above 0, or None.")
        if not self.l2 > 0:
            raise ArgumentError(f"l2={self.l2}: must be above 0, or separable data have no finite optimum.")
        rows, labels, counts = self._validated(X, y, represents)
        self._fit_scaling(rows, counts)
        k = len(self.classes_)
        if self.model == "logistic":
            tol = 1e-8 if self.tol is None else self.tol
            f = self._features(rows)
            self.problem_ = Logistic(f, np.eye(k)[labels], counts, self.l2, tol, self.max_iter)
            self.coef_, converged, self.n_iter_ = self.problem_.fit()
            self._warn(np.asarray([converged]), "fit")
            return self
        x = jnp.asarray(self._scaled(rows), jnp.float32)
        self.data_ = Data(x, jnp.asarray(labels, jnp.int32), jnp.asarray(counts, jnp.float32))
        if self.model == "kernel":
            some = x[:: max(1, len(x) // NEIGHBOURHOODS)]
            usual = float(jnp.median(kernel.neighbour_distance(some, x, NEIGHBOUR)))
            self.kernel_width_ = self.kernel_width or usual or 1.0  # 0: all rows are the same, so any width will do
        else:
            seed = check_random_state(self.random_state).randint(2**31)
            start = mlp.init((rows.shape[1], *self.hidden, k), key=jax.random.key(seed))
            self.params_, converged, self.n_iter_ = network.fit(self._training(), start, self.data_)
            self._warn(np.asarray([converged]), "fit")
        return self

    def _features(self, rows: Floats) -> Floats:
        f = self._scaled(rows) if self.features is None else np.asarray(self.features(rows), dtype=float)
        if f.ndim != 2 or len(f) != len(rows):
            raise DataError(f"features must give one row per input: got shape {f.shape} for {len(rows)} rows.")
        if not np.isfinite(f).all():
            raise DataError("features gave NaN or infinity: make the function safe for all inputs, or scale them.")
        return np.concatenate([f, np.ones((len(f), 1))], axis=1)

    def _training(self) -> Training:
        tol = 2e-3 if self.tol is None else self.tol
        return Training(l2=self.l2, learning_rate=self.learning_rate, max_rounds=self.max_iter, tol=tol)

    def _log_likelihoods(self, X: Floats) -> Floats:
        if self.model == "kernel":

            def counted(rows: np.ndarray) -> np.ndarray:
                x = jnp.asarray(rows, jnp.float32)
                return np.asarray(_counted(self.data_, x, self.kernel_width_, len(self.classes_)))

            return in_chunks(counted, self._scaled(X), 1024, "kernel counts").astype(float)
        # Scores carry their convergence along, so that only real queries are counted, not padding.
        if self.model == "logistic":

            def score(rows: np.ndarray) -> np.ndarray:
                return np.stack(self.problem_.log_likelihoods(self.coef_, rows), axis=-1)

            scores = in_chunks(score, self._features(X), 256, "exact CNML")
        else:
            training = self._training()

            def score(rows: np.ndarray) -> np.ndarray:
                x = jnp.asarray(rows, jnp.float32)
                return np.stack(network.log_likelihoods(training, self.params_, self.data_, x), axis=-1)

            weights = sum(p.size for p in jax.tree.leaves(self.params_))
            widest = max(layer.w.shape[1] for layer in self.params_)
            problem_mb = 4 * (4 * weights + 6 * widest * len(self.data_.x)) / 2**20
            chunk = max(1, min(64, int(COPIES_MB / (problem_mb * len(self.classes_)))))
            scores = in_chunks(score, self._scaled(X), chunk, "exact CNML")
        self._warn(scores[..., 1] == 1, "queries")
        return scores[..., 0].astype(float)

    def _warn(self, converged: np.ndarray, what: str) -> None:
        if not converged.all():
            warnings.warn(
                f"{(~converged).sum()} of {converged.size} problems did not converge in {what}: "
                "raise max_iter, l2 or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
