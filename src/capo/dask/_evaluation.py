"""Measures of a classifier on labeled rows that stay on the workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from distributed import Client

from .. import measures
from .._compat import FloatArray
from ..estimators import reject_row_prices
from ..inspection import Evaluation, ScoreGroups, decide, evaluate_groups, negative_and_positive
from ..learning.outputs import iter_row_blocks
from ..measures import Measure
from ..tables.targets import positive_mask
from ._adaptation import ScoreBins, ScoredRows, bin_scores, spread_edges
from ._partitions import Partitions, check_rows, split_rows

#: Number of bins of scores. The top and the bottom are then divided further, for measures of the first few
#: rows.
N_BINS = 4096
N_TAIL_BINS = 512
#: Number of passes over the scores that place the bins.
MAX_PASSES = 6
#: A bin of different scores may contain this many times the rows of an average bin.
MAX_RELATIVE_MASS = 4.0


def evaluate(
    model: Any,
    X: Any,
    y: Any,
    measure: str | Measure | Callable[..., Any] | None = None,
    *,
    all_measures: bool = False,
    random_state: Any = None,
    client: Client | None = None,
) -> Evaluation:
    """Evaluate a fitted classifier on labeled rows that stay on the workers.

    `capo.inspection.evaluate` does the same for rows in memory.

    The decisions stay on the workers, which count them in about 5,000 bins. Measures at the threshold of
    the model, and the confusion matrix, are exact. Measures that depend on the order of the scores treat
    the rows of a bin as ties; `Evaluation.max_error` is the largest error that this can cause.

    Parameters
    ----------
    model : classifier
        A fitted classifier of two classes, such as a `CAPOClassifier`.
    X : dask.array.Array, dask.dataframe.DataFrame or list of Delayed
        The rows.
    y : dask.array.Array, dask.dataframe.Series or list of Delayed
        Their labels. Its partitions must be those of X.
    measure : str, Measure or callable, optional
        The measure to list first; by default ``model.measure_``, or F1 if there is none.
    all_measures : bool, default=False
        Whether to list all measures, as in `capo.inspection.evaluate`.
    random_state : int, RandomState instance or None, default=None
        Seed of the bootstrap. Pass an int for reproducible results.
    client : distributed.Client, optional
        The client to use; by default the current one, or dask's local scheduler if there is none.

    Returns
    -------
    capo.inspection.Evaluation
        The value and the 95% interval of each measure, and the confusion matrix.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from capo import SVMPerfClassifier
    >>> from capo.dask import evaluate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X /= X.max(axis=0)
    >>> model = SVMPerfClassifier("f1", C=100.0).fit(X, y)
    >>> evaluation = evaluate(model, da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100))
    >>> evaluation.estimates[0].value == model.score(X, y)
    True
    """
    resolved = measures.get(getattr(model, "measure_", "f1") if measure is None else measure)
    reject_row_prices(resolved)
    rows = split_rows(X, y, client=client).select(0, 1, 3).map(score_partition, model).persist()
    negative, positive = map(str, negative_and_positive(model).tolist())
    groups = group_scores(rows)
    return evaluate_groups(
        resolved,
        groups,
        class_names=(negative, positive),
        guarantee=getattr(model, "guarantee_", None),
        all_measures=all_measures,
        random_state=random_state,
    )


def score_partition(X: Any, y: Any, number: int, model: Any) -> ScoredRows:
    """Apply the model to a partition, some rows at a time."""
    labels = check_rows(X, y, number)
    if not len(labels):
        return ScoredRows(np.empty(0), np.empty(0, dtype=bool))
    scores = [decide(model, block) for block in iter_row_blocks(X)]
    return ScoredRows(np.concatenate(scores), positive_mask(labels, negative_and_positive(model)))


def group_scores(rows: Partitions) -> ScoreGroups:
    """Count the rows in bins with about equal shares of both classes, and finer ones at both ends."""
    edges = np.zeros(1)
    bins = bin_scores(rows, edges)
    for _ in range(MAX_PASSES):
        edges = np.union1d(spread_edges(bins, _class_shares(bins), N_BINS), [0.0])
        bins = bin_scores(rows, edges)
        if _class_shares(bins)[bins.widths > 0].max(initial=0.0) <= MAX_RELATIVE_MASS / N_BINS:
            break
    outer = np.zeros(len(edges) + 1)
    outer[np.flatnonzero(bins.mass.sum(axis=0))[[0, -1]]] = 1.0  # the first and the last bin with rows
    edges = np.union1d(edges, spread_edges(bins, outer, N_TAIL_BINS))
    bins = bin_scores(rows, edges)
    return ScoreGroups.from_counts(bins.mass, edges, bins.widths == 0)


def _class_shares(bins: ScoreBins) -> FloatArray:
    """The mean of the shares of both classes in each bin."""
    totals = np.maximum(bins.mass.sum(axis=1, keepdims=True), 1.0)
    return np.asarray((bins.mass / totals).mean(axis=0))
