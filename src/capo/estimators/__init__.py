"""The classifiers that a user imports, and the bases that they share."""

from ._base import BinaryClassifier, DecisionFunctionMixin, MeasureScoreMixin
from ._capo import CAPOClassifier
from ._progress import ProgressLogger, StepTimer
from ._svmperf import SVMPerfClassifier
from ._svmperf_cv import SVMPerfClassifierCV
from ._svmperf_path import svmperf_path
from ._validation import check_positive_grid, check_row_weights

__all__ = [
    "BinaryClassifier",
    "CAPOClassifier",
    "DecisionFunctionMixin",
    "MeasureScoreMixin",
    "ProgressLogger",
    "SVMPerfClassifier",
    "SVMPerfClassifierCV",
    "StepTimer",
    "check_positive_grid",
    "check_row_weights",
    "svmperf_path",
]
