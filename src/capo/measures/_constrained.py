"""One rate as good as can be while another keeps a floor or a ceiling.

A table that breaks the constraint has the full loss 1, so that one row on the wrong side
can cost everything. On classes that overlap no scores but 0 are then optimal for R, and a
fit has to soften the constraint (`ConstrainedMeasure.for_training`): the loss rises by
`penalty` times the shortfall instead.

The score does not depend on a threshold: it is the best rate that any threshold reaches
while keeping the constraint, and 0 if none does.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from ..exceptions import ConstraintWarning, InvalidInputError
from ._base import Cells
from ._confusion import ConfusionMeasure, ratio
from ._labels import Labels, score_curve

#: Rounding: 9 of 10 must count as a share of 0.9.
_SLACK = 1e-12


class ConstrainedMeasure(ConfusionMeasure):
    """A rate that counts only where a constraint holds.

    Parameters
    ----------
    bound : float
        The floor or ceiling.
    penalty : float, default=inf
        What a shortfall costs, times its size; infinity makes any shortfall the full loss 1.
    """

    needs_threshold = False

    def __init__(self, bound: float, penalty: float = math.inf) -> None:
        if not (isinstance(penalty, (int, float, np.number)) and penalty > 0):
            raise InvalidInputError(f"penalty must be above 0: got {penalty!r}.")
        self._bound, self.penalty = float(bound), float(penalty)

    @abstractmethod
    def rate(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        """What is to be high."""

    @abstractmethod
    def shortfall(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        """By how much the constraint is missed; at most 0 where it holds."""

    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return np.where(self.shortfall(tp, fp, fn, tn) <= _SLACK, self.rate(tp, fp, fn, tn), 0.0)

    def delta(self, tp: Cells, fp: Cells, n_pos: float, n_neg: float) -> Cells:
        if math.isinf(self.penalty):
            return super().delta(tp, fp, n_pos, n_neg)
        table = tp, fp, n_pos - tp, n_neg - fp
        missed = self.penalty * np.maximum(self.shortfall(*table), 0.0)
        return np.minimum(1.0, 1.0 - self.rate(*table) + missed)

    def for_training(self) -> Self:
        """The same with a penalty of 1 where any shortfall would be the full loss."""
        return self if math.isfinite(self.penalty) else type(self)(self._bound, penalty=1.0)

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        curve = score_curve(Labels.of(y, sample_weight), scores)
        return float(curve.evaluate(self.value).max())

    def threshold(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The cut with the best value among those that keep the constraint, or that comes nearest to it."""
        if self.score(y, scores, sample_weight) > 0:
            return super().threshold(y, scores, sample_weight)
        warnings.warn(
            f"no threshold on the training scores meets {self.label}: predictions use the nearest one. "
            "Relax the constraint, raise C or give better features.",
            ConstraintWarning,
            stacklevel=4,
        )
        curve = score_curve(Labels.of(y, sample_weight), scores)
        nearness = -curve.evaluate(self.shortfall)
        nearness[0] = -np.inf  # nothing predicted as positive keeps any floor
        return curve.best_cut(nearness)


def _share(value: float, name: str, of: str) -> float:
    if not (isinstance(value, (int, float, np.number)) and 0 < value <= 1):
        raise InvalidInputError(
            f"{name} must be above 0 and at most 1: got {value!r}. A {of} of 0 is no constraint, and one "
            "above 1 cannot be reached."
        )
    return float(value)


class RecallAtPrecision(ConstrainedMeasure):
    """Recall while precision is at least `floor`.

    Parameters
    ----------
    floor : float, default=0.9
        The precision that must be kept.
    penalty : float, default=inf
        What a precision of 0 costs; infinity makes any shortfall the full loss 1.
    """

    name = "recall_at_precision"

    def __init__(self, floor: float = 0.9, penalty: float = math.inf) -> None:
        self.floor = _share(floor, "floor", "precision")
        super().__init__(self.floor, penalty)

    def rate(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return ratio(tp, tp + fn)

    def shortfall(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return 1.0 - ratio(tp, tp + fp) / self.floor


class PrecisionAtRecall(ConstrainedMeasure):
    """Precision while recall is at least `floor`.

    Parameters
    ----------
    floor : float, default=0.9
        The recall that must be kept.
    penalty : float, default=inf
        What a recall of 0 costs; infinity makes any shortfall the full loss 1.
    """

    name = "precision_at_recall"

    def __init__(self, floor: float = 0.9, penalty: float = math.inf) -> None:
        self.floor = _share(floor, "floor", "recall")
        super().__init__(self.floor, penalty)

    def rate(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return ratio(tp, tp + fp)

    def shortfall(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return 1.0 - ratio(tp, tp + fn) / self.floor


class TprAtFpr(ConstrainedMeasure):
    """True positive rate while the false positive rate is at most `ceiling`.

    Parameters
    ----------
    ceiling : float, default=0.1
        The false positive rate that must not be exceeded.
    penalty : float, default=inf
        What an excess costs, times its size; infinity makes any excess the full loss 1.
    """

    name = "tpr_at_fpr"

    def __init__(self, ceiling: float = 0.1, penalty: float = math.inf) -> None:
        if not (isinstance(ceiling, (int, float, np.number)) and 0 <= ceiling <= 1):
            raise InvalidInputError(f"ceiling must be between 0 and 1: got {ceiling!r}.")
        self.ceiling = float(ceiling)
        super().__init__(self.ceiling, penalty)

    def rate(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return ratio(tp, tp + fn)

    def shortfall(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return ratio(fp, fp + tn) - self.ceiling
