"""The base class of measures: a score, a loss, and the search for the worst labeling.

Throughout, ``s`` are scores, ``y`` labels (1 or True for the positives; 0, -1 or False for the
negatives), and ``W`` is the number of rows, or the sum of their weights. A measure with loss Delta has the
convex, piecewise linear risk

    R(s) = max over labelings y'  { Delta(y, y') - (1/2W) sum_i w_i (y_i - y'_i) s_i }

(labels as -1/+1; rankings instead of labelings for the ranking family). The
maximizer gives a `Cut`: ``R(s) = cut.loss - cut.coef @ s``, and for all other
scores ``t`` the cut is a lower bound, ``R(t) >= cut.loss - cut.coef @ t``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from .._compat import ArrayLike, FloatArray
from ..engine import Cut, Oracle
from ..exceptions import InvalidInputError
from ._labels import Labels

#: A number or an array; entries of confusion matrices, which broadcast.
Cells = Any


class LabeledOracle(ABC):
    """Base class of oracles: higher scores of positives and lower scores of negatives never raise R."""

    labels: Labels

    @property
    def direction(self) -> FloatArray:
        """+1 for rows whose higher scores cannot raise R, -1 for rows whose lower scores cannot."""
        return self.labels.sign

    def within(self, error: float) -> Oracle:
        """An oracle whose cuts lie below R by at most `error`: this one unless there is a faster one."""
        return self

    @abstractmethod
    def __call__(self, scores: FloatArray) -> Cut:
        """The cut of the worst labeling."""


class Measure(ABC):
    """A performance measure that can be optimized directly.

    A subclass defines three methods: `score`, the value that users know; `loss`, the loss Delta by its
    definition; and `oracle`, the search for the worst labeling. `capo.testing.check_measure` compares
    `oracle` with `loss` by brute force.
    """

    #: The name for `capo.measures.get`.
    name: str = ""
    #: The largest standard deviation that the value can have: half of its range.
    max_std: ClassVar[float] = math.inf
    #: Whether the loss of a labeling depends on its confusion matrix alone.
    depends_on_confusion_only: ClassVar[bool] = True
    #: Whether `score` depends on which scores are above 0, and not only on their order.
    needs_threshold: ClassVar[bool] = False

    @abstractmethod
    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The value of the measure for these scores; higher is better."""

    @abstractmethod
    def loss(self, y: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The loss Delta by its definition, between 0 and 1."""

    def oracle(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Oracle:
        """A function ``scores -> Cut`` for these labels, prepared for many calls."""
        return self.oracle_for(Labels.from_arrays(y, sample_weight))

    def check_size(self, n_rows: float, what: str = "the number of rows") -> None:  # noqa: B027
        """Raise an error if the measure needs more rows than `n_rows`, which `what` describes."""

    def oracle_for(self, labels: Labels) -> Oracle:
        """A function ``scores -> Cut`` for labels that have been checked, or for `GroupedLabels`.

        All measures of this package define it. A measure without it can be optimized on one machine only.
        """
        raise InvalidInputError(
            f"{self.label} has no search for groups of rows: define `oracle_for(labels)` in "
            f"{type(self).__name__}, or use a measure of capo or a function of (tp, fp, fn, tn)."
        )

    def most_violated(self, scores: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Cut:
        """The cut of the worst labeling for these scores."""
        oracle = self.oracle(y, sample_weight)
        return oracle(Labels.check_scores(scores, len(np.asarray(y))))

    @abstractmethod
    def threshold(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The threshold on the training scores that is best for the measure."""

    def at_threshold(self) -> Measure | None:
        """The measure of the labels at a threshold of 0; None if it depends on the order of scores only."""
        return self if self.needs_threshold else None

    def score_labels(
        self, y: ArrayLike, decision: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """The value of the labels predicted by `decision` above 0; for a ranking measure, of its order."""
        return (self.at_threshold() or self).score(y, decision, sample_weight)

    def for_training(self) -> Measure:
        """The measure whose R a fit minimizes: this one, unless its R is unsuitable for training."""
        return self

    def for_rows(self, rows: Any) -> Measure:
        """The measure of some of the rows, which differs for a measure that has a parameter per row."""
        return self

    @property
    def row_log_odds(self) -> FloatArray | None:
        """The log-odds above which each row should be positive; None if all rows share a threshold."""
        return None

    def admits(self, y: ArrayLike, y_pred: ArrayLike) -> bool:
        """Whether the labeling `y_pred` is among those over which R is a maximum."""
        return True

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the measure."""
        return {key: value for key, value in vars(self).items() if not key.startswith("_")}

    @property
    def label(self) -> str:
        """The name with the parameters that identify the measure, as printed for users.

        Parameters are shown whether or not they have their default values; those that are None or
        infinite have no effect and are left out.

        Examples
        --------
        >>> from capo import measures
        >>> measures.get("f1").label
        'f1'
        >>> measures.get("recall_at_precision").label
        'recall_at_precision(floor=0.9)'
        >>> measures.get("10 * tp - 2 * fp").label
        '10 * tp - 2 * fp'
        """
        return format_label(self.name or type(self).__name__, self.params)

    def __repr__(self) -> str:
        return self.label

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        mine, theirs = self.params, other.params
        return all(np.array_equal(value, theirs[key]) for key, value in mine.items())

    def __hash__(self) -> int:
        return hash(type(self))


def format_label(name: str, params: Mapping[str, Any]) -> str:
    """A name with its parameters, without those that have no effect: None and infinity."""
    parts = [
        f"{key}=<{value.size} values>" if isinstance(value, np.ndarray) else f"{key}={value}"
        for key, value in params.items()
        if value is not None and not (isinstance(value, float | np.floating) and np.isinf(value))
    ]
    return f"{name}({', '.join(parts)})" if parts else name


class DerivedMeasure(ABC):
    """Base of the measures of many classes and of label matrices, which are dataclasses."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name in the registry."""

    @property
    def params(self) -> dict[str, Any]:
        """The parameters set by users: all except keyword-only ones."""
        return {each.name: getattr(self, each.name) for each in fields(self) if not each.kw_only}  # type: ignore[arg-type]

    @property
    def label(self) -> str:
        """The name with the parameters that have an effect, as printed for users."""
        return format_label(self.name, self.params)


@dataclass(frozen=True)
class AveragedMeasure:
    """A measure of many classes or labels that averages a measure of two classes.

    Parameters
    ----------
    measure : Measure
        The measure of two classes.
    average : str, default="macro"
        The name of the average.
    """

    measure: Any
    average: str = "macro"

    @property
    def name(self) -> str:
        """The name of the binary measure and of the average."""
        return f"{self.measure.name}_{self.average}"

    @property
    def label(self) -> str:
        """The label of the binary measure and the average."""
        return f"{self.measure.label}_{self.average}"
