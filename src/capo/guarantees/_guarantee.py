"""The result of a test: a threshold, what it guarantees, and in one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._constraint import Constraint

#: Log-odds above those of any row; large enough for that, and small enough that scores relative to it
#: still tell probabilities apart.
NO_ROW_CUT = 1e9
#: Log-odds below those of any row.
ALL_ROWS_CUT = -NO_ROW_CUT


@dataclass(frozen=True)
class Guarantee:
    """A constraint that holds on new rows with a stated confidence.

    Attributes
    ----------
    constraint : Constraint
        What is guaranteed.
    confidence : float
        The probability, over calibration samples, that the threshold satisfies the constraint.
    is_certified : bool
        Whether a threshold passed the test. If none did, `cut` is the one at which the constraint holds by
        definition.
    cut : float
        The threshold: rows with a higher score are positive.
    n_rows : int
        Number of calibration rows.
    n_trials, n_failures : int
        The rows that the rate refers to at this threshold, and those of them that count against it.
    p_value : float
        The p-value of the test at this threshold.
    n_rows_needed : int or None
        If no threshold passed: about how many calibration rows would be needed; None if, judging by the
        training rows, no number is enough.
    by_group : bool
        Whether one row was drawn from each group of rows.
    """

    constraint: Constraint
    confidence: float
    is_certified: bool
    cut: float
    n_rows: int
    n_trials: int
    n_failures: int
    p_value: float
    n_rows_needed: int | None = None
    by_group: bool = False

    def __str__(self) -> str:
        return self._describe_guarantee() if self.is_certified else self._describe_failure()

    def _describe_guarantee(self) -> str:
        kind = "a random row of a new group" if self.by_group else "new rows like the calibration rows"
        return (
            f"{self.constraint} on {kind}, with {100 * self.confidence:.10g}% confidence: "
            f"{self.n_failures:,} of {self.n_trials:,} {self.constraint.rate.failure_phrase} among "
            f"{self._rows()} "
            f"(p = {self.p_value:.2g})"
        )

    def _describe_failure(self) -> str:
        labeled = "no row is" if self.constraint.rate.safe_end == "none" else "every row is"
        needed = (
            f"about {self.n_rows_needed:,} calibration rows would be needed"
            if self.n_rows_needed is not None
            else "judging by the training rows, no number of calibration rows would be enough: lower the "
            "limit or train a better model"
        )
        return (
            f"{self.constraint} cannot be guaranteed with {100 * self.confidence:.10g}% confidence from "
            f"{self._rows()}: {labeled} predicted positive; {needed}"
        )

    def _rows(self) -> str:
        rows = f"{self.n_rows:,} calibration row{'' if self.n_rows == 1 else 's'}"
        return f"{rows}, one from each group" if self.by_group else rows

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**values, "constraint": str(self.constraint), "statement": str(self)}
