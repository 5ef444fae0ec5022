"""What scores are made of: a matrix A that is only ever multiplied.

A design answers two questions, in float64 whatever its storage: the scores ``A v`` of a
coefficient vector, and the pull ``A' c`` of a number per row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from .._typing import FloatArray

#: Numbers that are converted or read at once: 256 KiB of float64 stay in a core's cache.
BLOCK_NUMBERS = 2**15


@runtime_checkable
class Design(Protocol):
    """A matrix of `shape` (rows, coefficients), known by its two products."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and coefficients."""

    def matvec(self, v: FloatArray) -> FloatArray:
        """``A v``: one score per row."""

    def rmatvec(self, coef: FloatArray) -> FloatArray:
        """``A' c``: one number per coefficient."""


def iter_row_blocks(n_rows: int, numbers_per_row: float, numbers: int = BLOCK_NUMBERS) -> Iterator[slice]:
    """Consecutive rows, some `numbers` numbers at a time."""
    step = max(1, int(numbers / max(numbers_per_row, 1.0)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
