"""`MetaNMLClassifier`: meta-NML as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree
from sklearn.utils import check_random_state

from mural.errors import ArgumentError
from mural.nml import meta
from mural.nml.base import DataError, Floats, NMLEstimator
from mural.nml.mlp import Params
from mural.nml.proposals import Proposal, resolve
from mural.nml.scoring import in_chunks, tracked
from mural.nml.weights import Data, FeatureMap, identity

AUTO_NEIGHBOUR = 10  # kernel_width="auto": the typical distance to this nearest neighbour, the tenth
SCORING_BYTES = 2**28


class MetaNMLClassifier(NMLEstimator):
    """p(y|x) by conditional normalized maximum likelihood, amortised by meta-learning.

    Trained so that one gradient step on D ∪ (x, y) makes the network as sure of y at x as the data allow. Near data
    the answer is that of the data; where there are none it is 1/k; between, it falls with the number of points nearby,
    as counts would. A query costs a few forward passes.

    Parameters
    ----------
    hidden : widths of the hidden layers.
    kernel_width : λ_dist, the distance at which a point's weight in a query's loss has fallen to 0.1, in units of the
        inputs (after scaling, if `standardize`). "auto" takes the typical distance to the 10th nearest neighbour;
        None or inf switches the kernel off.
    step_size, steps : α and the number of the gradient steps of a query. More `steps` come nearer to exact CNML at a
        much higher price; `set_params(steps=…)` after `fit` is allowed.
    query_weight : k_query, how many points the query counts for.
    query_in_every_batch : the paper's importance weighting: the query is in every batch, with the weight of one point
        of all of D. False: it is there as often as any other point would be.
    train_points, adapt_points : points of D in a batch of meta-training and of a query, drawn at random (the paper: 63
        for both). None takes all of D, which for queries costs little and makes answers smooth.
    outer_points : points of D per task in the meta-training loss, drawn in proportion to their weight. None takes all.
    outside_share, proposal : which share of the query tasks lies outside D, and where: "auto", "box", "pairs", or a
        function (key, data, count) → inputs.
    features : feature map of the kernel, a function of JAX arrays [n, d] → [n, f]. None: the inputs themselves.
    standardize : shift and scale inputs to mean 0 and deviation 1, for network and kernel. False: raw, as in the paper.
    meta_epochs, queries_per_update, updates_per_epoch : length of meta-training in `fit`; each call of `partial_fit` is
        one meta-epoch, started from where the last one ended.
    learning_rate : of Adam; falls to zero over the course of `fit`, stays constant in `partial_fit`.
    classes : all labels, if some of them may be missing from y.
    random_state : seed, RandomState or None.

    Examples
    --------
    >>> import numpy as np
    >>> from mural.nml import MetaNMLClassifier
    >>> X = np.repeat([[0.0], [1.0]], 30, axis=0)
    >>> y = np.repeat([0, 1], 30)
    >>> clf = MetaNMLClassifier(hidden=(32,), kernel_width=0.2, meta_epochs=30, random_state=0).fit(X, y)
    >>> clf.predict(X[[0, -1]])
    array([0, 1])
    """

    def __init__(
        self,
        hidden: Sequence[int] = (128, 128),
        *,
        kernel_width: float | str | None = "auto",
        step_size: float = 0.1,
        steps: int = 1,
        query_weight: float = 1.0,
        query_in_every_batch: bool = True,
        train_points: int | None = 256,
        adapt_points: int | None = None,
        outer_points: int | None = 64,
        outside_share: float = 1 / 3,
        proposal: str | Proposal = "auto",
        features: FeatureMap | None = None,
        standardize: bool = True,
        meta_epochs: int = 60,
        queries_per_update: int = 8,
        updates_per_epoch: int = 16,
        learning_rate: float = 3e-3,
        classes: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.hidden = hidden
        self.kernel_width = kernel_width
        self.step_size = step_size
        self.steps = steps
        self.query_weight = query_weight
        self.query_in_every_batch = query_in_every_batch
        self.train_points = train_points
        self.adapt_points = adapt_points
        self.outer_points = outer_points
        self.outside_share = outside_share
        self.proposal = proposal
        self.features = features
        self.standardize = standardize
        self.meta_epochs = meta_epochs
        self.queries_per_update = queries_per_update
        self.updates_per_epoch = updates_per_epoch
        self.learning_rate = learning_rate
        self.classes = classes
        self.random_state = random_state

    def _config(self) -> meta.MetaNML:
        if self.steps < 1:
            raise ArgumentError(f"steps={self.steps}: at least one gradient step is needed.")
        return meta.MetaNML(
            step_size=self.step_size,
            steps=self.steps,
            query_weight=self.query_weight,
            query_in_every_batch=self.query_in_every_batch,
            train_points=self.train_points,
            adapt_points=self.adapt_points,
            outer_points=self.outer_points,
            outside_share=self.outside_share,
            proposal=resolve(self.proposal),
            features=self.features or identity,
            queries_per_update=self.queries_per_update,
            updates_per_epoch=self.updates_per_epoch,
        )

    def fit(self, X: ArrayLike, y: ArrayLike, represents: ArrayLike | None = None) -> Self:
        """Meta-train from scratch. `represents`: how many points each row stands for (one number, or one per row)."""
        rows, labels, counts = self._validated(X, y, represents)
        self._start(rows, counts)
        rates = 0.5 * self.learning_rate * (1 + np.cos(np.pi * np.arange(self.meta_epochs) / self.meta_epochs))
        self._train(rows, labels, counts, rates)
        return self

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        represents: ArrayLike | None = None,
    ) -> Self:
        """One meta-epoch on X, y, which replace D, from the network as it is: cheap retraining as data come in."""
        first = not hasattr(self, "state_") and not hasattr(self, "data_")
        if first and classes is not None:
            self.classes, given = classes, self.classes
            try:
                rows, labels, counts = self._validated(X, y, represents)
            finally:
                self.classes = given
        else:
            rows, labels, counts = self._validated(X, y, represents, reset=first)
        if first:
            self._start(rows, counts)
        self._train(rows, labels, counts, np.asarray([self.learning_rate]))
        return self

    def _start(self, rows: Floats, counts: Floats) -> None:
        """Scaling, kernel width and a fresh network, which later calls of `partial_fit` keep."""
        self._fit_scaling(rows, counts)
        seed = check_random_state(self.random_state).randint(2**31)
        key_init, self.key_ = jax.random.split(jax.random.key(seed))
        self.state_ = meta.init((rows.shape[1], *self.hidden, len(self.classes_)), key=key_init)
        self.meta_epochs_ = 0

    def _train(self, rows: Floats, labels: np.ndarray, counts: Floats, rates: np.ndarray) -> None:
        x = self._scaled(rows).astype(np.float32)
        if not hasattr(self, "kernel_width_") or self.meta_epochs_ == 0:
            self.kernel_width_ = self._width(x[counts > 0])
        self.data_ = padded(x, labels, counts)
        self.loss_curve_ = getattr(self, "loss_curve_", []) if self.meta_epochs_ else []
        config = self._config()
        if len(self.classes_) == 1:
            return
        for i in tracked(range(len(rates)), "meta-training", len(rates)):
            key = jax.random.fold_in(self.key_, self.meta_epochs_)
            self.state_, info = meta.epoch(
                config, self.state_, self.data_, self.kernel_width_, rates[i].astype(np.float32), key=key
            )
            self.loss_curve_.append(float(info["loss"].mean()))
            self.meta_epochs_ += 1
        if not np.isfinite(self.loss_curve_[-1:]).all():
            raise DataError("Meta-training diverged. Use standardize=True, or lower step_size or learning_rate.")

    def _width(self, x: np.ndarray) -> float:
        if self.kernel_width is None:
            return float("inf")
        if self.kernel_width == "auto":
            z = np.asarray((self.features or identity)(jnp.asarray(x)), dtype=float)
            distance, _ = cKDTree(z).query(z, k=min(AUTO_NEIGHBOUR + 1, len(z)))
            typical = np.median(np.reshape(distance, (len(z), -1))[:, -1])
            return float(typical) if typical > 0 else 1.0
        if isinstance(self.kernel_width, str) or not self.kernel_width > 0:
            raise ArgumentError(
                f"kernel_width={self.kernel_width!r}: use a length above 0, 'auto', or None for no kernel."
            )
        return float(self.kernel_width)

    def _log_likelihoods(self, X: Floats) -> Floats:
        config, params = self._config(), self.state_.params
        n, k = self.data_.x.shape[0], len(self.classes_)
        widest = max(layer.w.shape[1] for layer in params)
        points = n if config.adapt_points is None else min(n, config.adapt_points)
        chunk = max(8, int(SCORING_BYTES / (16 * k * (points + 2 * widest + X.shape[1]))))

        def score(rows: np.ndarray) -> np.ndarray:
            return np.asarray(_score(config, params, self.data_, jnp.asarray(rows), self.kernel_width_, key=self.key_))

        return in_chunks(score, self._scaled(X).astype(np.float32), chunk, "scoring").astype(float)

    def __getstate__(self) -> dict[str, Any]:
        """Plain NumPy arrays, so that pickles do not depend on the version of JAX."""
        state = dict(super().__getstate__())
        if "key_" in state:
            state["key_"] = np.asarray(jax.random.key_data(state["key_"]))
            state["state_"] = jax.tree.map(np.asarray, state["state_"])
            state["data_"] = jax.tree.map(np.asarray, state["data_"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "key_" in state:
            state = {**state, "key_": jax.random.wrap_key_data(jnp.asarray(state["key_"]))}
            for name in ("state_", "data_"):
                state[name] = jax.tree.map(jnp.asarray, state[name])
        super().__setstate__(state)


def padded(x: np.ndarray, labels: np.ndarray, counts: Floats) -> Data:
    """D with its size raised to a power of two by points that represent none: few shapes to compile for."""
    extra = (1 << max(3, (len(x) - 1).bit_length())) - len(x)
    return Data(
        jnp.asarray(np.concatenate([x, np.repeat(x[:1], extra, axis=0)])),
        jnp.asarray(np.concatenate([labels, np.zeros(extra, dtype=labels.dtype)]), dtype=jnp.int32),
        jnp.asarray(np.concatenate([counts, np.zeros(extra)]), dtype=jnp.float32),
    )


@partial(jax.jit, static_argnums=0)
def _score(
    config: meta.MetaNML, params: Params, data: Data, queries: Array, kernel_width: float, *, key: Array
) -> Array:
    return meta.log_likelihoods(config, params, data, queries, kernel_width, key=key)
