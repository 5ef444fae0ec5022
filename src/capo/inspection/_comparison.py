"""Comparison with simpler methods by cross-validation.

One fitted `CAPOClassifier` provides all that the four methods need, because its auxiliaries are cross-fitted:

- the default learner is one of the auxiliaries, with its probabilities cut at 0.5;
- the tuned threshold is the same learner, with a threshold chosen on its out-of-fold probabilities;
- the tuned stack is a logistic regression on all auxiliaries' out-of-fold probabilities, with a threshold
  chosen in the same way;
- capo is the fitted model itself.

With prices of each row, the tuned threshold is the one with the most money on the training rows, and the
tuned stack has the threshold of each row that follows from its prices, as capo has.

The methods are those of `compare`. For many classes a *threshold* is a multiplier of each class's
probability, and the label is the class with the largest product; for many labels each label has its own. Both
are tuned on the labels of out-of-fold rows; the stack is that of the fitted model.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, softmax
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import BaseCrossValidator, cross_val_predict
from sklearn.utils import check_random_state

from .. import measures
from .._compat import BoolArray, FloatArray, IntArray, safe_indexing
from ..decisions import PRICE_NAMES, RowPrices
from ..exceptions import DataWarning, InvalidInputError
from ..learning.auxiliaries import label_fold_codes
from ..learning.folds import Split, check_groups, fold_numbers, split_class_folds, split_folds
from ..measures import ConstrainedMeasure, Measure
from ..measures.multiclass import ConfusionMatrixMeasure, MulticlassMeasure
from ..measures.multilabel import LabelAverage, MultilabelMeasure
from ..tables.checks import warn_of_data
from ..tables.targets import (
    class_positions,
    encode_binary_labels,
    encode_class_labels,
    encode_label_matrix,
    positive_mask,
)
from ._formatting import count_decimals, format_table, format_value

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier


DEFAULT_LEARNER, TUNED_THRESHOLD, TUNED_STACK = "default learner", "tuned threshold", "tuned stack"
CAPO = "capo"
#: The methods from the simplest to the most complex.
METHODS = (DEFAULT_LEARNER, TUNED_THRESHOLD, TUNED_STACK, CAPO)
#: Quantile of Student's t distribution for a two-sided test at the 5% level.
SIGNIFICANCE_QUANTILE = 0.975
#: Lower limit of a standard error, relative to the largest mean: folds that agree to the last digit are no
#: evidence.
MIN_RELATIVE_ERROR = 1e-4
#: The smallest width of each column of the table.
MIN_WIDTHS = (16, 8, 7, 8)
#: Numbers beyond this in a stored comparison are refused.
MAX_STORED_NUMBER = 1e100


@dataclass(frozen=True)
class MethodResult:
    """One method: its value on each held-out fold and the time of one fit.

    Attributes
    ----------
    name : str
        The method.
    values : ndarray of shape (n_folds,)
        The measure on each held-out fold.
    seconds : float
        Mean time of one fit.
    """

    name: str
    values: FloatArray
    seconds: float

    @property
    def mean(self) -> float:
        """The mean value over folds."""
        return float(self.values.mean())

    @property
    def std(self) -> float:
        """The standard deviation over folds."""
        return float(self.values.std(ddof=1)) if len(self.values) > 1 else 0.0

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Restore one entry of "methods" in `Comparison.to_dict`; raise ValueError for other data."""
        match data:
            case {"name": str() as name, "values": list() as values, "seconds": seconds}:
                if all(_is_finite_number(each) for each in (*values, seconds)):
                    return cls(name, np.array(values, dtype=np.float64), float(seconds))
        raise ValueError(f"{str(data)[:60]} is not a method with a name, a finite value per fold and seconds")


@dataclass(frozen=True)
class ComparisonSource:
    """The data and the auxiliaries of a comparison, to recognize one of another table or model.

    Attributes
    ----------
    pos_label : str
        The positive label; empty for many classes or labels.
    auxiliaries : tuple of str
        Names of the auxiliaries.
    n_rows : int
        Number of rows.
    target : str
        The column of the labels; empty if not known.
    table : str
        The name of the table; empty if not known.
    sha256 : str
        The checksum of the table's file; empty if not known.

    Examples
    --------
    >>> from capo.inspection import ComparisonSource
    >>> source = ComparisonSource("yes", ("boosting",), n_rows=400)
    >>> source.difference(ComparisonSource("no", ("boosting",), n_rows=400))
    "for the positive label 'yes', not for 'no'"
    """

    pos_label: str
    auxiliaries: tuple[str, ...]
    n_rows: int
    target: str = ""
    table: str = ""
    sha256: str = ""

    def difference(self, other: ComparisonSource) -> str:
        """The first difference from another source as text, such as "of 'a.csv', not of 'b.csv'"; or ""."""
        if self.sha256 and other.sha256 and self.sha256 != other.sha256:
            return _describe_tables(self, other)
        if self.n_rows != other.n_rows:
            return f"of {self.n_rows:,} rows, not of {other.n_rows:,}"
        if self.target and other.target and self.target != other.target:
            return f"for the target {self.target!r}, not for {other.target!r}"
        if self.pos_label != other.pos_label:
            return f"for the positive label {self.pos_label!r}, not for {other.pos_label!r}"
        if self.auxiliaries != other.auxiliaries:
            mine, others = ", ".join(self.auxiliaries), ", ".join(other.auxiliaries)
            return f"with the auxiliaries {mine}, not with {others}"
        return ""

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Restore "source" of `Comparison.to_dict`; raise ValueError for other data."""
        match data:
            case {
                "pos_label": str() as pos_label,
                "auxiliaries": list() as auxiliaries,
                "n_rows": int() as n_rows,
                "target": str() as target,
                "table": str() as table,
                "sha256": str() as sha256,
            } if all(isinstance(each, str) for each in auxiliaries):
                return cls(pos_label, tuple(auxiliaries), n_rows, target, table, sha256)
        raise ValueError("its source must have a positive label, auxiliaries, a number of rows and a table")


def _describe_tables(source: ComparisonSource, other: ComparisonSource) -> str:
    if source.table == other.table:
        return f"of other contents of {source.table!r}"
    return f"of {source.table!r}, not of {other.table!r}"


@dataclass(frozen=True)
class Comparison:
    """Four methods on the same held-out folds; prints as a table followed by a verdict.

    Attributes
    ----------
    measure : str
        The measure by which the methods are compared.
    default_learner : str
        The auxiliary used as the default learner.
    methods : list of MethodResult
        The default learner, the same with a tuned threshold, the tuned stack, and capo.
    note : str
        What the values mean, if the measure does not depend on the methods' thresholds.
    source : ComparisonSource, optional
        The data and the auxiliaries that were compared.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.inspection import Comparison, MethodResult
    >>> values = {
    ...     "default learner": [0.60, 0.62, 0.61],
    ...     "tuned threshold": [0.70, 0.71, 0.72],
    ...     "tuned stack": [0.71, 0.70, 0.72],
    ...     "capo": [0.75, 0.76, 0.77],
    ... }
    >>> results = [MethodResult(name, np.array(each), seconds=1.0) for name, each in values.items()]
    >>> gain, standard_error = Comparison("f1", "boosting", results).gain("tuned threshold")
    >>> round(gain, 3)
    0.05
    """

    measure: str
    default_learner: str
    methods: list[MethodResult]
    note: str = ""
    source: ComparisonSource | None = None

    @property
    def folds(self) -> int:
        """Number of held-out folds."""
        return len(self.methods[0].values)

    def gain(self, over: str) -> tuple[float, float]:
        """Mean difference between capo and another method, and its standard error.

        Folds share training rows. The variance of the mean is therefore that of the differences times
        1/k + 1/(k - 1) instead of 1/k, where k is the number of folds (Nadeau and Bengio, 2003).
        """
        by_name = {method.name: method.values for method in self.methods}
        difference, k = by_name[CAPO] - by_name[over], self.folds
        return float(difference.mean()), float(difference.std(ddof=1) * np.sqrt(1 / k + 1 / (k - 1)))

    def _significant_sign(self, over: str) -> int:
        """1 if capo is significantly better than another method, -1 if significantly worse, else 0."""
        gain, error = self.gain(over)
        largest = max((abs(each.mean) for each in self.methods if np.isfinite(each.mean)), default=0.0)
        smallest_error = max(error, MIN_RELATIVE_ERROR * largest)
        needed = float(student.ppf(SIGNIFICANCE_QUANTILE, self.folds - 1)) * smallest_error
        return int(gain > needed) - int(gain < -needed)

    @property
    def verdict(self) -> str:
        """Whether capo is better here than simpler methods, as text."""
        others = [each for each in self.methods if each.name != CAPO]
        others.sort(key=_mean_nan_last, reverse=True)
        alternative = next((each for each in others if self._significant_sign(each.name) < 0), others[0])
        sign = self._significant_sign(alternative.name)
        gain, error = self.gain(alternative.name)
        decimals = count_decimals(each.mean for each in self.methods)
        difference = f"{format_value(gain, decimals, sign='+')} ± {format_value(error, decimals)}"
        evidence = f"{self.measure} {difference} (standard error) compared with the {alternative.name}"
        if sign < 0:
            return f"capo is worse here than a simpler method: {evidence}. Use the {alternative.name}."
        if sign > 0:
            return f"capo is better here than simpler methods: {evidence}, the best alternative."
        simplest = next(each for each in self.methods if self._significant_sign(each.name) == 0)
        return (
            f"capo is not better here than simpler methods: {evidence}, the best alternative; with "
            f"{self.folds} folds this difference is not statistically significant. The simplest "
            f"statistically equivalent option is the {simplest.name}."
        )

    def difference(
        self, model: CAPOClassifier, *, target: str = "", table: str = "", sha256: str = ""
    ) -> str:
        """How the comparison differs from the training of a model, as text; "" if it is of the same.

        Parameters
        ----------
        model : CAPOClassifier
            The fitted model.
        target, table, sha256 : str, optional
            The label column, the name and the checksum of the model's training table, if they are known.

        Returns
        -------
        str
            Such as "for f1, not for mcc". A comparison without a source is known by its measure only.
        """
        if self.measure != model.measure_.label:
            return f"for {self.measure}, not for {model.measure_.label}"
        trained = ComparisonSource(
            str(model.pos_label_) if model.target_type_ == "binary" else "",
            tuple(model.auxiliaries_),
            len(model.auxiliary_outputs_),
            target,
            table,
            sha256,
        )
        return "" if self.source is None else self.source.difference(trained)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as values that JSON can hold."""
        return {
            "measure": self.measure,
            "default_learner": self.default_learner,
            "folds": self.folds,
            "methods": [
                {
                    "name": each.name,
                    "value": each.mean,
                    "std": each.std,
                    "seconds": each.seconds,
                    "values": each.values.tolist(),
                }
                for each in self.methods
            ],
            "verdict": self.verdict,
            "note": self.note,
            "source": None
            if self.source is None
            else {**asdict(self.source), "auxiliaries": list(self.source.auxiliaries)},
        }

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Restore a comparison from the output of `to_dict`.

        Parameters
        ----------
        data : dict
            "measure", "default_learner" and "methods" as `to_dict` returns them, for instance read from
            JSON; "note" and "source" are optional. Means, standard deviations and the verdict are computed
            again from the values on the folds.

        Raises
        ------
        ValueError
            If `data` is not of that form.

        Examples
        --------
        >>> import numpy as np
        >>> from capo.inspection import Comparison, MethodResult
        >>> names = ["default learner", "tuned threshold", "tuned stack", "capo"]
        >>> methods = [MethodResult(name, np.array([0.7, 0.8]), seconds=1.0) for name in names]
        >>> stored = Comparison("f1", "boosting", methods).to_dict()
        >>> Comparison.from_dict(stored).folds
        2
        """
        match data:
            case {
                "measure": str() as measure,
                "default_learner": str() as learner,
                "methods": list() as entries,
                **others,
            }:
                methods = [MethodResult.from_dict(each) for each in entries]
            case _:
                raise ValueError('it needs the keys "measure", "default_learner" and "methods"')
        if {each.name for each in methods} != set(METHODS) or len(methods) != len(METHODS):
            raise ValueError(f"its methods must be {', '.join(METHODS)}, each once")
        counts = {len(each.values) for each in methods}
        if len(counts) > 1 or min(counts) < 2:
            raise ValueError("its methods must have the same number of values, at least 2")
        source = None if others.get("source") is None else ComparisonSource.from_dict(others["source"])
        return cls(measure, learner, methods, str(others.get("note", "")), source)

    def __str__(self) -> str:
        decimals = count_decimals(each.mean for each in self.methods)
        table = [("held-out folds", self.measure, "std", "seconds")]
        for each in self.methods:
            value, std = format_value(each.mean, decimals), format_value(each.std, decimals)
            table.append((each.name, value, std, f"{each.seconds:,.1f}"))
        legend = "std: standard deviation over folds; seconds: time of one fit"
        notes = [legend, self.note] if self.note else [legend]
        return "\n".join([*format_table(table, MIN_WIDTHS), *notes, "", self.verdict])

    __repr__ = __str__


def _is_finite_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_STORED_NUMBER


def _mean_nan_last(method: MethodResult) -> float:
    return -np.inf if np.isnan(method.mean) else method.mean


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
    n_fits = 1 + n_folds
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
        `capo.learning.folds.TimeFolds`, which gets `groups`. Give the model a splitter of this kind, too.
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
            decision - (model.decision_.log_odds if thresholds.log_odds is None else thresholds.log_odds)
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


#: Multipliers that are tried for each class.
MULTIPLIER_GRID = np.geomspace(0.05, 20.0, 25)
#: Passes over the classes.
N_PASSES = 2
#: Probabilities are kept this far from 0 and 1.
PROBABILITY_EPS = 1e-12


def compare_many(
    model: CAPOClassifier,
    X: Any,
    y: Any,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    folds: int = 5,
    random_state: int | None = None,
    on_progress: Callable[[str], None] = lambda message: None,
) -> Comparison:
    """Compare a classifier of many classes or labels with three simpler methods by cross-validation.

    Parameters
    ----------
    model : CAPOClassifier
        The unfitted model; the other methods use its measure and its auxiliaries.
    X, sample_weight
        The training data, as for `CAPOClassifier.fit`.
    y : array-like of shape (n_samples,) or (n_samples, n_labels)
        Labels of more than two classes, or a label matrix.
    groups : array-like of shape (n_samples,), optional
        The group of each row. Rows of one group are held out together.
    folds : int, default=5
        Number of held-out folds, stratified and shuffled.
    random_state : int, optional
        Seed of the folds. Pass an int for reproducible results.
    on_progress : callable, optional
        Called with a message after each fold.

    Returns
    -------
    Comparison
        The value of each method on each fold, and a verdict.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from capo import CAPOClassifier
    >>> from capo.inspection import compare_many
    >>> X, y = load_wine(return_X_y=True)
    >>> model = CAPOClassifier("f1_macro", auxiliaries=[GaussianNB()], random_state=0)
    >>> compare_many(model, X, y, folds=2, random_state=0).folds
    2
    """
    codes, labels = _fold_codes(y)
    if not 2 <= folds <= len(codes) // 2:
        raise InvalidInputError(f"{len(codes)} rows are not enough for {folds} folds.")
    group = None if groups is None else check_groups(groups, len(codes))
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    params = {} if group is None else {"groups": group}
    splits = split_class_folds(folds, X, codes, params, check_random_state(random_state), weight=weight)
    warn_of_data(X, fold_numbers(splits, len(codes)), stacklevel=2)
    compare_fold = _compare_label_fold if labels.ndim == 2 else _compare_class_fold
    rows = ComparisonRows(X, labels, weight, group)
    results = []
    for fitted, train, test in fit_folds(model, rows, splits, on_progress):
        results.append(compare_fold(fitted, train, test))
    return aggregate_folds(fitted, results, len(codes))


def _fold_codes(y: Any) -> tuple[IntArray, Any]:
    """The classes by which folds are stratified, and the labels as an array."""
    values = np.asarray(y)
    if values.ndim == 2:
        _, positive = encode_label_matrix(y)
        return label_fold_codes(positive), positive.astype(np.int64)
    return encode_class_labels(values)[1], values


def _compare_class_fold(model: CAPOClassifier, train: ComparisonRows, held_out: ComparisonRows) -> FoldResult:
    # A class with one row may be in the held-out fold only.
    held_out = held_out.take(np.flatnonzero(np.isin(held_out.y, model.classes_)))
    codes, codes_test = (class_positions(each.y, model.classes_) for each in (train, held_out))
    measure, learner = model.measure_, default_learner_index(model)
    oof = softmax(model.auxiliary_outputs_[:, learner], axis=1)
    raw_test = model.auxiliary_outputs(held_out.X)
    test = softmax(raw_test[:, learner], axis=1)
    probabilities = model.stack_.probabilities(list(np.moveaxis(raw_test, 1, 0)))

    def score(labels: IntArray, p: FloatArray) -> float:
        return measure.score(codes_test, labels, p, held_out.weight)

    def score_tuned(p_oof: FloatArray, p_test: FloatArray) -> float:
        multipliers = tune_multipliers(measure, p_oof, codes, train.weight)
        return score((p_test * multipliers).argmax(axis=1), p_test)

    values = {
        DEFAULT_LEARNER: score(test.argmax(axis=1), test),
        TUNED_THRESHOLD: score_tuned(oof, test),
        TUNED_STACK: score_tuned(model.oof_probabilities_, probabilities),
        CAPO: score(model.rule_.predict(probabilities), probabilities),
    }
    return FoldResult(values, fit_seconds(model, model.timings_["stack"], ("stack", "rule")))


def _compare_label_fold(model: CAPOClassifier, train: ComparisonRows, held_out: ComparisonRows) -> FoldResult:
    positive, positive_test = train.y.astype(bool), held_out.y.astype(bool)
    measure, learner = model.measure_, default_learner_index(model)
    oof, test = model.auxiliary_outputs_[:, learner], model.auxiliary_outputs(held_out.X)[:, learner]
    stack = logit(np.clip(model.predict_proba(held_out.X), PROBABILITY_EPS, 1.0 - PROBABILITY_EPS))

    def score(decision: FloatArray) -> float:
        return measure.score(positive_test, decision, held_out.weight)

    def score_tuned(oof_scores: FloatArray, test_scores: FloatArray) -> float:
        return score(test_scores - _tune_thresholds(measure, oof_scores, positive, train.weight))

    values = {
        DEFAULT_LEARNER: score(test),
        TUNED_THRESHOLD: score_tuned(oof, test),
        TUNED_STACK: score_tuned(model.oof_log_odds_, stack),
        CAPO: score(model.decision_function(held_out.X)),
    }
    own_steps = ("delta", "adaptation")
    return FoldResult(values, fit_seconds(model, model.timings_["adaptation"], own_steps))


def tune_multipliers(
    measure: MulticlassMeasure, probabilities: FloatArray, codes: IntArray, weight: FloatArray | None
) -> FloatArray:
    """Return a multiplier of each class's probability, tuned one after the other on these labels."""
    multipliers = np.ones(probabilities.shape[1])
    if not isinstance(measure, ConfusionMatrixMeasure):
        return multipliers

    def value(each: FloatArray) -> float:
        return measure.score(codes, (probabilities * each).argmax(axis=1), probabilities, weight)

    best = value(multipliers)
    for k in [*range(len(multipliers))] * N_PASSES:
        for candidate in MULTIPLIER_GRID:
            tried = multipliers.copy()
            tried[k] = candidate
            if (reached := value(tried)) > best:
                best, multipliers = reached, tried
    return multipliers


def _tune_thresholds(
    measure: MultilabelMeasure, scores: FloatArray, positive: BoolArray, weight: FloatArray | None
) -> FloatArray:
    """Return the threshold of each label that is best on these rows; 0 for a label of one class."""
    binary = measure.measure if isinstance(measure, LabelAverage) else measures.get("f1")
    both = np.asarray(positive.any(axis=0) & ~positive.all(axis=0))
    found = [
        float(binary.threshold(positive[:, k], scores[:, k], weight)) if both[k] else 0.0
        for k in range(positive.shape[1])
    ]
    return np.array(found)
