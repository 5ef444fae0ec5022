"""Measures that maximize one rate subject to a lower or upper limit on another.

A confusion matrix that violates the constraint has the loss 1, so that a single row can change the loss
from 0 to 1. For overlapping classes R is then minimal at zero scores, and a fit has to relax the constraint
(`ConstrainedMeasure.for_training`): `penalty` times the shortfall is added to the loss instead.

The score does not depend on a threshold: it is the best rate among all thresholds that satisfy the
constraint, and 0 if none does. What a classifier does at its own threshold is `rate`, `limited_rate` and
`is_satisfied` of its confusion matrix.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ..exceptions import ConstraintWarning, InvalidInputError
from ._base import Cells, Measure
from ._confusion import ConfusionMeasure, ratio
from ._formula import FunctionMeasure
from ._labels import Labels, score_curve

#: Tolerance for rounding errors: 9 of 10 must satisfy a limit of 0.9.
_ROUNDING_TOL = 1e-12


class ConstrainedMeasure(ConfusionMeasure):
    """A rate, subject to a constraint on another one.

    Parameters
    ----------
    bound : float
        The limit.
    penalty : float, default=inf
        Factor of the shortfall in the loss; with infinity any shortfall has the loss 1.
        Training uses 1 in place of an infinite penalty.
    confidence : float, optional
        The probability with which the constraint must hold on new rows. `CAPOClassifier` then chooses its
        threshold on rows that it holds out.
    """

    needs_threshold = False
    # The value is between 0 and 1, but jumps, so that the jackknife estimates far more than is possible.
    max_std = 0.5
    #: The rate that is maximized and the one that is limited, in words.
    rate_name: ClassVar[str]
    limited_rate_name: ClassVar[str]
    #: How the bound limits the rate.
    limit_name: ClassVar[str] = "at least"

    def __init__(self, bound: float, penalty: float = math.inf, confidence: float | None = None) -> None:
        if not (isinstance(penalty, (int, float, np.number)) and penalty > 0):
            raise InvalidInputError(f"penalty must be above 0: got {penalty!r}.")
        self._bound, self.penalty = float(bound), float(penalty)
        self.confidence = None if confidence is None else _check_confidence(confidence)

    @abstractmethod
    def rate(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        """The rate to maximize."""

    @abstractmethod
    def limited_rate(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        """The rate that the constraint limits; 0 where it is not defined."""

    @abstractmethod
    def shortfall(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        """How far the constraint is violated; at most 0 if it is satisfied."""

    @property
    def constraint(self) -> str:
        """The constraint in words, such as "precision of at least 0.9"."""
        return f"{self.limited_rate_name} of {self.limit_name} {self._bound:g}"

    def is_satisfied(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        """Whether each confusion matrix satisfies the constraint."""
        return self.shortfall(tp, fp, fn, tn) <= _ROUNDING_TOL

    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return np.where(self.is_satisfied(tp, fp, fn, tn), self.rate(tp, fp, fn, tn), 0.0)

    def at_threshold(self) -> Measure:
        """The same measure of the labels at a threshold of 0: the rate, or 0 without the constraint."""
        return FunctionMeasure(self.value, self.label)

    def delta(self, tp: Cells, fp: Cells, n_pos: float, n_neg: float) -> Cells:
        if math.isinf(self.penalty):
            return super().delta(tp, fp, n_pos, n_neg)
        cells = tp, fp, n_pos - tp, n_neg - fp
        penalty = self.penalty * np.maximum(self.shortfall(*cells), 0.0)
        return np.minimum(1.0, 1.0 - self.rate(*cells) + penalty)

    def for_training(self) -> Self:
        """The same measure with a penalty of 1 in place of an infinite one."""
        return self if math.isfinite(self.penalty) else type(self)(self._bound, penalty=1.0)

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        curve = score_curve(Labels.from_arrays(y, sample_weight), scores)
        return float(curve.evaluate(self.value).max())

    def threshold(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The best threshold that satisfies the constraint, or the one that comes nearest to it."""
        if self.score(y, scores, sample_weight) > 0:
            return super().threshold(y, scores, sample_weight)
        warnings.warn(
            f"no threshold on the training scores satisfies the constraint of {self.label}: predictions use "
            "the nearest one. Relax the constraint or use better features.",
            ConstraintWarning,
            stacklevel=5,
        )
        curve = score_curve(Labels.from_arrays(y, sample_weight), scores)
        nearness = -curve.evaluate(self.shortfall)
        nearness[0] = -np.inf  # without predicted positives there is no precision
        return curve.best_threshold(nearness)


def _check_confidence(value: float) -> float:
    if not (isinstance(value, (int, float, np.number)) and 0 < value < 1):
        raise InvalidInputError(
            f"confidence must be above 0 and below 1: got {value!r}. No number of rows gives certainty."
        )
    return float(value)


def _check_share(value: float, name: str, of: str) -> float:
    if not (isinstance(value, (int, float, np.number)) and 0 < value <= 1):
        raise InvalidInputError(
            f"{name} must be above 0 and at most 1: got {value!r}. A {of} of 0 is no constraint, and a {of} "
            "above 1 is impossible."
        )
    return float(value)


class _FloorMeasure(ConstrainedMeasure):
    """A measure with a smallest value of its limited rate."""

    def __init__(
        self, floor: float = 0.9, penalty: float = math.inf, confidence: float | None = None
    ) -> None:
        self.floor = _check_share(floor, "floor", self.limited_rate_name)
        super().__init__(self.floor, penalty, confidence)

    def shortfall(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return 1.0 - self.limited_rate(tp, fp, fn, tn) / self.floor


class RecallAtPrecision(_FloorMeasure):
    """Recall subject to a precision of at least `floor`.

    Parameters
    ----------
    floor : float, default=0.9
        The smallest precision allowed.
    penalty : float, default=inf
        Factor of the relative shortfall in the loss; with infinity any shortfall has the loss 1.
        Training uses 1 in place of an infinite penalty.
    confidence : float, optional
        The probability with which the constraint must hold on new rows. `CAPOClassifier` then chooses its
        threshold on rows that it holds out.
    """

    name = "recall_at_precision"
    rate_name, limited_rate_name = "recall", "precision"

    def rate(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return ratio(tp, tp + fn)

    def limited_rate(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return ratio(tp, tp + fp)


class PrecisionAtRecall(_FloorMeasure):
    """Precision subject to a recall of at least `floor`.

    Parameters
    ----------
    floor : float, default=0.9
        The smallest recall allowed.
    penalty : float, default=inf
        Factor of the relative shortfall in the loss; with infinity any shortfall has the loss 1.
        Training uses 1 in place of an infinite penalty.
    confidence : float, optional
        The probability with which the constraint must hold on new rows. `CAPOClassifier` then chooses its
        threshold on rows that it holds out.
    """

    name = "precision_at_recall"
    rate_name, limited_rate_name = "precision", "recall"

    def rate(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return ratio(tp, tp + fp)

    def limited_rate(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return ratio(tp, tp + fn)


class TprAtFpr(ConstrainedMeasure):
    """True positive rate subject to a false positive rate of at most `ceiling`.

    Parameters
    ----------
    ceiling : float, default=0.1
        The largest false positive rate allowed.
    penalty : float, default=inf
        Factor of the excess in the loss; with infinity any excess has the loss 1.
        Training uses 1 in place of an infinite penalty.
    confidence : float, optional
        The probability with which the constraint must hold on new rows. `CAPOClassifier` then chooses its
        threshold on rows that it holds out.
    """

    name = "tpr_at_fpr"
    rate_name, limited_rate_name = "true positive rate", "false positive rate"
    limit_name = "at most"

    def __init__(
        self, ceiling: float = 0.1, penalty: float = math.inf, confidence: float | None = None
    ) -> None:
        if not (isinstance(ceiling, (int, float, np.number)) and 0 <= ceiling <= 1):
            raise InvalidInputError(f"ceiling must be between 0 and 1: got {ceiling!r}.")
        self.ceiling = float(ceiling)
        super().__init__(self.ceiling, penalty, confidence)

    def rate(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return ratio(tp, tp + fn)

    def limited_rate(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return ratio(fp, fp + tn)

    def shortfall(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return self.limited_rate(tp, fp, fn, tn) - self.ceiling
