"""Thresholds of labels: by expected values, by observed labels, or halfway between them.

The threshold with the best expected value needs good probabilities, the one that is best on the labels at
hand needs many of them. Which of them to trust is decided once for all labels, by the measure out of fold:
one label has too few positive rows to tell, all labels together have enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._typing import BoolArray, FloatArray
from ..measures import Measure
from ..model_selection import ExpectedValueThreshold, OperatingPoint, ThresholdRule


@dataclass(frozen=True)
class BlendedThreshold:
    """A threshold between the one with the best expected value and the best one on the observed labels.

    Attributes
    ----------
    observed_share : float
        0 for the expected values alone, 1 for the observed labels alone.
    """

    observed_share: float
    shift_invariant: ClassVar[bool] = True
    learns: ClassVar[bool] = True

    def __call__(
        self, measure: Measure, scores: FloatArray, positive: BoolArray, weight: FloatArray | None
    ) -> OperatingPoint:
        """Return the threshold on these scores."""
        expected = ExpectedValueThreshold()(measure, scores, positive, weight)
        spread = float(np.ptp(scores)) or 1.0
        observed = float(measure.threshold(positive, scores, weight))
        observed = float(np.clip(observed, scores.min() - 0.1 * spread, scores.max() + 0.1 * spread))
        score = (1.0 - self.observed_share) * expected.score + self.observed_share * observed
        return OperatingPoint(score, expected.calibration)


#: The rules that are compared; of several that are equally good, the first is used.
THRESHOLD_RULES: dict[str, ThresholdRule] = {
    "expected": ExpectedValueThreshold(),
    "blended": BlendedThreshold(0.5),
    "observed": BlendedThreshold(1.0),
}
