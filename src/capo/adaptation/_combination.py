"""Linear combinations of auxiliary outputs and delta features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..auxiliary import OutputKind, OutputScale, apply_scales
from ..model_selection import PlattCalibrator, ThresholdRule
from ._data import AdaptationData

#: Scores that vary less than this, relative to the largest, differ by rounding errors only.
MIN_RELATIVE_STD = 1e-10


@dataclass(frozen=True)
class LinearCombination:
    """``f(x) = auxiliary' z(x) + delta' Phi(x) + intercept``.

    Attributes
    ----------
    auxiliary : ndarray of shape (n_auxiliaries,)
        Weights of the auxiliaries' scaled outputs z.
    delta : ndarray of shape (n_delta_features,)
        Weights of the delta function's features Phi.
    intercept : float
        The constant.
    """

    auxiliary: FloatArray
    delta: FloatArray
    intercept: float

    def scores(self, outputs: FloatArray, features: Any | None) -> FloatArray:
        """Return one score per row."""
        scores = outputs @ self.auxiliary + self.intercept
        if features is not None:
            scores = scores + np.asarray(features @ self.delta).ravel()
        return np.asarray(scores)

    def standardize(self, data: AdaptationData, *, center: bool = True) -> LinearCombination:
        """Return the combination whose scores on `data` have standard deviation 1, and mean 0 if centered.

        Scores of models trained on different rows are comparable on this scale. Without centering, a
        score of 0 remains 0. Scores that differ by rounding errors only become exactly equal, since a
        calibration would take the errors for the spread of the scores.
        """
        scores = self.scores(data.outputs, data.features)
        mean = float(np.average(scores, weights=data.weight))
        std = float(np.sqrt(np.average((scores - mean) ** 2, weights=data.weight)))
        if std <= MIN_RELATIVE_STD * float(np.abs(scores).max()):
            return self.transform(0.0, 0.0 if center else mean)
        return self.transform(1.0 / std, -mean / std if center else 0.0)

    def calibrate(self, data: AdaptationData) -> LinearCombination:
        """Return the combination whose scores are log-odds, minus those at the threshold that is known.

        They are calibrated on the rows of `data` themselves.
        """
        calibration = PlattCalibrator.fit(
            self.scores(data.outputs, data.features), data.positive, data.weight
        )
        return self.transform(calibration.slope, calibration.intercept - (data.known_threshold or 0.0))

    def transform(self, factor: float, shift: float) -> LinearCombination:
        """Return the combination whose scores are ``factor * scores + shift``."""
        return LinearCombination(
            self.auxiliary * factor, self.delta * factor, self.intercept * factor + shift
        )


def common_scale(weights: LinearCombination, data: AdaptationData, rule: ThresholdRule) -> LinearCombination:
    """Return the combination, trained on `data`, on the scale that a threshold rule needs."""
    if rule.needs_log_odds:
        return weights.calibrate(data)
    return weights.standardize(data, center=rule.shift_invariant)


@dataclass(frozen=True)
class FittedCombination:
    """A fitted model as a formula: from raw auxiliary outputs and delta features to log-odds.

    ::

        log-odds(x) = sum_k weights.auxiliary[k] * scales[k](raw_k(x)) + weights.delta' Phi(x)
                      + weights.intercept

    A row is positive where its log-odds exceed `threshold_log_odds`.

    Attributes
    ----------
    weights : LinearCombination
        Weights of the scaled outputs and of the delta function's features, and the intercept.
    scales : tuple of OutputScale
        For each auxiliary, the function from its raw output to the common scale.
    output_kind : OutputKind
        What the raw output of an auxiliary is: its score or its label.
    threshold_log_odds : float
        The log-odds of the positive class at the threshold.
    """

    weights: LinearCombination
    scales: tuple[OutputScale, ...]
    output_kind: OutputKind
    threshold_log_odds: float

    def log_odds(self, raw_outputs: Sequence[FloatArray] | FloatArray, features: Any | None) -> FloatArray:
        """Return the log-odds of the positive class, from one array of raw outputs per auxiliary."""
        return self.weights.scores(apply_scales(self.scales, raw_outputs), features)
