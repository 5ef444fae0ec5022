"""The auxiliaries' raw columns on a scale that all of them share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._typing import BoolArray, FloatArray
from ._cross_fit import CrossFitResult
from ._outputs import OutputScale


@dataclass(frozen=True)
class Scaling:
    """How scales are found: for log-odds or none for labels, on rows of these classes and weights."""

    y: BoolArray
    weight: FloatArray | None
    outputs: str
    positive: bool

    def scales(self, columns: FloatArray, rows: BoolArray | slice = slice(None)) -> list[OutputScale]:
        """The scale of each column, from some of its rows."""
        if self.outputs == "labels":
            return [OutputScale(None)] * columns.shape[1]
        weight = None if self.weight is None else self.weight[rows]
        return [OutputScale.fit(raw[rows], self.y[rows], weight, positive=self.positive) for raw in columns.T]

    def scaled(
        self, fitted: CrossFitResult, folds: NDArray[np.intp]
    ) -> tuple[list[OutputScale], CrossFitResult]:
        """The auxiliaries' scales and their columns on them; those of each fold on scales of its own."""
        scales, by_fold = self.scales(fitted.columns), fitted.by_fold
        if by_fold is not None:
            own = (self.scales(columns, folds != fold) for fold, columns in enumerate(by_fold))
            by_fold = np.stack(
                [apply_scales(*pair) for pair in zip(own, by_fold.transpose(0, 2, 1), strict=True)]
            )
        return scales, replace(fitted, columns=apply_scales(scales, fitted.columns.T), by_fold=by_fold)


def apply_scales(scales: Sequence[OutputScale], raw: Sequence[FloatArray] | FloatArray) -> FloatArray:
    """One column for the raw outputs of each auxiliary."""
    return np.column_stack([scale(each) for scale, each in zip(scales, raw, strict=True)])
