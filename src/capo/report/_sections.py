"""Numbers and charts of the page.

A row is predicted as positive if its decision is above a cut; the model's own cut is 0. If there are many
rows, the cuts are spaced evenly over the rows of either class, so that a rare class is covered as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, ndtri

from .._compat import BoolArray, FloatArray, IntArray
from ..decisions import RowPrices, format_money
from ..engine import Solution
from ..inspection import ColumnEffect
from ..measures import ConfusionMeasure, Labels, Measure, ScoreCurve, get, ratio, score_curve
from ._svg import Chart, linear_axis, log_axis, probability_axis, unit_axis
from ._templating import (
    clean_name,
    count_decimals,
    format_count,
    format_number,
    format_significant,
    format_threshold,
    pluralize,
    quote_label,
    use_minus_sign,
)

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier


#: Limit on the number of thresholds, and those that are spaced evenly over the rows of each class.
MAX_THRESHOLDS, N_PER_CLASS = 500, 248
#: Thresholds that the scale of the slider shows if there is room, the more important ones first.
ROUND_THRESHOLDS = (
    *(0.5, 0.1, 0.9, 0.2, 0.8, 0.01, 0.99, 0.3, 0.7, 0.05, 0.95, 0.4, 0.6),
    *(0.02, 0.98, 0.001, 0.999, 0.005, 0.995, 0.002, 0.998, 0.0001, 0.9999),
)
#: Models with more different thresholds out of fold have one per row, not per fold.
MAX_FOLD_THRESHOLDS = 20
#: The smallest distance of two ticks of the slider, in percent of its width.
MIN_TICK_DISTANCE = 11.0
#: Bins of the calibration, with about equally many rows.
N_BINS = 10
#: Standard errors on either side of a share in a 95% interval.
N_STD_ERRORS = float(ndtri(0.975))
#: Points of the curve of savings, at most.
MAX_POINTS = 400


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
    # F1 is drawn if the model's measure does not depend on the threshold.
    shown = model.measure_.at_threshold() or get("f1")
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


def describe_operating_point(model: CAPOClassifier, curves: ThresholdCurves) -> dict[str, Any]:
    """Return the charts, the scale of the slider, and the numbers that the script shows as it moves."""
    by_fold = fold_thresholds(model)
    figures, positions = _draw_curves(curves, by_fold)
    decimals = count_decimals(curves.total, curves.integers)
    return {
        "figures": figures,
        "fold_thresholds": by_fold,
        "ticks": slider_ticks(curves.thresholds),
        "slider_data": {
            "measure": curves.measure_label,
            "positive": quote_label(model.pos_label_),
            "chosen": curves.chosen,
            "decimals": decimals,
            "n_pos": _round_count(curves.n_pos, curves.integers),
            "n_neg": _round_count(curves.n_neg, curves.integers),
            "thresholds": [format_threshold(each) for each in curves.thresholds.tolist()],
            "values": [format_number(each) for each in curves.values.tolist()],
            "tp": [_round_count(each, curves.integers) for each in curves.tp.tolist()],
            "fp": [_round_count(each, curves.integers) for each in curves.fp.tolist()],
            "positions": positions,
        },
    }


def slider_ticks(thresholds: FloatArray) -> list[tuple[float, str]]:
    """Return round thresholds with room for their labels, at percentages of the slider's width.

    The slider moves by rows, so that they are not even.
    """
    last = max(len(thresholds) - 1, 1)
    inside = [each for each in ROUND_THRESHOLDS if thresholds[0] < each < thresholds[-1]]
    ticks: list[tuple[float, str]] = []
    for each in inside if len(inside) > 1 else [float(thresholds[0]), float(thresholds[-1])]:
        percent = 100.0 * float(np.interp(each, thresholds, np.arange(len(thresholds)))) / last
        if all(abs(percent - other) >= MIN_TICK_DISTANCE for other, _ in ticks):
            ticks.append((percent, format_threshold(each).rstrip("0") or "0"))
    return sorted(ticks)


def _round_count(count: float, integers: bool) -> float:
    return round(count) if integers else float(f"{count:.12g}")


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


def _draw_curves(
    curves: ThresholdCurves, by_fold: Sequence[float]
) -> tuple[list[Chart], dict[str, list[list[float]]]]:
    """The three charts, and the points of their curves on the page."""
    best, chosen, label = int(np.argmax(curves.values)), curves.chosen, curves.measure_label
    threshold, best_threshold = (float(curves.thresholds[i]) for i in (chosen, best))
    precision, recall, false_rate, value, best_value = (
        format_number(float(each))
        for each in (
            curves.precision[chosen],
            curves.recall[chosen],
            curves.false_positive_rate[chosen],
            curves.values[chosen],
            curves.values[best],
        )
    )
    by_threshold = Chart(
        "threshold-chart",
        f"{label} by threshold",
        f"{label} is {value} at the model's threshold, {format_threshold(threshold)}; its highest value on "
        f"these rows is {best_value}, at {format_threshold(best_threshold)}.",
        probability_axis(float(curves.thresholds.max()), "threshold (probability)"),
        linear_axis(curves.values, label, include_zero=True),
    )
    for each in by_fold:
        if each <= by_threshold.x.high:
            by_threshold.vertical_line(each, "fold-line")
    by_threshold.vertical_line(threshold, "chosen-line")
    by_threshold.vertical_line(threshold, "slider-line", id="slider-line")
    prevalence = curves.n_pos / curves.total
    precision_recall = Chart(
        "precision-recall-chart",
        "Precision and recall",
        f"At the model's threshold precision is {precision} and recall {recall}. Random predictions have a "
        f"precision of {format_number(prevalence)}.",
        unit_axis("recall"),
        unit_axis("precision"),
    )
    roc = Chart(
        "roc-chart",
        "ROC curve",
        f"At the model's threshold the true positive rate is {recall} and the false positive rate "
        f"{false_rate}.",
        unit_axis("false positive rate"),
        unit_axis("true positive rate"),
    )
    precision_recall.line([0, 1], [prevalence, prevalence], "chance")
    roc.line([0, 1], [0, 1], "chance")
    curve_of = {
        by_threshold.id: (curves.thresholds, curves.values),
        precision_recall.id: (curves.recall, curves.precision),
        roc.id: (curves.false_positive_rate, curves.recall),
    }
    charts = [by_threshold, precision_recall, roc]
    for chart in charts:
        x, y = curve_of[chart.id]
        chart.line(x, y, "curve")
        chart.circle(float(x[chosen]), float(y[chosen]), "chosen-point", radius=7)
        chart.circle(float(x[chosen]), float(y[chosen]), "slider-point", radius=4.5, id=f"{chart.id}-point")
    return charts, {chart.id: chart.positions(*curve_of[chart.id]).tolist() for chart in charts}


@dataclass(frozen=True)
class CalibrationBin:
    """Rows with similar probabilities, and the share of positive rows among them with its interval."""

    probability: float
    share: float
    low: float
    high: float
    n_rows: int


def calibration_bins(
    probability: FloatArray, positive: BoolArray, weight: FloatArray
) -> list[CalibrationBin]:
    """Divide the rows into bins by their probability; equal probabilities are in the same bin."""
    cuts = np.unique(np.quantile(probability, np.linspace(0, 1, N_BINS + 1)[1:-1]))
    codes = np.searchsorted(cuts, probability, side="left")
    bins = []
    for code in np.unique(codes[weight > 0]):
        rows = (codes == code) & (weight > 0)
        mass = weight[rows]
        share = float(np.average(positive[rows], weights=mass))
        low, high = wilson_interval(share, float(mass.sum() ** 2 / (mass**2).sum()))
        mean = float(np.average(probability[rows], weights=mass))
        bins.append(CalibrationBin(mean, share, low, high, len(mass)))
    return bins


def wilson_interval(share: float, n: float) -> tuple[float, float]:
    """Wilson's 95% interval of a share of n rows."""
    z2 = N_STD_ERRORS**2 / n
    middle = (share + z2 / 2) / (1 + z2)
    margin = N_STD_ERRORS * np.sqrt(share * (1 - share) / n + z2 / (4 * n)) / (1 + z2)
    return max(0.0, float(middle - margin)), min(1.0, float(middle + margin))


def draw_calibration(bins: list[CalibrationBin]) -> Chart:
    """Draw the share of positive rows by probability."""
    gap = max(abs(each.share - each.probability) for each in bins)
    highest = max(max(each.high, each.probability) for each in bins)
    chart = Chart(
        "calibration-chart",
        "Share of positive rows by probability",
        f"{pluralize(len(bins), 'bin')} of rows; the largest difference between mean probability "
        f"and share of positive rows is {format_number(gap)}.",
        probability_axis(highest, "mean probability"),
        probability_axis(highest, "share of positive rows"),
    )
    chart.line([0, chart.x.high], [0, chart.x.high], "chance")
    for each in bins:
        chart.line([each.probability] * 2, [each.low, each.high], "whisker")
    chart.line([each.probability for each in bins], [each.share for each in bins], "curve")
    for each in bins:
        chart.circle(each.probability, each.share, "tried-point", radius=3.5)
    return chart


def list_policies(
    model: CAPOClassifier, labels: Labels, log_odds: FloatArray, prices: RowPrices
) -> list[tuple[str, float, str]]:
    """Return the ways to decide, how many rows each calls positive, and its money."""
    predicted = log_odds > prices.log_odds
    threshold = format_threshold(model.threshold_)
    decisions = {
        "the threshold of each row": predicted,
        f"one threshold, {threshold}, for all rows": log_odds > model.decision_.log_odds,
        "no row positive": np.zeros_like(predicted),
        "every row positive": np.ones_like(predicted),
    }
    return [
        (
            name,
            float(labels.mass @ each),
            write_money(float(labels.mass @ prices.values(labels.positive, each))),
        )
        for name, each in decisions.items()
    ]


def draw_savings(labels: Labels, log_odds: FloatArray, prices: RowPrices) -> Chart:
    """The money gained by calling more and more rows positive, in the order of their expected saving."""
    predicted = log_odds > prices.log_odds
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
        f"Calling the {format_count(counts[chosen])} rows with an expected saving positive gains "
        f"{write_money(float(money[chosen]))} compared with calling none positive; the most on these rows "
        f"is {write_money(float(money[best]))}, at {format_count(counts[best])} rows.",
        linear_axis(counts, "rows called positive"),
        linear_axis(money[points], "money gained", include_zero=True),
    )
    chart.line([0, counts[-1]], [0, money[-1]], "chance")
    chart.line(counts[points], money[points], "curve")
    chart.circle(float(counts[chosen]), float(money[chosen]), "chosen-point", radius=7)
    return chart


def write_money(value: float) -> str:
    """Write an amount of money with a minus sign."""
    return use_minus_sign(format_money(value))


def draw_solver(solution: Solution) -> Chart | None:
    """Draw the primal and dual objective after each iteration, and last those of the solution."""
    if len(solution.history) < 2:
        return None
    primal = np.array([*(each.primal for each in solution.history), solution.primal])
    dual = np.array([*(each.dual for each in solution.history), solution.dual])
    iterations = np.arange(1, len(primal) + 1, dtype=np.float64)
    iterations[-1] = iterations[-2]
    chart = Chart(
        "solver-chart",
        "Primal and dual objective by iteration",
        f"The primal objective falls to {format_significant(solution.primal)} and the dual "
        f"objective rises to {format_significant(solution.dual)} in "
        f"{pluralize(solution.n_iter, 'iteration')}.",
        linear_axis([1, iterations[-1]], "iteration"),
        linear_axis(np.concatenate((primal, _visible_bounds(dual, primal))), "objective"),
    )
    lower = np.maximum(dual, chart.y.low)
    chart.band(iterations, lower, primal, "area")
    chart.line(iterations, primal, "curve")
    chart.line(iterations, lower, "curve second")
    return chart


def _visible_bounds(dual: FloatArray, primal: FloatArray) -> FloatArray:
    """The lower bounds to fit into the chart: the first ones can be far below all other values."""
    room = 3.0 * (primal.max() - primal.min()) + 1e-12
    near = dual[dual >= primal.min() - max(room, primal[-1] - dual[-1])]
    return near if near.size else dual[-1:]


def draw_path(model: CAPOClassifier) -> Chart:
    """Draw the out-of-fold value of the measure for each C."""
    results, measure = model.cv_results_, model.measure_.label
    order = np.argsort(results["param_C"])
    C, value, std = (results[key][order] for key in ("param_C", "test_score", "std_test_score"))
    chosen = int(np.flatnonzero(C == model.C_)[0])
    axis, positions = log_axis(np.asarray(C, dtype=np.float64), "C")
    chart = Chart(
        "C-path-chart",
        f"{measure} by C, out of fold",
        f"{measure} is {format_number(value[chosen], 4)} at the chosen C = "
        f"{format_significant(model.C_)}; the values range from "
        f"{format_number(value.min(), 4)} to {format_number(value.max(), 4)}.",
        axis,
        linear_axis(np.concatenate((value - std, value + std)), measure),
    )
    chart.band(positions, value - std, value + std, "area")
    chart.line(positions, value, "curve")
    chart.circle(positions[chosen], value[chosen], "chosen-point", radius=7)
    for x, y in zip(positions, value, strict=True):
        chart.circle(x, y, "tried-point", radius=2.5)
    return chart


def draw_effect(id: str, effect: ColumnEffect) -> Chart | None:
    """Draw the mean output by the value of a column, with a band of its interval.

    None unless the values are plain numbers, without a unit, which an axis can show.
    """
    points = [each for each in effect.points if each.position is not None]
    try:
        plain = all(np.isfinite(float(each.values.split(" to ")[0])) for each in points)
    except ValueError:
        return None
    if len(points) < 3 or not plain:
        return None
    position, output, low, high = (
        np.array([getattr(each, name) for each in points], dtype=np.float64)
        for name in ("position", "output", "low", "high")
    )
    low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
    column = clean_name(effect.columns[0])
    chart = Chart(
        id,
        f"Effect of {column}",
        f"The mean {effect.scale} is {format_number(output[0])} for the smallest values of "
        f"{column} and {format_number(output[-1])} for the largest.",
        linear_axis(position, column[:40]),
        linear_axis(np.concatenate((low, high)), "mean probability"),
    )
    chart.band(position, low, high, "area")
    chart.line(position, output, "curve")
    for x, y in zip(position, output, strict=True):
        chart.circle(x, y, "tried-point", radius=2.5)
    return chart
