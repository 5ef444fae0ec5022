"""Explanations of single rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse, vstack
from sklearn.utils import check_random_state

from .._compat import BoolArray, FloatArray, IntArray, safe_indexing
from ..exceptions import InvalidInputError
from ..tables.kinds import is_dataframe
from ._columns import (
    BLOCK_ROWS,
    ExplainedTable,
    as_table,
    choose_columns,
    group_columns,
    join_names,
    short_text,
)
from ._formatting import format_table
from ._targets import decide, negative_and_positive, target_type

#: Rows of the background that correlations of columns are computed from.
MAX_BACKGROUND_ROWS = 2000
#: Contributions of a row that are printed, the largest first.
MAX_PRINTED = 10


@dataclass(frozen=True)
class Contribution:
    """What columns add to the log-odds of a row.

    Attributes
    ----------
    columns : tuple of str
        The columns, which are near-copies of each other if there are several.
    values : tuple of str
        Their values in the row.
    change : float
        The change in log-odds.
    std_error : float
        The standard error of the sampling.
    """

    columns: tuple[str, ...]
    values: tuple[str, ...]
    change: float
    std_error: float

    @property
    def name(self) -> str:
        """The columns with their values, as one text."""
        pairs = [f"{column} = {value}" for column, value in zip(self.columns, self.values, strict=True)]
        return join_names(pairs)


@dataclass(frozen=True)
class RowExplanation:
    """The decision of a model for a row as a sum over the columns; prints as a table.

    Attributes
    ----------
    row : int
        The position of the row among the rows that were explained.
    decision : float
        The decision for the positive class, above 0 for a positive row: the log-odds minus those at the
        threshold for a capo model.
    baseline : float
        The mean decision of the background rows that were drawn. Baseline and all changes add up to the
        decision.
    contributions : list of Contribution
        The columns, the largest change first.
    """

    row: int
    decision: float
    baseline: float
    contributions: list[Contribution]

    def to_dict(self) -> dict[str, Any]:
        """The explanation as values that JSON can hold."""
        return asdict(self)

    def __str__(self) -> str:
        rows = [("column", "change in log-odds", "std error")]
        rows += [
            (each.name, f"{each.change:+.3f}", f"{each.std_error:.3f}")
            for each in self.contributions[:MAX_PRINTED]
        ]
        rest = self.contributions[MAX_PRINTED:]
        if rest:
            rows.append((f"{len(rest)} others", f"{sum(each.change for each in rest):+.3f}", ""))
        rows.append(("all columns", f"{self.decision - self.baseline:+.3f}", ""))
        side = "positive" if self.decision > 0 else "negative"
        return "\n".join(
            [
                f"{side}: log-odds {self.decision:+.3f} from the threshold, {self.baseline:+.3f} on average",
                *(line.rstrip() for line in format_table(rows, (0, 0, 0))),
            ]
        )

    __repr__ = __str__


def explain_rows(
    model: Any,
    rows: Any,
    background: Any,
    *,
    columns: Sequence[Any] | None = None,
    max_correlation: float | None = 0.9,
    n_walks: int = 128,
    random_state: Any = None,
    on_progress: Callable[[str], None] = lambda message: None,
) -> list[RowExplanation]:
    """Say what each column adds to the log-odds of single rows.

    The changes are Shapley values, estimated by sampling. A walk starts at a row of the background and
    replaces its columns by those of the explained row, one after the other in a random order; the change of
    the decision at a column, averaged over walks, is the column's contribution. The sampling error is reduced
    in two ways: the rows that walks start from are a systematic sample of the background, ranked by decision,
    and the second half of the walks repeats the first in reverse order. The changes of a row add up exactly
    to its decision minus the mean decision of the rows that walks start from.

    Columns that are near-copies of each other are replaced together, by the rule of `importance`.

    Parameters
    ----------
    model : CAPOClassifier or other classifier
        A fitted classifier of two classes with `decision_function`.
    rows : data frame, array or sparse matrix of shape (n_rows, n_features)
        The rows to explain.
    background : data frame, array or sparse matrix of shape (n_samples, n_features)
        Rows to compare with, such as the training rows, in the same type and with the same columns.
    columns : list, optional
        The names of the columns to explain, or their positions in an array; all others together are one
        contribution. By default all are explained.
    max_correlation : float or None, default=0.9
        Columns with this correlation or more are replaced together; None replaces each by itself.
    n_walks : int, default=128
        The number of walks, an even number. A row takes about `n_walks` times the number of columns
        predictions.
    random_state : int, RandomState instance or None
        Seed of the walks. Pass an int for reproducible results.
    on_progress : callable, optional
        Called with a message after each row.

    Returns
    -------
    list of RowExplanation
        One for each row. It prints as a table.

    References
    ----------
    E. Strumbelj, I. Kononenko. Explaining prediction models and individual predictions with feature
    contributions. Knowledge and Information Systems 41, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from capo.inspection import explain_rows
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = LogisticRegression().fit(X, X[:, 1] > 0)
    >>> found = explain_rows(model, X[:1], X, random_state=0)[0]
    >>> found.contributions[0].columns
    ('1',)
    >>> total = sum(each.change for each in found.contributions)
    >>> bool(np.isclose(found.baseline + total, found.decision))
    True
    """
    _check_arguments(model, n_walks)
    rows, background = _check_tables(rows, background)
    random = check_random_state(random_state)
    n_rows, n_background = int(rows.shape[0]), int(background.shape[0])
    if n_background > MAX_BACKGROUND_ROWS:
        background = safe_indexing(background, random.permutation(n_background)[:MAX_BACKGROUND_ROWS])
        n_background = MAX_BACKGROUND_ROWS
    table = ExplainedTable(_stack(rows, background), getattr(model, "schema_", None))
    positions = choose_columns(table, columns)
    groups = group_columns(table, positions, n_rows + np.arange(n_background), max_correlation)
    others = sorted(set(range(len(table.names))) - set(positions))
    groups += [others] if others else []
    ranked = n_rows + np.argsort(decide(model, background), kind="stable")
    explained = []
    for row in range(n_rows):
        explained.append(_explain_row(model, table, row, groups, n_walks, ranked, random))
        on_progress(f"{row + 1} of {n_rows} rows")
    return explained


def _check_arguments(model: Any, n_walks: int) -> None:
    if target_type(model) != "binary" or not hasattr(model, "decision_function"):
        raise InvalidInputError(
            "rows are explained for models of two classes with a decision_function: for many classes or "
            "labels, train a model of one class against the rest, or use importance."
        )
    if n_walks < 4 or n_walks % 2:
        raise InvalidInputError(f"n_walks must be an even number from 4 on: got {n_walks}.")


def _check_tables(rows: Any, background: Any) -> tuple[Any, Any]:
    """Both tables, of the same kind and with the same columns, those of the background in the same order."""
    rows, background = as_table(rows), as_table(background)
    if is_dataframe(rows) != is_dataframe(background) or issparse(rows) != issparse(background):
        raise InvalidInputError(
            "rows and background must be of the same kind, both data frames, arrays or sparse matrices: got "
            f"{type(rows).__name__} and {type(background).__name__}."
        )
    shapes = (rows.shape, background.shape)
    if any(len(shape) != 2 for shape in shapes) or shapes[0][1] != shapes[1][1]:
        raise InvalidInputError(
            f"rows and background must be tables with the same columns: got shapes {shapes[0]} and "
            f"{shapes[1]}."
        )
    if not shapes[1][0]:
        raise InvalidInputError("background has no rows: the rows are compared with at least one.")
    return rows, background


def _stack(rows: Any, background: Any) -> Any:
    """Both tables below each other."""
    if is_dataframe(rows):
        frames = [nw.from_native(each, eager_only=True) for each in (rows, background)]
        names = [nw.col(name) for name in frames[0].columns]
        return nw.concat([frames[0], frames[1].select(*names)]).to_native()
    if issparse(rows):
        return vstack([rows, background], format="csr")
    return np.concatenate((np.asarray(rows), np.asarray(background)))


def _explain_row(
    model: Any,
    table: ExplainedTable,
    row: int,
    groups: Sequence[Sequence[int]],
    n_walks: int,
    ranked: IntArray,
    random: np.random.RandomState,
) -> RowExplanation:
    """Walk to a row from rows that are ranked by their decisions and equally far apart."""
    half = n_walks // 2
    ranks = (np.arange(half) + random.random_sample()) / half
    starts = np.tile(ranked[(ranks * len(ranked)).astype(np.intp)], 2)
    orders = np.stack([random.permutation(len(groups)) for _ in range(half)])
    orders = np.concatenate((orders, orders[:, ::-1]))
    # Which columns still come from the background, at each step of each walk.
    steps = np.arange(len(groups) + 1)
    kept = np.argsort(orders, axis=1)[:, np.newaxis, :] >= steps[:, np.newaxis]
    masks = np.zeros((*kept.shape[:2], len(table.names)), dtype=bool)
    for number, positions in enumerate(groups):
        masks[:, :, list(positions)] = kept[:, :, [number]]
    others = np.repeat(starts, len(steps))[:, np.newaxis]
    masks = masks.reshape(-1, len(table.names))
    blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, len(others), BLOCK_ROWS)]
    decisions = np.concatenate(
        [decide(model, table.mix(np.full_like(others[i], row), others[i], masks[i])) for i in blocks]
    ).reshape(kept.shape[:2])
    changes = np.empty(orders.shape)
    np.put_along_axis(changes, orders, np.diff(decisions, axis=1), axis=1)
    pairs = 0.5 * (changes[:half] + changes[half:])
    means = pairs.mean(axis=0)
    # The standard error of a systematic sample, from the differences of neighbors.
    errors = np.sqrt(0.5 * np.mean(np.diff(pairs, axis=0) ** 2, axis=0) / len(pairs))
    contributions = [
        Contribution(
            tuple(table.names[position] for position in positions),
            tuple(short_text(table.values(position)[row]) for position in positions),
            float(means[number]),
            float(errors[number]),
        )
        for number, positions in enumerate(groups)
    ]
    contributions.sort(key=lambda each: -abs(each.change))
    return RowExplanation(row, float(decisions[0, -1]), float(decisions[:, 0].mean()), contributions)


#: Errors that are listed.
N_WORST = 10


@dataclass(frozen=True)
class WorstError:
    """A row that is far on the wrong side of the threshold.

    Attributes
    ----------
    row : int
        The number of the row, counted from `first_row`.
    actual : label
        Its label.
    decision : float
        The model's decision: above 0 for a row that is predicted as positive.
    values : dict of str to str
        The values of the row, in short, by the names of their columns; empty if they are not known.
    loss : float, optional
        What the error costs, if rows have prices.
    """

    row: int
    actual: Any
    decision: float
    values: dict[str, str]
    loss: float | None = None

    @property
    def severity(self) -> float:
        """The loss, or the distance from the threshold: the worst error has the largest."""
        return abs(self.decision) if self.loss is None else self.loss


def worst_errors(
    model: Any,
    positive: ArrayLike,
    decision: ArrayLike,
    X: Any = None,
    *,
    n: int = N_WORST,
    first_row: int = 1,
    losses: ArrayLike | None = None,
) -> list[WorstError]:
    """Find the rows that are farthest on the wrong side of the threshold, or whose errors cost the most.

    They are worth a look: some have a wrong label, others show what the table does not tell.

    Parameters
    ----------
    model : CAPOClassifier or other classifier
        A fitted classifier of two classes.
    positive : array-like of bool of shape (n_samples,)
        Which rows are positive.
    decision : array-like of shape (n_samples,)
        The decisions, such as those of ``model.positive_decision``. Rows with NaN are left out: in
        ``model.oof_decision_`` these are the rows that no fold held out.
    X : data frame, array or sparse matrix of shape (n_samples, n_features), optional
        The rows, to list their values.
    n : int, default=10
        The number of errors at most.
    first_row : int, default=1
        The number of the first row.
    losses : array-like of shape (n_samples,), optional
        What the prediction of each row costs compared with the right one, such as
        `capo.decisions.RowPrices.losses`. The errors are then the rows with a loss above 0, the largest
        first.

    Returns
    -------
    list of WorstError
        The worst first.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from capo.inspection import worst_errors
    >>> X = np.arange(20.0)[:, np.newaxis]
    >>> y = (X[:, 0] > 9) ^ (X[:, 0] == 15)
    >>> model = LogisticRegression().fit(X, y)
    >>> [(each.row, each.values) for each in worst_errors(model, y, model.decision_function(X), X, n=1)]
    [(16, {'0': '15'})]
    """
    mask, scores = _check_outputs(model, positive, decision)
    loss = None if losses is None else np.asarray(losses, dtype=np.float64)
    is_wrong = (scores > 0) != mask if loss is None else loss > 0
    wrong = np.flatnonzero(is_wrong & ~np.isnan(scores))
    severity = np.abs(scores) if loss is None else loss
    rows = wrong[np.argsort(-severity[wrong], kind="stable")][:n]
    values: list[dict[str, str]] = [{} for _ in rows]
    if X is not None and len(rows):
        table = ExplainedTable(safe_indexing(X, rows), getattr(model, "schema_", None))
        columns = [table.values(position) for position in range(len(table.names))]
        values = [
            {name: short_text(column[i]) for name, column in zip(table.names, columns, strict=True)}
            for i in range(len(rows))
        ]
    labels = negative_and_positive(model)[mask[rows].astype(int)].tolist()
    return [
        WorstError(
            first_row + int(row), label, float(scores[row]), each, None if loss is None else float(loss[row])
        )
        for row, label, each in zip(rows, labels, values, strict=True)
    ]


def _check_outputs(model: Any, positive: ArrayLike, decision: ArrayLike) -> tuple[BoolArray, FloatArray]:
    if target_type(model) != "binary":
        raise InvalidInputError("the worst errors are found for models of two classes: this one has more.")
    mask = np.asarray(positive)
    if mask.ndim != 1 or not np.isin(mask, (0, 1)).all():
        raise InvalidInputError(
            "positive must say of each row whether it is positive, such as y == model.pos_label_: got "
            f"{mask.ravel()[:3].tolist()}."
        )
    scores = np.asarray(decision, dtype=np.float64)
    if scores.shape != mask.shape:
        raise InvalidInputError(
            f"decision must have one number per row: got shape {scores.shape} for {len(mask)} rows."
        )
    return mask.astype(bool), scores
