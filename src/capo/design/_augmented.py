"""Several designs side by side: [auxiliary / sqrt(B) | Phi | bias]."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from .._typing import FloatArray, IntArray
from ..exceptions import InvalidInputError
from ._base import BoundedDesign, add_number, sum_vector


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
        return np.array([self.value * sum_vector(coef)])

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """The number times the sum of the values."""
        return self.rmatvec(values)

    def abs_matvec(self, v: FloatArray) -> FloatArray:
        """The absolute value of the number times its coefficient, in every row."""
        return np.full(self.shape[0], abs(self.value * v[0]))

    def abs_rmatvec(self, coef: FloatArray) -> FloatArray:
        """The absolute value of the number times the sum of ``|coef|``."""
        return np.array([abs(self.value) * sum_vector(coef, np.abs)])


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
        ends = np.cumsum([0, *(part.shape[1] for part in parts)]).tolist()
        self._slices = [slice(start, end) for start, end in pairwise(ends)]

    def matvec(self, v: FloatArray) -> FloatArray:
        """The sum of the parts' scores."""
        out = self.parts[0].matvec(v[self._slices[0]])
        for part, columns in zip(self.parts[1:], self._slices[1:], strict=True):
            if isinstance(part, ConstantColumn):  # without a vector of copies of the number
                add_number(out, part.value * v[columns.start])
            else:
                out += part.matvec(v[columns])
        return out

    def rmatvec(self, coef: FloatArray) -> FloatArray:
        """The parts' products with their transposes, one after the other."""
        return np.concatenate([part.rmatvec(coef) for part in self.parts])

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """The parts' products with the transposes of some rows, one after the other."""
        return np.concatenate([part.rmatvec_rows(rows, values) for part in self.parts])

    def abs_matvec(self, v: FloatArray) -> FloatArray:
        """The sum of the parts' ``|A| |v|``."""
        pieces = zip(self.parts, self._slices, strict=True)
        return np.sum([part.abs_matvec(v[columns]) for part, columns in pieces], axis=0, dtype=np.float64)

    def abs_rmatvec(self, coef: FloatArray) -> FloatArray:
        """The parts' ``|A|' |coef|``, one after the other."""
        return np.concatenate([part.abs_rmatvec(coef) for part in self.parts])
