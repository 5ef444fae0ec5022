"""Private scikit-learn names in one place, and array types.

A release of scikit-learn that moves one of these names is followed here, in one place.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn._loss._loss import CyLossFunction
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import _name_estimators as name_estimators
from sklearn.preprocessing import TargetEncoder
from sklearn.tree._tree import Tree
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._metadata_requests import _routing_enabled as routing_enabled
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as openmp_n_threads
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _check_y as check_y

try:  # scikit-learn 1.8 and later
    from sklearn.utils._repr_html.estimator import _VisualBlock as VisualBlock
except ImportError:
    from sklearn.utils._estimator_html_repr import _VisualBlock as VisualBlock


try:
    from sklearn.tree._classes import CRITERIA_CLF, DENSE_SPLITTERS
    from sklearn.tree._tree import DepthFirstTreeBuilder

    #: Whether `grow_tree` is available: in other releases, trees are trained by their own `fit`.
    CAN_GROW_TREES = True
except ImportError:
    CAN_GROW_TREES = False


def make_target_encoder(n_folds: int) -> TargetEncoder:
    """Return a target encoder with shuffled folds that are the same in every fit.

    scikit-learn 1.9 takes a splitter in place of the parameters of the shuffling.
    """
    if TargetEncoder().get_params()["random_state"] is None:
        return TargetEncoder(cv=n_folds, random_state=0)
    return TargetEncoder(cv=StratifiedKFold(n_folds, shuffle=True, random_state=0))


def grow_tree(
    fitted: Any,
    X: NDArray[np.float32],
    y: NDArray[np.float64],
    seed: int,
    sample_weight: NDArray[np.float64] | None = None,
) -> Any:
    """Return a classification tree like a fitted one, grown with another seed.

    Its parameters may differ from the defaults in the criterion, the splitter, `max_features` and
    `min_samples_leaf`, an integer. `y` are the positions of the classes, in one column, and `sample_weight`
    how often each row was drawn.
    """
    n_classes = np.array([fitted.n_classes_], dtype=np.intp)
    min_samples_leaf, max_depth = fitted.min_samples_leaf, np.iinfo(np.int32).max
    splitter = DENSE_SPLITTERS[fitted.splitter](
        CRITERIA_CLF[fitted.criterion](1, n_classes),
        fitted.max_features_,
        min_samples_leaf,
        0.0,
        np.random.RandomState(seed),
        None,
    )
    tree = copy(fitted)
    tree.random_state, tree.tree_ = seed, Tree(X.shape[1], n_classes, 1)
    builder = DepthFirstTreeBuilder(
        splitter, max(2, 2 * min_samples_leaf), min_samples_leaf, 0.0, max_depth, 0.0
    )
    builder.build(tree.tree_, X, y, sample_weight, fitted._compute_missing_values_in_feature_mask(X))
    return tree


#: The module of the loss functions: scikit-learn before 1.9 registers it as "_loss".
LOSS_MODULE: str = CyLossFunction.__module__


BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
#: Positions of rows, columns or folds.
IntArray = NDArray[np.intp]

__all__ = [
    "CAN_GROW_TREES",
    "LOSS_MODULE",
    "BoolArray",
    "FloatArray",
    "HasMethods",
    "IntArray",
    "Interval",
    "StrOptions",
    "Tree",
    "VisualBlock",
    "check_method_params",
    "check_sample_weight",
    "check_y",
    "grow_tree",
    "is_pandas_na",
    "is_scalar_nan",
    "make_target_encoder",
    "name_estimators",
    "openmp_n_threads",
    "routing_enabled",
    "safe_indexing",
]
