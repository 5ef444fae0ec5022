"""A weighted sum of auxiliary outputs and features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._compat import BoolArray, FloatArray, IntArray, safe_indexing
from ..decisions import PlattCalibrator, ThresholdRule, normalize_weights
from .outputs import OutputKind, OutputScale, apply_scales

#: Maps the number of a fold to the outputs of all rows in that fold, and the threshold known there.
FoldOutputs = Callable[[int], tuple[FloatArray, float | None]]


@dataclass(frozen=True)
class AdaptationData:
    """Outputs of the auxiliaries, features of the delta function, labels and weights.

    Attributes
    ----------
    outputs : ndarray of shape (n_samples, n_auxiliaries)
        The auxiliaries' outputs on their common scale.
    features : ndarray or sparse matrix of shape (n_samples, n_delta_features), optional
        Phi, the features of the delta function.
    positive : ndarray of bool, shape (n_samples,)
        Which rows are positive.
    weight : ndarray of shape (n_samples,), optional
        Weights of the rows.
    center : ndarray of shape (n_auxiliaries,), optional
        The weights toward which the stack of the outputs is shrunk; the plain average by default.
    known_threshold : float, optional
        The log-odds at which the auxiliaries of the center call a row positive by themselves.
    fold_outputs : callable, optional
        The outputs and the known threshold of each fold, if they differ between folds.
    pair_outputs : callable, optional
        The same for evaluation: from models that have not seen the fold.
    """

    outputs: FloatArray
    features: Any | None
    positive: BoolArray
    weight: FloatArray | None
    center: FloatArray | None = None
    known_threshold: float | None = None
    fold_outputs: FoldOutputs | None = None
    pair_outputs: FoldOutputs | None = None

    @property
    def row_weights(self) -> FloatArray:
        """The weights of the rows; they sum to the number of rows with a nonzero weight."""
        return normalize_weights(len(self.positive), self.weight)

    @property
    def n_rarer(self) -> int:
        """The number of rows of the rarer class."""
        return int(min(self.positive.sum(), (~self.positive).sum()))

    def in_fold(self, fold: int) -> AdaptationData:
        """Return the data with the outputs of one fold."""
        if self.fold_outputs is None:
            return self
        outputs, threshold = self.fold_outputs(fold)
        return replace(self, outputs=outputs, known_threshold=threshold, fold_outputs=None, pair_outputs=None)

    def take_rows(self, rows: IntArray) -> AdaptationData:
        """Return some of the rows, without the outputs of folds."""
        return AdaptationData(
            self.outputs[rows],
            None if self.features is None else safe_indexing(self.features, rows),
            self.positive[rows],
            None if self.weight is None else self.weight[rows],
            self.center,
            self.known_threshold,
        )


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
        # Sums in a fixed order: BLAS would give a row other last digits among other numbers of rows.
        scores = np.full(len(outputs), self.intercept)
        for column, weight in zip(outputs.T, self.auxiliary, strict=True):
            scores += weight * column
        if isinstance(features, np.ndarray):
            scores += np.einsum("ij,j->i", np.ascontiguousarray(features), self.delta)
        elif features is not None:
            scores += np.asarray(features @ self.delta).ravel()
        return scores

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
        """Return the combination whose scores are log-odds relative to the known threshold.

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

    Attributes
    ----------
    weights : LinearCombination
        Weights of the scaled outputs and of the delta function's features, and the intercept.
    scales : tuple of OutputScale
        For each auxiliary, the function from its raw output to the common scale.
    output_kind : OutputKind
        The kind of the raw outputs: scores or labels.
    """

    weights: LinearCombination
    scales: tuple[OutputScale, ...]
    output_kind: OutputKind

    def log_odds(self, raw_outputs: Sequence[FloatArray] | FloatArray, features: Any | None) -> FloatArray:
        """Return the log-odds of the positive class, from one array of raw outputs per auxiliary."""
        return self.weights.scores(apply_scales(self.scales, raw_outputs), features)


def scale_outputs(
    kind: OutputKind,
    data: AdaptationData,
    folds: IntArray,
    raw: FloatArray,
    *,
    fold_raw: FloatArray | None = None,
    pair_raw: FloatArray | None = None,
    nonnegative: bool = True,
) -> tuple[AdaptationData, list[OutputScale]]:
    """Return the data with scaled outputs, and the scales of all rows.

    In each fold, the scales are learned without the labels of the rows that it holds out. Auxiliaries of the
    data's center have more weight than a few rows.

    Parameters
    ----------
    kind : OutputKind
        The kind of the raw outputs.
    data : AdaptationData
        Labels, weights and features.
    folds : ndarray of int, shape (n_samples,)
        The number of the fold that holds out each row.
    raw : ndarray of shape (n_samples, n_auxiliaries)
        Raw outputs.
    fold_raw : ndarray of shape (n_folds, n_samples, n_auxiliaries), optional
        The raw outputs in each fold; `raw` if they are not given.
    pair_raw : ndarray of shape (n_folds, n_samples, n_auxiliaries), optional
        The raw outputs in each fold in evaluation, where they are others.
    nonnegative : bool, default=True
        Whether a larger raw output must never mean a smaller scaled one.
    """
    trusted = np.zeros(raw.shape[1]) if data.center is None else data.center

    def scale(raw: FloatArray, rows: BoolArray | slice) -> tuple[list[OutputScale], FloatArray, float | None]:
        weight = None if data.weight is None else data.weight[rows]
        scales = [
            kind.fit_scale(
                column[rows], data.positive[rows], weight, nonnegative=nonnegative, shrink=trust > 0
            )
            for column, trust in zip(raw.T, trusted, strict=True)
        ]
        threshold = None
        if data.center is not None:  # where the auxiliaries of the center call a row positive: at 0
            threshold = float(apply_scales(scales, np.zeros((len(scales), 1)))[0] @ data.center)
        return scales, apply_scales(scales, raw.T), threshold

    def in_folds(by_fold: FloatArray | None) -> FoldOutputs:
        def outputs(fold: int) -> tuple[FloatArray, float | None]:
            return scale(raw if by_fold is None else by_fold[fold], folds != fold)[1:]

        return outputs

    scales, outputs, threshold = scale(raw, slice(None))
    scaled = replace(
        data,
        outputs=outputs,
        known_threshold=threshold,
        fold_outputs=in_folds(fold_raw),
        pair_outputs=None if pair_raw is None else in_folds(pair_raw),
    )
    return scaled, scales
