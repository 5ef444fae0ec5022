"""One rate as good as can be while another keeps a floor or a ceiling.

A table that breaks the constraint has the full loss 1. The score does not depend on
a threshold: it is the best value that any threshold reaches while keeping the
constraint, and 0 if none does.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from ..exceptions import ConstraintWarning, InvalidInputError
from .base import FloatArray
from .labels import Labels, score_curve
from .table import TableMeasure, ratio


class ConstrainedMeasure(TableMeasure):
    """A rate that counts only where a constraint holds."""

    @abstractmethod
    def rate(self, tp: FloatArray, fp: FloatArray, fn: FloatArray, tn: FloatArray) -> FloatArray:
        """What is to be high."""

    @abstractmethod
    def holds(self, tp: FloatArray, fp: FloatArray, fn: FloatArray, tn: FloatArray) -> np.ndarray:
        """Where the constraint is kept."""

    def value(self, tp: FloatArray, fp: FloatArray, fn: FloatArray, tn: FloatArray) -> FloatArray:
        return np.where(self.holds(tp, fp, fn, tn), self.rate(tp, fp, fn, tn), 0.0)

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        values = self.values_on(score_curve(Labels.of(y, sample_weight), scores))
        return float(values.max())

    def threshold(
        self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """The cut with the best value among those that keep the constraint on the training rows."""
        if self.score(y, scores, sample_weight) <= 0:
            warnings.warn(
                f"no threshold on the training scores meets {self!r}: predictions keep the cut at 0. "
                "Relax the constraint, raise C or give better features.",
                ConstraintWarning,
                stacklevel=3,
            )
            return 0.0
        return super().threshold(y, scores, sample_weight)


def _share(value: float, name: str, of: str) -> float:
    if not (isinstance(value, (int, float, np.number)) and 0 < value <= 1):
        raise InvalidInputError(
            f"{name} must be above 0 and at most 1: got {value!r}. No classifier can meet "
            f"a {of} outside that range."
        )
    return float(value)


# Rounding: 0.9 * 10 predicted positives must count 9 true ones as enough.
_SLACK = 1e-12


class RecallAtPrecision(ConstrainedMeasure):
    """Recall while precision is at least `floor`.

    Parameters
    ----------
    floor : float, default=0.9
        The precision that must be kept.
    """

    name = "recall_at_precision"

    def __init__(self, floor: float = 0.9) -> None:
        self.floor = _share(floor, "floor", "precision")

    def rate(self, tp: FloatArray, fp: FloatArray, fn: FloatArray, tn: FloatArray) -> FloatArray:
        return ratio(tp, tp + fn)

    def holds(self, tp: FloatArray, fp: FloatArray, fn: FloatArray, tn: FloatArray) -> np.ndarray:
        return np.asarray(tp >= (self.floor - _SLACK) * (tp + fp))


class PrecisionAtRecall(ConstrainedMeasure):
    """Precision while recall is at least `floor`.

    Parameters
    ----------
    floor : float, default=0.9
        The recall that must be kept.
    """

    name = "precision_at_recall"

    def __init__(self, floor: float = 0.9) -> None:
        self.floor = _share(floor, "floor", "recall")

    def rate(self, tp: FloatArray, fp: FloatArray, fn: FloatArray, tn: FloatArray) -> FloatArray:
        return ratio(tp, tp + fp)

    def holds(self, tp: FloatArray, fp: FloatArray, fn: FloatArray, tn: FloatArray) -> np.ndarray:
        return np.asarray(tp >= (self.floor - _SLACK) * (tp + fn))


class TprAtFpr(ConstrainedMeasure):
    """True positive rate while the false positive rate is at most `ceiling`.

    Parameters
    ----------
    ceiling : float, default=0.1
        The false positive rate that must not be exceeded.
    """

    name = "tpr_at_fpr"

    def __init__(self, ceiling: float = 0.1) -> None:
        if not (isinstance(ceiling, (int, float, np.number)) and 0 <= ceiling <= 1):
            raise InvalidInputError(f"ceiling must be between 0 and 1: got {ceiling!r}.")
        self.ceiling = float(ceiling)

    def rate(self, tp: FloatArray, fp: FloatArray, fn: FloatArray, tn: FloatArray) -> FloatArray:
        return ratio(tp, tp + fn)

    def holds(self, tp: FloatArray, fp: FloatArray, fn: FloatArray, tn: FloatArray) -> np.ndarray:
        return np.asarray(fp <= (self.ceiling + _SLACK) * (fp + tn))
