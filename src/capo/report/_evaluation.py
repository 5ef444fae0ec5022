"""The sections on the model's quality: all measures with intervals, and simpler methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..exceptions import InvalidInputError
from ..inspection import Comparison, Evaluation, MeasureEstimate, MethodResult
from ._formatting import format_number
from ._svg import draw_interval
from ._templating import Markup

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier

#: Characters of both ends of an interval that fit into one line on a narrow screen.
MAX_ONE_LINE_INTERVAL = 14


@dataclass(frozen=True)
class MeasureRow:
    """A measure, and its interval drawn on a scale from 0 to 1 if it is within."""

    estimate: MeasureEstimate
    drawing: Markup

    @property
    def has_long_interval(self) -> bool:
        """Whether the interval needs two lines on a narrow screen."""
        return (
            len(format_number(self.estimate.low) + format_number(self.estimate.high)) > MAX_ONE_LINE_INTERVAL
        )


@dataclass(frozen=True)
class EvaluationSection:
    """Data for the template evaluation.html."""

    rows: list[MeasureRow]


@dataclass(frozen=True)
class MethodRow:
    """A method, and its mean and standard deviation drawn on a common scale."""

    method: MethodResult
    drawing: Markup


@dataclass(frozen=True)
class ComparisonSection:
    """Data for the template comparison.html."""

    comparison: Comparison
    methods: str
    rows: list[MethodRow]


def build_evaluation(evaluation: Evaluation) -> EvaluationSection:
    """Collect all measures on the rows."""
    return EvaluationSection(build_measure_rows(evaluation.rows))


def build_measure_rows(estimates: Sequence[MeasureEstimate]) -> list[MeasureRow]:
    """Collect measures with their drawings."""
    return [MeasureRow(each, _draw_estimate(each)) for each in estimates]


def _draw_estimate(estimate: MeasureEstimate) -> Markup:
    if estimate.low < 0 or estimate.high > 1:
        return Markup("")
    return draw_interval(estimate.low, estimate.value, estimate.high, (0.0, 1.0))


def build_comparison(comparison: Comparison, methods: str) -> ComparisonSection:
    """Collect the results of all methods in cross-validation; `methods` explains them."""
    scale = _common_scale(comparison.methods)
    rows = [
        MethodRow(each, draw_interval(each.mean - each.std, each.mean, each.mean + each.std, scale))
        for each in comparison.methods
    ]
    return ComparisonSection(comparison, methods, rows)


def _common_scale(methods: Sequence[MethodResult]) -> tuple[float, float]:
    """The limits of a scale that covers all methods, with a margin."""
    ends = [each.mean + sign * each.std for each in methods for sign in (-1, 1)]
    margin = 0.05 * (max(ends) - min(ends)) or 1.0
    return min(ends) - margin, max(ends) + margin


def check_comparison(model: CAPOClassifier, comparison: Comparison | None) -> None:
    """Raise an error if a comparison is of another table, measure or set of auxiliaries."""
    if comparison is not None and (difference := comparison.difference(model)):
        raise InvalidInputError(f"the comparison does not belong to this model: it is {difference}.")
