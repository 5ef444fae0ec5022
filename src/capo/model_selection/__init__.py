"""Choices by cross-validation: folds, calibration, thresholds, the path over C."""

from ._calibration import PlattCalibrator, fit_logistic, normalize_weights, robust_scale
from ._folds import DEFAULT_N_FOLDS, Split, fold_numbers, split_folds

__all__ = [
    "DEFAULT_N_FOLDS",
    "PlattCalibrator",
    "Split",
    "fit_logistic",
    "fold_numbers",
    "normalize_weights",
    "robust_scale",
    "split_folds",
]
