"""The numbers behind the curves: exact tables at some hundred thresholds.

A row is predicted as positive where its decision is above a cut; the chosen cut is 0. The cuts kept are
spaced evenly in the mass of either class, so that neither a rare class nor millions of rows leave gaps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from .._typing import BoolArray, FloatArray, IntArray
from ..measures import ConfusionMeasure, Labels, Measure, ScoreCurve, get, ratio, score_curve

#: Thresholds at most, and those among them that are spaced evenly in the mass of one class.
MOST, PER_CLASS = 500, 248


@dataclass(frozen=True)
class Curves:
    """The confusion table at each threshold, thresholds ascending.

    Attributes
    ----------
    cuts : ndarray
        Rows with a decision above the cut are predicted as positive.
    thresholds : ndarray
        The same as probabilities.
    tp, fp : ndarray
        True and false positives, weighted if the rows are.
    n_pos, n_neg : float
        Positives and negatives.
    values : ndarray
        What is drawn against the threshold.
    name : str
        ... and what it is called.
    chosen : int
        Where the model's own threshold is.
    whole : bool
        Whether every row counts a whole number of times.
    """

    cuts: FloatArray
    thresholds: FloatArray
    tp: FloatArray
    fp: FloatArray
    n_pos: float
    n_neg: float
    values: FloatArray
    name: str
    chosen: int
    whole: bool

    @property
    def total(self) -> float:
        """Mass of all rows."""
        return self.n_pos + self.n_neg

    @property
    def recall(self) -> FloatArray:
        """Share of the positives that are found, which is also the ROC curve's true positive rate."""
        return ratio(self.tp, self.n_pos)

    @property
    def false_alarms(self) -> FloatArray:
        """Share of the negatives that are predicted as positive."""
        return ratio(self.fp, self.n_neg)

    @property
    def precision(self) -> FloatArray:
        """Share of true positives; where nothing is predicted as positive, that of the nearest threshold."""
        found = self.tp + self.fp
        out = ratio(self.tp, found)
        some = np.flatnonzero(found > 0)
        return np.where(found > 0, out, out[some[-1]]) if some.size else out


def trace(model: Any, positive: BoolArray, decision: ArrayLike, weight: ArrayLike | None) -> Curves:
    """The curves of a fitted classifier's decisions."""
    labels = Labels.lenient(positive, weight)
    curve = score_curve(labels, decision)
    zero = int(np.count_nonzero(curve.scores > 0))
    kept = _spaced(curve, zero)[::-1]
    cuts = np.array([0.0 if i == zero else curve.cut_below(i) for i in kept])
    tp, fp = curve.tp[kept], curve.fp[kept]
    name, values = _drawn(model.measure_, tp, fp)
    return Curves(
        cuts=cuts,
        thresholds=as_threshold(model, cuts),
        tp=tp,
        fp=fp,
        n_pos=float(curve.tp[-1]),
        n_neg=float(curve.fp[-1]),
        values=values,
        name=name,
        chosen=int(np.flatnonzero(kept == zero)[0]),
        whole=labels.whole,
    )


def as_threshold(model: Any, cuts: FloatArray) -> FloatArray:
    """Cuts of the decision as probabilities; 0 is the model's own threshold, to the last digit."""
    edge = np.finfo(np.float64)
    middle = logit(np.clip(model.threshold_, edge.tiny, 1.0 - edge.epsneg))
    return np.where(cuts == 0, model.threshold_, expit(cuts + middle))


def _spaced(curve: ScoreCurve, zero: int) -> IntArray:
    """Which tables are kept: all if they are few, the chosen one and the ends always."""
    last = len(curve.tp) - 1
    if last < MOST:
        return np.arange(last + 1)
    inner = [np.searchsorted(mass, np.linspace(0.0, mass[-1], PER_CLASS)) for mass in (curve.tp, curve.fp)]
    return np.unique(np.concatenate([*inner, [0, zero, last]])).astype(np.intp)


def _drawn(measure: Measure, tp: FloatArray, fp: FloatArray) -> tuple[str, FloatArray]:
    """What is drawn against the threshold: the measure, or F1 if no threshold changes the measure."""
    if measure.needs_threshold:
        return measure.label, _scored(measure, tp, fp)
    shown = measure if isinstance(measure, ConfusionMeasure) else get("f1")
    assert isinstance(shown, ConfusionMeasure)
    return shown.label, np.asarray(shown.value(tp, fp, tp[0] - tp, fp[0] - fp), dtype=np.float64)


def _scored(measure: Measure, tp: FloatArray, fp: FloatArray) -> FloatArray:
    """The measure at each cut: all rows between two cuts are one row of their mass for each class."""
    masses = [np.append(-np.diff(cells), cells[-1]) for cells in (tp, fp)]
    place = np.tile(np.arange(len(tp)), 2)
    positive = np.repeat((True, False), len(tp))
    mass = np.maximum(np.concatenate(masses), 0.0)
    return np.array([measure.score(positive, place - i + 0.5, mass) for i in range(len(tp))])
