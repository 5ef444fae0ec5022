"""The registry of measures by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from ..exceptions import (
    InvalidInputError,
    UnknownMeasureError,
    check_no_parameters,
    check_parameters,
    suggest_names,
)
from ._at_k import PRBEP, LiftAtK, PrecisionAtK, RecallAtK
from ._base import Measure
from ._confusion import F1, KLD, MCC, CohenKappa, FBeta, GMean, Jaccard, QMeasure
from ._constrained import PrecisionAtRecall, RecallAtPrecision, TprAtFpr
from ._formula import CELLS, Formula, FunctionMeasure
from ._linear import Accuracy, BalancedAccuracy, Cost, Youden
from ._ranking import AveragePrecision, PartialAUC, RocAUC

#: Each measure with its formula and its use.
_DESCRIPTIONS: list[tuple[type[Measure], str, str]] = [
    (Accuracy, "(tp + tn) / n", "errors of both kinds have the same cost"),
    (BalancedAccuracy, "(tp/P + tn/N) / 2", "both classes matter equally, whatever their size"),
    (Youden, "tp/P + tn/N - 1", "balanced accuracy rescaled to [-1, 1]; common in medicine"),
    (Cost, "mean benefit minus cost per row", "known costs of errors and benefits, per class or per row"),
    (F1, "2 tp / (2 tp + fp + fn)", "a rare class, precision and recall matter equally"),
    (
        FBeta,
        "(1 + b²) tp / ((1 + b²) tp + b² fn + fp)",
        "recall counts `beta` times as much as precision",
    ),
    (Jaccard, "tp / (tp + fp + fn)", "overlap of two sets"),
    (GMean, "sqrt(tp/P · tn/N)", "imbalanced classes, both of which matter"),
    (MCC, "Matthews' correlation", "one number for the whole confusion matrix"),
    (CohenKappa, "agreement beyond chance", "comparison with human raters"),
    (PrecisionAtK, "tp among the top k, over k", "only k cases can be acted on"),
    (RecallAtK, "tp among the top k, over P", "how much a screening of k cases finds"),
    (LiftAtK, "precision at k over P/n", "common in marketing"),
    (PRBEP, "precision where it equals recall", "text classification"),
    (RecallAtPrecision, "recall while precision ≥ floor", "alarms must be reliable"),
    (PrecisionAtRecall, "precision while recall ≥ floor", "few positives may be missed"),
    (TprAtFpr, "tp/P while fp/N ≤ ceiling", "a limited rate of false alarms"),
    (KLD, "1 - normalized divergence of class shares", "estimating prevalence"),
    (QMeasure, "F-mean of recall and agreement of counts", "prevalence and labels at once"),
    (RocAUC, "pairs in the right order", "ranking over the whole range"),
    (PartialAUC, "ROC area in a range, McClish's scale", "ranking where false alarms are few"),
    (AveragePrecision, "mean precision at the positives' ranks", "retrieval"),
]
_MEASURES: dict[str, type[Measure]] = {kind.name: kind for kind, _, _ in _DESCRIPTIONS}

#: scikit-learn's scorer names for measures that have a shorter name here.
_ALIASES = {"matthews_corrcoef": "mcc"}


class Description(NamedTuple):
    """A measure's name, its parameters with their defaults, its formula and its use."""

    name: str
    parameters: dict[str, Any]
    value: str
    use: str


def describe() -> list[Description]:
    """Descriptions of all measures, similar ones together.

    Examples
    --------
    >>> from capo import measures
    >>> measures.describe()[4].value
    '2 tp / (2 tp + fp + fn)'
    """
    return [Description(kind.name, _parameters(kind), value, use) for kind, value, use in _DESCRIPTIONS]


def names() -> list[str]:
    """The names of all measures, sorted.

    Examples
    --------
    >>> from capo import measures
    >>> "f1" in measures.names()
    True
    """
    return sorted(_MEASURES)


def get(measure: str | Measure | Callable[..., Any], **params: Any) -> Measure:
    """A measure by its name, or from a formula or function of the confusion matrix.

    Parameters
    ----------
    measure : str, Measure or callable
        A name from `names`; a formula of tp, fp, fn and tn such as ``"10 * tp - 2 * fp"``; a `Measure`,
        which is returned as it is; or a vectorized function of (tp, fp, fn, tn).
    **params
        Parameters of a named measure, such as ``beta=2`` for ``"fbeta"``.

    Examples
    --------
    >>> from capo import measures
    >>> measures.get("fbeta", beta=2)
    fbeta(beta=2)
    >>> measures.get(lambda tp, fp, fn, tn: tp - 5 * fp).score([1, 0, 1], [2.0, 1.0, 0.5])
    -3.0
    >>> measures.get("tp - 5 * fp").score([1, 0, 1], [2.0, 1.0, 0.5])
    -3.0
    """
    if (
        isinstance(measure, str)
        and measure.strip() not in CELLS
        and (measure.strip().isidentifier() or params)
    ):
        return _by_name(measure.strip(), params)
    if isinstance(measure, str):
        return FunctionMeasure(Formula(measure))
    check_no_parameters(measure, params)
    if isinstance(measure, Measure):
        return measure
    if callable(measure) and not inspect.isclass(measure):
        return FunctionMeasure(measure)
    raise InvalidInputError(
        f"measure must be a name, a Measure or a function of (tp, fp, fn, tn): got {measure!r}."
    )


def _parameters(kind: type[Measure]) -> dict[str, Any]:
    """The parameters of a measure with their defaults."""
    if kind.__init__ is object.__init__:
        return {}
    return {name: each.default for name, each in inspect.signature(kind).parameters.items()}


def _by_name(name: str, params: dict[str, Any]) -> Measure:
    kind = _MEASURES.get(_ALIASES.get(name, name))
    if kind is None:
        hint = suggest_names(name, [*_MEASURES, *_ALIASES], f"Choose one of {', '.join(names())}.")
        raise UnknownMeasureError(f"there is no measure {name!r}. {hint}")
    check_parameters(name, list(_parameters(kind)), params)
    return kind(**params)
