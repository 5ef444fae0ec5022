"""The classifiers that a user imports, and the bases that they share."""
# Imports from `inspection` and the layers below.

from ._adapted_base import BaseAdaptedClassifier
from ._atomic_fit import atomic_fit
from ._base import BinaryClassifier, DecisionFunctionMixin, MeasureScoreMixin
from ._capo import CAPOClassifier
from ._convergence import warn_not_converged
from ._guarantee import replace_weights
from ._multiclass import MulticlassCAPOClassifier
from ._multilabel import MultilabelCAPOClassifier
from ._population import MAX_MIXTURE_DISTANCE, class_scores, current_shift, sampling_error
from ._progress import ProgressLogger, StepTimer
from ._svmperf import SVMPerfClassifier, fit_linear
from ._svmperf_cv import SVMPERF_CS, SVMPerfClassifierCV
from ._svmperf_path import svmperf_path
from ._trained_auxiliaries import TrainedAuxiliaries, scale_outputs
from ._validation import check_positive_grid, check_row_weights, reject_confidence

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
    "StepTimer",
    "TrainedAuxiliaries",
    "atomic_fit",
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
