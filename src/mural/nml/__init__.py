"""p(success | state) with honest uncertainty: tabular, exact and meta-learned CNML. Knows nothing of RL."""

from mural.nml.base import DataError
from mural.nml.cnml_classifier import CNMLClassifier
from mural.nml.descent import Fit
from mural.nml.meta import MetaNML
from mural.nml.meta_classifier import MetaNMLClassifier
from mural.nml.mle_classifier import MLEClassifier
from mural.nml.tabular import Grid, tabular_cnml
from mural.nml.weights import Data

__all__ = [
    "CNMLClassifier",
    "Data",
    "DataError",
    "Fit",
    "Grid",
    "MLEClassifier",
    "MetaNML",
    "MetaNMLClassifier",
    "tabular_cnml",
]
