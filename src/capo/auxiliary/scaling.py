"""The auxiliaries' raw columns on a scale that all of them share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .crossfit import CrossFitted
from .outputs import FloatArray, Scale

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Scaling:
    """How scales are found: for log-odds or none for labels, on rows of these classes and weights."""

    y: BoolArray
    weight: FloatArray | None
    outputs: str
    positive: bool

    def scales(self, columns: FloatArray, rows: BoolArray | slice = slice(None)) -> list[Scale]:
        """The scale of each column, from some of its rows."""
        if self.outputs == "labels":
            return [Scale(None)] * columns.shape[1]
        weight = None if self.weight is None else self.weight[rows]
        return [Scale.fit(raw[rows], self.y[rows], weight, positive=self.positive) for raw in columns.T]

    def scaled(self, fitted: CrossFitted, folds: NDArray[np.intp]) -> tuple[list[Scale], CrossFitted]:
        """The auxiliaries' scales and their columns on them; those of each fold on scales of its own."""
        scales, by_fold = self.scales(fitted.columns), fitted.by_fold
        if by_fold is not None:
            own = (self.scales(columns, folds != fold) for fold, columns in enumerate(by_fold))
            by_fold = np.stack(
                [on_scale(*pair) for pair in zip(own, by_fold.transpose(0, 2, 1), strict=True)]
            )
        return scales, replace(fitted, columns=on_scale(scales, fitted.columns.T), by_fold=by_fold)


def on_scale(scales: Sequence[Scale], raw: Sequence[FloatArray] | FloatArray) -> FloatArray:
    """One column for the raw outputs of each auxiliary."""
    return np.column_stack([scale(each) for scale, each in zip(scales, raw, strict=True)])
