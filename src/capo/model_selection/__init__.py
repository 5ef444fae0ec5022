"""Choices by cross-validation: folds, calibration, thresholds, out-of-fold scores, the path over C."""
# Imports from `testing` and the layers below.

from ._calibration import (
    PlattCalibrator,
    fit_logistic,
    logistic_sums,
    minimize_logistic,
    normalize_weights,
    robust_scale,
)
from ._class_folds import split_class_folds
from ._cv_score import CVScore, CVScorer
from ._folds import (
    DEFAULT_N_FOLDS,
    MAX_ROWS_FOR_PAIRS,
    MIN_CLASS_ROWS_FOR_PARTS,
    Split,
    check_fold_sizes,
    check_groups,
    check_splits,
    fold_numbers,
    is_fold_number,
    pairs_of_folds,
    parts_of_folds,
    rarer_class_size,
    split_folds,
    split_repeats,
)
from ._path_search import (
    AUTO_GRID,
    COARSE_AUTO_GRID,
    MAX_GRID_EXTENSIONS,
    CGrid,
    FoldPath,
    FoldScores,
    GridPoint,
    PathSearch,
    RepeatedPathSearch,
)
from ._repeated_folds import RepeatedFolds
from ._softmax import fit_softmax
from ._threshold import (
    ExpectedValueThreshold,
    FixedThreshold,
    OperatingPoint,
    ShrunkenThreshold,
    ThresholdRule,
    ZeroThreshold,
    expected_value_threshold,
    mean_point,
)
from ._time_folds import TimeFolds

__all__ = [
    "AUTO_GRID",
    "COARSE_AUTO_GRID",
    "DEFAULT_N_FOLDS",
    "MAX_GRID_EXTENSIONS",
    "MAX_ROWS_FOR_PAIRS",
    "MIN_CLASS_ROWS_FOR_PARTS",
    "CGrid",
    "CVScore",
    "CVScorer",
    "ExpectedValueThreshold",
    "FixedThreshold",
    "FoldPath",
    "FoldScores",
    "GridPoint",
    "OperatingPoint",
    "PathSearch",
    "PlattCalibrator",
    "RepeatedFolds",
    "RepeatedPathSearch",
    "ShrunkenThreshold",
    "Split",
    "ThresholdRule",
    "TimeFolds",
    "ZeroThreshold",
    "check_fold_sizes",
    "check_groups",
    "check_splits",
    "expected_value_threshold",
    "fit_logistic",
    "fit_softmax",
    "fold_numbers",
    "is_fold_number",
    "logistic_sums",
    "mean_point",
    "minimize_logistic",
    "normalize_weights",
    "pairs_of_folds",
    "parts_of_folds",
    "rarer_class_size",
    "robust_scale",
    "split_class_folds",
    "split_folds",
    "split_repeats",
]
