"""Limits of rates, and exact tests of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import bdtr, bdtrik, betainc

from .._compat import ArrayLike, FloatArray, IntArray
from ..exceptions import InvalidInputError
from ..measures import Measure
from ._calibration import ClassScores


@dataclass(frozen=True)
class Rate:
    """A share of the rows in some cells of the confusion matrix, tested by counting failures.

    Attributes
    ----------
    trials : tuple of str
        The cells that the rate refers to: tp and fp for precision.
    failures : tuple of str
        The cells among `trials` that count against the constraint: fp for precision.
    sense : str
        ">=" for a lower limit of the rate, "<=" for an upper limit.
    safe_end : str
        Where the constraint holds by definition: with "none" or with "all" of the rows predicted positive.
    is_monotone : bool
        Whether the rate can only get worse as the threshold moves away from the safe end.
    failure_phrase : str
        The description of failures after "2 of 30".
    """

    trials: tuple[str, ...]
    failures: tuple[str, ...]
    sense: str
    safe_end: str
    is_monotone: bool
    failure_phrase: str


_RATES = {
    "precision": Rate(("tp", "fp"), ("fp",), ">=", "none", False, "predicted positives were wrong"),
    "fdr": Rate(("tp", "fp"), ("fp",), "<=", "none", False, "predicted positives were wrong"),
    "npv": Rate(("fn", "tn"), ("fn",), ">=", "all", False, "predicted negatives were wrong"),
    "recall": Rate(("tp", "fn"), ("fn",), ">=", "all", True, "positives were missed"),
    "fnr": Rate(("tp", "fn"), ("fn",), "<=", "all", True, "positives were missed"),
    "specificity": Rate(("fp", "tn"), ("fp",), ">=", "none", True, "negatives were false alarms"),
    "fpr": Rate(("fp", "tn"), ("fp",), "<=", "none", True, "negatives were false alarms"),
    "positive_rate": Rate(
        ("tp", "fp", "fn", "tn"), ("tp", "fp"), "<=", "none", True, "rows were predicted positive"
    ),
}
_PATTERN = re.compile(r"\s*(\w+)\s*(>=|<=)\s*([^\s]+)\s*")
#: The rate that a constrained measure limits, and the name of its parameter with the limit.
_OF_MEASURES = {
    "recall_at_precision": ("precision", "floor"),
    "precision_at_recall": ("recall", "floor"),
    "tpr_at_fpr": ("fpr", "ceiling"),
}


def rate_names() -> list[str]:
    """The rates that a constraint can limit.

    Examples
    --------
    >>> from capo.decisions import rate_names
    >>> rate_names()
    ['fdr', 'fnr', 'fpr', 'npv', 'positive_rate', 'precision', 'recall', 'specificity']
    """
    return sorted(_RATES)


@dataclass(frozen=True)
class Constraint:
    """A lower or upper limit of a rate, such as ``precision >= 0.9``.

    Parameters
    ----------
    name : str
        A rate from `rate_names`.
    limit : float
        The smallest value allowed for precision, recall, specificity and npv (negative predictive value);
        the largest for fpr, fnr, fdr (false discovery rate) and positive_rate.

    Examples
    --------
    >>> from capo.decisions import Constraint
    >>> constraint = Constraint.parse("precision >= 0.9")
    >>> constraint.p_values([0, 1], [22, 22]).round(3)
    array([0.098, 0.339])
    >>> constraint.min_trials(0.9)
    22
    """

    name: str
    limit: float

    def __post_init__(self) -> None:
        if self.name not in _RATES:
            raise InvalidInputError(f"a constraint can limit {', '.join(rate_names())}: got {self.name!r}.")
        if not 0 < self.max_failure_rate < 1:
            raise InvalidInputError(
                f"the limit of {self.name} must be above 0 and below 1, since no number of rows can confirm "
                f"a rate of exactly 0 or 1: got {self.limit!r}."
            )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a constraint such as ``"fpr <= 0.05"``."""
        match = _PATTERN.fullmatch(text) if isinstance(text, str) else None
        name, sense, limit = match.groups() if match else ("", "", "")
        try:
            number = float(limit)
        except ValueError:
            raise InvalidInputError(
                f"a constraint is a rate and a limit, such as 'precision >= 0.9': got {text!r}."
            ) from None
        constraint = cls(name, number)
        if sense != constraint.rate.sense:
            raise InvalidInputError(f"{constraint.name} can only be limited as '{constraint}': got {text!r}.")
        return constraint

    @classmethod
    def from_measure(cls, measure: Measure) -> Self:
        """The constraint of a measure such as ``recall_at_precision``; an error for other measures.

        A limit of exactly 0 or 1, which no number of rows can confirm, is moved by one in a billion.
        """
        if measure.name not in _OF_MEASURES:
            raise InvalidInputError(
                f"the measure {measure.label} has no constraint: pass one, such as 'precision >= 0.9'."
            )
        name, parameter = _OF_MEASURES[measure.name]
        return cls(name, float(np.clip(measure.params[parameter], 1e-9, 1.0 - 1e-9)))

    @property
    def rate(self) -> Rate:
        """The rate that is limited."""
        return _RATES[self.name]

    @property
    def max_failure_rate(self) -> float:
        """The largest share of failures that satisfies the constraint."""
        return 1.0 - self.limit if self.rate.sense == ">=" else self.limit

    def count(self, **cells: Any) -> tuple[FloatArray, FloatArray]:
        """The failures and the trials in confusion matrices with the cells tp, fp, fn and tn."""
        failures, trials = (
            np.sum([cells[name] for name in names], axis=0)
            for names in (self.rate.failures, self.rate.trials)
        )
        return failures, trials

    def p_values(self, failures: ArrayLike, trials: ArrayLike) -> FloatArray:
        """Exact p-values of the hypothesis that the constraint is violated.

        The probability of at most this many failures in this many trials if the rate were at its limit.
        Counts of weighted rows may be fractional.
        """
        failed, total = np.asarray(failures, dtype=np.float64), np.asarray(trials, dtype=np.float64)
        others = np.maximum(total - failed, np.finfo(float).tiny)
        tail = betainc(others, np.maximum(failed, 0.0) + 1.0, 1.0 - self.max_failure_rate)
        return np.where(failed < 0, 0.0, np.where(failed >= total, 1.0, tail))

    def max_failures(self, trials: IntArray, alpha: float) -> IntArray:
        """The largest number of failures in this many trials that passes the test; -1 if no number does."""
        inverse = bdtrik(alpha, trials, self.max_failure_rate)  # not an integer; NaN if no number passes
        most = np.floor(np.nan_to_num(inverse, nan=-1.0)).astype(np.intp)
        most = np.where(self.p_values(most + 1, trials) <= alpha, most + 1, most)
        return np.where(self.p_values(most, trials) <= alpha, most, most - 1)

    def min_trials(self, confidence: float) -> int:
        """The number of trials without a failure that passes the test."""
        return int(np.ceil(np.log1p(-confidence) / np.log1p(-self.max_failure_rate) - 1e-9))

    def __str__(self) -> str:
        return f"{self.name} {self.rate.sense} {self.limit:.10g}"


#: The number of rows that is needed is the one with this probability of success.
TARGET_POWER = 0.8
#: Largest number of times that the number of rows is doubled.
MAX_DOUBLINGS = 10
#: Thresholds that are tried for the number of rows, in even steps and closer to each end of the scores.
N_TRIED_CUTS = 200


def count_rows_needed(
    constraints: Sequence[Constraint], training: ClassScores, n_rows: int, confidence: float
) -> int | None:
    """Return about how many rows make it likely that all constraints pass; None if no number is enough.

    Estimated from the training rows at the most promising threshold, and rounded up to a power of two times
    the present number. Half a row of each kind is added to those beyond a threshold (Jeffreys), since a small
    count is uncertain.
    """
    ascending, n_training = np.argsort(training.log_odds), len(training.log_odds)
    ranks, even = (
        space(1, n_training, N_TRIED_CUTS).astype(np.intp) for space in (np.geomspace, np.linspace)
    )
    below = np.unique(np.concatenate((ranks, even, n_training - ranks)))
    probability = np.asarray(training.positive, dtype=np.float64)
    masses = probability, 1.0 - probability
    fn, tn = (np.append(0.0, np.cumsum(mass[ascending]))[below] for mass in masses)
    cells = {"tp": masses[0].sum() - fn, "fp": masses[1].sum() - tn, "fn": fn, "tn": tn}
    counts = [each.count(**cells) for each in constraints]
    least = max(each.min_trials(confidence) for each in constraints)
    for n_more in (2 * max(n_rows, least) * 2 ** np.arange(MAX_DOUBLINGS)).tolist():
        power = np.ones(len(below))
        for constraint, (failures, trials) in zip(constraints, counts, strict=True):
            n_trials = np.round(trials * (n_more / n_training)).astype(np.intp)
            allowed = constraint.max_failures(n_trials, 1.0 - confidence)
            share = (failures + 0.5) / (trials + 1.0)
            passes = np.where(allowed < 0, 0.0, bdtr(np.maximum(allowed, 0), n_trials, share))
            power = np.minimum(power, np.where(share < constraint.max_failure_rate, passes, 0.0))
        if power.max() >= TARGET_POWER:  # of the most promising threshold
            return int(n_more)
    return None
