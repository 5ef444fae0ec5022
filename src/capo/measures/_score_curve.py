"""The confusion matrices of all thresholds on the scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._typing import FloatArray
from ._labels import Labels

#: Number of points of a curve that are evaluated together.
CURVE_CHUNK_SIZE = 2**16


@dataclass(frozen=True)
class ScoreCurve:
    """True and false positives at all thresholds, for the distinct scores in descending order.

    `tp[i]` and `fp[i]` are the masses predicted positive by a threshold just below `scores[i - 1]`;
    index 0 is a threshold above all scores.
    """

    scores: FloatArray
    tp: FloatArray
    fp: FloatArray

    def evaluate(
        self, function: Callable[[FloatArray, FloatArray, FloatArray, FloatArray], Any]
    ) -> FloatArray:
        """A function of (tp, fp, fn, tn) at every threshold, computed in chunks to save memory."""
        values = np.empty(len(self.tp))
        n_pos, n_neg = self.tp[-1], self.fp[-1]
        for start in range(0, len(values), CURVE_CHUNK_SIZE):
            tp, fp = self.tp[start : start + CURVE_CHUNK_SIZE], self.fp[start : start + CURVE_CHUNK_SIZE]
            values[start : start + CURVE_CHUNK_SIZE] = function(tp, fp, n_pos - tp, n_neg - fp)
        return values

    def tp_at_mass(self, mass: float) -> float:
        """Expected tp among the highest scores of total `mass`, with ties broken at random."""
        return float(np.interp(mass, self.tp + self.fp, self.tp))

    def threshold_below(self, i: int) -> float:
        """A threshold that exactly the first `i` distinct scores exceed."""
        if i == 0:
            return float(np.nextafter(self.scores[0], np.inf))
        if i == len(self.scores):
            return float(np.nextafter(self.scores[-1], -np.inf))
        middle = 0.5 * self.scores[i - 1] + 0.5 * self.scores[i]
        return float(middle if middle < self.scores[i - 1] else self.scores[i])

    def best_threshold(self, values: FloatArray) -> float:
        """The threshold with the highest of `values`, one per index of `tp`; 0 if it is as good."""
        at_zero = int(np.count_nonzero(self.scores > 0))
        best = int(np.argmax(values))
        return 0.0 if values[at_zero] >= values[best] - 1e-12 else self.threshold_below(best)

    def threshold_at_mass(self, mass: float) -> float:
        """The threshold whose mass of predicted positives is nearest to `mass`."""
        return self.threshold_below(int(np.argmin(np.abs(self.tp + self.fp - mass))))


def score_curve(labels: Labels, scores: ArrayLike) -> ScoreCurve:
    """The confusion matrices of all thresholds on the scores."""
    values = np.asarray(scores, dtype=np.float64)
    Labels.check_scores(values, len(labels.positive))
    order = np.argsort(-values)
    if labels.weight is not None:
        order = order[labels.weight[order] > 0]
    ranked, positive = values[order], labels.positive[order]
    last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
    if labels.weight is None:
        tp = np.cumsum(positive)[last].astype(np.float64)
        fp = last + 1.0 - tp
    else:
        # One sum per class: rounding could make a difference of sums non-monotone.
        mass = labels.weight[order]
        tp, fp = np.cumsum(mass * positive)[last], np.cumsum(mass * ~positive)[last]
    return ScoreCurve(ranked[last], np.append(0.0, tp), np.append(0.0, fp))
