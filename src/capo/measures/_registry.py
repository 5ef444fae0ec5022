"""Measures by their names: one lookup for two classes, many classes and label matrices."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from ..exceptions import InvalidInputError, UnknownMeasureError, suggest_names
from . import _confusion as confusion
from . import _linear as linear
from . import _ranking as ranking
from ._base import Measure

#: The measures of two classes, each with its formula and its use.
_BINARY: list[tuple[type[Measure], str, str]] = [
    (linear.Accuracy, "(tp + tn) / n", "errors of both kinds have the same cost"),
    (linear.BalancedAccuracy, "(tp/P + tn/N) / 2", "both classes matter equally, whatever their size"),
    (linear.Youden, "tp/P + tn/N - 1", "balanced accuracy rescaled to [-1, 1]; common in medicine"),
    (linear.Cost, "mean benefit minus cost per row", "known prices of errors, per class or per row"),
    (confusion.F1, "2 tp / (2 tp + fp + fn)", "a rare class, precision and recall matter equally"),
    (
        confusion.FBeta,
        "(1 + b²) tp / ((1 + b²) tp + b² fn + fp)",
        "recall counts `beta` times as much as precision",
    ),
    (confusion.Jaccard, "tp / (tp + fp + fn)", "overlap of two sets"),
    (confusion.GMean, "sqrt(tp/P · tn/N)", "imbalanced classes, both of which matter"),
    (confusion.MCC, "Matthews' correlation", "one number for the whole confusion matrix"),
    (confusion.CohenKappa, "agreement beyond chance", "comparison with human raters"),
    (linear.PrecisionAtK, "tp among the top k, over k", "only k cases can be acted on"),
    (linear.RecallAtK, "tp among the top k, over P", "how much a screening of k cases finds"),
    (linear.LiftAtK, "precision at k over P/n", "common in marketing"),
    (linear.PRBEP, "precision where it equals recall", "text classification"),
    (confusion.RecallAtPrecision, "recall while precision ≥ floor", "alarms must be reliable"),
    (confusion.PrecisionAtRecall, "precision while recall ≥ floor", "few positives may be missed"),
    (confusion.TprAtFpr, "tp/P while fp/N ≤ ceiling", "a limited rate of false alarms"),
    (confusion.KLD, "1 - normalized divergence of class shares", "estimating prevalence"),
    (confusion.QMeasure, "F-mean of recall and agreement of counts", "prevalence and labels at once"),
    (ranking.RocAUC, "pairs in the right order", "ranking over the whole range"),
    (ranking.PartialAUC, "ROC area in a range, McClish's scale", "ranking where false alarms are few"),
    (ranking.AveragePrecision, "mean precision at the positives' ranks", "retrieval"),
]
AnyMeasure = TypeVar("AnyMeasure")


class Description(NamedTuple):
    """A measure's name, its parameters with their defaults, its formula and its use."""

    name: str
    parameters: dict[str, Any]
    value: str
    use: str


@dataclass(frozen=True, eq=False)
class Registry(Generic[AnyMeasure]):
    """The measures of one kind of target, by their names.

    A name is an entry, or a measure of two classes with an average, such as ``f1_macro``.

    Attributes
    ----------
    kind : type
        The base class of the measures.
    entries : dict
        For each name, the constructor of the measure, its formula and its use.
    convert : callable
        Converts a measure of two classes or a function to a measure.
    aliases : dict
        Other names of entries.
    target : str
        Text after an unknown name in error messages.
    average : callable, optional
        Creates a measure from a measure of two classes and the name of an average.
    averages : dict
        Each average with its description.
    averaged_kind : type
        The measures of two classes that can be averaged.
    average_use : str
        The use of averaged measures.
    """

    kind: type[Any]
    entries: dict[str, tuple[Callable[..., AnyMeasure], str, str]]
    convert: Callable[[Any], AnyMeasure]
    aliases: dict[str, str] = field(default_factory=dict)
    target: str = ""
    average: Callable[[Any, str], AnyMeasure] | None = None
    averages: dict[str, str] = field(default_factory=dict)
    averaged_kind: type[Any] = Measure
    average_use: str = ""

    @cached_property
    def averages_by_name(self) -> dict[str, tuple[str, str]]:
        """The measure of two classes and the average of each name such as ``f1_macro``."""
        known = sorted(kind.name for kind, _, _ in _BINARY if issubclass(kind, self.averaged_kind))
        return {f"{name}_{average}": (name, average) for name in known for average in self.averages}

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted([*self.entries, *self.averages_by_name])

    def describe(self) -> list[Description]:
        """Descriptions of all measures, similar ones together."""
        entries = self.entries.items()
        own = [Description(name, _parameters(make), value, use) for name, (make, value, use) in entries]
        derived = [
            Description(name, {}, f"{binary}: {self.averages[average]}", self.average_use)
            for name, (binary, average) in self.averages_by_name.items()
        ]
        return [*own, *derived]

    def get(self, measure: object, params: Mapping[str, Any]) -> AnyMeasure:
        """A measure by its name and parameters, or from another measure, a formula or a function."""
        if isinstance(measure, str):
            name = measure.strip()
            if name.isidentifier() and name not in confusion.CELLS:
                return self._by_name(name, params)
        if params:
            raise InvalidInputError(
                f"parameters ({', '.join(params)}) can only be given with the name of a measure: got "
                f"{measure!r}."
            )
        if isinstance(measure, str):
            measure = confusion.FunctionMeasure(confusion.Formula(measure))
        if isinstance(measure, self.kind):
            return measure
        if isinstance(measure, Measure) or (callable(measure) and not inspect.isclass(measure)):
            return self.convert(measure)
        raise InvalidInputError(
            "measure must be a name, a measure or a function of the confusion matrix, such as "
            f"`lambda tp, fp, fn, tn: tp - fp`: got {measure!r}."
        )

    def _by_name(self, name: str, params: Mapping[str, Any]) -> AnyMeasure:
        known = self.aliases.get(name, name)
        if known in self.entries:
            make = self.entries[known][0]
            accepted = list(_parameters(make)) if params else []
            if unknown := [key for key in params if key not in accepted]:
                takes = f"it takes {', '.join(accepted)}" if accepted else "it takes no parameters"
                raise InvalidInputError(f"measure {name!r} has no parameter {unknown[0]!r}: {takes}.")
            return make(**params)
        if self.average is not None and known in self.averages_by_name:
            binary, average = self.averages_by_name[known]
            return self.average(BINARY.get(binary, params), average)
        if self is not BINARY and known in BINARY.entries:
            return self.convert(BINARY.get(known, params))
        listed = [*sorted(self.entries), *(["an average such as 'f1_macro'"] if self.averages else [])]
        binary_names = [binary for binary, _ in self.averages_by_name.values()]
        hint = suggest_names(
            name, [*self.names(), *self.aliases, *binary_names], f"Choose one of {', '.join(listed)}."
        )
        raise UnknownMeasureError(f"there is no measure {name!r}{self.target}. {hint}")


def _parameters(make: Callable[..., object]) -> dict[str, Any]:
    """The parameters set by users, with their defaults: all except keyword-only ones."""
    found = inspect.signature(make).parameters.values()
    given = [each for each in found if each.kind is each.POSITIONAL_OR_KEYWORD]
    return {each.name: None if each.default is each.empty else each.default for each in given}


BINARY: Registry[Measure] = Registry(
    Measure,
    {kind.name: (kind, value, use) for kind, value, use in _BINARY},
    confusion.FunctionMeasure,
    aliases={"matthews_corrcoef": "mcc"},
)


def describe() -> list[Description]:
    """Descriptions of all measures, similar ones together.

    Examples
    --------
    >>> from capo import measures
    >>> measures.describe()[4].value
    '2 tp / (2 tp + fp + fn)'
    """
    return BINARY.describe()


def names() -> list[str]:
    """The names of all measures, sorted.

    Examples
    --------
    >>> from capo import measures
    >>> "f1" in measures.names()
    True
    """
    return BINARY.names()


def get(measure: str | Measure | Callable[..., Any], **params: Any) -> Measure:
    """A measure by its name, or from a formula or function of the confusion matrix.

    Parameters
    ----------
    measure : str, Measure or callable
        A name from `names`; a formula of tp, fp, fn and tn such as ``"10 * tp - 2 * fp"``; a `Measure`, which
        is returned unchanged; or a vectorized function of (tp, fp, fn, tn).
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
    return BINARY.get(measure, params)
