"""Checks of targets with more than two classes, or with several labels per row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..._lookup import list_labels
from ..._typing import BoolArray, FloatArray
from ...exceptions import InvalidInputError
from ...preprocessing import BooleanKind, ColumnValues, DateKind, ParsedKind, recognize_column

TargetKind = Literal["binary", "multiclass", "multilabel"]
#: A target with fewer rows per class on average is taken for something else than classes.
MIN_MEAN_CLASS_ROWS = 3


@dataclass(frozen=True)
class CheckedTarget:
    """A target that a model can be trained on.

    Attributes
    ----------
    kind : {"binary", "multiclass", "multilabel"}
        The kind of target.
    pos_label : object
        The positive label of two classes; otherwise None.
    main_class : ndarray of bool, shape (n_samples,)
        The rows of the positive class; of the most frequent class or label if there are more.
    notes : tuple of str
        What may mislead.
    description : str
        The target in a few words.
    """

    kind: TargetKind
    pos_label: Any
    main_class: BoolArray
    notes: tuple[str, ...]
    description: str


def check_classes(
    y: NDArray[np.generic],
    weight: FloatArray | None,
    *,
    target: str,
    positive: str | None,
    weight_column: str,
) -> CheckedTarget:
    """Check the labels of a target of many classes."""
    name = f"the target {target!r}" if target else "the target"
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    labels = classes.tolist()
    _check_is_categorical(labels, len(y), name)
    if positive is not None:
        raise InvalidInputError(
            f"--positive is for measures of two classes: {name} has {len(labels)}, which are treated alike."
        )
    if weight is not None:
        check_class_weights(weight, [codes == k for k in range(len(labels))], labels, weight_column)
    notes = _single_row_notes(labels, counts)
    largest = int(counts.argmax())
    description = (
        f"{len(labels)} classes of {counts.min():,} to {counts.max():,} rows, most often {labels[largest]!r}"
    )
    return CheckedTarget("multiclass", None, codes == largest, notes, description)


def check_label_matrix(
    matrix: NDArray[np.generic], names: Sequence[str], positive: str | None
) -> CheckedTarget:
    """Check a label matrix."""
    if positive is not None:
        raise InvalidInputError(
            "--positive is for targets of two classes: each label is positive where it is 1."
        )
    counts, n_rows = matrix.astype(np.int64).sum(axis=0), len(matrix)
    if not counts.any():
        raise InvalidInputError("no row has any of the labels: check the target columns.")
    constant = [names[k] for k in range(len(names)) if counts[k] in (0, n_rows)]
    per_row = f"{counts.sum() / n_rows:.2f} per row"
    description = f"{len(names)} labels of {counts.min():,} to {counts.max():,} rows, {per_row}"
    main = matrix[:, int(counts.argmax())].astype(bool)
    return CheckedTarget("multilabel", None, main, _constant_label_notes(constant), description)


def _constant_label_notes(labels: Sequence[str]) -> tuple[str, ...]:
    if not labels:
        return ()
    subject = "labels" if len(labels) > 1 else "label"
    verb = "are" if len(labels) > 1 else "is"
    return (
        f"The {subject} {list_labels(labels)} {verb} the same in every row, which cannot be learned from.",
    )


def check_class_weights(
    weight: FloatArray, rows_of_classes: Sequence[BoolArray], labels: list[Any], column: str
) -> None:
    """Raise if all rows of a class have the weight 0."""
    for label, rows in zip(labels, rows_of_classes, strict=True):
        if not weight[rows].any():
            raise InvalidInputError(
                f"the weights in {column!r} are 0 for all rows of {label!r}: each class needs some weight."
            )


def _single_row_notes(labels: list[Any], counts: NDArray[np.int64]) -> tuple[str, ...]:
    single = [labels[k] for k in np.flatnonzero(counts == 1)]
    if not single:
        return ()
    each = "Each of the classes" if len(single) > 1 else "The class"
    return (
        f"{each} {list_labels(single)} has 1 row, which cannot be predicted from other rows of its class.",
    )


def _check_is_categorical(labels: list[Any], n_rows: int, target: str) -> None:
    """Raise if the labels are one class only, or are numbers, dates or identifiers rather than classes."""
    if len(labels) == 1:
        raise InvalidInputError(f"{target} is {labels[0]!r} in every row: two classes are needed.")
    if len(labels) == 2:
        return
    reason = _explain_values(labels)
    if not reason and len(labels) * MIN_MEAN_CLASS_ROWS > n_rows:
        reason = f"That is {n_rows / len(labels):.1f} rows per class. Is this the right column?"
    if reason:
        raise InvalidInputError(
            f"{target} has {len(labels):,} different values ({list_labels(labels)}), too many or not of a "
            f"kind to be classes. {reason}"
        )


def _explain_values(labels: list[Any]) -> str:
    """What the values of a target are, if they are not classes; otherwise ""."""
    kind = recognize_column(ColumnValues.count("target", labels), "target").kind
    if isinstance(kind, DateKind):
        return "They are dates: is this the right column?"
    if isinstance(kind, BooleanKind):
        return "They are spellings of yes and no: write each of the two in one way."
    if isinstance(kind, ParsedKind):
        numbers = [kind.parse_or_missing(str(label)) or 0.0 for label in labels]
        if all(number == round(number) for number in numbers):
            return ""
        if all(0 <= number <= 1 for number in numbers):
            return "They are probabilities or shares: make labels from them, such as above 0.5 or not."
        return "They are measurements: make labels from them, such as above a limit or not."
    return ""
