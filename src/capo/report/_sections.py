"""Numbers of the page, and charts as SVG.

Elements of a chart are `Markup` made with its `format`, which escapes the arguments; chart.html draws the
axes.

A row is predicted as positive if its decision is above a cut; the model's own cut is 0. If there are many
rows, the cuts are spaced evenly over the rows of either class, so that a rare class is covered as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaincinv, expit

from .._compat import ArrayLike, BoolArray, FloatArray
from ..decisions import RowPrices, format_money
from ..engine import Solution
from ..inspection import ColumnEffect
from ..measures import ConfusionMeasure, Labels, Measure, get, ratio, score_curve
from . import _templating as templates
from ._templating import Markup, format_number, format_threshold, load_environment, use_minus_sign

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
#: Points of the curve of savings, at most.
MAX_POINTS = 400
#: The size of a chart, and the space around its axes.
WIDTH, HEIGHT = 360, 280
LEFT, RIGHT, TOP, BOTTOM = 44, 14, 28, 46


@dataclass(frozen=True)
class Axis:
    """The interval from `low` to `high`, with labeled ticks."""

    low: float
    high: float
    ticks: list[tuple[float, str]]
    label: str

    def fraction(self, values: ArrayLike) -> FloatArray:
        """The position of each value along the axis, from 0 to 1."""
        return (np.asarray(values, dtype=np.float64) - self.low) / (self.high - self.low)


def probability_axis(label: str, highest: float = 1.0) -> Axis:
    """An axis from 0 to 1, or to the highest probability if that is small."""
    if highest <= 0.5:
        return linear_axis([0, highest], label)
    return Axis(0.0, 1.0, [(tenths / 10, f"{tenths / 10:g}") for tenths in range(0, 11, 2)], label)


def linear_axis(values: ArrayLike, label: str, *, include_zero: bool = False, n_ticks: int = 5) -> Axis:
    """An axis between the round numbers that enclose all values, with about `n_ticks` ticks."""
    array = np.asarray(values, dtype=np.float64)
    low, high = float(array.min()), float(array.max())
    low = min(low, 0.0) if include_zero else low
    if include_zero and low == high == 0.0:
        high = 1.0
    if not high > low:
        low, high = low - (abs(low) or 1.0) * 0.1, high + (abs(high) or 1.0) * 0.1
    rough = (high - low) / n_ticks
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [(each * step, format_tick(each * step, step)) for each in range(first, last + 1)]
    return Axis(first * step, last * step, ticks, label)


def log_axis(values: FloatArray, label: str) -> tuple[Axis, FloatArray]:
    """A logarithmic axis for ascending values, and their positions; 0 is placed left of the others."""
    logs = np.log10(values[values > 0])
    positions = np.concatenate((np.full(len(values) - len(logs), logs[0] - 0.75), logs))
    powers = range(math.ceil(logs[0] - 1e-9), math.floor(logs[-1] + 1e-9) + 1)
    stride = max(1, math.ceil(len(powers) / 6))
    ticks = [(float(each), f"{10.0**each:g}") for each in powers[::stride]]
    zero = [(float(positions[0]), "0")] if values[0] == 0 else []
    return Axis(positions[0] - 0.15, positions[-1] + 0.15, [*zero, *ticks], label), positions


def format_tick(value: float, step: float) -> str:
    """Write a tick with as many decimals as the step has, or with k, M or G if it is large."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if step >= size / 10 and abs(value) >= size:
            return use_minus_sign(f"{value / size:g}{letter}")
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) if abs(value) > step / 2 else 0
    return use_minus_sign(f"{value:.{digits}f}")


@dataclass(frozen=True)
class Chart:
    """Two axes in an SVG of 360 by 280; its methods draw in the axes' coordinates, one above the other."""

    id: str
    title: str
    description: str
    x: Axis
    y: Axis
    elements: list[Markup] = field(default_factory=list)

    def positions(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """The SVG coordinates of points, one row per point."""
        across = LEFT + self.x.fraction(x) * (WIDTH - LEFT - RIGHT)
        down = HEIGHT - BOTTOM - self.y.fraction(y) * (HEIGHT - TOP - BOTTOM)
        return np.column_stack((across, down)).round(1)

    def line(self, x: ArrayLike, y: ArrayLike, css: str, end: str = "") -> None:
        """Connect points by straight lines."""
        points = self.positions(x, y)
        moved = np.append(True, (np.diff(points, axis=0) != 0).any(axis=1))
        path = "L".join(f"{across:g},{down:g}" for across, down in points[moved])
        self.elements.append(Markup('<path class="{}" d="M{}{}"/>').format(css, path, end))

    def band(self, x: FloatArray, low: FloatArray, high: FloatArray, css: str) -> None:
        """Fill the area between two lines."""
        self.line(np.concatenate((x, x[::-1])), np.concatenate((low, high[::-1])), css, end="Z")

    def circle(self, x: float, y: float, css: str, radius: float = 5, id: str = "") -> None:
        """Draw a circle around a point."""
        across, down = self.positions([x], [y])[0]
        self._draw("circle", css, id, cx=across, cy=down, r=radius)

    def vertical_line(self, x: float, css: str, id: str = "") -> None:
        """Draw a line from the bottom to the top of the chart."""
        across = self.positions([x], [self.y.low])[0, 0]
        self._draw("line", css, id, x1=across, x2=across, y1=TOP, y2=HEIGHT - BOTTOM)

    def _draw(self, tag: str, css: str, id: str, **numbers: float) -> None:
        texts = {"class": css, **{name: f"{value:g}" for name, value in numbers.items()}}
        texts = {"id": id, **texts} if id else texts
        attributes = Markup(" ").join(Markup('{}="{}"').format(*each) for each in texts.items())
        self.elements.append(Markup("<{} {}/>").format(tag, attributes))

    def __html__(self) -> str:
        """The figure, with a title and a description for screen readers."""
        frame = {"left": LEFT, "right": WIDTH - RIGHT, "base": HEIGHT - BOTTOM}
        size = {"width": WIDTH, "height": HEIGHT}
        return load_environment().get_template("chart.html").render(chart=self, **frame, **size)


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
    last = len(curve.tp) - 1
    kept = np.arange(last + 1)[::-1]
    if last >= MAX_THRESHOLDS:  # the chosen cut, the first and the last are always kept
        masses = (curve.tp, curve.fp)
        inner = [np.searchsorted(each, np.linspace(0.0, each[-1], N_PER_CLASS)) for each in masses]
        kept = np.unique(np.concatenate([*inner, [0, zero, last]])).astype(np.intp)[::-1]
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

    def write(count: float) -> float:
        return round(count) if curves.integers else float(f"{count:.12g}")

    return {
        "figures": figures,
        "fold_thresholds": by_fold,
        "ticks": slider_ticks(curves.thresholds),
        "slider_data": {
            "measure": curves.measure_label,
            "positive": templates.quote_label(model.pos_label_),
            "chosen": curves.chosen,
            "decimals": templates.decimals_of_counts(curves.total, curves.integers),
            "n_pos": write(curves.n_pos),
            "n_neg": write(curves.n_neg),
            "thresholds": [format_threshold(each) for each in curves.thresholds.tolist()],
            "values": [format_number(each) for each in curves.values.tolist()],
            "tp": [write(each) for each in curves.tp.tolist()],
            "fp": [write(each) for each in curves.fp.tolist()],
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


def fold_thresholds(model: CAPOClassifier) -> list[float]:
    """The thresholds that were chosen without the rows of one fold, as ascending probabilities.

    Empty if the threshold was not chosen by cross-validation, or was changed afterward.
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
    rates = (curves.precision, curves.recall, curves.false_positive_rate, curves.values)
    precision, recall, false_rate, value = (format_number(float(each[chosen])) for each in rates)
    best_value = format_number(float(curves.values[best]))
    by_threshold = Chart(
        "threshold-chart",
        f"{label} by threshold",
        f"{label} is {value} at the model's threshold, {format_threshold(threshold)}; its highest value on "
        f"these rows is {best_value}, at {format_threshold(best_threshold)}.",
        probability_axis("threshold (probability)", float(curves.thresholds.max())),
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
        probability_axis("recall"),
        probability_axis("precision"),
    )
    roc = Chart(
        "roc-chart",
        "ROC curve",
        f"At the model's threshold the true positive rate is {recall} and the false positive rate "
        f"{false_rate}.",
        probability_axis("false positive rate"),
        probability_axis("true positive rate"),
    )
    precision_recall.line([0, 1], [prevalence, prevalence], "chance")
    roc.line([0, 1], [0, 1], "chance")
    drawn = [
        (by_threshold, curves.thresholds, curves.values),
        (precision_recall, curves.recall, curves.precision),
        (roc, curves.false_positive_rate, curves.recall),
    ]
    for chart, x, y in drawn:
        chart.line(x, y, "curve")
        chart.circle(float(x[chosen]), float(y[chosen]), "chosen-point", radius=7)
        chart.circle(float(x[chosen]), float(y[chosen]), "slider-point", radius=4.5, id=f"{chart.id}-point")
    positions = {chart.id: chart.positions(x, y).tolist() for chart, x, y in drawn}
    return [chart for chart, _, _ in drawn], positions


@dataclass(frozen=True)
class CalibrationBin:
    """Rows with similar probabilities, and the share of positive rows with its interval (Jeffreys)."""

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
        n = float(mass.sum() ** 2 / (mass**2).sum())  # rows of equal weight (Kish)
        low, high = betaincinv(n * share + 0.5, n * (1.0 - share) + 0.5, (0.025, 0.975)).tolist()
        mean = float(np.average(probability[rows], weights=mass))
        bins.append(CalibrationBin(mean, share, low, high, len(mass)))
    return bins


def draw_calibration(bins: list[CalibrationBin]) -> Chart:
    """Draw the share of positive rows by probability."""
    gap = max(abs(each.share - each.probability) for each in bins)
    highest = max(max(each.high, each.probability) for each in bins)
    chart = Chart(
        "calibration-chart",
        "Share of positive rows by probability",
        f"{templates.pluralize(len(bins), 'bin')} of rows; the largest difference between mean probability "
        f"and share of positive rows is {format_number(gap)}.",
        probability_axis("mean probability", highest),
        probability_axis("share of positive rows", highest),
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
    """Return the ways to decide, with the number of rows that each calls positive and its total."""
    threshold, n_rows = format_threshold(model.threshold_), len(log_odds)
    decisions = {
        "the threshold of each row": prices.decide(log_odds),
        f"one threshold, {threshold}, for all rows": log_odds > model.decision_.log_odds,
        "no row positive": np.zeros(n_rows, dtype=bool),
        "every row positive": np.ones(n_rows, dtype=bool),
    }
    if prices.abstain_label is not None:
        decisions["asking about every row"] = np.ones(n_rows, dtype=int)
    policies = []
    for name, each in decisions.items():
        money = float(labels.mass @ prices.values(labels.positive, each))
        is_positive = each if each.dtype == np.bool_ else each == 2
        policies.append((name, float(labels.mass @ is_positive), write_money(money)))
    return policies


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
        f"Calling the {templates.format_count(counts[chosen])} rows with an expected saving positive gains "
        f"{write_money(float(money[chosen]))} compared with calling none positive; the most on these rows "
        f"is {write_money(float(money[best]))}, at {templates.format_count(counts[best])} rows.",
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
        f"The primal objective falls to {templates.format_significant(solution.primal)} and the dual "
        f"objective rises to {templates.format_significant(solution.dual)} in "
        f"{templates.pluralize(solution.n_iter, 'iteration')}.",
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
        f"{templates.format_significant(model.C_)}; the values range from "
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
    column = templates.clean_name(effect.columns[0])
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
