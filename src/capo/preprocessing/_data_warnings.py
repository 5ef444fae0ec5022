"""Warnings about training data that would mislead a classifier or its evaluation."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._lookup import list_labels
from .._typing import BoolArray, IntArray
from ..exceptions import DataWarning
from ._duplicates import duplicate_share
from ._identifiers import NumberedColumn, numbered_columns
from ._labels import MAX_POSITIVE_SHARE

#: A larger share of rows with a copy in another fold gives a warning.
MAX_DUPLICATE_SHARE = 0.05


def warn_of_data(X: Any, folds: IntArray, *, stacklevel: int) -> None:
    """Warn of columns that look like an index or an identifier, and of copies of rows across folds."""
    messages = [_describe_numbered(column) for column in numbered_columns(X)]
    share = duplicate_share(X, folds)
    if share > MAX_DUPLICATE_SHARE:
        messages.append(
            f"{share:.0%} of the rows have an exact copy in another fold, so that out-of-fold values may be "
            "too optimistic. Remove copies that new rows would not be, or hold them out together as a group."
        )
    for message in messages:
        warnings.warn(message, DataWarning, stacklevel=stacklevel + 1)


def warn_of_copies(X: Any, parts: IntArray, template: str, *, stacklevel: int) -> None:
    """Warn if many rows are exact copies of rows in another part; {share} of the text is their share."""
    share = duplicate_share(X, parts)
    if share > MAX_DUPLICATE_SHARE:
        warnings.warn(template.format(share=f"{share:.0%}"), DataWarning, stacklevel=stacklevel + 1)


def _describe_numbered(column: NumberedColumn) -> str:
    fact = f"The column {column.name!r} has a different whole number in each row"
    if column.is_index:
        return (
            f"{fact}, and {column.reason}: the auxiliaries that are given by name and the delta function do "
            "not use it. Drop it, or convert it to float to use it."
        )
    return f"{fact}. If it is an identifier, drop it: what is learned from it does not hold for new rows."


def warn_of_majority_class(classes: NDArray[np.generic], positive: BoolArray, *, stacklevel: int) -> None:
    """Warn if the positive class is the larger of two texts and has most of the rows.

    Labels 0 and 1, -1 and 1, False and True name the positive class themselves.
    """
    share = float(positive.mean())
    if share > MAX_POSITIVE_SHARE and classes.dtype.kind not in "biuf":
        other, label = classes.tolist()
        warnings.warn(
            f"The positive class is {label!r}, the larger of the two labels, which {share:.0%} of the rows "
            f"have. Pass pos_label={other!r} if that is the class to find, or pos_label={label!r} to "
            "keep it.",
            DataWarning,
            stacklevel=stacklevel + 1,
        )


def warn_of_alphabetical_order(classes: NDArray[np.generic], measure: str, *, stacklevel: int) -> None:
    """Warn if the order of classes matters and is that of their texts."""
    if classes.dtype.kind not in "biuf":
        warnings.warn(
            f"{measure} takes the classes in the order of the alphabet: {list_labels(classes.tolist())}. If "
            "that is not their order, give it by the measure's parameter order.",
            DataWarning,
            stacklevel=stacklevel + 1,
        )
