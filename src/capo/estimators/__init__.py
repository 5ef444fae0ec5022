"""The public classifiers and their base classes."""

from ._adapted import AdaptationParameters, BaseAdaptedClassifier
from ._base import (
    MeasureClassifier,
    ProgressLogger,
    WeightedClassifier,
    atomic_fit,
    check_positive_grid,
    reject_confidence,
    reject_row_prices,
    warn_not_converged,
)
from ._capo import CAPOClassifier, class_scores, current_shift, replace_weights
from ._svmperf import SVMPerfClassifier, fit_linear, svmperf_path
from ._svmperf_cv import SVMPERF_CS, SVMPerfClassifierCV

__all__ = [
    "SVMPERF_CS",
    "AdaptationParameters",
    "BaseAdaptedClassifier",
    "CAPOClassifier",
    "MeasureClassifier",
    "ProgressLogger",
    "SVMPerfClassifier",
    "SVMPerfClassifierCV",
    "WeightedClassifier",
    "atomic_fit",
    "check_positive_grid",
    "class_scores",
    "current_shift",
    "fit_linear",
    "reject_confidence",
    "reject_row_prices",
    "replace_weights",
    "svmperf_path",
    "warn_not_converged",
]
