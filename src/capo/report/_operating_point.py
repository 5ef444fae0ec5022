"""The operating point: the curves, the slider, and what a threshold does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _axes as axes
from . import _formatting as formatting
from ._curves import Curves
from ._svg import Chart
from ._tables import section, terms


def operating(model: Any, curves: Curves, value: float) -> str:
    """The section with the slider."""
    charts = _charts(curves)
    figures = "".join(
        f"<figure><figcaption>{escape(chart.title)}</figcaption>{chart.svg(marks)}</figure>"
        for chart, marks in charts
    )
    below = (
        f'<div class="outcome">{confusion(model.classes_, curves)}'
        f"{terms(_rates(model, curves, value), 'rates')}</div>"
    )
    return section(
        "operating",
        "Operating point",
        _lead(model, curves, value),
        _controls(curves),
        f'<div class="charts">{figures}</div>',
        _legend(),
        below,
    )


def data(model: Any, curves: Curves) -> str:
    """What the script needs, as JSON that cannot end its element."""
    charts = {chart.id: _pairs(chart, curves) for chart, _ in _charts(curves)}
    content = {
        "name": curves.name,
        "positive": formatting.quoted(model.classes_.tolist()[1]),
        "chosen": curves.chosen,
        "digits": formatting.digits_of(curves.total, curves.whole),
        "n_pos": _number(curves.n_pos, curves.whole),
        "n_neg": _number(curves.n_neg, curves.whole),
        "thresholds": [formatting.threshold(each) for each in curves.thresholds.tolist()],
        "values": [formatting.figure(each) for each in curves.values.tolist()],
        "tp": [_number(each, curves.whole) for each in curves.tp.tolist()],
        "fp": [_number(each, curves.whole) for each in curves.fp.tolist()],
        "places": charts,
    }
    text = json.dumps(content, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _number(mass: float, whole: bool) -> float:
    return round(mass) if whole else float(f"{mass:.12g}")


def _pairs(chart: Chart, curves: Curves) -> list[list[float]]:
    """Where each threshold is on a chart."""
    return chart.places(*_points(curves)[chart.id]).tolist()


def _points(curves: Curves) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """The two numbers that each chart shows."""
    return {
        "by-threshold": (curves.thresholds, curves.values),
        "by-recall": (curves.recall, curves.precision),
        "by-alarms": (curves.false_alarms, curves.recall),
    }


def _charts(curves: Curves) -> list[tuple[Chart, list[str]]]:
    """The three charts, each with what is drawn on it."""
    return [_by_threshold(curves), _by_recall(curves), _by_alarms(curves)]


def _by_threshold(curves: Curves) -> tuple[Chart, list[str]]:
    best = int(np.argmax(curves.values))
    chart = Chart(
        "by-threshold",
        f"{curves.name} by threshold",
        f"{curves.name} is {formatting.figure(curves.values[curves.chosen])} at the chosen threshold, "
        f"{_at(curves, curves.chosen)}; its highest value on these rows is "
        f"{formatting.figure(curves.values[best])}, at {_at(curves, best)}.",
        _threshold_axis(curves, "threshold (probability)"),
        axes.around(curves.values, curves.name, zero=True),
    )
    at = float(curves.thresholds[curves.chosen])
    return chart, [
        chart.upright(at, "mark"),
        chart.upright(at, "follow", id="follow"),
        *_curve(chart, curves),
    ]


def _by_recall(curves: Curves) -> tuple[Chart, list[str]]:
    share = curves.n_pos / curves.total
    chart = Chart(
        "by-recall",
        "Precision and recall",
        f"At the chosen threshold precision is {formatting.figure(curves.precision[curves.chosen])} and recall "
        f"{formatting.figure(curves.recall[curves.chosen])}. Guessing has a precision of {formatting.figure(share)}.",
        axes.unit("recall"),
        axes.unit("precision"),
    )
    return chart, [chart.line([0, 1], [share, share], "guess"), *_curve(chart, curves)]


def _by_alarms(curves: Curves) -> tuple[Chart, list[str]]:
    chart = Chart(
        "by-alarms",
        "ROC curve",
        "At the chosen threshold the true positive rate is "
        f"{formatting.figure(curves.recall[curves.chosen])} and the false positive rate "
        f"{formatting.figure(curves.false_alarms[curves.chosen])}.",
        axes.unit("false positive rate"),
        axes.unit("true positive rate"),
    )
    return chart, [chart.line([0, 1], [0, 1], "guess"), *_curve(chart, curves)]


def _curve(chart: Chart, curves: Curves) -> list[str]:
    """A curve with the chosen point and the one that the slider moves."""
    x, y = _points(curves)[chart.id]
    at = float(x[curves.chosen]), float(y[curves.chosen])
    return [
        chart.line(x, y, "curve"),
        chart.dot(*at, "chosen", radius=7),
        chart.dot(*at, "point", radius=4.5, id=f"{chart.id}-point"),
    ]


def _threshold_axis(curves: Curves, label: str) -> axes.Axis:
    return (
        axes.unit(label)
        if curves.thresholds.max() > 0.5
        else axes.around([0, curves.thresholds.max()], label)
    )


def _at(curves: Curves, place: int) -> str:
    return formatting.threshold(float(curves.thresholds[place]))


def _lead(model: Any, curves: Curves, value: float) -> str:
    """What the slider is for, and what the measure has to do with a threshold."""
    measure = model.measure_
    positive = formatting.positive_class(model)
    first = (
        f"Rows above the threshold are predicted as {positive}. The slider shows what other thresholds would "
        "do on these rows; the model keeps its own."
    )
    full, text = formatting.breakable(measure.label), formatting.figure(value)
    if measure.needs_threshold:
        second = ""
    elif curves.name == measure.label:
        second = (
            f" {full} is the best that any threshold reaches, {text} on these rows; the curve shows what "
            "each one reaches by itself."
        )
    else:
        second = f" {full} is {text} at every threshold, so that the first curve shows {curves.name} instead."
    return f'<p class="lead">{first}{second}</p>'


def _controls(curves: Curves) -> str:
    at, value = _at(curves, curves.chosen), formatting.figure(float(curves.values[curves.chosen]))
    shown, name = formatting.breakable(curves.name), escape(curves.name)
    return f"""
<div class="controls">
<label for="slider">Threshold <output id="threshold" for="slider" aria-live="off">{at}</output></label>
<p class="now">{shown} <output id="value" for="slider" aria-live="off">{value}</output></p>
<input type="range" id="slider" min="0" max="{len(curves.cuts) - 1}" step="1" value="{curves.chosen}"
 autocomplete="off" aria-valuetext="threshold {at}: {name} {value}">
<button type="button" id="back">Back to the chosen threshold</button>
</div>
<p id="status" class="unseen" role="status" aria-live="polite"></p>
<noscript><p class="hint">The slider needs JavaScript. Curves and figures are those of the chosen
threshold.</p></noscript>
"""


def _legend() -> str:
    swatch = '<svg class="swatch" viewBox="0 0 16 16" aria-hidden="true">{}</svg>'
    chosen = swatch.format('<circle class="chosen" cx="8" cy="8" r="6"/>')
    point = swatch.format('<circle class="point" cx="8" cy="8" r="4.5"/>')
    guess = swatch.format('<path class="guess" d="M0,8L16,8"/>')
    return (
        f'<p class="legend"><span>{chosen} chosen threshold</span> <span class="live">{point} slider</span> '
        f"<span>{guess} guessing</span></p>"
    )


def confusion(classes: NDArray[Any], curves: Curves) -> str:
    """The confusion table at the chosen threshold, actual classes down and predicted ones across."""
    negative, positive = (formatting.name(each) for each in classes.tolist())
    tp, fp = float(curves.tp[curves.chosen]), float(curves.fp[curves.chosen])
    fn, tn = curves.n_pos - tp, curves.n_neg - fp
    lines = [
        (f"actual {negative}", [("tn", tn), ("fp", fp)], curves.n_neg),
        (f"actual {positive}", [("fn", fn), ("tp", tp)], curves.n_pos),
        ("all", [("below", fn + tn), ("above", tp + fp)], curves.total),
    ]
    digits = formatting.digits_of(curves.total, curves.whole)
    body = "".join(_line(*each, digits) for each in lines)
    return f"""
<div class="scroll" role="group" aria-labelledby="confusion-caption"><table class="confusion" id="confusion">
<caption id="confusion-caption"><span>Confusion table{"" if curves.whole else ", weighted"}</span></caption>
<thead><tr><td></td><th scope="col">predicted {negative}</th><th scope="col">predicted {positive}</th>
<th scope="col">all</th></tr></thead><tbody>{body}</tbody></table></div>
"""


def _line(heading: str, cells: Sequence[tuple[str, float]], total: float, digits: int) -> str:
    inner = "".join(
        f'<td><span id="{id}">{formatting.count(mass, digits)}</span> '
        f'<small id="{id}-share">{formatting.percent(mass, total)}</small></td>'
        for id, mass in cells
    )
    return f'<tr><th scope="row">{heading}</th>{inner}<td>{formatting.count(total, digits)}</td></tr>'


def _rates(model: Any, curves: Curves, value: float) -> list[tuple[str, str]]:
    """The measure and what else is read from a confusion table, at the chosen threshold."""
    tp, fp = float(curves.tp[curves.chosen]), float(curves.fp[curves.chosen])
    fn, tn = curves.n_pos - tp, curves.n_neg - fp
    shown = [
        ("precision", "precision", formatting.rate(tp, tp + fp)),
        ("recall", "recall", formatting.rate(tp, tp + fn)),
        ("f1", "F1", formatting.rate(2 * tp, 2 * tp + fp + fn)),
        ("specificity", "specificity", formatting.rate(tn, tn + fp)),
        ("accuracy", "accuracy", formatting.rate(tp + tn, curves.total)),
        ("share", "predicted positive", formatting.percent(tp + fp, curves.total)),
    ]
    rates = [(label, f'<span id="rate-{id}">{text}</span>') for id, label, text in shown]
    measure = model.measure_.label
    if measure in ("f1", "accuracy"):
        return rates
    here = formatting.figure(float(curves.values[curves.chosen]))
    fixed = f"{formatting.figure(value)} <small>at every threshold</small>"
    text = f'<span id="rate-measure">{here}</span>' if curves.name == measure else fixed
    return [(formatting.breakable(measure), text), *rates]
