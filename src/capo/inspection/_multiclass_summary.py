"""The result of a fit of many classes as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..multiclass import ConfusionMatrixMeasure
from ._summary import Summary, SummaryLine, describe_timings

if TYPE_CHECKING:
    from ..estimators import MulticlassCAPOClassifier

#: Classes that are named.
MAX_NAMED_CLASSES = 8
#: Classes with fewer rows are named as a caution.
MIN_CLASS_ROWS = 10
#: A smaller gap of a certified maximum, relative to it, is a rounding error.
ROUNDING_TOL = 1e-9


def summarize_multiclass(model: MulticlassCAPOClassifier) -> Summary:
    """Return the summary of a fitted classifier of many classes."""
    n_rows, n_classes = len(model.oof_labels_), len(model.classes_)
    title = f"{type(model).__name__} for {model.measure_.label}: {n_rows:,} rows, {n_classes} classes"
    notes = {
        "classes": _describe_classes(model),
        "rule": _describe_rule(model),
        "certificate": describe_bound(model),
        "probabilities": _describe_probabilities(model),
        "seconds": describe_timings(model.timings_, ("stack", "rule")),
    }
    if rare := _rare_classes(model):
        notes["caution"] = f"classes with fewer than {MIN_CLASS_ROWS} rows: {rare}"
    return Summary(title, model.measure_.label, _lines(model), notes)


def _describe_probabilities(model: MulticlassCAPOClassifier) -> str:
    quality = f"log loss {model.log_loss_:.4f}, calibration error {model.calibration_error_:.4f} out of fold"
    return f"{quality}; with a correction" if model.stack_.correction is not None else quality


def _lines(model: MulticlassCAPOClassifier) -> list[SummaryLine]:
    lines = [
        SummaryLine(name, score.value, score.std, model.auxiliary_weights_[name], False)
        for name, score in model.auxiliary_scores_.items()
    ]
    plain, adapted = model.most_probable_score_, model.rule_score_
    return [
        *lines,
        SummaryLine("stack, most probable", plain.value, plain.std, None, not model.uses_rule_),
        SummaryLine("stack, decision rule", adapted.value, adapted.std, None, model.uses_rule_),
    ]


def _describe_classes(model: MulticlassCAPOClassifier) -> str:
    counts = list(zip(model.classes_.tolist(), model.class_counts_.tolist(), strict=True))
    shown = ", ".join(f"{label} ({count:,})" for label, count in counts[:MAX_NAMED_CLASSES])
    return shown + (f" and {len(counts) - MAX_NAMED_CLASSES} more" if len(counts) > MAX_NAMED_CLASSES else "")


def _rare_classes(model: MulticlassCAPOClassifier) -> str:
    rare = model.classes_[model.class_counts_ < MIN_CLASS_ROWS].tolist()
    shown = ", ".join(map(str, rare[:MAX_NAMED_CLASSES]))
    return shown + (" ..." if len(rare) > MAX_NAMED_CLASSES else "")


def _describe_rule(model: MulticlassCAPOClassifier) -> str:
    if not isinstance(model.measure_, ConfusionMatrixMeasure):
        return "the most probable class; the measure is of the probabilities and needs no rule"
    if not model.uses_rule_:
        return "the most probable class: no rule improved on it by more than one standard error"
    numbers = model.rule_.multipliers_and_offsets
    if numbers is None or len(model.classes_) > MAX_NAMED_CLASSES:
        return "the class with the largest expected gain, by the gain matrix rule_.gain"
    parts = [
        f"{label}: {a:.3g} p {'-' if b >= 0 else '+'} {abs(b):.3g}"
        for label, a, b in zip(model.classes_.tolist(), *numbers, strict=True)
    ]
    return f"the largest of {'; '.join(parts)}"


def describe_bound(model: MulticlassCAPOClassifier) -> str:
    """Return in words what is known of the best possible expected value."""
    reached = f"expected value {model.value_:.4f}"
    if not np.isfinite(model.bound_):
        return f"{reached}; no bound is known for this measure"
    outcome = "labeling" if isinstance(model.measure_, ConfusionMatrixMeasure) else "ranking"
    if model.is_exact_ and model.gap_ <= ROUNDING_TOL * max(1.0, abs(model.bound_)):
        return f"{reached}, which is certified: no {outcome} of these rows has a higher one"
    kind = "certified maximum" if model.is_exact_ else "bound of a relaxation"
    return f"{reached}; no {outcome} can exceed {model.bound_:.4f} ({kind}), a gap of {model.gap_:.4f}"
