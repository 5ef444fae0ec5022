"""Several designs side by side: [auxiliary / sqrt(B) | Phi | bias]."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._typing import FloatArray, IntArray
from ..exceptions import InvalidInputError
from ._base import BoundedDesign


class ConstantColumn:
    """One column that holds the same number in every row: the bias."""

    def __init__(self, n_rows: int, value: float = 1.0) -> None:
        self.shape = (n_rows, 1)
        self.value = value

    def matvec(self, v: FloatArray) -> FloatArray:
        """The number times its coefficient, in every row."""
        return np.full(self.shape[0], self.value * v[0])

    def rmatvec(self, coef: FloatArray) -> FloatArray:
        """The number times the sum of `coef`."""
        return np.array([self.value * coef.sum()])

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """The number times the sum of the values."""
        return self.rmatvec(values)

    def abs_matvec(self, v: FloatArray) -> FloatArray:
        """The absolute value of the number times its coefficient, in every row."""
        return np.full(self.shape[0], abs(self.value * v[0]))

    def abs_rmatvec(self, coef: FloatArray) -> FloatArray:
        """The absolute value of the number times the sum of ``|coef|``."""
        return np.array([abs(self.value) * np.abs(coef).sum()])


class ScaledDesign:
    """A design times a number, such as the auxiliaries over sqrt(B)."""

    def __init__(self, design: BoundedDesign, factor: float) -> None:
        self.design, self.factor = design, factor
        self.shape = design.shape

    def matvec(self, v: FloatArray) -> FloatArray:
        """The scores of the scaled coefficients."""
        return self.design.matvec(self.factor * v)

    def rmatvec(self, coef: FloatArray) -> FloatArray:
        """The scaled product with the transpose."""
        return self.factor * self.design.rmatvec(coef)

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """The scaled product with the transpose of some rows."""
        return self.factor * self.design.rmatvec_rows(rows, values)

    def abs_matvec(self, v: FloatArray) -> FloatArray:
        """``|A| |v|`` of the scaled coefficients."""
        return self.design.abs_matvec(self.factor * v)

    def abs_rmatvec(self, coef: FloatArray) -> FloatArray:
        """``|A|' |coef|``, scaled."""
        return abs(self.factor) * self.design.abs_rmatvec(coef)


class AugmentedDesign:
    """Designs side by side; none of them is copied."""

    def __init__(self, parts: Sequence[BoundedDesign]) -> None:
        n_rows = {part.shape[0] for part in parts}
        if len(n_rows) != 1:
            raise InvalidInputError(
                f"stacked designs must have the same number of rows: got "
                f"{', '.join(str(part.shape[0]) for part in parts)}."
            )
        self.parts = tuple(parts)
        self.shape = (n_rows.pop(), sum(part.shape[1] for part in parts))
        self._ends = np.cumsum([part.shape[1] for part in parts])[:-1]

    def matvec(self, v: FloatArray) -> FloatArray:
        """The sum of the parts' scores."""
        pieces = np.split(v, self._ends)
        out = self.parts[0].matvec(pieces[0])
        for part, piece in zip(self.parts[1:], pieces[1:], strict=True):
            # A number is added without a vector of its copies.
            out += part.value * piece[0] if isinstance(part, ConstantColumn) else part.matvec(piece)
        return out

    def rmatvec(self, coef: FloatArray) -> FloatArray:
        """The parts' products with their transposes, one after the other."""
        return np.concatenate([part.rmatvec(coef) for part in self.parts])

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """The parts' products with the transposes of some rows, one after the other."""
        return np.concatenate([part.rmatvec_rows(rows, values) for part in self.parts])

    def abs_matvec(self, v: FloatArray) -> FloatArray:
        """The sum of the parts' ``|A| |v|``."""
        pieces = zip(self.parts, np.split(v, self._ends), strict=True)
        return np.sum([part.abs_matvec(piece) for part, piece in pieces], axis=0, dtype=np.float64)

    def abs_rmatvec(self, coef: FloatArray) -> FloatArray:
        """The parts' ``|A|' |coef|``, one after the other."""
        return np.concatenate([part.abs_rmatvec(coef) for part in self.parts])
