"""The registry of measures of many classes, and how a measure of two classes is read for many."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from .. import measures
from .._lookup import check_no_parameters, check_parameters, suggest_names
from ..exceptions import InvalidInputError, UnknownMeasureError
from ..measures import ConfusionMeasure, Description, FunctionMeasure, Measure
from ._base import MulticlassMeasure
from ._class_average import ClassAverage
from ._measures import (
    MCC,
    Accuracy,
    BalancedAccuracy,
    CohenKappa,
    ConfusionMatrixFunction,
    CostMatrix,
    GainMatrix,
    GMean,
    MicroF1,
)
from ._ranking import (
    RocAUCOneVsOne,
    RocAUCOneVsOneWeighted,
    RocAUCOneVsRest,
    RocAUCOneVsRestWeighted,
)

AVERAGES = ("macro", "weighted")


def _quadratic_kappa(order: Any = None) -> CohenKappa:
    return CohenKappa("quadratic", order)


#: Each name with what makes the measure, its formula and its use.
_ENTRIES: dict[str, tuple[Callable[..., MulticlassMeasure], str, str]] = {
    "accuracy": (Accuracy, "share of correct predictions", "all errors cost the same"),
    "balanced_accuracy": (BalancedAccuracy, "mean recall of the classes", "each class counts the same"),
    "f1_micro": (MicroF1, "F1 of several classes together", "all classes but a background class"),
    "mcc": (MCC, "Gorodkin's correlation R_K", "one number for the whole matrix"),
    "cohen_kappa": (CohenKappa, "agreement beyond chance", "comparison with human raters"),
    "quadratic_kappa": (_quadratic_kappa, "kappa with squared distances", "ordered classes, such as grades"),
    "gmean": (GMean, "geometric mean of the recalls", "no class may be neglected"),
    "cost": (CostMatrix, "negative mean cost per row", "a known cost of each kind of error"),
    "gain": (GainMatrix, "mean gain per row", "a known gain of each decision"),
    "roc_auc_ovr": (RocAUCOneVsRest, "mean ROC area, class against rest", "ranking"),
    "roc_auc_ovr_weighted": (RocAUCOneVsRestWeighted, "the same, weighted by size", "ranking"),
    "roc_auc_ovo": (RocAUCOneVsOne, "mean ROC area of pairs of classes", "ranking, insensitive to sizes"),
    "roc_auc_ovo_weighted": (RocAUCOneVsOneWeighted, "the same, weighted by size", "ranking"),
}
_AVERAGE_TEXTS = {
    "macro": "mean over the classes, each against the rest",
    "weighted": "mean over the classes, weighted by their size",
}
#: scikit-learn's names, and names of binary measures that have a counterpart of another name.
_ALIASES = {
    "matthews_corrcoef": "mcc",
    "recall_macro": "balanced_accuracy",
    "recall_weighted": "accuracy",
    "roc_auc": "roc_auc_ovr",
}


def _averaged_names() -> dict[str, tuple[str, str]]:
    """The names of averaged binary measures, as (binary measure, average)."""
    binary = [name for name in measures.names() if issubclass(type(measures.get(name)), ConfusionMeasure)]
    return {f"{name}_{average}": (name, average) for name in binary for average in AVERAGES}


def names() -> list[str]:
    """The names of all measures of many classes, sorted.

    Examples
    --------
    >>> from capo import multiclass
    >>> "f1_macro" in multiclass.names()
    True
    """
    return sorted([*_ENTRIES, *_averaged_names()])


def describe() -> list[Description]:
    """Descriptions of all measures of many classes.

    Examples
    --------
    >>> from capo import multiclass
    >>> multiclass.describe()[0].name
    'accuracy'
    """
    plain = [Description(name, _parameters(make), text, use) for name, (make, text, use) in _ENTRIES.items()]
    averaged = [
        Description(name, {}, f"{binary}: {_AVERAGE_TEXTS[average]}", "each class matters by itself")
        for name, (binary, average) in _averaged_names().items()
    ]
    return [*plain, *averaged]


def get(measure: str | Measure | MulticlassMeasure | Callable[..., Any], **params: Any) -> MulticlassMeasure:
    """A measure of many classes.

    Parameters
    ----------
    measure : str, Measure, MulticlassMeasure or callable
        A name from `names`; a measure of two classes, by name or as an object, which stands for its
        counterpart of many classes, or else for its mean over the classes, each against the rest; or a
        function of confusion matrices of shape (..., n_classes, n_classes).
    **params
        Parameters of a named measure, such as ``classes`` for ``"f1_micro"``.

    Examples
    --------
    >>> import numpy as np
    >>> from capo import multiclass
    >>> multiclass.get("f1").label
    'f1_macro'
    >>> multiclass.get("f1_micro", classes=["cat", "dog"]).label
    "f1_micro(classes=['cat', 'dog'])"
    >>> hits = multiclass.get(lambda C: np.trace(C, axis1=-2, axis2=-1))
    >>> float(hits.value(np.diag([3.0, 4.0, 5.0])))
    12.0
    """
    if isinstance(measure, str):
        return _by_name(measure.strip(), params)
    check_no_parameters(measure, params)
    if isinstance(measure, MulticlassMeasure):
        return measure
    if isinstance(measure, Measure):
        return _from_binary(measure)
    if callable(measure) and not inspect.isclass(measure):
        return _from_function(measure)
    raise InvalidInputError(
        f"measure must be a name, a measure or a function of the confusion matrix: got {measure!r}."
    )


def _by_name(name: str, params: dict[str, Any]) -> MulticlassMeasure:
    known = _ALIASES.get(name, name)
    if known in _ENTRIES:
        return _make(known, params)
    averaged = _averaged_names()
    if known in averaged:
        binary, average = averaged[known]
        found = measures.get(binary, **params)
        assert isinstance(found, ConfusionMeasure)
        return ClassAverage(found, average)
    if name in measures.names() or not name.isidentifier():
        return _from_binary(measures.get(name, **params))
    hint = suggest_names(name, [*names(), *measures.names()], f"Choose one of {', '.join(_ENTRIES)}.")
    raise UnknownMeasureError(f"there is no measure {name!r} of many classes. {hint}")


def _make(name: str, params: dict[str, Any]) -> MulticlassMeasure:
    make, _, _ = _ENTRIES[name]
    known = list(_parameters(make))
    check_parameters(name, known, params)
    if "matrix" in known and "matrix" not in params:
        raise InvalidInputError(
            f"measure {name!r} needs a matrix of {name}s: pass "
            f"capo.multiclass.get({name!r}, matrix=...), true classes in rows, predicted classes in columns."
        )
    return make(**params)


def _from_binary(measure: Measure) -> MulticlassMeasure:
    """Return the counterpart of a measure of two classes: that of its name, or its mean over the classes."""
    name = _ALIASES.get(measure.name, measure.name)
    if name in _ENTRIES and not measure.params:
        return _make(name, {})
    if isinstance(measure, ConfusionMeasure):
        return ClassAverage(measure)
    raise InvalidInputError(
        f"the measure {measure.label!r} is for two classes only. For many classes, choose one of "
        f"{', '.join(_ENTRIES)}, or the mean of a measure over the classes, such as 'f1_macro'."
    )


def is_matrix_function(measure: object) -> bool:
    """Whether an object is a function of one argument, the confusion matrix.

    Examples
    --------
    >>> from capo.multiclass import is_matrix_function
    >>> is_matrix_function(lambda C: C[..., 0, 0]), is_matrix_function(lambda tp, fp, fn, tn: tp)
    (True, False)
    """
    parameters = _parameters_of(measure)
    return len(parameters) == 1 and parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL


def _from_function(function: Callable[..., Any]) -> MulticlassMeasure:
    """Return the measure of a function of one matrix, or the mean of one of (tp, fp, fn, tn)."""
    is_binary = len(_parameters_of(function)) == 4
    return ClassAverage(FunctionMeasure(function)) if is_binary else ConfusionMatrixFunction(function)


def _parameters_of(function: object) -> list[inspect.Parameter]:
    """The parameters of a function; none for anything else, or if they are not known."""
    if not callable(function) or inspect.isclass(function):
        return []
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def _parameters(make: Callable[..., MulticlassMeasure]) -> dict[str, Any]:
    """The parameters that users give, with their defaults."""
    if not inspect.isclass(make):
        return {name: each.default for name, each in inspect.signature(make).parameters.items()}
    shown = [each for each in fields(make) if each.init and each.repr]  # type: ignore[arg-type]
    return {each.name: None for each in shown}
