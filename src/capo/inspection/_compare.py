"""Compare `CAPOClassifier` with simpler methods on the same rows and the same auxiliaries.

One fitted `CAPOClassifier` provides all that the four methods need, because its auxiliaries are cross-fitted:

- the default learner is one of the auxiliaries, with its probabilities cut at 0.5;
- the tuned threshold is the same learner, with a threshold chosen on its out-of-fold probabilities;
- the tuned stack is a logistic regression on all auxiliaries' out-of-fold probabilities, with a threshold
  chosen in the same way;
- capo is the fitted model itself.

With prices of each row, the tuned threshold is the one with the most money on the training rows, and the
tuned stack has the threshold of each row that follows from its prices, as capo has.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import BaseCrossValidator, cross_val_predict
from sklearn.utils import check_random_state

from .. import measures
from .._typing import BoolArray, FloatArray
from ..exceptions import InvalidInputError
from ..measures import ConstrainedMeasure, Measure
from ..model_selection import Split, check_groups, fold_numbers, split_folds
from ..preprocessing import encode_binary_labels, positive_mask, warn_of_data
from ..prices import PRICE_NAMES, RowPrices
from ._comparison import CAPO, DEFAULT_LEARNER, TUNED_STACK, TUNED_THRESHOLD, Comparison
from ._fold_results import (
    ComparisonRows,
    FoldResult,
    aggregate_folds,
    default_learner_index,
    fit_folds,
    fit_seconds,
)

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier


def compare(
    model: CAPOClassifier,
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    folds: int | BaseCrossValidator = 5,
    random_state: int | None = None,
    prices: Mapping[str, Any] | None = None,
    on_progress: Callable[[str], None] = lambda message: None,
) -> Comparison:
    """Compare capo with three simpler methods by cross-validation.

    Parameters
    ----------
    model : CAPOClassifier
        The unfitted model; the other methods use its measure and its auxiliaries.
    X, y, sample_weight
        The training data, as for `CAPOClassifier.fit`.
    groups : array-like of shape (n_samples,), optional
        The group of each row, such as a patient. Rows of one group are held out together, in the folds of
        the comparison and in those of every method.
    folds : int or splitter, default=5
        Number of held-out folds, stratified and shuffled; or a splitter, such as
        `capo.model_selection.TimeFolds`, which gets `groups`. Give the model a splitter of this kind, too.
    random_state : int, optional
        Seed of the folds. Pass an int for reproducible results.
    prices : mapping of str to float or array-like, optional
        The prices of the rows, as for `CAPOClassifier.fit`: cost_fp, cost_fn and benefit_tp. The methods are
        then compared by their mean money per held-out row.
    on_progress : callable, optional
        Called with a message after each fold.

    Returns
    -------
    Comparison
        The value of each method on each fold, and a verdict.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from capo import CAPOClassifier
    >>> from capo.inspection import compare
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CAPOClassifier("f1", auxiliaries=[GaussianNB()], random_state=0)
    >>> [method.name for method in compare(model, X, y, folds=3, random_state=0).methods]
    ['default learner', 'tuned threshold', 'tuned stack', 'capo']
    """
    labels = np.asarray(y)
    _, positive = encode_binary_labels(labels, model.pos_label)
    group = None if groups is None else check_groups(groups, len(labels))
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    splits = _split(folds, positive, group, weight, random_state)
    _check_held_out_sizes(measures.get(model.measure), splits, len(labels), weight)
    warn_of_data(X, fold_numbers(splits, len(positive)), stacklevel=2)
    row_prices = None if prices is None else _resolve_prices(model, prices, len(labels))
    rows = ComparisonRows(X, labels, weight, group, row_prices)
    results = []
    for fitted, train, test in fit_folds(model, rows, splits, on_progress):
        results.append(
            compare_on_fold(
                fitted,
                train.y,
                train.weight,
                test.X,
                test.y,
                test.weight,
                groups=train.groups,
                prices=None if train.prices is None or test.prices is None else (train.prices, test.prices),
            )
        )
    return aggregate_folds(
        fitted,
        results,
        len(labels),
        pos_label=str(fitted.pos_label_),
        note=_describe_values(fitted.measure_) if row_prices is None else _PRICED_VALUES,
        measure_label=None if row_prices is None else row_prices.mean_measure(weight).label,
    )


def _resolve_prices(model: CAPOClassifier, prices: Mapping[str, Any], n_rows: int) -> RowPrices:
    """The prices of the rows; those that are not given are the measure's, as in `fit`."""
    of_measure = measures.get(model.measure).params
    defaults = {name: of_measure[name] for name in PRICE_NAMES if name in of_measure}
    return RowPrices.from_values(n_rows, **{**defaults, **prices})


#: What the values of a comparison with prices mean.
_PRICED_VALUES = (
    "the values are mean money per held-out row at its own prices; the tuned threshold is one for all rows, "
    "the tuned stack and capo have the threshold of each row that follows from its prices"
)


def _split(
    folds: int | BaseCrossValidator,
    positive: BoolArray,
    groups: NDArray[Any] | None,
    weight: FloatArray | None,
    random_state: int | None,
) -> list[Split]:
    """Return the training rows and the held-out rows of each fold."""
    params = {"groups": groups}
    if not isinstance(folds, int):
        return split_folds(folds, positive, positive, params, None, allow_partial=True)
    _check_folds(folds, positive, groups, weight)
    return split_folds(folds, positive, positive, params, check_random_state(random_state), weight=weight)


def _check_held_out_sizes(
    measure: Measure, splits: list[Split], n_rows: int, weight: FloatArray | None
) -> None:
    weight = np.ones(n_rows) if weight is None else weight
    measure.check_size(float(weight.sum()))
    smallest = min(float(weight[test].sum()) for _, test in splits)
    measure.check_size(smallest, f"the number of rows that a fold holds out (of {weight.sum():g} in all)")


def _check_folds(
    folds: int, positive: BoolArray, groups: NDArray[Any] | None, weight: FloatArray | None
) -> None:
    """Check that each class has two units for each fold: rows, or groups with rows of the class."""
    units = "rows" if groups is None else "groups"
    ids = np.arange(len(positive)) if groups is None else groups
    counted = np.ones(len(positive), dtype=bool) if weight is None else weight > 0
    fewest = min(len(np.unique(ids[rows & counted])) for rows in (positive, ~positive))
    if not 2 <= folds <= fewest // 2:
        enough = f"enough for 2 to {fewest // 2} folds" if fewest > 3 else "and at least 4 are needed"
        which = "the rarer class has" if groups is None else "one class has rows in"
        raise InvalidInputError(f"{which} {fewest} {units}, {enough}: got {folds} folds.")


def compare_on_fold(
    model: CAPOClassifier,
    y: ArrayLike,
    weight: FloatArray | None,
    X_test: Any,
    y_test: ArrayLike,
    weight_test: FloatArray | None = None,
    *,
    groups: NDArray[Any] | None = None,
    prices: tuple[RowPrices, RowPrices] | None = None,
) -> FoldResult:
    """Evaluate the four methods on held-out rows, given one fitted model, its labels and its groups.

    `prices` are those of the training rows and of the held-out rows.
    """
    learner = default_learner_index(model)
    positive, positive_test = (positive_mask(each, model.label_pair) for each in (y, y_test))
    raw_test = model.auxiliary_outputs(X_test)
    decision = model.combination_.log_odds(raw_test.T, model.delta_features(X_test))
    rows = ~np.isnan(model.oof_decision_)
    positive, weight = positive[rows], None if weight is None else weight[rows]
    groups = None if groups is None else groups[rows]
    oof, test = expit(model.auxiliary_outputs_[rows]), expit(raw_test)

    thresholds = _FoldThresholds.from_prices(model, rows, prices)

    def score(decision: FloatArray) -> float:
        return thresholds.held_out_measure.score(positive_test, decision, weight_test)

    def tune_threshold(oof_scores: FloatArray) -> float:
        return thresholds.measure.threshold(positive, oof_scores, weight)

    start = time.perf_counter()
    stack_oof, stack_test = _fit_stack(oof, positive, weight, test, groups)
    stack_seconds = time.perf_counter() - start
    values = {
        DEFAULT_LEARNER: score(test[:, learner] - 0.5),
        TUNED_THRESHOLD: score(test[:, learner] - tune_threshold(oof[:, learner])),
        TUNED_STACK: score(
            stack_test - (tune_threshold(stack_oof) if thresholds.log_odds is None else thresholds.log_odds)
        ),
        CAPO: score(
            decision
            - (model.combination_.threshold_log_odds if thresholds.log_odds is None else thresholds.log_odds)
        ),
    }
    return FoldResult(values, fit_seconds(model, stack_seconds, ("delta", "adaptation")))


@dataclass(frozen=True)
class _FoldThresholds:
    """How thresholds are chosen on training rows and evaluated on held-out rows.

    `log_odds` are the thresholds that follow from the prices of the held-out rows; None without prices.
    """

    measure: Measure
    held_out_measure: Measure
    log_odds: FloatArray | None

    @classmethod
    def from_prices(
        cls, model: CAPOClassifier, rows: BoolArray, prices: tuple[RowPrices, RowPrices] | None
    ) -> _FoldThresholds:
        if prices is None:
            return cls(model.measure_, model.measure_, None)
        train, held_out = prices
        return cls(train.take_rows(rows).measure, held_out.measure, held_out.log_odds)


def _fit_stack(
    oof: FloatArray,
    positive: BoolArray,
    weight: FloatArray | None,
    test: FloatArray,
    groups: NDArray[Any] | None,
) -> tuple[FloatArray, FloatArray]:
    """Fit a logistic stack; its scores of the training rows (out of fold) and of the test rows."""
    stack = LogisticRegression(max_iter=1000)
    params = {} if weight is None else {"sample_weight": weight}
    cv = None if groups is None else split_folds(None, oof, positive, {"groups": groups}, None)
    stack_oof = cross_val_predict(stack, oof, positive, cv=cv, method="decision_function", params=params)
    return stack_oof, stack.fit(oof, positive, **params).decision_function(test)


def _describe_values(measure: Measure) -> str:
    """What the values mean, for measures that do not depend on a threshold."""
    if measure.needs_threshold:
        return ""
    same = "the default learner and the tuned threshold differ in their threshold only"
    if isinstance(measure, ConstrainedMeasure):
        best = f"best {measure.rate_name} over all thresholds with a {measure.constraint}"
        return f"{measure.label}: {best} on the held-out rows; {same}"
    return f"{measure.label} does not depend on the threshold; {same}"
