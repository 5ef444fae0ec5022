"""The auxiliaries' outputs on their common scale: in each fold without the labels that it holds out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray
from ..auxiliary import OutputKind, OutputScale, apply_scales
from ._data import AdaptationData

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
