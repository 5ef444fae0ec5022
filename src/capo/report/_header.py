"""The head of the page: the measure's value on the rows, and whether its constraint is satisfied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..inspection import Evaluation, MeasureEstimate
from ..measures import ConstrainedMeasure
from . import _formatting as formatting
from ._curves import ThresholdCurves

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier

#: Longer headline values are written in smaller letters.
MAX_HEADLINE_LENGTH = 8


@dataclass(frozen=True)
class ConstraintHeader:
    """A measure with a constraint at the model's threshold."""

    rate_name: str
    limited_rate_name: str
    limited_rate: float
    limited_estimate: MeasureEstimate | None
    constraint: str
    is_satisfied: bool
    none_predicted: bool
    best_value: float


@dataclass(frozen=True)
class Promise:
    """What the threshold guarantees on new rows, or that it guarantees nothing, in one sentence."""

    is_certified: bool
    sentence: str


@dataclass(frozen=True)
class Header:
    """The measure's value at the model's threshold, and the rows that it is computed on."""

    measure_label: str
    value: float
    estimate: MeasureEstimate | None
    constraint: ConstraintHeader | None
    table_name: str
    positive: Any
    threshold: float
    n_rows: int
    n_positive: float
    total: float
    decimals: int
    promise: Promise | None

    @property
    def has_long_value(self) -> bool:
        """Whether the value needs smaller letters."""
        return len(formatting.format_number(self.value)) > MAX_HEADLINE_LENGTH


def build_header(
    model: CAPOClassifier,
    curves: ThresholdCurves,
    value: float,
    table_name: str,
    n_rows: int,
    evaluation: Evaluation | None,
) -> Header:
    """Collect the head of the page; `value` is the score of the model's measure."""
    guarantee = model.guarantee_
    measure, estimate = model.measure_, _find_estimate(evaluation, model.measure_.label)
    constraint = None
    if isinstance(measure, ConstrainedMeasure):
        constraint = _build_constraint(measure, curves, value, evaluation)
        estimate = evaluation.constraint.rate if evaluation and evaluation.constraint else None
        value = float(measure.rate(*curves.chosen_cells))
    return Header(
        measure_label=measure.label,
        value=value,
        estimate=estimate,
        constraint=constraint,
        table_name=table_name,
        positive=model.pos_label_,
        threshold=float(curves.thresholds[curves.chosen]),
        n_rows=n_rows,
        n_positive=curves.n_pos,
        total=curves.total,
        decimals=formatting.count_decimals(curves.total, curves.integers),
        promise=None if guarantee is None else Promise(guarantee.is_certified, f"{guarantee}."),
    )


def _build_constraint(
    measure: ConstrainedMeasure, curves: ThresholdCurves, best_value: float, evaluation: Evaluation | None
) -> ConstraintHeader:
    cells = curves.chosen_cells
    result = evaluation.constraint if evaluation else None
    return ConstraintHeader(
        rate_name=measure.rate_name,
        limited_rate_name=measure.limited_rate_name,
        limited_rate=float(measure.limited_rate(*cells)),
        limited_estimate=result.limited_rate if result else None,
        constraint=measure.constraint,
        is_satisfied=bool(measure.is_satisfied(*cells)),
        none_predicted=cells[0] + cells[1] == 0,
        best_value=best_value,
    )


def _find_estimate(evaluation: Evaluation | None, measure_label: str) -> MeasureEstimate | None:
    """The estimate of one measure, if the evaluation has it."""
    estimates = evaluation.estimates if evaluation else []
    return next((each for each in estimates if each.name == measure_label), None)
