"""The rows that an adaptation learns from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._sklearn_compat import safe_indexing
from .._typing import BoolArray, FloatArray, IntArray
from ..model_selection import normalize_weights


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
        (see `capo.model_selection.parts_of_folds`).
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
