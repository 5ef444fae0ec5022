"""Everything that is imported from private modules of scikit-learn, and nothing else.

A release of scikit-learn that moves one of these names is followed here, in one place.
"""

from sklearn._loss._loss import CyLossFunction
from sklearn.pipeline import _name_estimators as name_estimators
from sklearn.tree._tree import Tree
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._metadata_requests import _routing_enabled as routing_enabled
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import (
    _check_method_params as check_method_params,
)
from sklearn.utils.validation import (
    _check_sample_weight as check_sample_weight,
)
from sklearn.utils.validation import (
    _check_y as check_y,
)

try:  # scikit-learn 1.8 and later
    from sklearn.utils._repr_html.estimator import _VisualBlock as VisualBlock
except ImportError:
    from sklearn.utils._estimator_html_repr import _VisualBlock as VisualBlock

#: The module of the loss functions: scikit-learn before 1.9 registers it as "_loss".
LOSS_MODULE: str = CyLossFunction.__module__

__all__ = [
    "LOSS_MODULE",
    "HasMethods",
    "Interval",
    "StrOptions",
    "Tree",
    "VisualBlock",
    "check_method_params",
    "check_sample_weight",
    "check_y",
    "is_pandas_na",
    "is_scalar_nan",
    "name_estimators",
    "routing_enabled",
    "safe_indexing",
]
