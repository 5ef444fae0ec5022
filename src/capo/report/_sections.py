"""Sections of the page.

A row is predicted as positive if its decision is above a cut; the model's own cut is 0. If there are many
rows, the cuts are spaced evenly over the rows of either class, so that a rare class is covered as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, ndtri

from .._compat import BoolArray, FloatArray, IntArray
from ..decisions import RowPrices, Savings, format_money
from ..engine import Solution, Status
from ..exceptions import InvalidInputError
from ..inspection import (
    ColumnEffect,
    ColumnImportance,
    Comparison,
    Evaluation,
    Importance,
    MeasureEstimate,
    MethodResult,
    SummaryLine,
    WorstError,
    frozen_auxiliary_names,
)
from ..measures import ConfusionMeasure, Labels, Measure, ScoreCurve, get, ratio, score_curve
from . import _formatting as formatting
from ._formatting import format_number
from ._svg import Axis, Chart, draw_interval, draw_weight_bar, linear_axis, log_axis, unit_axis
from ._templating import Markup

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier


#: Limit on the number of thresholds.
MAX_THRESHOLDS = 500
#: Thresholds that are spaced evenly over the rows of each class.
N_PER_CLASS = 248


@dataclass(frozen=True)
class ThresholdCurves:
    """The confusion matrix and a measure at each threshold, in ascending order of thresholds.

    Attributes
    ----------
    cuts : ndarray
        Rows with a decision above the cut are predicted as positive.
    thresholds : ndarray
        The cuts as probabilities.
    tp, fp : ndarray
        True and false positives; sums of weights if the rows have any.
    n_pos, n_neg : float
        Positives and negatives.
    values : ndarray
        The measure at each threshold.
    measure_label : str
        The measure: that of the model, or another one if the model's does not depend on the threshold.
    chosen : int
        Index of the model's own threshold.
    integers : bool
        Whether all counts are integers.
    """

    cuts: FloatArray
    thresholds: FloatArray
    tp: FloatArray
    fp: FloatArray
    n_pos: float
    n_neg: float
    values: FloatArray
    measure_label: str
    chosen: int
    integers: bool

    @property
    def total(self) -> float:
        """Number of rows, or the sum of their weights."""
        return self.n_pos + self.n_neg

    @property
    def chosen_cells(self) -> tuple[float, float, float, float]:
        """True and false positives, false and true negatives at the model's threshold."""
        tp, fp = float(self.tp[self.chosen]), float(self.fp[self.chosen])
        return tp, fp, self.n_pos - tp, self.n_neg - fp

    @property
    def recall(self) -> FloatArray:
        """Share of the positives that are predicted as positive: the true positive rate."""
        return ratio(self.tp, self.n_pos)

    @property
    def false_positive_rate(self) -> FloatArray:
        """Share of the negatives that are predicted as positive."""
        return ratio(self.fp, self.n_neg)

    @property
    def precision(self) -> FloatArray:
        """Share of true positives; where no row is predicted as positive, that of the nearest threshold."""
        predicted = self.tp + self.fp
        precision = ratio(self.tp, predicted)
        defined = np.flatnonzero(predicted > 0)
        return np.where(predicted > 0, precision, precision[defined[-1]]) if defined.size else precision


def compute_curves(
    model: CAPOClassifier, positive: BoolArray, decision: ArrayLike, sample_weight: ArrayLike | None
) -> ThresholdCurves:
    """Evaluate a fitted classifier's decisions at many thresholds."""
    labels = Labels.from_arrays(positive, sample_weight, both_classes=False)
    curve = score_curve(labels, decision)
    zero = int(np.count_nonzero(curve.scores > 0))
    kept = _select_cuts(curve, zero)[::-1]
    cuts = np.array([0.0 if i == zero else curve.threshold_below(i) for i in kept])
    tp, fp = curve.tp[kept], curve.fp[kept]
    shown = _measure_of_thresholds(model.measure_)
    return ThresholdCurves(
        cuts=cuts,
        # A cut of 0 is the model's threshold to the last digit, without rounding errors.
        thresholds=np.where(cuts == 0, model.threshold_, model.as_probability(cuts)),
        tp=tp,
        fp=fp,
        n_pos=float(curve.tp[-1]),
        n_neg=float(curve.fp[-1]),
        values=_evaluate_at_cuts(shown, tp, fp),
        measure_label=shown.label,
        chosen=int(np.flatnonzero(kept == zero)[0]),
        integers=labels.has_integer_weights,
    )


def _select_cuts(curve: ScoreCurve, zero: int) -> IntArray:
    """Indices of the cuts to keep: all if they are few; the chosen one, the first and the last always."""
    last = len(curve.tp) - 1
    if last < MAX_THRESHOLDS:
        return np.arange(last + 1)
    inner = [np.searchsorted(mass, np.linspace(0.0, mass[-1], N_PER_CLASS)) for mass in (curve.tp, curve.fp)]
    return np.unique(np.concatenate([*inner, [0, zero, last]])).astype(np.intp)


def _measure_of_thresholds(measure: Measure) -> Measure:
    """The measure to draw against the threshold: the model's, or F1 if it does not depend on a threshold."""
    return measure.at_threshold() or get("f1")


def _evaluate_at_cuts(measure: Measure, tp: FloatArray, fp: FloatArray) -> FloatArray:
    """The measure at each cut."""
    if isinstance(measure, ConfusionMeasure):
        return np.asarray(measure.value(tp, fp, tp[0] - tp, fp[0] - fp), dtype=np.float64)
    # The rows between two cuts are merged into one weighted row of each class.
    weight = np.concatenate([np.append(-np.diff(cells), cells[-1]) for cells in (tp, fp)])
    position = np.tile(np.arange(len(tp)), 2)
    positive = np.repeat((True, False), len(tp))
    weight = np.maximum(weight, 0.0)
    return np.array([measure.score(positive, position - i + 0.5, weight) for i in range(len(tp))])


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


#: Bins with about equally many rows.
N_BINS = 10
#: Standard errors on either side of a share in a 95% interval.
N_STD_ERRORS = float(ndtri(0.975))


@dataclass(frozen=True)
class CalibrationBin:
    """Rows with similar probabilities, and the share of positive rows among them with its interval."""

    probability: float
    share: float
    low: float
    high: float
    n_rows: int


@dataclass(frozen=True)
class CalibrationSection:
    """Data for the template calibration.html."""

    bins: list[CalibrationBin]
    figure: ChartFigure


def build_calibration(
    model: CAPOClassifier, positive: BoolArray, decision: ArrayLike, sample_weight: ArrayLike | None
) -> CalibrationSection:
    """Collect the bins, and draw them."""
    probability = model.as_probability(np.asarray(decision, dtype=np.float64))
    weight = np.ones(len(positive)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    bins = calibration_bins(probability, positive, weight)
    return CalibrationSection(bins, _draw(bins))


def calibration_bins(
    probability: FloatArray, positive: BoolArray, weight: FloatArray
) -> list[CalibrationBin]:
    """Divide the rows into bins by their probability; equal probabilities are in the same bin."""
    cuts = np.unique(np.quantile(probability, np.linspace(0, 1, N_BINS + 1)[1:-1]))
    codes = np.searchsorted(cuts, probability, side="left")
    bins = []
    for code in np.unique(codes):
        rows = (codes == code) & (weight > 0)
        if rows.any():
            bins.append(_bin(probability[rows], positive[rows], weight[rows]))
    return bins


def _bin(probability: FloatArray, positive: BoolArray, weight: FloatArray) -> CalibrationBin:
    share = float(np.average(positive, weights=weight))
    n_effective = float(weight.sum() ** 2 / (weight**2).sum())
    low, high = wilson_interval(share, n_effective)
    return CalibrationBin(float(np.average(probability, weights=weight)), share, low, high, len(weight))


def wilson_interval(share: float, n: float) -> tuple[float, float]:
    """Wilson's 95% interval of a share of n rows."""
    z2 = N_STD_ERRORS**2 / n
    middle = (share + z2 / 2) / (1 + z2)
    margin = N_STD_ERRORS * np.sqrt(share * (1 - share) / n + z2 / (4 * n)) / (1 + z2)
    return max(0.0, float(middle - margin)), min(1.0, float(middle + margin))


def _draw(bins: list[CalibrationBin]) -> ChartFigure:
    gap = max(abs(each.share - each.probability) for each in bins)
    highest = max(max(each.high, each.probability) for each in bins)
    chart = Chart(
        "calibration-chart",
        "Share of positive rows by probability",
        f"{formatting.pluralize(len(bins), 'bin')} of rows; the largest difference between mean probability "
        f"and share of positive rows is {formatting.format_number(gap)}.",
        _axis("mean probability", highest),
        _axis("share of positive rows", highest),
    )
    elements = [chart.line([0, chart.x.high], [0, chart.x.high], "chance")]
    elements += [chart.line([each.probability] * 2, [each.low, each.high], "whisker") for each in bins]
    elements.append(chart.line([each.probability for each in bins], [each.share for each in bins], "curve"))
    elements += [chart.circle(each.probability, each.share, "tried-point", radius=3.5) for each in bins]
    return ChartFigure(chart.title, chart.render(elements))


def _axis(label: str, highest: float) -> Axis:
    return unit_axis(label) if highest > 0.5 else linear_axis([0, highest], label)


#: Points of the curve, at most.
MAX_POINTS = 400


@dataclass(frozen=True)
class PolicyRow:
    """A way to decide, how many rows it calls positive, and its money."""

    name: str
    n_predicted: float
    total: str


@dataclass(frozen=True)
class SavingsSection:
    """Data for the template savings.html."""

    savings: Savings
    prices: str
    policies: list[PolicyRow]
    figure: ChartFigure
    classes: list[Any]
    confusion: list[ConfusionRow]
    decimals: int
    integers: bool

    @property
    def lowest(self) -> str:
        """The lower end of the interval of the saving."""
        return _write_money(self.savings.low)

    @property
    def highest(self) -> str:
        """The upper end of the interval of the saving."""
        return _write_money(self.savings.high)

    @property
    def saving(self) -> str:
        """The saving, as it is shown."""
        return _write_money(self.savings.saving)


def build_savings(
    model: CAPOClassifier, labels: Labels, log_odds: FloatArray, prices: RowPrices, savings: Savings
) -> SavingsSection:
    """Compare the thresholds of the rows with one threshold for all, and draw the money by rows."""
    predicted = log_odds > prices.log_odds
    at_one_threshold = log_odds > model.decision_.log_odds
    threshold = formatting.format_threshold(model.threshold_)
    decisions = {
        "the threshold of each row": predicted,
        f"one threshold, {threshold}, for all rows": at_one_threshold,
        "no row positive": np.zeros_like(predicted),
        "every row positive": np.ones_like(predicted),
    }
    integers = labels.has_integer_weights
    return SavingsSection(
        savings=savings,
        prices=str(model.prices_),
        policies=[_policy(name, each, labels, prices) for name, each in decisions.items()],
        figure=_draw_curve(labels, log_odds, prices, predicted),
        classes=model.label_pair.tolist(),
        confusion=confusion_rows(model.label_pair.tolist(), _cells(labels, predicted)),
        decimals=formatting.count_decimals(labels.total, integers),
        integers=integers,
    )


def _policy(name: str, predicted: BoolArray, labels: Labels, prices: RowPrices) -> PolicyRow:
    total = float(labels.mass @ prices.values(labels.positive, predicted))
    return PolicyRow(name, float(labels.mass @ predicted), _write_money(total))


def _cells(labels: Labels, predicted: BoolArray) -> tuple[float, float, float, float]:
    tp, fp, fn, tn = (float(cell) for cell in labels.confusion(predicted))
    return tp, fp, fn, tn


def _draw_curve(labels: Labels, log_odds: FloatArray, prices: RowPrices, predicted: BoolArray) -> ChartFigure:
    """The money gained by calling more and more rows positive, in the order of their expected saving."""
    expected = prices.expected_savings(expit(log_odds))
    order = np.lexsort((-log_odds, -expected, ~predicted))
    gains = labels.mass * (
        prices.values(labels.positive, np.ones_like(predicted))
        - prices.values(labels.positive, np.zeros_like(predicted))
    )
    counts = np.concatenate(([0.0], np.cumsum(labels.mass[order])))
    money = np.concatenate(([0.0], np.cumsum(gains[order])))
    chosen = int(predicted.sum())
    points = np.linspace(0, len(order), min(len(order) + 1, MAX_POINTS)).astype(np.intp)
    points = np.unique(np.append(points, chosen))
    best = int(money.argmax())
    chart = Chart(
        "savings-chart",
        "Money gained by rows called positive",
        f"Calling the {formatting.format_count(counts[chosen])} rows with an expected saving positive gains "
        f"{_write_money(float(money[chosen]))} compared with calling none positive; the most on these rows "
        f"is {_write_money(float(money[best]))}, at {formatting.format_count(counts[best])} rows.",
        linear_axis(counts, "rows called positive"),
        linear_axis(money[points], "money gained", include_zero=True),
    )
    elements = [
        chart.line([0, counts[-1]], [0, money[-1]], "chance"),
        chart.line(counts[points], money[points], "curve"),
        chart.circle(float(counts[chosen]), float(money[chosen]), "chosen-point", radius=7),
    ]
    return ChartFigure(chart.title, chart.render(elements))


def _write_money(value: float) -> str:
    return formatting.use_minus_sign(format_money(value))


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


#: Limit on the columns in the table of importance.
MAX_COLUMNS = 15
#: Columns whose values are listed for each error.
N_VALUE_COLUMNS = 3


@dataclass(frozen=True)
class ImportanceRow:
    """A column with its importance drawn on a common scale."""

    column: ColumnImportance
    drawing: Markup


@dataclass(frozen=True)
class EffectRow:
    """The mean output for some values of a column."""

    values: str
    output: float
    low: float
    high: float
    share: float
    drawing: Markup


@dataclass(frozen=True)
class EffectFigure:
    """The effect of a column: a chart for plain numbers, otherwise only the table."""

    id: str
    column: str
    others: str
    scale: str
    figure: ChartFigure | None
    rows: list[EffectRow]


@dataclass(frozen=True)
class ImportanceSection:
    """Data for the template importance.html."""

    importance: Importance
    rows: list[ImportanceRow]
    n_more: int
    effects: list[EffectFigure]


@dataclass(frozen=True)
class ErrorRow:
    """An error with its probability, its loss if it has a price, and its values in the strongest columns."""

    row: int
    actual: Any
    probability: float
    loss: str
    values: list[str]


@dataclass(frozen=True)
class ErrorsSection:
    """Data for the template errors.html."""

    positive: Any
    columns: list[str]
    rows: list[ErrorRow]

    @property
    def have_losses(self) -> bool:
        """Whether the errors are those that cost the most."""
        return bool(self.rows[0].loss)


def build_importance(importance: Importance) -> ImportanceSection:
    """Collect the columns, the most important first, and the effects."""
    shown = importance.columns[:MAX_COLUMNS]
    scale = min(0.0, *(each.low for each in shown)), max(0.0, *(each.high for each in shown))
    scale = scale if scale[1] > scale[0] else (0.0, 1.0)
    rows = [
        ImportanceRow(each, draw_interval(each.low, each.value, each.high, scale, mark_zero=True))
        for each in shown
    ]
    effects = [_build_effect(f"effect-{i}", each) for i, each in enumerate(importance.effects, start=1)]
    return ImportanceSection(importance, rows, len(importance.columns) - len(shown), effects)


def _build_effect(id: str, effect: ColumnEffect) -> EffectFigure:
    low, high = min(each.low for each in effect.points), max(each.high for each in effect.points)
    rows = [
        EffectRow(
            each.values,
            each.output,
            each.low,
            each.high,
            each.share,
            draw_interval(each.low, each.output, each.high, (low, high)),
        )
        for each in effect.points
    ]
    figure = _draw_effect(f"{id}-chart", effect) if _has_plain_numbers(effect) else None
    return EffectFigure(id, effect.columns[0], ", ".join(effect.columns[1:]), effect.scale, figure, rows)


def _has_plain_numbers(effect: ColumnEffect) -> bool:
    """Whether the values are numbers without a unit, which an axis can show."""
    numbers = [each for each in effect.points if each.position is not None]
    if len(numbers) < 3:
        return False
    try:
        return all(np.isfinite(float(each.values.split(" to ")[0])) for each in numbers)
    except ValueError:
        return False


def _draw_effect(id: str, effect: ColumnEffect) -> ChartFigure:
    """The mean output by the value of a column of numbers, with a band of its interval."""
    points = [each for each in effect.points if each.position is not None]
    position, output, low, high = (
        np.array([getattr(each, name) for each in points], dtype=np.float64)
        for name in ("position", "output", "low", "high")
    )
    low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
    column = formatting.clean_name(effect.columns[0])
    chart = Chart(
        id,
        f"Effect of {column}",
        f"The mean {effect.scale} is {formatting.format_number(output[0])} for the smallest values of "
        f"{column} and {formatting.format_number(output[-1])} for the largest.",
        linear_axis(position, column[:40]),
        linear_axis(np.concatenate((low, high)), "mean probability"),
    )
    elements = [
        chart.band(position, low, high, "area"),
        chart.line(position, output, "curve"),
        *(chart.circle(x, y, "tried-point", radius=2.5) for x, y in zip(position, output, strict=True)),
    ]
    return ChartFigure(chart.title, chart.render(elements))


def build_errors(
    model: CAPOClassifier, errors: Sequence[WorstError], importance: Importance | None
) -> ErrorsSection | None:
    """Collect the worst errors with their values in the strongest columns; None if there is no error."""
    if not errors:
        return None
    known = list(errors[0].values)
    ranked = [name for each in importance.columns for name in each.columns[:1]] if importance else known
    columns = [name for name in ranked if name in known][:N_VALUE_COLUMNS]
    probabilities = model.as_probability(np.array([each.decision for each in errors]))
    rows = [
        ErrorRow(
            each.row, each.actual, probability, _format_loss(each), [each.values[name] for name in columns]
        )
        for each, probability in zip(errors, probabilities.tolist(), strict=True)
    ]
    return ErrorsSection(model.pos_label_, columns, rows)


def _format_loss(error: WorstError) -> str:
    return "" if error.loss is None else format_money(error.loss)
