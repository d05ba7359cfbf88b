"""`MLEClassifier`: the feed-forward maximum-likelihood classifier that CNML is compared with.

Trained to convergence it is a sharp boundary somewhere between the classes; weight decay, early stopping and mixup are
the usual remedies (`fig:failclassifier` of the paper shows what each does to a reward).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from mural.nml import mle, mlp
from mural.nml.base import Floats, NMLEstimator
from mural.nml.mlp import Params
from mural.nml.scoring import in_chunks, tracked
from mural.nml.weights import Data

SCORING_CHUNK = 2**14


class MLEClassifier(NMLEstimator):
    """A network fitted by maximum likelihood: p(y|x) of one forward pass.

    Parameters
    ----------
    hidden : widths of the hidden layers.
    learning_rate, batch_size, epochs : of Adam, with step sizes that fall to zero. An epoch is one pass over the data.
    weight_decay : decoupled weight decay (AdamW) per step, relative to the learning rate.
    mixup : α of the Beta(α, α) mixing weights of mixup; 0 is off.
    early_stopping : hold out `validation_fraction` of the data and stop when its loss has not improved for `patience`
        epochs; the best weights are kept.
    standardize : shift and scale inputs to mean 0 and deviation 1 first.
    classes : all labels, if some of them may be missing from y.
    random_state : seed, RandomState or None.
    """

    def __init__(
        self,
        hidden: Sequence[int] = (128, 128),
        *,
        learning_rate: float = 3e-3,
        batch_size: int = 256,
        epochs: int = 200,
        weight_decay: float = 0.0,
        mixup: float = 0.0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 10,
        standardize: bool = True,
        classes: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.hidden = hidden
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.weight_decay = weight_decay
        self.mixup = mixup
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.standardize = standardize
        self.classes = classes
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, represents: ArrayLike | None = None) -> Self:
        """Train from scratch. `represents`: how many points each row stands for (one number, or one per row)."""
        rows, labels, counts = self._validated(X, y, represents)
        self._fit_scaling(rows, counts)
        rows, labels, counts = rows[counts > 0], labels[counts > 0], counts[counts > 0]
        seed = check_random_state(self.random_state).randint(2**31)
        key_init, key_split, key = jax.random.split(jax.random.key(seed), 3)
        state = mle.init((rows.shape[1], *self.hidden, len(self.classes_)), key=key_init)
        order = np.asarray(jax.random.permutation(key_split, len(rows)))
        held_out = round(self.validation_fraction * len(rows)) if self.early_stopping else 0
        data = Data(
            jnp.asarray(self._scaled(rows), jnp.float32),
            jnp.asarray(labels, jnp.int32),
            jnp.asarray(counts, jnp.float32),
        )
        validation, training = (Data(*(a[part] for a in data)) for part in (order[:held_out], order[held_out:]))
        config = mle.MLE(self.weight_decay, self.mixup, self.batch_size)
        best, best_epoch = np.inf, 0
        self.params_, self.loss_curve_ = state.params, []
        for i in tracked(range(self.epochs), "maximum likelihood", self.epochs):
            rate = np.float32(0.5 * self.learning_rate * (1 + np.cos(np.pi * i / self.epochs)))
            state, info = mle.epoch(config, state, training, rate, key=jax.random.fold_in(key, i))
            self.loss_curve_.append(float(info["loss"].mean()))
            loss = float(_loss(state.params, validation)) if held_out else -i
            if loss < best:
                best, best_epoch, self.params_ = loss, i, state.params
            elif i - best_epoch >= self.patience:
                break
        return self

    def _log_likelihoods(self, X: Floats) -> Floats:
        def score(rows: np.ndarray) -> np.ndarray:
            return np.asarray(_log_p(self.params_, jnp.asarray(rows, jnp.float32)))

        return in_chunks(score, self._scaled(X), SCORING_CHUNK, "scoring").astype(float)


@jax.jit
def _log_p(params: Params, x: jax.Array) -> jax.Array:
    return jax.nn.log_softmax(mlp.forward(params, x))


@jax.jit
def _loss(params: Params, data: Data) -> jax.Array:
    loss = mlp.cross_entropy(mlp.forward(params, data.x), data.y)
    return jnp.sum(data.represents * loss) / jnp.sum(data.represents)
