"""Auxiliaries after training: their outputs on the common scale, in all repeats of the folds."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._typing import FloatArray, IntArray
from ..adaptation import AdaptationData, Objective, OutputScaler, RepeatData, known_threshold
from ..auxiliary import (
    Auxiliary,
    CrossFitResult,
    JobRunner,
    OutputKind,
    OutputScale,
    RepeatOutputs,
    TrainingSet,
    apply_scales,
    mean_scale,
)
from ..exceptions import ConstraintWarning
from ..model_selection import CVScore, CVScorer, fold_numbers


@dataclass(frozen=True)
class TrainedAuxiliaries:
    """Auxiliaries after training, with their outputs on the common scale.

    Attributes
    ----------
    auxiliaries : list of Auxiliary
        What was trained.
    fitted : CrossFitResult
        Models, raw outputs and times.
    evaluation_outputs : ndarray of shape (n_folds, n_samples, n_auxiliaries)
        The raw outputs that each fold is evaluated with.
    scales : list of OutputScale
        From raw outputs to the common scale.
    data : AdaptationData
        The outputs on that scale, with the features of the delta function and the labels.
    further : tuple of RepeatData
        The same for all repeats of the folds but the first, if there are several.
    further_outputs : tuple of ndarray
        The raw outputs that each fold of these is evaluated with.
    """

    auxiliaries: list[Auxiliary]
    fitted: CrossFitResult
    evaluation_outputs: FloatArray
    scales: list[OutputScale]
    data: AdaptationData
    further: tuple[RepeatData, ...] = ()
    further_outputs: tuple[FloatArray, ...] = ()


def evaluate_auxiliaries(trained: TrainedAuxiliaries, folds: IntArray, objective: Objective) -> list[CVScore]:
    """Return the out-of-fold value of each auxiliary by itself, from outputs that no label has scaled."""
    data, measure, rule = trained.data, objective.measure, objective.threshold_rule
    if data.parts is not None:
        return _evaluate_in_parts(trained, folds, objective)
    repeats = zip(
        (folds, *(each.folds for each in trained.further)),
        (trained.evaluation_outputs, *trained.further_outputs),
        strict=True,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        scores = [
            [
                CVScorer(measure, rule, data.positive, data.weight, own_folds, folds)(scale.clip(each))
                for scale, each in zip(trained.scales, np.moveaxis(outputs, -1, 0), strict=True)
            ]
            for own_folds, outputs in repeats
        ]
    return [CVScore.mean(each) for each in zip(*scores, strict=True)]


def _evaluate_in_parts(trained: TrainedAuxiliaries, folds: IntArray, objective: Objective) -> list[CVScore]:
    """Return the value of each auxiliary, with thresholds that are chosen on other parts of the same fold."""
    data, measure, rule = trained.data, objective.measure, objective.threshold_rule
    scorer = CVScorer(measure, rule, data.positive, data.weight, np.asarray(data.parts), folds, folds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        columns = zip(trained.scales, trained.fitted.raw_outputs.T, strict=True)
        return [scorer(scale.clip(column)) for scale, column in columns]


def scale_outputs(
    runner: JobRunner[OutputKind],
    fitted: CrossFitResult,
    data: AdaptationData,
    folds: IntArray,
    *,
    fold_outputs: FloatArray | None = None,
    nonnegative: bool = True,
) -> TrainedAuxiliaries:
    """Scale the outputs: in each fold without the labels of the rows that it holds out.

    `fold_outputs` are the raw outputs in each fold, where they are not the same in all folds.
    """
    rows = runner.training.held_out_rows
    raw, pairs = fitted.raw_outputs[rows], fitted.pair_outputs
    pairs = None if pairs is None else pairs[:, rows]
    if fold_outputs is None:
        fold_outputs = np.broadcast_to(raw, (len(runner.training.splits), *raw.shape))
    data = replace(data, center=_stack_center(runner.auxiliaries))
    scaler = OutputScaler(runner.output_kind, folds, nonnegative)
    scaled, scales = scaler.scale(data, raw, fold_outputs, pairs)
    evaluation = fold_outputs if pairs is None else pairs
    trained = TrainedAuxiliaries(list(runner.auxiliaries), fitted, evaluation, scales, scaled)
    return _add_repeats(trained, runner, data, scaler) if fitted.further_outputs else trained


def _add_repeats(
    trained: TrainedAuxiliaries, runner: JobRunner[OutputKind], data: AdaptationData, scaler: OutputScaler
) -> TrainedAuxiliaries:
    """Add the other repeats. The weights are learned from outputs on the mean of the repeats' scales."""
    fitted = trained.fitted
    scaled = [
        _scale_repeat(training, outputs, data, scaler)
        for training, outputs in zip(runner.training.repeats[1:], fitted.further_outputs, strict=True)
    ]
    all_scales = (trained.scales, *(scales for _, scales in scaled))
    scales = [mean_scale(each) for each in zip(*all_scales, strict=True)]

    def on_mean_scale(own: AdaptationData, raw: FloatArray) -> AdaptationData:
        outputs, threshold = apply_scales(scales, raw.T), known_threshold(scales, own.center)
        return replace(own, outputs=outputs, known_threshold=threshold)

    return replace(
        trained,
        scales=scales,
        data=on_mean_scale(trained.data, fitted.raw_outputs),
        further=tuple(
            RepeatData(on_mean_scale(each.data, outputs.raw), each.folds)
            for (each, _), outputs in zip(scaled, fitted.further_outputs, strict=True)
        ),
        further_outputs=tuple(raw if pairs is None else pairs for raw, pairs in fitted.further_outputs),
    )


def _scale_repeat(
    training: TrainingSet, outputs: RepeatOutputs, data: AdaptationData, scaler: OutputScaler
) -> tuple[RepeatData, list[OutputScale]]:
    folds = fold_numbers(training.splits, training.n_rows)
    scaled, scales = replace(scaler, folds=folds).scale(data, outputs.raw, None, outputs.pairs)
    return RepeatData(scaled, folds), scales


def _stack_center(auxiliaries: Sequence[Auxiliary]) -> FloatArray | None:
    """The average of the frozen auxiliaries if others are trained beside them; None for that of all.

    A frozen auxiliary has learned from other rows. Where the new rows are few, it is the better guess.
    """
    frozen = np.array([each.is_frozen for each in auxiliaries])
    return frozen / frozen.sum() if 0 < frozen.sum() < len(frozen) else None
