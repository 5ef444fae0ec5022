"""The sections on the training: auxiliaries, delta function, certificate and values of C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import FloatArray
from ..engine import Solution, Status
from ..inspection import SummaryLine, frozen_auxiliary_names
from . import _formatting as formatting
from ._axes import linear_axis, log_axis
from ._operating_point import ChartFigure
from ._svg import Chart, draw_weight_bar
from ._templating import Markup

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier

#: Limit on the features of the delta function in the table.
MAX_FEATURES = 15


@dataclass(frozen=True)
class ModelRow:
    """One of the models in training, with its out-of-fold value."""

    name: str
    value: float
    std: float
    weight: float | None
    bar: Markup
    is_chosen: bool


@dataclass(frozen=True)
class ModelsSection:
    """Data for the template models.html."""

    measure_label: str
    positive: Any
    n_rows: int
    n_positive: int
    frozen_names: str
    values_note: str
    rows: list[ModelRow]


@dataclass(frozen=True)
class FeatureRow:
    """A feature of the delta function."""

    name: str
    weight: float
    bar: Markup


@dataclass(frozen=True)
class DeltaSection:
    """Data for the template delta.html."""

    positive: Any
    n_features: int
    n_used: int
    rows: list[FeatureRow]


@dataclass(frozen=True)
class CertificateSection:
    """Data for the template certificate.html; without a solution the model is the prior."""

    solution: Solution | None
    only_prior_tried: bool
    figure: ChartFigure | None

    @property
    def is_optimal(self) -> bool:
        """Whether the solver reached its tolerance."""
        return self.solution is not None and self.solution.status is Status.OPTIMAL


@dataclass(frozen=True)
class PathRow:
    """One value of C."""

    C: float
    value: float
    std: float
    gain: float
    gain_std_error: float
    iterations: int


@dataclass(frozen=True)
class PathSection:
    """Data for the template path.html."""

    measure_label: str
    chosen_C: float
    rows: list[PathRow]
    figure: ChartFigure | None


def build_models(model: CAPOClassifier) -> ModelsSection:
    """Collect the auxiliaries, their combination and the adapted model."""
    summary = model.summary()
    return ModelsSection(
        measure_label=model.measure_.label,
        positive=model.pos_label_,
        n_rows=model.n_positive_ + model.n_negative_,
        n_positive=model.n_positive_,
        frozen_names=frozen_auxiliary_names(model),
        values_note=summary.notes.get("values", ""),
        rows=build_model_rows(summary.lines),
    )


def build_model_rows(lines: Sequence[SummaryLine]) -> list[ModelRow]:
    """Collect the lines of a summary with bars for their weights."""
    weights = [line.weight for line in lines if line.weight is not None]
    scale = min(0.0, *weights), max(0.0, *weights)
    return [
        ModelRow(
            line.name,
            line.value,
            line.std,
            line.weight,
            Markup("") if line.weight is None else draw_weight_bar(line.weight, *scale),
            line.is_chosen,
        )
        for line in lines
    ]


def build_delta(model: CAPOClassifier) -> DeltaSection:
    """Collect the strongest features of the delta function."""
    coef = model.delta_coef_
    used = sorted((name for name in coef if coef[name]), key=lambda name: -abs(coef[name]))
    shown = used[:MAX_FEATURES]
    scale = min((0.0, *(coef[name] for name in shown))), max((0.0, *(coef[name] for name in shown)))
    rows = [FeatureRow(name, coef[name], draw_weight_bar(coef[name], *scale)) for name in shown]
    return DeltaSection(model.pos_label_, len(coef), len(used), rows)


def build_certificate(model: CAPOClassifier) -> CertificateSection:
    """Collect the solver's bounds on its solution."""
    solution = model.solution_
    only_prior_tried = len(model.cv_results_["param_C"]) == 1
    return CertificateSection(
        solution, only_prior_tried, None if solution is None else _draw_solver(solution)
    )


def _draw_solver(solution: Solution) -> ChartFigure | None:
    """Primal and dual objective after each iteration, and last those of the solution."""
    if len(solution.history) < 2:
        return None
    primal = np.array([*(each.primal for each in solution.history), solution.primal])
    dual = np.array([*(each.dual for each in solution.history), solution.dual])
    iterations = np.arange(1, len(primal) + 1, dtype=np.float64)
    iterations[-1] = iterations[-2]
    chart = Chart(
        "solver-chart",
        "Primal and dual objective by iteration",
        f"The primal objective falls to {formatting.format_significant(solution.primal)} and the dual "
        f"objective rises to {formatting.format_significant(solution.dual)} in "
        f"{formatting.pluralize(solution.n_iter, 'iteration')}.",
        linear_axis([1, iterations[-1]], "iteration"),
        linear_axis(np.concatenate((primal, _visible_bounds(dual, primal))), "objective"),
    )
    lower = np.maximum(dual, chart.y.low)
    elements = [
        chart.band(iterations, lower, primal, "area"),
        chart.line(iterations, primal, "curve"),
        chart.line(iterations, lower, "curve second"),
    ]
    return ChartFigure(chart.title, chart.render(elements))


def _visible_bounds(dual: FloatArray, primal: FloatArray) -> FloatArray:
    """The lower bounds to fit into the chart: the first ones can be far below all other values."""
    room = 3.0 * (primal.max() - primal.min()) + 1e-12
    near = dual[dual >= primal.min() - max(room, primal[-1] - dual[-1])]
    return near if near.size else dual[-1:]


def build_path(model: CAPOClassifier) -> PathSection:
    """Collect all values of C that were tried."""
    results = model.cv_results_
    keys = ("param_C", "test_score", "std_test_score", "gain", "gain_std_error", "n_iter")
    rows = [PathRow(*each) for each in zip(*(results[key].tolist() for key in keys), strict=True)]
    figure = _draw_path(model) if len(rows) > 1 else None
    return PathSection(model.measure_.label, model.C_, rows, figure)


def _draw_path(model: CAPOClassifier) -> ChartFigure:
    """The out-of-fold value of the measure for each C."""
    results, measure = model.cv_results_, model.measure_.label
    order = np.argsort(results["param_C"])
    C, value, std = (results[key][order] for key in ("param_C", "test_score", "std_test_score"))
    chosen = int(np.flatnonzero(C == model.C_)[0])
    axis, positions = log_axis(np.asarray(C, dtype=np.float64), "C")
    chart = Chart(
        "C-path-chart",
        f"{measure} by C, out of fold",
        f"{measure} is {formatting.format_number(value[chosen], 4)} at the chosen C = "
        f"{formatting.format_significant(model.C_)}; the values range from "
        f"{formatting.format_number(value.min(), 4)} to {formatting.format_number(value.max(), 4)}.",
        axis,
        linear_axis(np.concatenate((value - std, value + std)), measure),
    )
    elements = [
        chart.band(positions, value - std, value + std, "area"),
        chart.line(positions, value, "curve"),
        chart.circle(positions[chosen], value[chosen], "chosen-point", radius=7),
        *(chart.circle(x, y, "tried-point", radius=2.5) for x, y in zip(positions, value, strict=True)),
    ]
    return ChartFigure(chart.title, chart.render(elements))
