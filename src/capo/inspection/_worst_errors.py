"""The worst errors of a model: rows that are far on the wrong side of the threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._sklearn_compat import safe_indexing
from .._typing import BoolArray, FloatArray
from ..exceptions import InvalidInputError
from ._effects import short_text
from ._explained_table import ExplainedTable
from ._scored_outputs import negative_and_positive

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
        `capo.prices.RowPrices.losses`. The errors are then the rows with a loss above 0, the largest first.

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
    if hasattr(model, "delegate_"):
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
