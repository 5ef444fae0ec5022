"""A weighted sum of auxiliary outputs and features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._compat import BoolArray, FloatArray, IntArray, safe_indexing
from ..decisions import PlattCalibrator, ThresholdRule, normalize_weights
from .outputs import OutputKind, OutputScale, apply_scales


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
    fold_outputs : sequence of ndarray, optional
        The outputs as each fold has them, where they are not the same in all folds.
    pair_outputs : sequence of ndarray, optional
        The outputs as each fold has them in evaluation: of models that have not seen the fold.
    parts : ndarray of int, shape (n_samples,), optional
        The part of its fold that each row is in, if evaluation divides the folds
        (see `capo.learning.folds.parts_of_folds`).
    part_outputs : sequence of ndarray, optional
        The outputs as each part has them: on scales that are learned from the other parts of the same fold.
    center : ndarray of shape (n_auxiliaries,), optional
        The weights toward which the stack of the outputs is shrunk; the plain average by default.
    known_threshold : float, optional
        The log-odds at which the auxiliaries of the center call a row positive by themselves.
    fold_known_thresholds : ndarray of shape (n_folds,), optional
        The same for the outputs of each fold.
    part_known_thresholds : ndarray of shape (n_parts,), optional
        The same for the outputs of each part.
    n_repeats : int, default=1
        How often each row of the table is among these rows.
    """

    outputs: FloatArray
    features: Any | None
    positive: BoolArray
    weight: FloatArray | None
    fold_outputs: Sequence[FloatArray] | None = None
    pair_outputs: Sequence[FloatArray] | None = None
    parts: IntArray | None = None
    part_outputs: Sequence[FloatArray] | None = None
    center: FloatArray | None = None
    known_threshold: float | None = None
    fold_known_thresholds: FloatArray | None = None
    part_known_thresholds: FloatArray | None = None
    n_repeats: int = 1

    @property
    def row_weights(self) -> FloatArray:
        """The weights of the rows; they sum to the number of rows of the table with a nonzero weight."""
        return normalize_weights(len(self.positive), self.weight) / self.n_repeats

    @property
    def n_rarer(self) -> int:
        """The number of rows of the table that are of the rarer class."""
        return int(min(self.positive.sum(), (~self.positive).sum())) // self.n_repeats

    def for_evaluation(self) -> AdaptationData:
        """Return the data with outputs of models that have not seen the fold, where there are any."""
        if self.pair_outputs is None:
            return self
        return replace(self, fold_outputs=self.pair_outputs, pair_outputs=None)

    def in_fold(self, fold: int) -> AdaptationData:
        """Return the data with the outputs of one fold."""
        if self.fold_outputs is None:
            return self
        threshold, by_fold = self.known_threshold, self.fold_known_thresholds
        return replace(
            self,
            outputs=self.fold_outputs[fold],
            fold_outputs=None,
            pair_outputs=None,
            known_threshold=threshold if by_fold is None else float(by_fold[fold]),
        )

    def in_parts(self) -> AdaptationData:
        """Return the data whose folds are the parts of the folds, with their outputs."""
        return replace(
            self,
            fold_outputs=self.part_outputs,
            fold_known_thresholds=self.part_known_thresholds,
            parts=None,
            part_outputs=None,
            part_known_thresholds=None,
        )

    def held_out_outputs(self, folds: IntArray) -> FloatArray:
        """Return the outputs of each row as the fold has them that holds it out."""
        if self.fold_outputs is None:
            return self.outputs
        outputs = np.empty_like(self.outputs)
        for fold in np.unique(folds):
            rows = folds == fold
            outputs[rows] = self.fold_outputs[fold][rows]
        return outputs

    def take_auxiliaries(self, kept: IntArray) -> AdaptationData:
        """Return the data with some of the auxiliaries."""
        fold_outputs = None if self.fold_outputs is None else [each[:, kept] for each in self.fold_outputs]
        center = None if self.center is None else self.center[kept]
        return replace(self, outputs=self.outputs[:, kept], fold_outputs=fold_outputs, center=center)

    def take_rows(self, rows: IntArray) -> AdaptationData:
        """Return some of the rows, without the outputs of folds."""
        return AdaptationData(
            self.outputs[rows],
            None if self.features is None else safe_indexing(self.features, rows),
            self.positive[rows],
            None if self.weight is None else self.weight[rows],
            center=self.center,
            known_threshold=self.known_threshold,
        )


class RepeatData(NamedTuple):
    """The data of one repeat of the folds, and the number of the fold that holds out each row."""

    data: AdaptationData
    folds: IntArray


def pool_repeats(repeats: Sequence[AdaptationData]) -> AdaptationData:
    """Return the rows of all repeats below each other, which together have the weight of one."""
    first, n_repeats = repeats[0], len(repeats)
    if n_repeats == 1:
        return first
    n_rows = len(first.positive)
    pooled = first.take_rows(np.tile(np.arange(n_rows), n_repeats))
    weight = np.ones(n_rows) if first.weight is None else first.weight
    return replace(
        pooled,
        outputs=np.concatenate([each.outputs for each in repeats]),
        weight=np.tile(weight / n_repeats, n_repeats),
        n_repeats=n_repeats,
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


#: From the number of a fold to a mask of rows.
RowsOf = Callable[[int], NDArray[np.bool_]]


@dataclass(frozen=True)
class OutputScaler:
    """Scales raw outputs of auxiliaries.

    Attributes
    ----------
    kind : OutputKind
        The kind of the raw outputs.
    folds : ndarray of int, shape (n_samples,)
        The number of the fold that holds out each row.
    nonnegative : bool
        Whether a larger raw output must never mean a smaller scaled one.
    """

    kind: OutputKind
    folds: IntArray
    nonnegative: bool = True

    def scale(
        self,
        data: AdaptationData,
        raw: FloatArray,
        fold_raw: FloatArray | None = None,
        pair_raw: FloatArray | None = None,
    ) -> tuple[AdaptationData, list[OutputScale]]:
        """Return the data with scaled outputs, and the scales of all rows.

        Parameters
        ----------
        data : AdaptationData
            Labels, weights and features.
        raw : ndarray of shape (n_samples, n_auxiliaries)
            Raw outputs.
        fold_raw : ndarray of shape (n_folds, n_samples, n_auxiliaries), optional
            The raw outputs in each fold; `raw` if they are not given.
        pair_raw : ndarray of shape (n_folds, n_samples, n_auxiliaries), optional
            The raw outputs in each fold in evaluation, where they are others.
        """
        if fold_raw is None:
            fold_raw = np.broadcast_to(raw, (int(self.folds.max()) + 1, *raw.shape))
        scales = self.fit(raw, data)
        scaled = replace(
            data,
            outputs=apply_scales(scales, raw.T),
            fold_outputs=_FoldScaledOutputs(self, fold_raw, data, self._rows_outside),
            known_threshold=known_threshold(scales, data.center),
            fold_known_thresholds=self._known_thresholds(fold_raw, data, self._rows_outside),
            pair_outputs=None
            if pair_raw is None
            else _FoldScaledOutputs(self, pair_raw, data, self._rows_outside),
        )
        return self._add_parts(scaled, raw), scales

    def _add_parts(self, data: AdaptationData, raw: FloatArray) -> AdaptationData:
        """Return the data with outputs for the evaluation of parts of the folds, if the data have any."""
        if data.parts is None:
            return data
        parts = data.parts
        part_raw = np.broadcast_to(raw, (int(parts.max()) + 1, *raw.shape))

        def other_parts(part: int) -> NDArray[np.bool_]:
            return (self.folds == self.folds[parts == part][0]) & (parts != part)

        return replace(
            data,
            part_outputs=_FoldScaledOutputs(self, part_raw, data, other_parts),
            part_known_thresholds=self._known_thresholds(part_raw, data, other_parts),
        )

    def _rows_outside(self, fold: int) -> NDArray[np.bool_]:
        return self.folds != fold

    def fit(
        self, raw: FloatArray, data: AdaptationData, rows: NDArray[np.bool_] | slice = slice(None)
    ) -> list[OutputScale]:
        """Return the scale of each auxiliary, fitted on some of the rows.

        Those of the data's center are trusted more than a few rows.
        """
        weight = None if data.weight is None else data.weight[rows]
        trusted = np.zeros(raw.shape[1]) if data.center is None else data.center
        return [
            self.kind.fit_scale(
                column[rows], data.positive[rows], weight, nonnegative=self.nonnegative, shrink=trust > 0
            )
            for column, trust in zip(raw.T, trusted, strict=True)
        ]

    def _known_thresholds(
        self, fold_raw: FloatArray, data: AdaptationData, rows_of: RowsOf
    ) -> FloatArray | None:
        """The known threshold on the scales of each fold; only the auxiliaries of the center are scaled."""
        if data.center is None:
            return None
        known = np.flatnonzero(data.center)
        part = replace(data, center=data.center[known])
        return np.array(
            [
                known_threshold(self.fit(raw[:, known], part, rows_of(fold)), part.center)
                for fold, raw in enumerate(fold_raw)
            ]
        )


def known_threshold(scales: Sequence[OutputScale], center: FloatArray | None) -> float | None:
    """Return the log-odds at which the auxiliaries of the center call a row positive: at an output of 0."""
    if center is None:
        return None
    zeros = apply_scales(scales, np.zeros((len(scales), 1)))[0]
    return float(zeros @ center)


class _FoldScaledOutputs(Sequence[FloatArray]):
    """The auxiliaries' outputs on scales that have not seen the rows of a fold, for each fold.

    `rows_of` are the rows that the scales of a fold are fitted on. The outputs are computed when they are
    asked for, one fold at a time.
    """

    def __init__(
        self, scaler: OutputScaler, fold_raw: FloatArray, data: AdaptationData, rows_of: RowsOf
    ) -> None:
        self._scaler, self._outputs, self._data, self._rows_of = scaler, fold_raw, data, rows_of

    def __len__(self) -> int:
        return len(self._outputs)

    def __getitem__(self, fold: Any) -> Any:
        raw, rows = self._outputs[fold], self._rows_of(fold)
        return apply_scales(self._scaler.fit(raw, self._data, rows), raw.T)
