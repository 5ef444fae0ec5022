"""Private scikit-learn names in one place, and array types.

A release of scikit-learn that moves one of these names is followed here, in one place.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray
from sklearn._loss.loss import ExponentialLoss, HalfBinomialLoss, HalfMultinomialLoss
from sklearn.calibration import _CalibratedClassifier as CalibratedClassifier
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper as BinMapper
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import _name_estimators as name_estimators
from sklearn.preprocessing import TargetEncoder
from sklearn.tree._tree import Tree
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._metadata_requests import _routing_enabled as routing_enabled
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as openmp_n_threads
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _check_y as check_y

try:  # scikit-learn 1.9 and later
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback._callback_support import callback_management_context
except ImportError:
    callback_management_context = nullcontext

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for the mixin of estimators with callbacks."""


#: Whether scikit-learn takes data frames of polars through the interchange protocol, which polars 2 has not.
NEEDS_INTERCHANGE: bool = parse_version(sklearn.__version__) < parse_version("1.9")


def make_target_encoder(n_folds: int) -> TargetEncoder:
    """Return a target encoder with shuffled folds that are the same in every fit.

    scikit-learn 1.9 takes a splitter in place of the parameters of the shuffling.
    """
    if TargetEncoder().get_params()["random_state"] is None:
        return TargetEncoder(cv=n_folds, random_state=0)
    return TargetEncoder(cv=StratifiedKFold(n_folds, shuffle=True, random_state=0))


#: The loss functions of boosted classifiers, by name.
LOSSES: dict[str, Any] = {
    kind.__name__: kind for kind in (ExponentialLoss, HalfBinomialLoss, HalfMultinomialLoss)
}


BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
#: Positions of rows, columns or folds.
IntArray = NDArray[np.intp]

__all__ = [
    "LOSSES",
    "NEEDS_INTERCHANGE",
    "ArrayLike",
    "BinMapper",
    "BoolArray",
    "CalibratedClassifier",
    "CallbackSupportMixin",
    "FloatArray",
    "HasMethods",
    "IntArray",
    "Interval",
    "NDArray",
    "StrOptions",
    "Tree",
    "TreePredictor",
    "callback_management_context",
    "check_method_params",
    "check_sample_weight",
    "check_y",
    "is_pandas_na",
    "is_scalar_nan",
    "make_target_encoder",
    "name_estimators",
    "openmp_n_threads",
    "routing_enabled",
    "safe_indexing",
]
