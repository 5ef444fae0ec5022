"""Label matrices: the adaptation of all labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from .. import decisions
from .._compat import BoolArray, FloatArray, IntArray
from ..decisions import Decision, ExpectedValueThreshold, LabelThresholds, PlattCalibrator, RowCuts
from ..measures import Measure
from ..measures import get as get_measure
from ..measures.multilabel import EntryAverage, LabelAverage, MultilabelMeasure, RowAverage
from .adaptation import AdaptationResult, Objective, adapt
from .combination import AdaptationData, FittedCombination, LinearCombination, scale_outputs
from .outputs import OutputScale, ScoreOutput
from .path import AUTO_GRID, CGrid, CVScore

#: With more labels than this, C="auto" keeps the stack of each label.
MAX_LABELS_FOR_PATH = 10
#: With more entries than this, C="auto" keeps the stack of all entries.
MAX_ENTRIES_FOR_PATH = 200_000
#: The summary names labels with fewer positive rows.
MIN_POSITIVE_ROWS = 10
#: The threshold of a label: labels and probabilities have the same weight, since positive rows are few and
#: probabilities imperfect.
LABEL_THRESHOLD = ExpectedValueThreshold(observed_share=0.5)


def tries_adaptation(C: float | CGrid, n_labels: int) -> bool:
    """Whether a C above 0 is tried for an average over labels."""
    return C != 0.0 and not (C is AUTO_GRID and n_labels > MAX_LABELS_FOR_PATH)


@dataclass(frozen=True)
class LabelData:
    """Raw outputs of the auxiliaries for all labels, features, the label matrix, weights and folds.

    Attributes
    ----------
    raw : ndarray of shape (n_samples, n_auxiliaries, n_labels)
        Raw outputs, out of fold.
    features : ndarray or sparse matrix, optional
        Features of the delta function.
    positive : ndarray of bool, shape (n_samples, n_labels)
        The label matrix.
    weight : ndarray of shape (n_samples,), optional
        Weights of the rows.
    folds : ndarray of int, shape (n_samples,)
        The number of the fold in which each row is held out.
    pair_raw : ndarray of shape (n_folds, n_samples, n_auxiliaries, n_labels), optional
        The raw outputs with which each fold is evaluated: of models trained without pairs of folds.
    """

    raw: FloatArray
    features: Any | None
    positive: BoolArray
    weight: FloatArray | None
    folds: IntArray
    pair_raw: FloatArray | None = None

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.positive.shape[1])

    def label(self, k: int) -> tuple[AdaptationData, list[OutputScale]]:
        """Return the adaptation's data of one label, and the scales of the auxiliaries' outputs."""
        positive = self.positive[:, k]
        data = AdaptationData(np.zeros((len(positive), 0)), self.features, positive, self.weight)
        pair_raw = None if self.pair_raw is None else self.pair_raw[..., k]
        return scale_outputs(ScoreOutput(), data, self.folds, self.raw[:, :, k], pair_raw=pair_raw)

    def can_be_adapted(self, k: int) -> bool:
        """Whether both classes of a label are in two folds or more: each fold then learns from both."""
        column, has_weight = self.positive[:, k], self.has_weight
        return all(len(np.unique(self.folds[rows & has_weight])) > 1 for rows in (column, ~column))

    @property
    def has_weight(self) -> BoolArray:
        """Which rows have a weight above 0."""
        return np.ones(len(self.folds), dtype=bool) if self.weight is None else self.weight > 0


@dataclass(frozen=True)
class LabelModel:
    """The model of one label.

    Attributes
    ----------
    combination : FittedCombination
        From raw outputs and features to log-odds.
    C : float
        The C that was chosen; 0 is the stack.
    gap : float
        The solver's certified gap; 0 for the stack.
    score : CVScore
        The out-of-fold value of the binary measure; of all entries for a measure of entries.
    n_positive : int
        Number of positive rows.
    """

    combination: FittedCombination
    C: float
    gap: float
    score: CVScore
    n_positive: int


class _Predictions(NamedTuple):
    """Predictions of a label's model for the training rows.

    Attributes
    ----------
    log_odds : ndarray of shape (n_samples,)
        Log-odds at the final calibration.
    learned_log_odds : ndarray of shape (n_samples,)
        The same scores, by the calibration of the folds that do not hold out the row.
    fold_log_odds : ndarray of shape (n_folds, n_samples)
        Log-odds with which each fold is evaluated, by calibrations of the other folds.
    oof_decision : ndarray of shape (n_samples,)
        Those of the fold that holds out the row, minus the threshold of the other folds.
    threshold : float
        The final threshold.
    """

    log_odds: FloatArray
    learned_log_odds: FloatArray
    fold_log_odds: FloatArray
    oof_decision: FloatArray
    threshold: float


def fit_label_models(
    measure: MultilabelMeasure,
    data: LabelData,
    C: float | CGrid,
    tol: float,
    log: Callable[..., None] = lambda *line: None,
) -> dict[str, Any]:
    """Combine and adapt the auxiliaries' outputs of all labels for the measure.

    Returns the fitted attributes of a classifier: the models, the decision about the labels of a row, its
    value, and what is predicted for the training rows by models and thresholds that have not seen them.
    """
    if isinstance(measure, EntryAverage):
        models, predicted = _fit_entries(measure, data, C, tol, log)
    else:
        if isinstance(measure, RowAverage) or not tries_adaptation(C, data.n_labels):
            C = 0.0
        # For averages over rows, the labels of a row need good probabilities only.
        binary = measure.measure if isinstance(measure, LabelAverage) else get_measure("accuracy")
        objective = Objective(binary, tol=tol, threshold_rule=LABEL_THRESHOLD)
        models, predicted = _fit_labels(objective, data, C, log)
    thresholds = np.array([each.threshold for each in predicted])
    log_odds = np.column_stack([each.log_odds for each in predicted])
    rows = np.arange(len(data.folds))
    oof_log_odds = np.column_stack([each.fold_log_odds[data.folds, rows] for each in predicted])
    decision: Decision = LabelThresholds(thresholds)
    oof_decision = np.column_stack([each.oof_decision for each in predicted])
    if isinstance(measure, RowAverage):
        decision = RowCuts(measure)
        oof_decision = decision.margins(oof_log_odds)
    value, bound = decisions.expected_value(measure, log_odds, decision.margins(log_odds), data.weight)
    return {
        "label_models_": models,
        "decision_": decision,
        "thresholds_": expit(thresholds),
        "oof_log_odds_": oof_log_odds,
        "oof_decision_": oof_decision,
        "value_": value,
        "bound_": bound,
        "gap_": max(bound - value, 0.0),
    }


def _fit_labels(
    objective: Objective, data: LabelData, C: float | CGrid, log: Callable[..., None]
) -> tuple[list[LabelModel], list[_Predictions]]:
    """Return the model of each label, and what it predicts for the training rows."""
    fitted = []
    for k in range(data.n_labels):
        n_positive = int(data.positive[data.has_weight, k].sum())
        if not data.can_be_adapted(k):
            fitted.append(_fit_constant(data, n_positive))
        else:
            label, scales = data.label(k)
            result = adapt(label, data.folds, objective, C)
            combination = FittedCombination(result.weights, tuple(scales), ScoreOutput())
            predictions = _predict_training_rows(objective.measure, label, data.folds, result)
            fitted.append((_make_model(combination, result, n_positive), predictions))
        log("label %d of %d", k + 1, data.n_labels)
    return [model for model, _ in fitted], [predictions for _, predictions in fitted]


def _make_model(combination: FittedCombination, result: AdaptationResult, n_positive: int) -> LabelModel:
    gap = result.solution.gap if result.solution else 0.0
    return LabelModel(combination, result.chosen.C, gap, result.chosen.cv_score, n_positive)


def _fit_constant(data: LabelData, n_positive: int) -> tuple[LabelModel, _Predictions]:
    """Return the base rate, for a label whose rows of one class are all in one fold or missing."""
    n_auxiliaries, n_negative = data.raw.shape[1], int(data.has_weight.sum()) - n_positive
    n_features = 0 if data.features is None else data.features.shape[1]
    log_odds = float(np.log((n_positive + 0.5) / (n_negative + 0.5)))
    weights = LinearCombination(np.zeros(n_auxiliaries), np.zeros(n_features), log_odds)
    combination = FittedCombination(weights, (OutputScale(None),) * n_auxiliaries, ScoreOutput())
    score = CVScore(float("nan"), np.full(len(np.unique(data.folds)), np.nan))
    constant = np.full(len(data.positive), log_odds)
    by_fold = np.broadcast_to(constant, (int(data.folds.max()) + 1, len(constant)))
    predictions = _Predictions(constant, constant, by_fold, constant, 0.0)
    return LabelModel(combination, 0.0, 0.0, score, n_positive), predictions


def _predict_training_rows(
    measure: Measure, label: AdaptationData, folds: IntArray, result: AdaptationResult
) -> _Predictions:
    """Return log-odds and decisions; those out of fold by the calibration and threshold of other folds."""
    point, chosen = result.point, result.chosen
    fold_log_odds = np.empty(chosen.fold_scores.shape)
    learned_log_odds, oof_decision = np.empty(len(folds)), np.empty(len(folds))

    def calibrate(scores: FloatArray, rows: BoolArray) -> PlattCalibrator:
        weight = None if label.weight is None else label.weight[rows]
        return PlattCalibrator.fit(scores[rows], label.positive[rows], weight)

    for fold in np.unique(folds):
        held_out, others = folds == fold, folds != fold
        calibration = calibrate(chosen.fold_scores[fold], others)
        fold_log_odds[fold] = calibration.log_odds(chosen.fold_scores[fold])
        # A ranking of all rows must not depend on the thresholds of the folds.
        needs_threshold = measure.needs_threshold
        cut = calibration.log_odds(chosen.thresholds[held_out]) if needs_threshold else point.log_odds
        oof_decision[held_out] = fold_log_odds[fold, held_out] - cut
        learned_log_odds[held_out] = calibrate(result.scores, others).log_odds(result.scores[held_out])
    log_odds = point.calibration.log_odds(result.scores)
    return _Predictions(log_odds, learned_log_odds, fold_log_odds, oof_decision, point.log_odds)


def _fit_entries(
    measure: EntryAverage, data: LabelData, C: float | CGrid, tol: float, log: Callable[..., None]
) -> tuple[list[LabelModel], list[_Predictions]]:
    """Solve one binary problem of all entries, whose scores are the log-odds of each label's stack."""
    if C is AUTO_GRID and data.positive.size > MAX_ENTRIES_FOR_PATH:
        C = 0.0
    labels, predictions = _fit_labels(Objective(get_measure("accuracy"), tol=tol), data, 0.0, log)
    by_fold = np.concatenate([each.fold_log_odds for each in predictions], axis=1)[:, :, None]
    entries = AdaptationData(
        np.concatenate([each.learned_log_odds for each in predictions])[:, None],
        None,
        data.positive.T.ravel(),
        None if data.weight is None else np.tile(data.weight, data.n_labels),
        pair_outputs=None if data.pair_raw is None else lambda fold: (by_fold[fold], None),
    )
    folds = np.tile(data.folds, data.n_labels)
    result = adapt(entries, folds, Objective(measure.measure, tol=tol), C, log)
    # The log-odds of each label are transformed as those of all entries are.
    factor, shift = float(result.weights.auxiliary[0]), result.weights.intercept
    models = [
        _make_model(
            replace(each.combination, weights=each.combination.weights.transform(factor, shift)),
            result,
            each.n_positive,
        )
        for each in labels
    ]
    predicted = _predict_training_rows(measure.measure, entries, folds, result)
    *by_entry, threshold = predicted
    columns = zip(*(np.split(each, data.n_labels, axis=-1) for each in by_entry), strict=True)
    return models, [_Predictions._make((*column, threshold)) for column in columns]
