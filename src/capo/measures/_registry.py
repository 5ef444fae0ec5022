"""All measures by name."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from ..exceptions import InvalidInputError, UnknownMeasureError
from ._at_k import PRBEP, LiftAtK, PrecisionAtK, RecallAtK
from ._base import Measure
from ._constrained import PrecisionAtRecall, RecallAtPrecision, TprAtFpr
from ._contingency import F1, KLD, MCC, CohenKappa, FBeta, GMean, Jaccard, QMeasure
from ._formula import CELLS, Formula
from ._function import FunctionMeasure
from ._linear import Accuracy, BalancedAccuracy, Cost, Youden
from ._ranking import AveragePrecision, PartialAUC, RocAUC

#: Each measure, what its value is, and when to use it.
_ABOUT: list[tuple[type[Measure], str, str]] = [
    (Accuracy, "(tp + tn) / n", "errors of both kinds cost the same"),
    (BalancedAccuracy, "(tp/P + tn/N) / 2", "both classes matter the same, whatever their size"),
    (Youden, "tp/P + tn/N - 1", "the same on another scale, as in medicine"),
    (Cost, "minus the mean cost of a row", "you know what errors cost, by kind or by row"),
    (F1, "2 tp / (2 tp + fp + fn)", "a rare class, precision and recall alike"),
    (
        FBeta,
        "(1 + b²) tp / ((1 + b²) tp + b² fn + fp)",
        "recall counts `beta` times as much as precision",
    ),
    (Jaccard, "tp / (tp + fp + fn)", "overlap of two sets"),
    (GMean, "sqrt(tp/P · tn/N)", "imbalance, neither class may be given up"),
    (MCC, "Matthews' correlation", "one figure for the whole table"),
    (CohenKappa, "agreement beyond chance", "comparison with human raters"),
    (PrecisionAtK, "tp among the top k, over k", "you can act on k cases"),
    (RecallAtK, "tp among the top k, over P", "how much a screening of k cases finds"),
    (LiftAtK, "precision at k over P/n", "marketing's way to say it"),
    (PRBEP, "precision where it equals recall", "text classification"),
    (RecallAtPrecision, "recall while precision ≥ floor", "alarms that must be trusted"),
    (PrecisionAtRecall, "precision while recall ≥ floor", "nothing may be missed"),
    (TprAtFpr, "tp/P while fp/N ≤ ceiling", "a budget of false alarms"),
    (KLD, "1 - normalised divergence of class shares", "estimating prevalence"),
    (QMeasure, "F-mean of recall and agreement of counts", "prevalence and labels at once"),
    (RocAUC, "pairs in the right order", "ranking over the whole range"),
    (PartialAUC, "ROC area in a range, McClish's scale", "ranking where false alarms are few"),
    (AveragePrecision, "mean precision at the positives' ranks", "retrieval"),
]
_MEASURES: dict[str, type[Measure]] = {kind.name: kind for kind, _, _ in _ABOUT}

#: scikit-learn's scorer names for what goes by a shorter name here.
_ALIASES = {"matthews_corrcoef": "mcc"}


class Description(NamedTuple):
    """A measure in words; its parameters with their defaults."""

    name: str
    parameters: dict[str, Any]
    value: str
    use: str


def describe() -> list[Description]:
    """All measures in words, kind by kind.

    Examples
    --------
    >>> from capo import measures
    >>> measures.describe()[4].value
    '2 tp / (2 tp + fp + fn)'
    """
    return [Description(kind.name, _parameters(kind), value, use) for kind, value, use in _ABOUT]


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
    """A measure by its name, with its parameters; or from a formula or function of the table.

    Parameters
    ----------
    measure : str, Measure or callable
        A name from `names`; a formula of tp, fp, fn and tn such as ``"10 * tp - 2 * fp"``; a `Measure`,
        which is returned as it is; or a vectorised function of (tp, fp, fn, tn).
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
    if params:
        raise InvalidInputError(
            f"parameters ({', '.join(params)}) go with a measure's name; {measure!r} is already made."
        )
    if isinstance(measure, Measure):
        return measure
    if callable(measure) and not inspect.isclass(measure):
        return FunctionMeasure(measure)
    raise InvalidInputError(
        f"measure must be a name, a Measure or a function of (tp, fp, fn, tn): got {measure!r}."
    )


def _parameters(kind: type[Measure]) -> dict[str, Any]:
    """What the measure can be made with, and the defaults."""
    if kind.__init__ is object.__init__:
        return {}
    return {name: each.default for name, each in inspect.signature(kind).parameters.items()}


def _by_name(name: str, params: dict[str, Any]) -> Measure:
    kind = _MEASURES.get(_ALIASES.get(name, name))
    if kind is None:
        known_names = [*_MEASURES, *_ALIASES]
        near = difflib.get_close_matches(name.lower(), known_names, n=3, cutoff=0.5)
        near = near or [known for known in known_names if known in name.lower()]
        hint = (
            f"Did you mean {' or '.join(map(repr, near))}?"
            if near
            else f"Choose one of {', '.join(names())}."
        )
        raise UnknownMeasureError(f"there is no measure {name!r}. {hint}")
    known = list(_parameters(kind))
    if unknown := [key for key in params if key not in known]:
        takes = f"it takes {', '.join(known)}" if known else "it takes no parameters"
        raise InvalidInputError(f"measure {name!r} has no parameter {unknown[0]!r}: {takes}.")
    return kind(**params)
