"""What a fit found, to be read: as text, and as HTML in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from ..auxiliary import is_frozen

#: Features of the delta function that are named.
STRONGEST = 3
#: Which rows the values are of.
ROWS = "out of fold"


@dataclass(frozen=True)
class SummaryLine:
    """A model and its value out of fold."""

    name: str
    value: float
    spread: float
    weight: float | None
    chosen: bool


@dataclass(frozen=True)
class Summary:
    """Scores out of fold, line by line, and notes; prints as a table.

    Attributes
    ----------
    title : str
        The estimator, the measure and the data.
    measure : str
        The heading of the values.
    lines : list of Line
        Each auxiliary by itself, the prior, the best adapted model.
    notes : dict of str to str
        Threshold, delta function, certificate and times.
    """

    title: str
    measure: str
    lines: list[SummaryLine]
    notes: dict[str, str]

    def __str__(self) -> str:
        wide = max(len(ROWS), *(len(line.name) for line in self.lines))
        column = max(8, len(self.measure))
        rows = [f"{ROWS:<{wide}}  {self.measure:>{column}}  {'spread':>7}  {'weight':>7}"]
        for line in self.lines:
            weight = "" if line.weight is None else f"{line.weight:.3f}"
            end = "  <- chosen" if line.chosen else ""
            values = f"{line.value:>{column}.4f}  {line.spread:>7.4f}  {weight:>7}"
            rows.append(f"{line.name:<{wide}}  {values}{end}".rstrip())
        label = max(len(key) for key in self.notes)
        notes = [f"{key:<{label}}  {text}" for key, text in self.notes.items()]
        return "\n".join([self.title, "", *rows, "", *notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr{' style=font-weight:bold' if line.chosen else ''}><td>{escape(line.name)}</td>"
            f"<td>{line.value:.4f}</td><td>{line.spread:.4f}</td>"
            f"<td>{'' if line.weight is None else f'{line.weight:.3f}'}</td></tr>"
            for line in self.lines
        )
        notes = "".join(f"<dt>{escape(key)}</dt><dd>{escape(text)}</dd>" for key, text in self.notes.items())
        return (
            f"<p><b>{escape(self.title)}</b></p><table><thead><tr><th>{ROWS}</th>"
            f"<th>{escape(self.measure)}</th><th>spread</th><th>weight</th></tr></thead>"
            f"<tbody>{cells}</tbody></table><dl>{notes}</dl>"
        )


def summarize(model: Any) -> Summary:
    """The summary of a fitted CAPOClassifier."""
    name = model.measure_.label
    n_rows, n_pos = len(model.oof_decision_), model.n_positive_
    title = f"CAPOClassifier for {name}: {n_rows:,} rows, {n_pos:,} positive ({n_pos / n_rows:.1%})"
    notes = {
        "threshold": "positive where f(x) is above 0"
        if model._fitted[0].threshold == "zero"
        else f"positive above a probability of {model.threshold_:.4g}",
        "delta": _delta(model.delta_coef_),
        "certificate": _certificate(model),
        "seconds": _seconds(model.timings_),
    }
    settings, in_sample = model._fitted
    if not settings.positive and not in_sample and model.C_ > 0 and model.delta_ is not None:
        notes["caution"] = (
            "weights of either sign play out-of-fold outputs off against the delta function, which can leak "
            "labels: trust the figure of C > 0 only on rows kept aside"
        )
    if given := frozen_auxiliary_names(model):
        notes["given"] = f"{given} came trained: its values hold only if it has not seen these rows"
    return Summary(title, name, _lines(model), notes)


def frozen_auxiliary_names(model: Any) -> str:
    """Names of the auxiliaries that came trained, whose rows nobody knows here."""
    return ", ".join(name for name, each in model.auxiliaries_.items() if is_frozen(each))


def _lines(model: Any) -> list[SummaryLine]:
    weights = model.auxiliary_weights_
    singles = [
        SummaryLine(name, figure.value, figure.spread, weights[name], False)
        for name, figure in zip(weights, model.auxiliary_scores_, strict=True)
    ]
    found = model.cv_results_
    tried = list(zip(found["param_C"], found["test_score"], found["std_test_score"], strict=True))
    prior = [(C, value, spread) for C, value, spread in tried if C == 0]
    adapted = [(C, value, spread) for C, value, spread in tried if C > 0]
    lines = (
        [
            SummaryLine(
                "stack (C = 0)" if model._fitted[0].prior == "stack" else "auxiliaries (C = 0)",
                *prior[0][1:],
                None,
                model.C_ == 0,
            )
        ]
        if prior
        else []
    )
    if adapted:
        C, value, spread = next(
            (each for each in adapted if each[0] == model.C_), max(adapted, key=lambda each: each[1])
        )
        lines.append(SummaryLine(f"adapted (C = {C:.3g})", value, spread, None, C == model.C_))
    return [*singles, *lines]


def _delta(coef: dict[str, float]) -> str:
    used = sorted(((abs(value), name) for name, value in coef.items() if value), reverse=True)
    if not coef:
        return "none"
    if not used:
        return f"{len(coef)} features, none of them used"
    strongest = ", ".join(f"{name} {coef[name]:+.3g}" for _, name in used[:STRONGEST])
    return f"{len(used)} of {len(coef)} features used, strongest: {strongest}"


def _certificate(model: Any) -> str:
    if model.C_ == 0 and len(model.cv_results_["param_C"]) == 1:
        return "C = 0: nothing was adapted"
    if model.C_ == 0:
        return "C = 0: the gain of no adaptation convinces, so the prior is kept as it is"
    rounds = f"{model.n_iter_} round{'s' if model.n_iter_ != 1 else ''}"
    return (
        f"primal {model.primal_:.6g}, dual {model.dual_:.6g}, gap {model.gap_:.2g} after {rounds}: the bound "
        f"of the measure is within {model.gap_ / model.C_:.2g} of its minimum"
    )


def _seconds(seconds: dict[str, float]) -> str:
    parts = {
        key.removeprefix("auxiliary "): value
        for key, value in seconds.items()
        if key.startswith("auxiliary ")
    }
    inner = ", ".join(f"{name} {value:.1f}" for name, value in parts.items())
    return (
        f"auxiliaries {seconds['auxiliaries']:.1f} ({inner}), delta {seconds['delta']:.1f}, "
        f"adaptation {seconds['adaptation']:.1f}"
    )
