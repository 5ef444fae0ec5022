"""The result of a fit as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from ..decisions import NO_ROW_CUT
from ..learning.outputs import is_frozen
from ..measures import ConstrainedMeasure, Labels, Measure
from ..measures.multiclass import ConfusionMatrixMeasure
from ..measures.multilabel import LabelAverage
from ._comparison import LATER_STEPS
from ._evaluation import RATES
from ._formatting import count_decimals, format_table, format_value
from ._targets import target_type

#: Features of the delta function, and classes or labels, that are named.
MAX_NAMED_FEATURES, MAX_NAMED_CLASSES = 3, 8
#: With fewer rows of the rarer class, the summary warns that its values are uncertain.
MIN_BINARY_ROWS = 200
#: Of many classes or labels, those with fewer rows are named as a caution.
MIN_CLASS_ROWS = 10
#: A smaller gap of a certified maximum, relative to it, is a rounding error.
ROUNDING_TOL = 1e-9


@dataclass(frozen=True)
class SummaryLine:
    """A model and its out-of-fold value."""

    name: str
    value: float
    std: float
    weight: float | None
    is_chosen: bool


@dataclass(frozen=True)
class Summary:
    """Out-of-fold scores and notes; prints as a table.

    Attributes
    ----------
    title : str
        The estimator, the measure and the data.
    measure : str
        The heading of the values.
    lines : list of SummaryLine
        Each single auxiliary, the prior, the best adapted model.
    notes : dict of str to str
        Threshold, delta function, certificate and times.
    """

    title: str
    measure: str
    lines: list[SummaryLine]
    notes: dict[str, str]

    def __str__(self) -> str:
        decimals = count_decimals(line.value for line in self.lines)
        cells: list[tuple[str, ...]] = [("out of fold", self.measure, "std", "weight")]
        for line in self.lines:
            numbers = (format_value(each, decimals) for each in (line.value, line.std))
            cells.append((line.name, *numbers, "" if line.weight is None else f"{line.weight:.3f}"))
        rows = format_table(cells, (0, 8, 7, 7))
        for i, line in enumerate(self.lines, start=1):
            rows[i] = f"{rows[i]}  <- chosen" if line.is_chosen else rows[i].rstrip()
        key_width = max(len(key) for key in self.notes)
        notes = [f"{key:<{key_width}}  {text}" for key, text in self.notes.items()]
        return "\n".join([self.title, "", *rows, "", *notes])

    __repr__ = __str__


def summarize(model: Any, *, prior: str = "stack (C = 0)", threshold: str | None = None) -> Summary:
    """Return the summary of a fitted classifier.

    Parameters
    ----------
    model : CAPOClassifier or PublishedCAPOClassifier
        The fitted classifier.
    prior : str
        The name of the model at C = 0.
    threshold : str, optional
        The description of a threshold that is not a probability.

    Returns
    -------
    Summary
        Out-of-fold scores and notes.
    """
    check_is_fitted(model)
    kind = target_type(model)
    lines = [
        SummaryLine(name, score.value, score.std, float(np.mean(model.auxiliary_weights_[name])), False)
        for name, score in model.auxiliary_scores_.items()
    ]
    measure = model.measure_.label
    notes: dict[str, str] = {}
    if kind == "multiclass":
        rows = f"{len(model.oof_labels_):,} rows, {len(model.classes_)} classes"
        scores = {"most probable": model.most_probable_score_, "decision rule": model.rule_score_}
        for is_rule, (name, score) in enumerate(scores.items()):
            chosen = model.uses_rule_ == bool(is_rule)
            lines.append(SummaryLine(f"stack, {name}", score.value, score.std, None, chosen))
        notes |= _class_notes(model)
    elif kind == "multilabel":
        counts = np.array([each.n_positive for each in model.label_models_])
        n_rows, n_labels = model.oof_decision_.shape
        rows = f"{n_rows:,} rows, {n_labels} labels, {counts.sum() / n_rows:.2f} per row"
        lines.append(SummaryLine("adapted", model.score_, model.score_std_, None, True))
        notes |= _label_notes(model)
    else:
        n_rows = model.n_positive_ + model.n_negative_
        measure = measure if model.prices_ is None else model.measure_.name
        rows = f"{n_rows:,} rows, {model.n_positive_:,} positive ({model.n_positive_ / n_rows:.1%})"
        results = [model.cv_results_[key] for key in ("param_C", "test_score", "std_test_score")]
        points = list(zip(*results, strict=True))
        if np.isfinite(model.delta_ridge_):
            stack, prior = model.stack_score_, "stack and delta (C = 0)"
            lines.append(SummaryLine("stack", stack.value, stack.std, None, False))
        lines += [SummaryLine(prior, value, std, None, model.C_ == 0) for C, value, std in points if C == 0]
        if adapted := [point for point in points if point[0] > 0]:  # the chosen one, or the best
            C, value, std = max(adapted, key=lambda point: (point[0] == model.C_, point[1]))
            lines.append(SummaryLine(f"adapted (C = {C:.3g})", value, std, None, C == model.C_))
        notes |= _binary_notes(model, lines, threshold)
    is_trained = not all(is_frozen(each) for each in model.auxiliaries_.values())
    if threshold is None and is_trained and model.timings_.get("pairs of folds") == 0:
        notes["out of fold"] = (
            "the combination was evaluated with auxiliaries that have seen the fold: if there is little to "
            "learn, values can be about one standard error too high"
        )
    return Summary(f"{type(model).__name__} for {measure}: {rows}", measure, lines, notes)


def _binary_notes(model: Any, lines: list[SummaryLine], threshold: str | None) -> dict[str, str]:
    notes = _describe_constraint(model, lines)
    if model.prices_ is not None:
        notes["prices"] = f"{model.prices_}; values are the mean money per row"
    has_segments = model.guarantee_ is not None and model.guarantee_.segments
    if model.population_ is None and not has_segments:  # of the population that the training rows are from
        rows = np.isfinite(model.oof_decision_)
        cuts = 0.0 if model.guarantee_ is not None else model.oof_thresholds_[rows]
        weight = None if model.sample_weight_ is None else model.sample_weight_[rows]
        labels = Labels.from_arrays(model.oof_positive_[rows], weight)
        cells = labels.confusion(model.oof_decision_[rows] > cuts)
        rates = ", ".join(f"{name} {float(rate(*cells)):.3f}" for name, rate in RATES.items())
        notes["decisions"] = f"{rates}, out of fold"
    notes["threshold"] = threshold or _describe_threshold(model)
    coef = sorted(model.delta_coef_.items(), key=lambda each: -abs(each[1]))
    if used := [f"{name} {value:+.3g}" for name, value in coef if value]:
        strongest = ", ".join(used[:MAX_NAMED_FEATURES])
        notes["delta"] = f"{len(used)} of {len(coef)} features used, strongest: {strongest}"
    if model.C_ == 0:
        better = ", which no larger C improved significantly" if len(model.cv_results_["param_C"]) > 1 else ""
        delta = " and a delta function learned by log loss" if np.isfinite(model.delta_ridge_) else ""
        notes["model"] = f"the weighted sum of the auxiliaries' log-odds{delta}{better}"
    else:
        iterations = f"{model.n_iter_} iteration{'s' if model.n_iter_ != 1 else ''}"
        notes["certificate"] = (
            f"primal {model.primal_:.6g}, dual {model.dual_:.6g}, gap {model.gap_:.2g} after {iterations}: "
            f"the bound of the measure is within {model.gap_ / model.C_:.2g} of its minimum"
        )
    notes["seconds"] = _describe_timings(model.timings_)
    fewest = min(model.n_positive_, model.n_negative_)
    if fewest < MIN_BINARY_ROWS:
        label = model.label_pair.tolist()[1 if model.n_positive_ == fewest else 0]
        notes["few rows"] = (
            f"only {fewest} row{'s' if fewest > 1 else ''} of {label!r}: values, weights and threshold are "
            "uncertain, and differences of a few points between the lines above may be chance"
        )
    for name, end in (("population", ""), ("savings", ", out of fold"), ("guarantee", "")):
        if (found := getattr(model, f"{name}_")) is not None:
            notes[name] = f"{found}{end}"
    negative = [
        name
        for name, columns in model.score_columns.items()
        if model.schema_.take(columns[:1]).of_role("numeric") and model.auxiliaries_[name][-1].coef_[0, 0] < 0
    ]
    if negative:
        notes["direction"] = f"rows with a higher {' or '.join(negative)} are positive less often"
    if frozen := [name for name, each in model.auxiliaries_.items() if is_frozen(each)]:
        notes["caution"] = (
            f"auxiliaries passed already fitted: {', '.join(frozen)}; the out-of-fold values are valid only "
            "if they were fitted on other rows"
        )
    return notes


def _describe_threshold(model: Any) -> str:
    text, found = f"positive above a probability of {model.threshold_:.4g}", model.guarantee_
    if found is not None and found.segments:
        above, up_to = (
            ", ".join(f"{name} {expit(getattr(each, cut)):.4g}" for name, each in found.segments.items())
            for cut in ("cut", "lower_cut")
        )
        text = f"positive above a probability that depends on {found.column}: {above}"
        return text if found.abstain_label is None else f"{text}; negative up to {up_to}"
    if found is None and abs(model.decision_.log_odds) > NO_ROW_CUT / 2:
        count = "no" if model.decision_.log_odds > 0 else "every"
        return f"{count} row is predicted positive, since no threshold was certain to keep the constraint"
    if found is not None and found.abstain_label is not None:
        text += f", negative up to {expit(found.lower_cut):.4g}"
    # A guarantee is about one threshold: the prices of the rows are not used then.
    if model.prices_ is None or found is not None or not (model.prices_.per_row or model.prices_.asks):
        return text
    asks = "; between cost_ask / (cost_fn + benefit_tp) and 1 - cost_ask / cost_fp, 'ask'"
    return (
        f"that of each row at its prices, cost_fp / (cost_fp + cost_fn + benefit_tp)"
        f"{asks if model.prices_.asks else ''}; without prices, {text}"
    )


def _describe_constraint(model: Any, lines: list[SummaryLine]) -> dict[str, str]:
    """Notes on the values of a measure with a constraint, and on those without a useful deviation."""
    measure: Measure = model.measure_
    if not isinstance(measure, ConstrainedMeasure):
        return {}
    labels = "at the model's threshold it can be lower, and the constraint violated"
    if model.guarantee_ is None and model.population_ is None:
        rows = np.isfinite(model.oof_decision_)
        value = measure.at_threshold().score(
            model.oof_positive_[rows],
            (model.oof_decision_ - model.oof_thresholds_)[rows],
            None if model.sample_weight_ is None else model.sample_weight_[rows],
        )
        labels = f"the out-of-fold labels have the value {value:.3f}"
    notes = {"values": f"best {measure.rate_name} over all thresholds with a {measure.constraint}; {labels}"}
    if any(line.std >= measure.max_std for line in lines):
        notes["std"] = (
            f"{measure.max_std:g} is the largest possible: the value is unstable, and jumps as folds are "
            "left out. Use more rows or relax the constraint"
        )
    return notes


def _describe_timings(timings: dict[str, float]) -> str:
    """The seconds of the auxiliaries, each and together, and of the steps after them."""
    inner = ", ".join(
        f"{key.removeprefix('auxiliary ')} {seconds:.1f}"
        for key, seconds in timings.items()
        if key.startswith("auxiliary ")
    )
    if timings.get("pairs of folds"):
        inner += f", without pairs of folds {timings['pairs of folds']:.1f}"
    others = ", ".join(f"{step} {timings[step]:.1f}" for step in LATER_STEPS if step in timings)
    return f"auxiliaries {timings['auxiliaries']:.1f} ({inner}), {others}"


def _class_notes(model: Any) -> dict[str, str]:
    classes, has_rule = model.classes_.tolist(), isinstance(model.measure_, ConfusionMatrixMeasure)
    rule = "the class with the largest expected gain, by the gain matrix rule_.gain"
    numbers = model.rule_.multipliers_and_offsets
    if not has_rule:
        rule = "the most probable class; the measure is of the probabilities and needs no rule"
    elif not model.uses_rule_:
        rule = "the most probable class: no rule improved on it by more than one standard error"
    elif numbers is not None and len(classes) <= MAX_NAMED_CLASSES:
        parts = [
            f"{label}: {a:.3g} p {'-' if b >= 0 else '+'} {abs(b):.3g}"
            for label, a, b in zip(classes, *numbers, strict=True)
        ]
        rule = f"the largest of {'; '.join(parts)}"
    outcome, bound = "labeling" if has_rule else "ranking", "; no bound is known for this measure"
    if model.is_exact_ and model.gap_ <= ROUNDING_TOL * max(1.0, abs(model.bound_)):
        bound = f", which is certified: no {outcome} of these rows has a higher one"
    elif np.isfinite(model.bound_):
        kind = "certified maximum" if model.is_exact_ else "bound of a relaxation"
        bound = f"; no {outcome} can exceed {model.bound_:.4f} ({kind}), a gap of {model.gap_:.4f}"
    counts = zip(classes, model.class_counts_.tolist(), strict=True)
    quality = f"log loss {model.log_loss_:.4f}, calibration error {model.calibration_error_:.4f} out of fold"
    notes = {
        "classes": _shorten([f"{label} ({count:,})" for label, count in counts]),
        "rule": rule,
        "value": f"{model.score_:.4f} out of fold, if a fold does not take part in the choice of its rule",
        "certificate": f"expected value {model.value_:.4f}{bound}",
        "probabilities": quality + ("; with a correction" if model.stack_.correction is not None else ""),
        "seconds": _describe_timings(model.timings_),
    }
    if rare := model.classes_[model.class_counts_ < MIN_CLASS_ROWS].tolist():
        notes["caution"] = f"classes with fewer than {MIN_CLASS_ROWS} rows: {_shorten(rare)}"
    return notes


def _label_notes(model: Any) -> dict[str, str]:
    counts = np.array([each.n_positive for each in model.label_models_])
    adapted = [each for each in model.label_models_ if each.C > 0]
    adaptation = "C = 0 for all labels: the stacks, with thresholds for the measure"
    if adapted:
        gap = max(each.gap / each.C for each in adapted)
        count = f"{len(adapted)} label{'s' if len(adapted) > 1 else ''}"
        adaptation = f"C > 0 for {count}, each bound of the measure within {gap:.2g} of its minimum"
    thresholds = "the best expected value of the measure"
    if isinstance(model.measure_, LabelAverage) and model.measure_.measure.needs_threshold:
        thresholds += ", in which a row counts half by its label and half by its probability"
    bound = "no bound is known for this measure"
    if np.isfinite(model.bound_):
        bound = f"no labeling of these rows exceeds {model.bound_:.4f} if labels follow their probabilities"
    notes = {
        "labels": f"{counts.min():,} to {counts.max():,} positive rows, median {np.median(counts):,.0f}",
        "adaptation": adaptation,
        "thresholds": thresholds,
        "certificate": f"expected value {model.value_:.4f}; {bound}",
        "seconds": _describe_timings(model.timings_),
    }
    if model.rare_labels_:
        rare = _shorten(model.rare_labels_)
        notes["caution"] = f"labels with fewer than {MIN_CLASS_ROWS} positive rows: {rare}"
    if model.constant_labels_:
        constant = _shorten(model.constant_labels_)
        notes["not learned"] = f"labels predicted by their base rate, for lack of rows: {constant}"
    return notes


def _shorten(names: Sequence[Any]) -> str:
    more = f" and {len(names) - MAX_NAMED_CLASSES} more" if len(names) > MAX_NAMED_CLASSES else ""
    return ", ".join(map(str, names[:MAX_NAMED_CLASSES])) + more
