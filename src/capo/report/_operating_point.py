"""The section with the slider: charts, confusion matrix and rates at each threshold."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import FloatArray
from . import _formatting as formatting
from ._axes import Axis, linear_axis, unit_axis
from ._curves import ThresholdCurves
from ._svg import Chart
from ._templating import Markup

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier

THRESHOLD_CHART, PRECISION_RECALL_CHART, ROC_CHART = "threshold-chart", "precision-recall-chart", "roc-chart"

#: Thresholds that the scale of the slider shows if there is room, the more important ones first.
ROUND_THRESHOLDS = (
    *(0.5, 0.1, 0.9, 0.2, 0.8, 0.01, 0.99, 0.3, 0.7, 0.05, 0.95, 0.4, 0.6),
    *(0.02, 0.98, 0.001, 0.999, 0.005, 0.995, 0.002, 0.998, 0.0001, 0.9999),
)
#: Models with more different thresholds out of fold have one per row, not per fold.
MAX_FOLD_THRESHOLDS = 20
#: The smallest distance of two ticks of the slider, in percent of its width.
MIN_TICK_DISTANCE = 11.0


@dataclass(frozen=True)
class ChartFigure:
    """A chart with its caption."""

    title: str
    svg: Markup


@dataclass(frozen=True)
class ConfusionCell:
    """A count that the slider changes."""

    id: str
    count: float


@dataclass(frozen=True)
class ConfusionRow:
    """The rows of one actual class, or of both if `label` is None."""

    label: Any
    cells: list[ConfusionCell]
    total: float


@dataclass(frozen=True)
class Rate:
    """A value at the chosen threshold; without an id it is the same at every threshold."""

    id: str
    name: str
    text: str


@dataclass(frozen=True)
class SliderTick:
    """A threshold on the scale below the slider, at a percentage of its width."""

    percent: float
    text: str


@dataclass(frozen=True)
class SliderData:
    """The numbers that the script shows as the slider moves: one of each per threshold."""

    measure: str
    positive: str
    chosen: int
    decimals: int
    n_pos: float
    n_neg: float
    thresholds: list[str]
    values: list[str]
    tp: list[float]
    fp: list[float]
    positions: dict[str, list[list[float]]]


@dataclass(frozen=True)
class OperatingPointSection:
    """Data for the template operating_point.html."""

    classes: list[Any]
    measure_label: str
    needs_threshold: bool
    value: float
    curves: ThresholdCurves
    decimals: int
    figures: list[ChartFigure]
    confusion: list[ConfusionRow]
    rates: list[Rate]
    slider_ticks: list[SliderTick]
    slider_data: dict[str, Any]
    fold_thresholds: list[float]

    @property
    def chosen_threshold(self) -> float:
        """The model's threshold."""
        return float(self.curves.thresholds[self.curves.chosen])

    @property
    def chosen_value(self) -> float:
        """The measure of the first chart at the model's threshold."""
        return float(self.curves.values[self.curves.chosen])

    @property
    def chosen_percent(self) -> float:
        """The place of the model's threshold on the slider."""
        return 100.0 * self.curves.chosen / max(len(self.curves.cuts) - 1, 1)


def build_operating_point(
    model: CAPOClassifier, curves: ThresholdCurves, value: float
) -> OperatingPointSection:
    """Collect what the section shows at the chosen threshold."""
    by_fold = fold_thresholds(model)
    charts = [_threshold_chart(curves, by_fold), _precision_recall_chart(curves), _roc_chart(curves)]
    classes = model.label_pair.tolist()
    return OperatingPointSection(
        classes=classes,
        measure_label=model.measure_.label,
        needs_threshold=model.measure_.needs_threshold,
        value=value,
        curves=curves,
        decimals=formatting.count_decimals(curves.total, curves.integers),
        figures=[ChartFigure(chart.title, chart.render(elements)) for chart, elements in charts],
        confusion=confusion_rows(classes, curves.chosen_cells),
        rates=_rates(model.measure_.label, curves, value),
        slider_ticks=_slider_ticks(curves.thresholds),
        fold_thresholds=by_fold,
        slider_data=asdict(_slider_data(classes[1], curves, [chart for chart, _ in charts])),
    )


def _slider_data(positive: Any, curves: ThresholdCurves, charts: list[Chart]) -> SliderData:
    return SliderData(
        measure=curves.measure_label,
        positive=formatting.quote_label(positive),
        chosen=curves.chosen,
        decimals=formatting.count_decimals(curves.total, curves.integers),
        n_pos=_round_count(curves.n_pos, curves.integers),
        n_neg=_round_count(curves.n_neg, curves.integers),
        thresholds=[formatting.format_threshold(each) for each in curves.thresholds.tolist()],
        values=[formatting.format_number(each) for each in curves.values.tolist()],
        tp=[_round_count(each, curves.integers) for each in curves.tp.tolist()],
        fp=[_round_count(each, curves.integers) for each in curves.fp.tolist()],
        positions={chart.id: chart.positions(*_coordinates(curves)[chart.id]).tolist() for chart in charts},
    )


def _slider_ticks(thresholds: FloatArray) -> list[SliderTick]:
    """Round thresholds with room for their labels; the slider moves by rows, so that they are not even."""
    last = max(len(thresholds) - 1, 1)
    inside = [each for each in ROUND_THRESHOLDS if thresholds[0] < each < thresholds[-1]]
    ticks: list[SliderTick] = []
    for each in inside if len(inside) > 1 else [float(thresholds[0]), float(thresholds[-1])]:
        percent = 100.0 * float(np.interp(each, thresholds, np.arange(len(thresholds)))) / last
        if all(abs(percent - other.percent) >= MIN_TICK_DISTANCE for other in ticks):
            ticks.append(SliderTick(percent, formatting.format_threshold(each).rstrip("0") or "0"))
    return sorted(ticks, key=lambda tick: tick.percent)


def _round_count(count: float, integers: bool) -> float:
    return round(count) if integers else float(f"{count:.12g}")


def _coordinates(curves: ThresholdCurves) -> dict[str, tuple[FloatArray, FloatArray]]:
    """The two quantities of each chart."""
    return {
        THRESHOLD_CHART: (curves.thresholds, curves.values),
        PRECISION_RECALL_CHART: (curves.recall, curves.precision),
        ROC_CHART: (curves.false_positive_rate, curves.recall),
    }


def fold_thresholds(model: CAPOClassifier) -> list[float]:
    """The thresholds that were chosen without the rows of one fold, as ascending probabilities.

    There are none if the threshold was not chosen in cross-validation, or if it was moved afterward.
    """
    moved = (model.guarantee_, model.population_, model.prices_)
    if not model.measure_.needs_threshold or any(each is not None for each in moved):
        return []
    shifts = model.oof_thresholds_[~np.isnan(model.oof_thresholds_)]
    different = np.unique(shifts.round(9))
    if not 1 < len(different) <= MAX_FOLD_THRESHOLDS:
        return []
    return [float(each) for each in model.as_probability(different)]


def _threshold_chart(curves: ThresholdCurves, by_fold: list[float]) -> tuple[Chart, list[Markup]]:
    best, chosen = int(np.argmax(curves.values)), curves.chosen
    chart = Chart(
        THRESHOLD_CHART,
        f"{curves.measure_label} by threshold",
        f"{curves.measure_label} is {formatting.format_number(curves.values[chosen])} at the model's "
        f"threshold, {_format_threshold_at(curves, chosen)}; its highest value on these rows is "
        f"{formatting.format_number(curves.values[best])}, at {_format_threshold_at(curves, best)}.",
        _threshold_axis(curves),
        linear_axis(curves.values, curves.measure_label, include_zero=True),
    )
    threshold = float(curves.thresholds[chosen])
    lines = [
        *(chart.vertical_line(each, "fold-line") for each in by_fold if each <= chart.x.high),
        chart.vertical_line(threshold, "chosen-line"),
        chart.vertical_line(threshold, "slider-line", id="slider-line"),
    ]
    return chart, [*lines, *_curve_elements(chart, curves)]


def _precision_recall_chart(curves: ThresholdCurves) -> tuple[Chart, list[Markup]]:
    prevalence = curves.n_pos / curves.total
    precision, recall = (
        formatting.format_number(each[curves.chosen]) for each in (curves.precision, curves.recall)
    )
    chart = Chart(
        PRECISION_RECALL_CHART,
        "Precision and recall",
        f"At the model's threshold precision is {precision} and recall {recall}. Random predictions have a "
        f"precision of {formatting.format_number(prevalence)}.",
        unit_axis("recall"),
        unit_axis("precision"),
    )
    chance = chart.line([0, 1], [prevalence, prevalence], "chance")
    return chart, [chance, *_curve_elements(chart, curves)]


def _roc_chart(curves: ThresholdCurves) -> tuple[Chart, list[Markup]]:
    true_rate, false_rate = (
        formatting.format_number(each[curves.chosen]) for each in (curves.recall, curves.false_positive_rate)
    )
    chart = Chart(
        ROC_CHART,
        "ROC curve",
        f"At the model's threshold the true positive rate is {true_rate} and the false positive rate "
        f"{false_rate}.",
        unit_axis("false positive rate"),
        unit_axis("true positive rate"),
    )
    return chart, [chart.line([0, 1], [0, 1], "chance"), *_curve_elements(chart, curves)]


def _curve_elements(chart: Chart, curves: ThresholdCurves) -> list[Markup]:
    """A curve with the chosen point and the point that the slider moves."""
    x, y = _coordinates(curves)[chart.id]
    point = float(x[curves.chosen]), float(y[curves.chosen])
    return [
        chart.line(x, y, "curve"),
        chart.circle(*point, "chosen-point", radius=7),
        chart.circle(*point, "slider-point", radius=4.5, id=f"{chart.id}-point"),
    ]


def _threshold_axis(curves: ThresholdCurves) -> Axis:
    highest, label = float(curves.thresholds.max()), "threshold (probability)"
    return unit_axis(label) if highest > 0.5 else linear_axis([0, highest], label)


def _format_threshold_at(curves: ThresholdCurves, index: int) -> str:
    return formatting.format_threshold(float(curves.thresholds[index]))


def confusion_rows(classes: list[Any], cells: tuple[float, float, float, float]) -> list[ConfusionRow]:
    """The confusion matrix of true and false positives, false and true negatives, with its sums."""
    tp, fp, fn, tn = cells
    predicted = [ConfusionCell("predicted-negative", fn + tn), ConfusionCell("predicted-positive", tp + fp)]
    return [
        ConfusionRow(classes[0], [ConfusionCell("tn", tn), ConfusionCell("fp", fp)], tn + fp),
        ConfusionRow(classes[1], [ConfusionCell("fn", fn), ConfusionCell("tp", tp)], tp + fn),
        ConfusionRow(None, predicted, tp + fp + fn + tn),
    ]


def _rates(measure_label: str, curves: ThresholdCurves, value: float) -> list[Rate]:
    """The model's measure and common rates at the chosen threshold."""
    tp, fp, fn, tn = curves.chosen_cells
    rates = [
        Rate("precision", "precision", formatting.format_rate(tp, tp + fp)),
        Rate("recall", "recall", formatting.format_rate(tp, tp + fn)),
        Rate("f1", "F1", formatting.format_rate(2 * tp, 2 * tp + fp + fn)),
        Rate("specificity", "specificity", formatting.format_rate(tn, tn + fp)),
        Rate("accuracy", "accuracy", formatting.format_rate(tp + tn, curves.total)),
        Rate("predicted", "predicted positive", formatting.format_percent(tp + fp, curves.total)),
    ]
    if measure_label in ("f1", "accuracy"):
        return rates
    if curves.measure_label == measure_label:
        text = formatting.format_number(float(curves.values[curves.chosen]))
        return [Rate("measure", measure_label, text), *rates]
    return [Rate("", measure_label, formatting.format_number(value)), *rates]
