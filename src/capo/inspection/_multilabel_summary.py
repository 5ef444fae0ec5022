"""The result of a fit of many labels as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..multilabel import LabelAverage, MultilabelMeasure
from ._summary import Summary, SummaryLine, describe_timings

if TYPE_CHECKING:
    from ..estimators import MultilabelCAPOClassifier

#: Labels that are named.
MAX_NAMED_LABELS = 8


def summarize_multilabel(model: MultilabelCAPOClassifier) -> Summary:
    """Return the summary of a fitted classifier of many labels."""
    n_rows, n_labels = model.oof_decision_.shape
    counts = np.array([each.n_positive for each in model.label_models_])
    title = (
        f"{type(model).__name__} for {model.measure_.label}: {n_rows:,} rows, {n_labels} labels, "
        f"{counts.sum() / n_rows:.2f} per row"
    )
    notes = {
        "labels": f"{counts.min():,} to {counts.max():,} positive rows, median {np.median(counts):,.0f}",
        "adaptation": _describe_adaptation(model),
        "thresholds": _describe_thresholds(model.measure_),
        "certificate": _describe_bound(model),
        "seconds": describe_timings(model.timings_, ("delta", "adaptation")),
    }
    if model.rare_labels_:
        notes["caution"] = f"labels with fewer than 10 positive rows: {_shorten(model.rare_labels_)}"
    if model.constant_labels_:
        notes["not learned"] = (
            f"labels predicted by their base rate, for lack of rows: {_shorten(model.constant_labels_)}"
        )
    return Summary(title, model.measure_.label, _lines(model), notes)


def _lines(model: MultilabelCAPOClassifier) -> list[SummaryLine]:
    lines = [
        SummaryLine(name, score.value, score.std, float(model.auxiliary_weights_[name].mean()), False)
        for name, score in model.auxiliary_scores_.items()
    ]
    return [*lines, SummaryLine("adapted", model.score_, model.score_std_, None, True)]


def _describe_bound(model: MultilabelCAPOClassifier) -> str:
    reached = f"expected value {model.value_:.4f}"
    if not np.isfinite(model.bound_):
        return f"{reached}; no bound is known for this measure"
    bound = f"no labeling of these rows exceeds {model.bound_:.4f} if labels follow their probabilities"
    return f"{reached}; {bound}"


def _describe_thresholds(measure: MultilabelMeasure) -> str:
    best = "the best expected value of the measure"
    if isinstance(measure, LabelAverage) and measure.measure.needs_threshold:
        return f"{best}, in which a row counts half by its label and half by its probability"
    return best


def _describe_adaptation(model: MultilabelCAPOClassifier) -> str:
    adapted = [each for each in model.label_models_ if each.C > 0]
    if not adapted:
        return "C = 0 for all labels: the stacks, with thresholds for the measure"
    gap = max(each.gap / each.C for each in adapted)
    return f"C > 0 for {len(adapted)} labels, each bound of the measure within {gap:.2g} of its minimum"


def _shorten(names: list[str]) -> str:
    shown = ", ".join(names[:MAX_NAMED_LABELS])
    return shown + (f" and {len(names) - MAX_NAMED_LABELS} more" if len(names) > MAX_NAMED_LABELS else "")
