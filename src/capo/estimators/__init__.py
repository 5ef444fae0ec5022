"""The classifiers that a user imports, and the bases that they share."""

from ._adapted import BaseAdaptedClassifier, TrainedAuxiliaries, scale_outputs
from ._base import (
    BinaryClassifier,
    DecisionFunctionMixin,
    MeasureScoreMixin,
    ProgressLogger,
    atomic_fit,
    check_class_weights,
    check_positive_grid,
    check_row_weights,
    reject_confidence,
    warn_not_converged,
)
from ._capo import CAPOClassifier
from ._deployment import MAX_MIXTURE_DISTANCE, class_scores, current_shift, replace_weights, sampling_error
from ._many import MulticlassCAPOClassifier, MultilabelCAPOClassifier
from ._svmperf import SVMPerfClassifier, fit_linear, svmperf_path
from ._svmperf_cv import SVMPERF_CS, SVMPerfClassifierCV

__all__ = [
    "MAX_MIXTURE_DISTANCE",
    "SVMPERF_CS",
    "BaseAdaptedClassifier",
    "BinaryClassifier",
    "CAPOClassifier",
    "DecisionFunctionMixin",
    "MeasureScoreMixin",
    "MulticlassCAPOClassifier",
    "MultilabelCAPOClassifier",
    "ProgressLogger",
    "SVMPerfClassifier",
    "SVMPerfClassifierCV",
    "TrainedAuxiliaries",
    "atomic_fit",
    "check_class_weights",
    "check_positive_grid",
    "check_row_weights",
    "class_scores",
    "current_shift",
    "fit_linear",
    "reject_confidence",
    "replace_weights",
    "sampling_error",
    "scale_outputs",
    "svmperf_path",
    "warn_not_converged",
]
