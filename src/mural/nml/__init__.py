"""p(success | state) with honest uncertainty: tabular, exact and meta-learned CNML. Knows nothing of RL."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mural.nml.meta import MetaNML, MetaState
from mural.nml.tabular import Grid, tabular_cnml
from mural.nml.weights import Data

if TYPE_CHECKING:
    from mural.nml.base import DataError
    from mural.nml.cnml_classifier import CNMLClassifier
    from mural.nml.meta_classifier import MetaNMLClassifier
    from mural.nml.mle_classifier import MLEClassifier

# Imported when first used: scikit-learn and SciPy take longer to load than JAX, and training needs neither.
_ESTIMATORS = {
    "CNMLClassifier": "mural.nml.cnml_classifier",
    "DataError": "mural.nml.base",
    "MLEClassifier": "mural.nml.mle_classifier",
    "MetaNMLClassifier": "mural.nml.meta_classifier",
}

__all__ = [
    "CNMLClassifier",
    "Data",
    "DataError",
    "Grid",
    "MLEClassifier",
    "MetaNML",
    "MetaNMLClassifier",
    "MetaState",
    "tabular_cnml",
]


def __getattr__(name: str) -> Any:
    if name in _ESTIMATORS:
        return getattr(importlib.import_module(_ESTIMATORS[name]), name)
    raise AttributeError(f"module 'mural.nml' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_ESTIMATORS])
