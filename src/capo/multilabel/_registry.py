"""The registry of measures of label matrices."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .. import measures
from .._lookup import check_no_parameters, check_parameters, suggest_names
from ..exceptions import InvalidInputError, UnknownMeasureError
from ..measures import Description, FunctionMeasure, Measure
from ._measures import EntryAverage, LabelAverage, MultilabelMeasure, PrecisionAtK, SamplesF1

_AVERAGES = {
    "macro": "mean over the labels",
    "weighted": "mean over the labels, weighted by their positive rows",
    "micro": "all entries of the label matrix together",
}
#: Measures whose parameters are numbers of rows, which have no meaning for entries of several labels.
_ROW_MEASURES = {
    "f1_samples": (SamplesF1, "mean F1 of each row's labels", "each row's set of labels matters"),
    "precision_at_k": (PrecisionAtK, "precision of each row's k best labels", "k labels are suggested"),
}


def names() -> list[str]:
    """The names of all measures of label matrices, sorted.

    Examples
    --------
    >>> from capo import multilabel
    >>> "f1_samples" in multilabel.names()
    True
    """
    return sorted([*_averaged_names(), *_ROW_MEASURES])


def describe() -> list[Description]:
    """Descriptions of all measures of label matrices.

    Examples
    --------
    >>> from capo import multilabel
    >>> multilabel.describe()[0].name
    'f1_samples'
    """
    by_row = [
        Description(name, {"k": 1} if name == "precision_at_k" else {}, text, use)
        for name, (_, text, use) in _ROW_MEASURES.items()
    ]
    averaged = [
        Description(name, {}, f"{binary}: {_AVERAGES[average]}", "each label is a binary problem")
        for name, (binary, average) in _averaged_names().items()
    ]
    return [*by_row, *averaged]


def get(measure: str | Measure | MultilabelMeasure | Callable[..., Any], **params: Any) -> MultilabelMeasure:
    """A measure of label matrices.

    Parameters
    ----------
    measure : str, Measure, MultilabelMeasure or callable
        A name from `names`: a binary measure's name followed by ``_macro``, ``_weighted`` or ``_micro``,
        ``"f1_samples"`` or ``"precision_at_k"``. A binary measure, by name, as an object, as a formula or
        as a function of (tp, fp, fn, tn), stands for its mean over the labels.
    **params
        Parameters of the measure, such as ``beta`` for ``"fbeta_macro"`` or ``k`` for ``"precision_at_k"``.

    Examples
    --------
    >>> from capo import multilabel
    >>> multilabel.get("f1").label
    'f1_macro'
    >>> multilabel.get("precision_at_k", k=3).label
    'precision_at_k(k=3)'
    """
    if isinstance(measure, str):
        return _by_name(measure.strip(), params)
    check_no_parameters(measure, params)
    if isinstance(measure, MultilabelMeasure):
        return measure
    if isinstance(measure, Measure):
        return LabelAverage(measure)
    if callable(measure) and not inspect.isclass(measure):
        return LabelAverage(FunctionMeasure(measure))
    raise InvalidInputError(
        f"measure must be a name, a measure or a function of (tp, fp, fn, tn): got {measure!r}."
    )


def _averaged_names() -> dict[str, tuple[str, str]]:
    """The names of averaged binary measures, as (binary measure, average)."""
    return {f"{name}_{average}": (name, average) for name in measures.names() for average in _AVERAGES}


def _by_name(name: str, params: dict[str, Any]) -> MultilabelMeasure:
    if name in _ROW_MEASURES:
        kind = _ROW_MEASURES[name][0]
        check_parameters(name, list(inspect.signature(kind).parameters), params)
        return kind(**params)
    averaged = _averaged_names()
    if name in averaged:
        binary, average = averaged[name]
        found = measures.get(binary, **params)
        return EntryAverage(found) if average == "micro" else LabelAverage(found, average)
    if name in measures.names() or not name.isidentifier():
        return LabelAverage(measures.get(name, **params))
    hint = suggest_names(name, [*names(), *measures.names()], "Try 'f1_macro', 'f1_micro'.")
    raise UnknownMeasureError(f"there is no measure {name!r} of label matrices. {hint}")
