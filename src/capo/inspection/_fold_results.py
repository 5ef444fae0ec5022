"""What comparisons of two and of many classes share: a model fitted in each fold, its times, the result."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._sklearn_compat import safe_indexing
from .._typing import FloatArray, IntArray
from ..exceptions import DataWarning
from ..model_selection import Split
from ..prices import PRICE_NAMES, RowPrices
from ._comparison import (
    CAPO,
    DEFAULT_LEARNER,
    METHODS,
    TUNED_STACK,
    TUNED_THRESHOLD,
    Comparison,
    ComparisonSource,
    MethodResult,
)

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier

#: The auxiliary used as the default learner if the model has it; otherwise the first one is used.
PREFERRED_LEARNER = "boosting"


@dataclass(frozen=True)
class FoldResult:
    """Value and fit time of each method on one held-out fold, by the method's name."""

    values: dict[str, float]
    seconds: dict[str, float]


@dataclass(frozen=True)
class ComparisonRows:
    """The rows of a comparison.

    Attributes
    ----------
    X : data frame, array or sparse matrix of shape (n_samples, n_features)
        The table.
    y : ndarray of shape (n_samples,) or (n_samples, n_labels)
        Labels.
    weight : ndarray of shape (n_samples,), optional
        Weights of the rows.
    groups : ndarray of shape (n_samples,), optional
        Groups of the rows.
    prices : RowPrices, optional
        Prices of the rows.
    """

    X: Any
    y: NDArray[Any]
    weight: FloatArray | None
    groups: NDArray[Any] | None
    prices: RowPrices | None = None

    def take(self, rows: IntArray) -> ComparisonRows:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        groups = None if self.groups is None else self.groups[rows]
        prices = None if self.prices is None else self.prices.take_rows(rows)
        return ComparisonRows(safe_indexing(self.X, rows), self.y[rows], weight, groups, prices)

    @property
    def fit_params(self) -> dict[str, Any]:
        """The arguments of `fit` beside the table, the labels and the weights."""
        groups = {} if self.groups is None else {"groups": self.groups}
        prices = {} if self.prices is None else {name: getattr(self.prices, name) for name in PRICE_NAMES}
        return {**groups, **prices}


def fit_folds(
    model: CAPOClassifier, rows: ComparisonRows, splits: Sequence[Split], on_progress: Callable[[str], None]
) -> Iterator[tuple[CAPOClassifier, ComparisonRows, ComparisonRows]]:
    """Yield the fitted model, its training rows and the held-out rows of each fold."""
    for number, (train, test) in enumerate(splits, start=1):
        start = time.perf_counter()
        trained = rows.take(train)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # issued for all rows
            fitted = clone(model).fit(
                trained.X, trained.y, sample_weight=trained.weight, **trained.fit_params
            )
        yield fitted, trained, rows.take(test)
        on_progress(f"fold {number} of {len(splits)}: {time.perf_counter() - start:.0f} s")


def default_learner_index(model: Any) -> int:
    """Return the position of the auxiliary that is the default learner."""
    names = list(model.auxiliaries_)
    return names.index(PREFERRED_LEARNER) if PREFERRED_LEARNER in names else 0


def fit_seconds(model: Any, stack_seconds: float, own_steps: Sequence[str]) -> dict[str, float]:
    """Fit time of each method; a default learner is fitted once, the others also once per fold.

    `stack_seconds` is the time of the tuned stack after the auxiliaries, `own_steps` are the steps of capo's
    fit after them.
    """
    timings, learner = model.timings_, default_learner_index(model)
    cross_fitted = [timings[f"auxiliary {name}"] for name in model.auxiliaries_]
    # The models of pairs of folds serve the evaluation of capo only.
    share = sum(cross_fitted) / (sum(cross_fitted) + timings["pairs of folds"])
    n_folds = len(next(iter(model.auxiliary_scores_.values())).leave_one_out)
    n_fits = 1 + getattr(model, "n_repeats_", 1) * n_folds
    return {
        DEFAULT_LEARNER: cross_fitted[learner] / n_fits,
        TUNED_THRESHOLD: cross_fitted[learner],
        TUNED_STACK: share * timings["auxiliaries"] + stack_seconds,
        CAPO: sum(timings[step] for step in ("auxiliaries", *own_steps)),
    }


def aggregate_folds(
    model: Any,
    results: Sequence[FoldResult],
    n_rows: int,
    *,
    pos_label: str = "",
    note: str = "",
    measure_label: str | None = None,
) -> Comparison:
    """Collect the folds; `model` is one of the fitted models, whose measure has the label unless given."""
    methods = [
        MethodResult(
            name,
            np.array([each.values[name] for each in results]),
            float(np.mean([each.seconds[name] for each in results])),
        )
        for name in METHODS
    ]
    names = list(model.auxiliaries_)
    source = ComparisonSource(pos_label, tuple(names), n_rows)
    label = model.measure_.label if measure_label is None else measure_label
    return Comparison(label, names[default_learner_index(model)], methods, note, source)
