"""What the training found: the models out of fold, the delta function, the certificate, the path of C's."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from ..engine import Status
from ..inspection import frozen_auxiliary_names
from . import _axes as axes
from . import _formatting as formatting
from ._svg import Chart, bar
from ._tables import Row, Table, section, terms

#: Features of the delta function that are shown.
STRONGEST = 15


def models(model: Any) -> str:
    """The auxiliaries, the stack and the adapted model, with their weights."""
    summary = model.summary()
    weights = [line.weight for line in summary.lines if line.weight is not None]
    low, high = min(0.0, *weights), max(0.0, *weights)
    rows = [
        Row(
            formatting.name(line.name).replace(" = ", "&nbsp;=&nbsp;")
            + (' <span class="tag">chosen</span>' if line.chosen else ""),
            [
                formatting.figure(line.value, 4),
                f"± {formatting.figure(line.spread, 4)}",
                "" if line.weight is None else formatting.minus(f"{line.weight:.3f}"),
                "" if line.weight is None else bar(line.weight, low, high),
            ],
            line.chosen,
        )
        for line in summary.lines
    ]
    columns = ["model", formatting.breakable(model.measure_.label), "spread", "weight", ""]
    columns[-1] = '<span class="unseen">weight as a bar</span>'
    table = Table(
        "models", "Values in training and weights of the auxiliaries", columns, rows, frozenset({4})
    )
    return section("training", "From the training", _models_lead(model), table.html())


def _models_lead(model: Any) -> str:
    n_rows, n_pos = len(model.oof_decision_), model.n_positive_
    positive, given = formatting.positive_class(model), frozen_auxiliary_names(model)
    but = f" (which {escape(given)}, trained elsewhere, may have)" if given else ""
    return (
        f"<p>Trained on {formatting.many(n_rows, 'row')}, {n_pos:,} of them {positive} "
        f"({formatting.percent(n_pos, n_rows)}). Every value is of rows that the models had not seen{but}, "
        "thresholds included. The weights are those of the auxiliaries in the final model; the spread is "
        "over folds.</p>"
    )


def delta(model: Any) -> str:
    """The features with which the model corrects its auxiliaries."""
    coef = model.delta_coef_
    used = sorted((name for name in coef if coef[name]), key=lambda name: -abs(coef[name]))
    if not used:
        what = "The model has no delta function." if not coef else _unused(len(coef))
        return section("delta", "Delta function", f"<p>{what}</p>")
    shown = used[:STRONGEST]
    ends = min(0.0, *(coef[name] for name in shown)), max(0.0, *(coef[name] for name in shown))
    rows = [
        Row(formatting.name(name), [formatting.signed(coef[name]), bar(coef[name], *ends)]) for name in shown
    ]
    columns = ["feature", "weight", '<span class="unseen">weight as a bar</span>']
    caption = f"The {len(shown)} strongest features" if len(used) > len(shown) else "All features used"
    positive = formatting.positive_class(model)
    lead = (
        f"<p>{len(used):,} of {formatting.many(len(coef), 'feature')} used. A weight above 0 speaks for "
        f"{positive}, beyond what the auxiliaries say.</p>"
    )
    return section(
        "delta", "Delta function", lead, Table("features", caption, columns, rows, frozenset({2})).html()
    )


def _unused(number: int) -> str:
    if number == 1:
        return "None used: its one feature has weight 0."
    return f"None used: {number:,} features could have corrected the auxiliaries, and all have weight 0."


def certificate(model: Any) -> str:
    """How far the solution can be from the best there is."""
    if model.solution_ is None:
        return section("certificate", "Certificate", f"<p>{_kept(model)}</p>")
    pairs = [
        ("C", formatting.compact(model.C_)),
        ("primal", formatting.compact(model.primal_)),
        ("dual", formatting.compact(model.dual_)),
        ("gap", formatting.minus(f"{model.gap_:.2g}")),
        ("rounds", f"{model.n_iter_:,}"),
    ]
    status = model.solution_.status
    end = "Solved" if status is Status.OPTIMAL else "Stopped"
    lead = (
        f"<p>{end}: {status.value}. The objective is {formatting.compact(model.primal_)} and no solution is below "
        f"{formatting.compact(model.dual_)}, so that the bound of the measure is within "
        f"{model.gap_ / model.C_:.2g} of its minimum.</p>"
    )
    return section("certificate", "Certificate", lead, terms(pairs, "facts"), _rounds(model))


def _kept(model: Any) -> str:
    if len(model.cv_results_["param_C"]) == 1:
        return (
            "Only C = 0 was tried: the auxiliaries are combined as they are, and there was nothing to solve."
        )
    return (
        "C = 0: no adaptation gained more than twice its standard error, so that the combined auxiliaries "
        "are kept as they are. There was nothing to solve."
    )


def _rounds(model: Any) -> str:
    """Primal and dual value after each round, the certificate's at the end."""
    solution = model.solution_
    if len(solution.history) < 2:
        return ""
    primal = np.array([*(each.primal for each in solution.history), solution.primal])
    dual = np.array([*(each.dual for each in solution.history), solution.dual])
    rounds = np.arange(1, len(primal) + 1, dtype=np.float64)
    rounds[-1] = rounds[-2]
    chart = Chart(
        "by-round",
        "Primal and dual value by round",
        f"The primal value falls to {formatting.compact(solution.primal)}, the dual value rises to "
        f"{formatting.compact(solution.dual)} in {formatting.many(solution.n_rounds, 'round')}.",
        axes.around([1, rounds[-1]], "round"),
        axes.around(np.concatenate((primal, _near(dual, primal))), "objective"),
    )
    lower = np.maximum(dual, chart.y.low)
    marks = [
        chart.band(rounds, lower, primal, "area"),
        chart.line(rounds, primal, "curve"),
        chart.line(rounds, lower, "curve second"),
    ]
    legend = (
        '<p class="legend"><span><svg class="swatch" viewBox="0 0 16 16" aria-hidden="true">'
        '<path class="curve" d="M0,8L16,8"/></svg> primal: the best point so far</span> '
        '<span><svg class="swatch" viewBox="0 0 16 16" aria-hidden="true">'
        '<path class="curve second" d="M0,8L16,8"/></svg> dual: no point is lower</span></p>'
    )
    return f"<figure><figcaption>{chart.title}</figcaption>{chart.svg(marks)}</figure>{legend}"


def _near(dual: np.ndarray, primal: np.ndarray) -> np.ndarray:
    """The lower bounds worth drawing: the first ones can be far below all else."""
    room = 3.0 * (primal.max() - primal.min()) + 1e-12
    near = dual[dual >= primal.min() - max(room, primal[-1] - dual[-1])]
    return near if near.size else dual[-1:]


def path(model: Any) -> str:
    """All C's that were tried."""
    found = model.cv_results_
    C = np.asarray(found["param_C"], dtype=np.float64)
    heading = "Path of C"
    if len(C) < 2:
        return section("path", heading, f"<p>Only C = {formatting.compact(float(C[0]))} was tried.</p>")
    lead = (
        f"<p>C weighs the measure against the change to the combined auxiliaries; "
        f"{formatting.many(len(C), 'value')} tried, C&nbsp;=&nbsp;{formatting.compact(model.C_)} chosen.</p>"
    )
    details = f"<details><summary>All values of C</summary>{_path_table(model).html()}</details>"
    return section("path", heading, lead, _path_chart(model, C), details)


def _path_chart(model: Any, C: np.ndarray) -> str:
    order = np.argsort(C)
    found, name = model.cv_results_, model.measure_.label
    value, spread = found["test_score"][order], found["std_test_score"][order]
    chosen = int(np.flatnonzero(C[order] == model.C_)[0])
    across, places = axes.logarithmic(C[order], "C")
    chart = Chart(
        "by-C",
        f"{name} by C, out of fold",
        f"{name} is {formatting.figure(value[chosen], 4)} at the chosen C = {formatting.compact(model.C_)}; the values "
        f"go from {formatting.figure(value.min(), 4)} to {formatting.figure(value.max(), 4)}.",
        across,
        axes.around(np.concatenate((value - spread, value + spread)), name),
    )
    marks = [
        chart.band(places, value - spread, value + spread, "area"),
        chart.line(places, value, "curve"),
        chart.dot(places[chosen], value[chosen], "chosen", radius=7),
        *(chart.dot(x, y, "stop", radius=2.5) for x, y in zip(places, value, strict=True)),
    ]
    return f"<figure><figcaption>{escape(chart.title)}</figcaption>{chart.svg(marks)}</figure>"


def _path_table(model: Any) -> Table:
    found = model.cv_results_
    columns = ["C", formatting.breakable(model.measure_.label), "spread", "gain", "its error", "rounds"]
    keys = ("param_C", "test_score", "std_test_score", "gain", "gain_error", "rounds")
    rows = [
        Row(
            f"{C:.3g}" + (' <span class="tag">chosen</span>' if C == model.C_ else ""),
            [
                formatting.figure(value, 4),
                formatting.figure(spread, 4),
                formatting.minus(f"{gain:+.4f}"),
                formatting.figure(error, 4),
                f"{rounds:,}",
            ],
            C == model.C_,
        )
        for C, value, spread, gain, error, rounds in zip(*(found[key] for key in keys), strict=True)
    ]
    return Table("tried", "Values of C in cross-validation; the gain is over the first", columns, rows)
