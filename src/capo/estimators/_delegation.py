"""The choice of the classifier by the target: two classes, many classes, or many labels.

A `CAPOClassifier` for two classes does the work itself. For any other target it makes a classifier of that
target with the same parameters, its *delegate*, which does the work; this module is the only place where the
two are connected.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import Tags
from sklearn.utils.multiclass import type_of_target

from .. import measures, multiclass, multilabel
from .._typing import FloatArray
from ..exceptions import InvalidInputError, UnknownMeasureError
from ._adapted_base import BaseAdaptedClassifier
from ._multiclass import MulticlassCAPOClassifier
from ._multilabel import MultilabelCAPOClassifier

#: Parameters that only a classifier of two classes has, with the values that mean nothing else.
BINARY_PARAMETERS = {"pos_label": None, "delta": "linear", "C": "auto", "threshold": "auto", "tol": 1e-3}


def make_delegate(estimator: BaseAdaptedClassifier, y: Any) -> Any | None:
    """Return the unfitted classifier for a target of another kind than two classes; None for two classes."""
    kind = _delegate_class(estimator.measure, y)
    _check_measure(estimator.measure, kind)
    if kind is None:
        return None
    params = estimator.get_params(deep=False)
    for name in _unknown_parameters(kind):
        value, default = params[name], BINARY_PARAMETERS[name]
        if not _is_default(value, default):
            raise InvalidInputError(
                f"Only binary classification is supported with {name}={value!r}, but y has another kind of "
                f"target: leave {name} at its default, {default!r}."
            )
    delegate = kind(**{name: value for name, value in params.items() if name in kind._get_param_names()})
    if hasattr(estimator, "_metadata_request"):
        delegate._metadata_request = deepcopy(estimator._metadata_request)
    return delegate


def _unknown_parameters(kind: type[Any]) -> list[str]:
    """The parameters of a classifier of two classes that a classifier of another target does not have."""
    return [name for name in BINARY_PARAMETERS if name not in kind._get_param_names()]


def _delegate_class(measure: Any, y: Any) -> type[Any] | None:
    kind = _target_kind(y)
    if kind in ("multiclass-multioutput", "continuous-multioutput"):
        raise InvalidInputError(
            "y has several columns with other values than 0 and 1: train one classifier for each column, or "
            "make a label matrix of zeros and ones."
        )
    if kind == "multilabel-indicator" or _has_columns(y):
        return MultilabelCAPOClassifier
    # Labels that are missing or no classes have no kind: the classifier that the measure is for explains.
    return MulticlassCAPOClassifier if kind == "multiclass" or _needs_many_classes(measure) else None


def _target_kind(y: Any) -> str | None:
    """Return scikit-learn's name of the kind of target; None where it has none."""
    if y is None:
        return None
    if issparse(y):
        return "multilabel-indicator"
    try:
        with np.errstate(invalid="ignore"):  # missing labels, which the classifier explains
            return str(type_of_target(y))
    except (TypeError, ValueError):
        return None


def _has_columns(y: Any) -> bool:
    """Whether a target has more than one column."""
    try:
        shape = getattr(y, "shape", None) or np.asarray(y).shape
    except ValueError:  # a list of lists of different lengths
        return False
    return len(shape) == 2 and shape[1] > 1


def _needs_many_classes(measure: Any) -> bool:
    """Whether a measure is one of many classes and none of two classes."""
    if isinstance(measure, str):
        return not _has_measure(measures, measure) and _has_measure(multiclass, measure)
    return isinstance(measure, multiclass.MulticlassMeasure) or multiclass.is_matrix_function(measure)


def _has_measure(registry: Any, name: str) -> bool:
    """Whether a registry knows a name, or can read it as a formula."""
    try:
        registry.get(name)
    except UnknownMeasureError:
        return False
    except InvalidInputError:  # it needs parameters, or is a formula with an error
        return True
    return True


def _check_measure(measure: Any, kind: type[Any] | None) -> None:
    """Raise an error if a measure is for another kind of target than y."""
    if kind is MultilabelCAPOClassifier:
        if isinstance(measure, multiclass.MulticlassMeasure):
            raise InvalidInputError(
                f"the measure {measure.label!r} is for classes, but y is a label matrix: choose one of "
                "capo.multilabel.names()."
            )
    elif isinstance(measure, multilabel.MultilabelMeasure) or _is_only_for_labels(measure):
        name = measure if isinstance(measure, str) else measure.label
        raise InvalidInputError(
            f"the measure {name!r} is for label matrices, but y is not a matrix of zeros and ones with a "
            "column for each label: choose one of capo.measures.names() for two classes, or of "
            "capo.multiclass.names()."
        )


def _is_only_for_labels(measure: Any) -> bool:
    """Whether a name is that of a measure of label matrices and of no other."""
    known = isinstance(measure, str) and measure.strip() in multilabel.names()
    return known and not any(_has_measure(each, measure) for each in (measures, multiclass))


def _is_default(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


class DelegatingClassifier(BaseAdaptedClassifier):
    """Passes methods and fitted attributes on to the delegate, where `fit` has made one."""

    if TYPE_CHECKING:
        delegate_: Any

    @property
    def _delegate(self) -> Any | None:
        return vars(self).get("delegate_")

    def __getattr__(self, name: str) -> Any:
        if self._delegate is not None and name.endswith("_") and not name.startswith("_"):
            return getattr(self._delegate, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def predict(self, X: Any) -> NDArray[Any]:
        return self._delegate.predict(X) if self._delegate else super().predict(X)

    def predict_proba(self, X: Any) -> FloatArray:
        return self._delegate.predict_proba(X) if self._delegate else super().predict_proba(X)

    def decision_function(self, X: Any) -> FloatArray:
        return self._delegate.decision_function(X) if self._delegate else super().decision_function(X)

    def log_odds(self, X: Any) -> FloatArray:
        self._check_two_classes()
        return super().log_odds(X)

    def as_probability(self, decision: FloatArray) -> FloatArray:
        self._check_two_classes()
        return super().as_probability(decision)

    def delta_features(self, X: Any) -> Any | None:
        self._check_two_classes()
        return super().delta_features(X)

    def _check_two_classes(self) -> None:
        """Raise an error where there is no positive class."""
        if self._delegate is not None:
            raise InvalidInputError(
                "this is for a model of two classes, and this model has more classes or several labels: use "
                "decision_function or predict_proba."
            )

    def auxiliary_outputs(self, X: Any) -> FloatArray:
        return self._delegate.auxiliary_outputs(X) if self._delegate else super().auxiliary_outputs(X)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        return (
            self._delegate.score(X, y, sample_weight)
            if self._delegate
            else super().score(X, y, sample_weight)
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        changed = {
            name for name, value in BINARY_PARAMETERS.items() if not _is_default(getattr(self, name), value)
        }
        for_labels = changed.isdisjoint(_unknown_parameters(MultilabelCAPOClassifier))
        tags.classifier_tags.multi_class = changed.isdisjoint(_unknown_parameters(MulticlassCAPOClassifier))
        tags.classifier_tags.multi_label = tags.target_tags.multi_output = for_labels
        return tags
