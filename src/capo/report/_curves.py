"""The confusion matrix and the measure at up to some hundred thresholds.

A row is predicted as positive if its decision is above a cut; the model's own cut is 0. If there are many
rows, the cuts are spaced evenly over the rows of either class, so that a rare class is covered as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._typing import BoolArray, FloatArray, IntArray
from ..measures import ConfusionMeasure, Labels, Measure, ScoreCurve, get, ratio, score_curve

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier

#: Limit on the number of thresholds.
MAX_THRESHOLDS = 500
#: Thresholds that are spaced evenly over the rows of each class.
N_PER_CLASS = 248


@dataclass(frozen=True)
class ThresholdCurves:
    """The confusion matrix and a measure at each threshold, in ascending order of thresholds.

    Attributes
    ----------
    cuts : ndarray
        Rows with a decision above the cut are predicted as positive.
    thresholds : ndarray
        The cuts as probabilities.
    tp, fp : ndarray
        True and false positives; sums of weights if the rows have any.
    n_pos, n_neg : float
        Positives and negatives.
    values : ndarray
        The measure at each threshold.
    measure_label : str
        The measure: that of the model, or another one if the model's does not depend on the threshold.
    chosen : int
        Index of the model's own threshold.
    integers : bool
        Whether all counts are integers.
    """

    cuts: FloatArray
    thresholds: FloatArray
    tp: FloatArray
    fp: FloatArray
    n_pos: float
    n_neg: float
    values: FloatArray
    measure_label: str
    chosen: int
    integers: bool

    @property
    def total(self) -> float:
        """Number of rows, or the sum of their weights."""
        return self.n_pos + self.n_neg

    @property
    def chosen_cells(self) -> tuple[float, float, float, float]:
        """True and false positives, false and true negatives at the model's threshold."""
        tp, fp = float(self.tp[self.chosen]), float(self.fp[self.chosen])
        return tp, fp, self.n_pos - tp, self.n_neg - fp

    @property
    def recall(self) -> FloatArray:
        """Share of the positives that are predicted as positive: the true positive rate."""
        return ratio(self.tp, self.n_pos)

    @property
    def false_positive_rate(self) -> FloatArray:
        """Share of the negatives that are predicted as positive."""
        return ratio(self.fp, self.n_neg)

    @property
    def precision(self) -> FloatArray:
        """Share of true positives; where no row is predicted as positive, that of the nearest threshold."""
        predicted = self.tp + self.fp
        precision = ratio(self.tp, predicted)
        defined = np.flatnonzero(predicted > 0)
        return np.where(predicted > 0, precision, precision[defined[-1]]) if defined.size else precision


def compute_curves(
    model: CAPOClassifier, positive: BoolArray, decision: ArrayLike, sample_weight: ArrayLike | None
) -> ThresholdCurves:
    """Evaluate a fitted classifier's decisions at many thresholds."""
    labels = Labels.from_arrays(positive, sample_weight, both_classes=False)
    curve = score_curve(labels, decision)
    zero = int(np.count_nonzero(curve.scores > 0))
    kept = _select_cuts(curve, zero)[::-1]
    cuts = np.array([0.0 if i == zero else curve.threshold_below(i) for i in kept])
    tp, fp = curve.tp[kept], curve.fp[kept]
    shown = _measure_of_thresholds(model.measure_)
    return ThresholdCurves(
        cuts=cuts,
        # A cut of 0 is the model's threshold to the last digit, without rounding errors.
        thresholds=np.where(cuts == 0, model.threshold_, model.as_probability(cuts)),
        tp=tp,
        fp=fp,
        n_pos=float(curve.tp[-1]),
        n_neg=float(curve.fp[-1]),
        values=_evaluate_at_cuts(shown, tp, fp),
        measure_label=shown.label,
        chosen=int(np.flatnonzero(kept == zero)[0]),
        integers=labels.has_integer_weights,
    )


def _select_cuts(curve: ScoreCurve, zero: int) -> IntArray:
    """Indices of the cuts to keep: all if they are few; the chosen one, the first and the last always."""
    last = len(curve.tp) - 1
    if last < MAX_THRESHOLDS:
        return np.arange(last + 1)
    inner = [np.searchsorted(mass, np.linspace(0.0, mass[-1], N_PER_CLASS)) for mass in (curve.tp, curve.fp)]
    return np.unique(np.concatenate([*inner, [0, zero, last]])).astype(np.intp)


def _measure_of_thresholds(measure: Measure) -> Measure:
    """The measure to draw against the threshold: the model's, or F1 if it does not depend on a threshold."""
    return measure.at_threshold() or get("f1")


def _evaluate_at_cuts(measure: Measure, tp: FloatArray, fp: FloatArray) -> FloatArray:
    """The measure at each cut."""
    if isinstance(measure, ConfusionMeasure):
        return np.asarray(measure.value(tp, fp, tp[0] - tp, fp[0] - fp), dtype=np.float64)
    # The rows between two cuts are merged into one weighted row of each class.
    weight = np.concatenate([np.append(-np.diff(cells), cells[-1]) for cells in (tp, fp)])
    position = np.tile(np.arange(len(tp)), 2)
    positive = np.repeat((True, False), len(tp))
    weight = np.maximum(weight, 0.0)
    return np.array([measure.score(positive, position - i + 0.5, weight) for i in range(len(tp))])
