"""All measures by name."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any

from ..exceptions import InvalidInputError, UnknownMeasureError
from .at_k import PRBEP, LiftAtK, PrecisionAtK, RecallAtK
from .base import Measure
from .constrained import PrecisionAtRecall, RecallAtPrecision, TprAtFpr
from .contingency import F1, KLD, MCC, CohenKappa, FBeta, GMean, Jaccard, QMeasure
from .errors import Accuracy, BalancedAccuracy, Cost, Youden
from .function import FunctionMeasure
from .ranking import AveragePrecision, PartialAUC, RocAUC

_MEASURES: dict[str, type[Measure]] = {
    kind.name: kind
    for kind in (
        *(Accuracy, BalancedAccuracy, Cost, Youden),
        *(F1, FBeta, Jaccard, GMean, MCC, CohenKappa),
        *(PrecisionAtK, RecallAtK, LiftAtK, PRBEP),
        *(RecallAtPrecision, PrecisionAtRecall, TprAtFpr),
        *(KLD, QMeasure),
        *(RocAUC, PartialAUC, AveragePrecision),
    )
}

#: scikit-learn's scorer names for what goes by a shorter name here.
_ALIASES = {"matthews_corrcoef": "mcc"}


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
    """A measure by its name, with its parameters; or from a function of the table.

    Parameters
    ----------
    measure : str, Measure or callable
        A name from `names`; a `Measure`, which is returned as it is; or a vectorised
        function of (tp, fp, fn, tn).
    **params
        Parameters of a named measure, such as ``beta=2`` for ``"fbeta"``.

    Examples
    --------
    >>> from capo import measures
    >>> measures.get("fbeta", beta=2)
    fbeta(beta=2)
    >>> measures.get(lambda tp, fp, fn, tn: tp - 5 * fp).score([1, 0, 1], [2.0, 1.0, 0.5])
    -3.0
    """
    if isinstance(measure, str):
        return _by_name(measure, params)
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
    known = [] if kind.__init__ is object.__init__ else list(inspect.signature(kind).parameters)
    if unknown := [key for key in params if key not in known]:
        takes = f"it takes {', '.join(known)}" if known else "it takes no parameters"
        raise InvalidInputError(f"measure {name!r} has no parameter {unknown[0]!r}: {takes}.")
    return kind(**params)
