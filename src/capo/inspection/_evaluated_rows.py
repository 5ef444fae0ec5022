"""The rows that a model is explained on: all, those that folds hold out, or a sample."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils.validation import check_is_fitted

from .._sklearn_compat import safe_indexing
from .._typing import FloatArray, IntArray
from ..exceptions import DataWarning, InvalidInputError
from ..model_selection import check_splits
from ._class_sample import sample_by_class

#: Rows that are predicted at most; with many columns, fewer rows are used.
MAX_PREDICTIONS = 500_000
#: Rows that are used even if there are many columns.
MIN_ROWS = 200


@dataclass(frozen=True)
class EvaluatedRows:
    """A fitted model, and the positions of the rows that it is evaluated on."""

    model: Any
    rows: IntArray


def choose_sample_size(max_rows: int | None, n_columns: int, n_repeats: int) -> int | None:
    """The number of rows to draw; None for all."""
    if max_rows is None:
        return None
    affordable = max(MIN_ROWS, MAX_PREDICTIONS // (n_columns * n_repeats))
    return min(max_rows, affordable)


def make_evaluated_rows(
    model: Any,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    groups: NDArray[Any] | None,
    cv: Any,
    random: np.random.RandomState,
    on_progress: Callable[[str], None],
) -> list[EvaluatedRows]:
    """The fitted model with all rows, or the model of each fold with the rows that it holds out."""
    labels = np.asarray(y)
    if len(labels) != X.shape[0]:
        raise InvalidInputError(f"X has {X.shape[0]:,} rows and y {len(labels):,}: they must be as many.")
    if cv is None:
        if hasattr(model, "fit"):
            check_is_fitted(model)
        return [EvaluatedRows(model, np.arange(len(labels)))]
    if getattr(model, "prices_", None) is not None:
        raise InvalidInputError(
            "the model was trained with prices, and cv would train it without them: leave cv out, and pass "
            "rows that the model was not trained on."
        )
    parts = []
    splits = _split(cv, X, labels, groups, random)
    for number, (train, test) in enumerate(splits, start=1):
        params: dict[str, Any] = {} if groups is None else {"groups": groups[train]}
        if sample_weight is not None:
            params["sample_weight"] = np.asarray(sample_weight)[train]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # about all rows, where the model was first trained
            fitted = clone(model).fit(safe_indexing(X, train), labels[train], **params)
        parts.append(EvaluatedRows(fitted, test))
        on_progress(f"fold {number} of {len(splits)}")
    return parts


def _split(
    cv: Any, X: Any, y: NDArray[Any], groups: NDArray[Any] | None, random: np.random.RandomState
) -> list[tuple[IntArray, IntArray]]:
    if isinstance(cv, Integral):
        seed = random.randint(2**31 - 1)
        if y.ndim > 1:
            by_row = KFold(int(cv), shuffle=True, random_state=seed)
            cv = by_row if groups is None else GroupKFold(int(cv))
        else:
            kind = StratifiedKFold if groups is None else StratifiedGroupKFold
            cv = kind(int(cv), shuffle=True, random_state=seed)
    splits = [(np.asarray(train), np.asarray(test)) for train, test in check_cv(cv).split(X, y, groups)]
    if y.ndim == 1:
        check_splits(splits, y, allow_partial=True)
    return splits


def sample_rows(
    parts: Sequence[EvaluatedRows],
    classes: IntArray,
    weight: FloatArray,
    n_rows: int | None,
    random: np.random.RandomState,
) -> tuple[list[EvaluatedRows], FloatArray]:
    """The parts with at most so many rows in all, drawn by class, and the weights of the table's rows."""
    rows = np.concatenate([part.rows for part in parts])
    if n_rows is None or len(rows) <= n_rows:
        return list(parts), weight
    sampled, factor = sample_by_class(classes[rows], n_rows, random)
    weight = weight.copy()
    weight[rows[sampled]] *= factor
    chosen = np.zeros(len(rows), dtype=bool)
    chosen[sampled] = True
    masks = np.split(chosen, np.cumsum([len(part.rows) for part in parts])[:-1])
    kept = [replace(part, rows=part.rows[mask]) for part, mask in zip(parts, masks, strict=True)]
    return [part for part in kept if len(part.rows)], weight
