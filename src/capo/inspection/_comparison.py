"""Comparison with simpler methods by cross-validation.

One fitted `CAPOClassifier` provides all that four methods need, because its auxiliaries are cross-fitted:

- the default learner is one of the auxiliaries, with its probabilities cut at 0.5;
- the tuned threshold is the same learner, with a threshold chosen on its out-of-fold probabilities;
- the tuned stack is a logistic regression on all auxiliaries' out-of-fold probabilities, with a threshold
  chosen in the same way;
- capo is the fitted model itself.

If the answers of others are used, that is frozen auxiliaries or score columns, and there are two classes:

- the logistic regression has the columns of the table and these answers as its features, a penalty chosen by
  cross-validation of the log loss, and a threshold chosen in the same way;
- the best single score is the score column, with a threshold, that is best on the training rows.

With prices of each row, the tuned threshold is the one with the most money on the training rows, and the
tuned stack has the threshold of each row that follows from its prices, as capo has.

For many classes a *threshold* is a multiplier of each class's probability, and the label is the class with
the largest product; for many labels each label has its own. Both are tuned on the labels of out-of-fold rows;
the stack is that of the fitted model.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
from scipy.special import expit, logit, softmax
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import BaseCrossValidator, GridSearchCV, cross_val_predict
from sklearn.utils import check_random_state

from .. import measures
from .._compat import ArrayLike, FloatArray, IntArray, NDArray, safe_indexing
from ..decisions import PRICE_NAMES, RowPrices
from ..exceptions import DataWarning, InvalidInputError
from ..learning.auxiliaries import label_fold_codes
from ..learning.folds import Split, check_groups, fold_numbers, split_folds
from ..learning.outputs import is_frozen
from ..measures import ConstrainedMeasure, Measure
from ..measures.multiclass import ConfusionMatrixMeasure, MulticlassMeasure
from ..measures.multilabel import LabelAverage, MultilabelMeasure
from ..tables import targets
from ..tables.checks import warn_of_data
from ..tables.features import make_linear_features, make_score_features
from ._formatting import count_decimals, format_table, format_value
from ._targets import targets_of_model

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier


DEFAULT_LEARNER, TUNED_THRESHOLD, TUNED_STACK = "default learner", "tuned threshold", "tuned stack"
CAPO = "capo"
#: The methods from the simplest to the most complex.
METHODS = (DEFAULT_LEARNER, TUNED_THRESHOLD, TUNED_STACK, CAPO)
#: Further methods if score columns, or these and frozen auxiliaries, are used.
BEST_SCORE, LOGISTIC_REGRESSION = "best single score", "logistic regression"
#: Values of C that are tried for the logistic regression.
LOGISTIC_CS = np.geomspace(1e-3, 100.0, 6)
#: The auxiliary used as the default learner if the model has it; otherwise the first one is used.
PREFERRED_LEARNER = "boosting"
#: The steps of a fit after the auxiliaries, of which a kind of target has some.
LATER_STEPS = ("stack", "rule", "delta", "adaptation")
#: Quantile of Student's t distribution for a two-sided test at the 5% level.
SIGNIFICANCE_QUANTILE = 0.975
#: Lower limit of a standard error, relative to the largest mean: folds that agree to the last digit are no
#: evidence.
MIN_RELATIVE_ERROR = 1e-4
#: Numbers beyond this in a stored comparison are refused.
MAX_STORED_NUMBER = 1e100
#: Multipliers that are tried for each class, and passes over the classes.
MULTIPLIER_GRID, N_PASSES = np.geomspace(0.05, 20.0, 25), 2
#: Probabilities are kept this far from 0 and 1.
PROBABILITY_EPS = 1e-12
#: Required keys of a source.
SOURCE_KEYS = {"pos_label", "auxiliaries", "n_rows"}
#: Descriptions of differences between two sources.
SOURCE_TEXTS = {
    "n_rows": "of {} rows, not of {}",
    "target": "for the target {}, not for {}",
    "pos_label": "for the positive label {}, not for {}",
    "auxiliaries": "with the auxiliaries {}, not with {}",
}
#: The meaning of the values of a comparison with prices.
PRICED_VALUES = (
    "the values are mean money per held-out row at its own prices; the tuned threshold is the same for all "
    "rows, and the methods below it use a threshold for each row that follows from its prices"
)


#: The outputs of each method for held-out rows.
Methods = dict[str, FloatArray]


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
                numbers = (*values, seconds)
                if all(type(each) in (int, float) and abs(each) < MAX_STORED_NUMBER for each in numbers):
                    return cls(name, np.array(values, dtype=np.float64), float(seconds))
        raise ValueError(f"{str(data)[:60]} is not a method with a name, a finite value per fold and seconds")


@dataclass(frozen=True)
class Comparison:
    """Methods on the same held-out folds; prints as a table followed by a verdict.

    Attributes
    ----------
    measure : str
        The measure by which the methods are compared.
    default_learner : str
        The auxiliary used as the default learner.
    methods : list of MethodResult
        The default learner, the same with a tuned threshold, the tuned stack, and capo. With frozen
        auxiliaries or score columns and two classes also a logistic regression on columns and answers, and
        with score columns the best single score.
    note : str
        The meaning of the values, if the measure does not depend on the methods' thresholds.
    source : dict of str to object, optional
        The data and auxiliaries of the comparison, to tell whether it belongs to a model: "pos_label",
        "auxiliaries", "n_rows", and if they are known the "target" column, the name of the "table" and its
        "sha256".

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
    source: dict[str, Any] | None = None

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
        """The verdict on capo and simpler methods, as text."""
        others = [each for each in self.methods if each.name != CAPO]
        others.sort(key=lambda each: -np.inf if np.isnan(each.mean) else each.mean, reverse=True)
        alternative = next((each for each in others if self._significant_sign(each.name) < 0), others[0])
        sign = self._significant_sign(alternative.name)
        gain, error = self.gain(alternative.name)
        decimals = count_decimals(each.mean for each in self.methods)
        difference = f"{format_value(gain, decimals, sign='+')} ± {format_value(error, decimals)}"
        evidence = f"{self.measure} {difference} (standard error) compared with the {alternative.name}"
        if sign < 0:
            best = next(each for each in self.methods if each.mean >= alternative.mean)
            simpler = "" if best is alternative else ", which is simpler and no worse"
            return f"capo is worse here than a simpler method: {evidence}. Use the {best.name}{simpler}."
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
        """The difference between the comparison and the training of a model as text; "" if there is none.

        Parameters
        ----------
        model : CAPOClassifier
            The fitted model.
        target, table, sha256 : str, optional
            The label column, the name and the checksum of the model's training table, if they are known.

        Returns
        -------
        str
            Such as "for f1, not for mcc". A comparison without a source is only recognized by its measure.
        """
        if self.measure != model.measure_.label:
            return f"for {self.measure}, not for {model.measure_.label}"
        if self.source is None:
            return ""
        mine, other = self.source, {**_describe_source(model), "target": target}
        if mine.get("sha256") and sha256 and mine["sha256"] != sha256:
            other_table = f"of {mine.get('table', '')!r}, not of {table!r}"
            return f"of other contents of {table!r}" if mine.get("table") == table else other_table
        for key, text in SOURCE_TEXTS.items():
            is_known = key != "target" or (mine.get(key) and target)
            if is_known and mine[key] != other[key]:
                return text.format(*(_write_value(each) for each in (mine[key], other[key])))
        return ""

    def to_dict(self) -> dict[str, Any]:
        """The comparison as values that JSON can hold."""
        return {
            "measure": self.measure,
            "default_learner": self.default_learner,
            "folds": self.folds,
            "methods": [
                {"value": each.mean, "std": each.std, **asdict(each), "values": each.values.tolist()}
                for each in self.methods
            ],
            "verdict": self.verdict,
            "note": self.note,
            "source": self.source,
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
        names = sorted(each.name for each in methods if each.name not in (BEST_SCORE, LOGISTIC_REGRESSION))
        if names != sorted(METHODS) or len({each.name for each in methods}) != len(methods):
            raise ValueError(f"its methods must be {', '.join(METHODS)}, each once")
        counts = {len(each.values) for each in methods}
        if len(counts) > 1 or min(counts) < 2:
            raise ValueError("its methods must have the same number of values, at least 2")
        source = others.get("source")
        if source is not None and not (isinstance(source, dict) and source.keys() >= SOURCE_KEYS):
            raise ValueError("its source must have a positive label, auxiliaries and a number of rows")
        return cls(measure, learner, methods, str(others.get("note", "")), source)

    def __str__(self) -> str:
        decimals = count_decimals(each.mean for each in self.methods)
        table = [("held-out folds", self.measure, "std", "seconds")]
        for each in self.methods:
            value, std = format_value(each.mean, decimals), format_value(each.std, decimals)
            table.append((each.name, value, std, f"{each.seconds:,.1f}"))
        legend = "std: standard deviation over folds; seconds: time of one fit"
        notes = [legend, self.note] if self.note else [legend]
        return "\n".join([*format_table(table, (16, 8, 7, 8)), *notes, "", self.verdict])

    __repr__ = __str__


@dataclass(frozen=True)
class ComparedRows:
    """Rows of a comparison.

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
    weight: FloatArray | None = None
    groups: NDArray[Any] | None = None
    prices: RowPrices | None = None

    def take(self, rows: IntArray) -> ComparedRows:
        """Return some of the rows."""
        weight, groups = (None if each is None else each[rows] for each in (self.weight, self.groups))
        prices = None if self.prices is None else self.prices.take_rows(rows)
        return ComparedRows(safe_indexing(self.X, rows), self.y[rows], weight, groups, prices)

    def fit(self, model: CAPOClassifier) -> CAPOClassifier:
        """Fit a copy of the model, without warnings about the data, which are issued for all rows."""
        params = {"sample_weight": self.weight, "groups": self.groups}
        params |= {name: getattr(self.prices, name, None) for name in PRICE_NAMES}
        params = {name: value for name, value in params.items() if value is not None}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            return clone(model).fit(self.X, self.y, **params)


def compare(
    model: CAPOClassifier,
    X: Any,
    y: Any,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    folds: int | BaseCrossValidator = 5,
    random_state: int | None = None,
    prices: Mapping[str, Any] | None = None,
    on_progress: Callable[[str], None] = lambda message: None,
) -> Comparison:
    """Compare capo with simpler methods by cross-validation.

    `capo compare` does the same for a file.

    Parameters
    ----------
    model : CAPOClassifier
        The unfitted model; the other methods use its measure and its auxiliaries.
    X, y, sample_weight
        The training data, as for `CAPOClassifier.fit`: labels of two or more classes, or a label matrix.
    groups : array-like of shape (n_samples,), optional
        The group of each row, such as a patient. Rows of one group are held out together, in the folds of
        the comparison and in those of every method.
    folds : int or splitter, default=5
        Number of held-out folds, stratified and shuffled; or a splitter, such as
        `capo.TimeFolds`, which gets `groups`. Give the model a splitter of this kind, too.
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
    labels, row_prices = np.asarray(y), None
    group = None if groups is None else check_groups(groups, len(labels))
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if labels.ndim == 2:
        labels = targets.encode_label_matrix(y)[1].astype(np.int64)
    codes = fold_codes(labels)
    splits = _split(folds, codes, group, weight, random_state)
    if codes.dtype == bool and not isinstance(model.measure, MulticlassMeasure | MultilabelMeasure):
        measure, mass = measures.get(model.measure), np.ones(len(labels)) if weight is None else weight
        measure.check_size(float(mass.sum()))
        smallest = min(float(mass[test].sum()) for _, test in splits)
        measure.check_size(smallest, f"the number of rows that a fold holds out (of {mass.sum():g} in all)")
        if prices is not None:  # those that are not given are the measure's, as in `fit`
            defaults = {name: value for name, value in measure.params.items() if name in PRICE_NAMES}
            row_prices = RowPrices.from_values(len(labels), **{**defaults, **prices})
    warn_of_data(X, fold_numbers(splits, len(labels)), stacklevel=2)
    rows = ComparedRows(X, labels, weight, group, row_prices)
    results = []
    for number, (train, test) in enumerate(splits, start=1):
        start = time.perf_counter()
        trained = rows.take(train)
        fitted = trained.fit(model)
        results.append(compare_on_fold(fitted, trained, rows.take(test)))
        on_progress(f"fold {number} of {len(splits)}: {time.perf_counter() - start:.0f} s")
    label, note = fitted.measure_.label, ""
    if row_prices is not None:
        label, note = row_prices.mean_measure(weight).label, PRICED_VALUES
    elif isinstance(fitted.measure_, Measure) and not fitted.measure_.needs_threshold:
        same = "the default learner and the tuned threshold differ in their threshold only"
        note = f"{label} does not depend on the threshold; {same}"
        if isinstance(fitted.measure_, ConstrainedMeasure):
            best = f"best {fitted.measure_.rate_name} over all thresholds with a {fitted.measure_.constraint}"
            note = f"{label}: {best} on the held-out rows; {same}"
    methods = []
    for name in results[0][0]:
        values, seconds = zip(*((found[name], taken[name]) for found, taken in results), strict=True)
        methods.append(MethodResult(name, np.array(values), float(np.mean(seconds))))
    source = {**_describe_source(fitted), "n_rows": len(labels)}
    return Comparison(label, list(fitted.auxiliaries_)[_default_learner(fitted)], methods, note, source)


def _describe_source(model: Any) -> dict[str, Any]:
    """Return what is known about the training data of a fitted model."""
    return {
        "pos_label": str(model.pos_label_) if model.target_type_ == "binary" else "",
        "auxiliaries": list(model.auxiliaries_),
        "n_rows": len(model.auxiliary_outputs_),
    }


def _write_value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else repr(value)


def fold_codes(labels: NDArray[Any]) -> NDArray[Any]:
    """Return what folds are stratified by: a mask for two classes, codes for more, the rarest labels."""
    if labels.ndim == 2:
        return label_fold_codes(labels > 0)
    codes = np.unique(labels, return_inverse=True)[1]
    return codes > 0 if codes.max() == 1 else codes


def _split(
    folds: int | BaseCrossValidator,
    codes: NDArray[Any],
    groups: NDArray[Any] | None,
    weight: FloatArray | None,
    random_state: int | None,
) -> list[Split]:
    """Return the training rows and the held-out rows of each fold.

    Each fold needs two rows of each of two classes, or two groups with such rows, or any two of many classes.
    """
    if isinstance(folds, int):
        ids = np.arange(len(codes)) if groups is None else groups
        classes = np.unique(codes) if codes.dtype == bool else [codes]
        is_counted = np.ones(len(codes), dtype=bool) if weight is None else weight > 0
        fewest = min(len(np.unique(ids[(codes == each) & is_counted])) for each in classes)
        if not 2 <= folds <= fewest // 2:
            enough = f"enough for 2 to {fewest // 2} folds" if fewest > 3 else "and at least 4 are needed"
            units = "rows" if groups is None else "groups with rows"
            which = "the rarer class has" if codes.dtype == bool else "there are"
            raise InvalidInputError(f"{which} {fewest} {units}, {enough}: got {folds} folds.")
    random = check_random_state(random_state) if isinstance(folds, int) else None
    params = {"groups": groups}
    return split_folds(folds, codes, codes, params, random, allow_partial=True, weight=weight)


def compare_on_fold(
    model: CAPOClassifier, train: ComparedRows, test: ComparedRows
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the value and the fit time of each method on held-out rows, given one fitted model.

    A default learner is fitted once, the others also once per fold.
    """
    kinds = {"binary": _compare_binary, "multiclass": _compare_classes, "multilabel": _compare_labels}
    if model.target_type_ == "multiclass":  # a class with one row may be in the held-out fold only
        test = test.take(np.flatnonzero(np.isin(test.y, model.classes_)))
    outputs, fit_seconds = kinds[model.target_type_](model, train, test)
    truth = targets_of_model(model, test.y, None if test.prices is None else test.prices.measure)
    values = {name: truth.score(truth.measure, each, test.weight) for name, each in outputs.items()}
    timings, learner = model.timings_, _default_learner(model)
    cross_fitted = [timings[f"auxiliary {name}"] for name in model.auxiliaries_]
    # Models trained without pairs of folds are only used to evaluate capo.
    share = sum(cross_fitted) / (sum(cross_fitted) + timings["pairs of folds"])
    seconds = {
        DEFAULT_LEARNER: cross_fitted[learner] / (1 + model.n_splits_),
        TUNED_THRESHOLD: cross_fitted[learner],
        **fit_seconds,
        TUNED_STACK: share * timings["auxiliaries"] + fit_seconds[TUNED_STACK],
        BEST_SCORE: sum(timings[f"auxiliary {name}"] for name in model.score_columns),
        CAPO: sum(timings[step] for step in ("auxiliaries", *LATER_STEPS) if step in timings),
    }
    return values, seconds


def _default_learner(model: CAPOClassifier) -> int:
    """The position of the auxiliary that is the default learner."""
    names = list(model.auxiliaries_)
    return names.index(PREFERRED_LEARNER) if PREFERRED_LEARNER in names else 0


def _compare_binary(
    model: CAPOClassifier, train: ComparedRows, test: ComparedRows
) -> tuple[Methods, dict[str, float]]:
    learner, by_row = _default_learner(model), None if test.prices is None else test.prices.log_odds
    rows = ~np.isnan(model.oof_decision_)
    positive = targets.positive_mask(train.y, model.label_pair)[rows]
    weight, groups = (None if each is None else each[rows] for each in (train.weight, train.groups))
    raw_test = model.auxiliary_outputs(test.X)
    log_odds = model.combination_.log_odds(raw_test.T, model.delta_features(test.X))
    oof, held_out = expit(model.auxiliary_outputs_[rows]), expit(raw_test)
    tuned_for = model.measure_ if train.prices is None else train.prices.take_rows(rows).measure
    start = time.perf_counter()
    stack = LogisticRegression(max_iter=1000)
    params, cv = {} if weight is None else {"sample_weight": weight}, None
    if groups is not None:
        cv = split_folds(None, oof, positive, {"groups": groups}, check_random_state(0))
    stack_oof = cross_val_predict(stack, oof, positive, cv=cv, method="decision_function", params=params)
    stack_test = stack.fit(oof, positive, **params).decision_function(held_out)
    seconds = {TUNED_STACK: time.perf_counter() - start}

    def tune(oof_scores: FloatArray, scores: FloatArray) -> FloatArray:
        return scores - float(tuned_for.threshold(positive, oof_scores, weight))

    outputs, names = {}, list(model.auxiliaries_)
    if scores := [names.index(name) for name in model.score_columns]:
        reached = [
            tuned_for.score(positive, tune(oof[:, number], oof[:, number]), weight) for number in scores
        ]
        best = scores[int(np.argmax(reached))]
        outputs[BEST_SCORE] = tune(oof[:, best], held_out[:, best])
    outputs[DEFAULT_LEARNER] = held_out[:, learner] - 0.5
    outputs[TUNED_THRESHOLD] = tune(oof[:, learner], held_out[:, learner])
    frozen = [number for number, each in enumerate(model.auxiliaries_.values()) if is_frozen(each)]
    if scores or frozen:
        start, known = time.perf_counter(), train.take(np.flatnonzero(rows))
        answers = model.auxiliary_outputs_[rows][:, frozen], raw_test[:, frozen]
        own, new = _fit_logistic(model, known, test, answers, positive)
        outputs[LOGISTIC_REGRESSION] = tune(own, new) if by_row is None else new - by_row
        seconds[LOGISTIC_REGRESSION] = time.perf_counter() - start
    outputs[TUNED_STACK] = tune(stack_oof, stack_test) if by_row is None else stack_test - by_row
    outputs[CAPO] = log_odds - (model.decision_.log_odds if by_row is None else by_row)
    return outputs, seconds


def _fit_logistic(
    model: CAPOClassifier,
    train: ComparedRows,
    test: ComparedRows,
    answers: tuple[FloatArray, FloatArray],
    positive: NDArray[np.bool_],
) -> tuple[FloatArray, FloatArray]:
    """The scores of a logistic regression on columns and answers, out of fold and for held-out rows."""
    schema, keys = model.schema_, [key for each in model.score_columns.values() for key in each]
    X, X_test = (schema.parse(each.X) for each in (train, test))
    columns, features = schema.take(keys, others=True), []
    if columns.columns or not keys:
        features.append(make_linear_features(X, columns))
    if keys:
        features.append(make_score_features(schema.take(keys)))
    center, scale = answers[0].mean(axis=0), np.maximum(answers[0].std(axis=0), PROBABILITY_EPS)
    blocks = [*(each.fit_transform(X) for each in features), (answers[0] - center) / scale]
    test_blocks = [*(each.transform(X_test) for each in features), (answers[1] - center) / scale]
    join = sparse.hstack if any(map(sparse.issparse, blocks)) else np.hstack
    params = {} if train.weight is None else {"sample_weight": train.weight}
    groups = {} if train.groups is None else {"groups": train.groups}
    splits = split_folds(None, X, positive, groups, check_random_state(0), weight=train.weight)
    grid = {"C": LOGISTIC_CS}
    search = GridSearchCV(LogisticRegression(max_iter=1000), grid, scoring="neg_log_loss", cv=splits)
    found = search.fit(join(blocks), positive, **params).best_estimator_
    oof = cross_val_predict(
        clone(found), join(blocks), positive, cv=splits, method="decision_function", params=params
    )
    return oof, found.decision_function(join(test_blocks))


def _compare_classes(model: Any, train: ComparedRows, test: ComparedRows) -> tuple[Methods, dict[str, float]]:
    codes, learner = targets.class_positions(train.y, model.classes_), _default_learner(model)
    raw_test = model.auxiliary_outputs(test.X)
    learned = softmax(raw_test[:, learner], axis=1)
    stacked = model.stack_.probabilities(list(np.moveaxis(raw_test, 1, 0)))

    def tune(p_oof: FloatArray, p_test: FloatArray) -> FloatArray:
        multipliers = _tune_multipliers(model.measure_, p_oof, codes, train.weight)
        return np.column_stack((p_test, (p_test * multipliers).argmax(axis=1)))

    outputs = {
        DEFAULT_LEARNER: np.column_stack((learned, learned.argmax(axis=1))),
        TUNED_THRESHOLD: tune(softmax(model.auxiliary_outputs_[:, learner], axis=1), learned),
        TUNED_STACK: tune(model.oof_probabilities_, stacked),
        CAPO: np.column_stack((stacked, model.rule_.predict(stacked))),
    }
    return outputs, {TUNED_STACK: model.timings_["stack"]}


def _compare_labels(model: Any, train: ComparedRows, test: ComparedRows) -> tuple[Methods, dict[str, float]]:
    positive, measure, learner = train.y > 0, model.measure_, _default_learner(model)
    learned = model.auxiliary_outputs(test.X)[:, learner]
    stacked = logit(np.clip(model.predict_proba(test.X), PROBABILITY_EPS, 1.0 - PROBABILITY_EPS))
    binary = measure.measure if isinstance(measure, LabelAverage) else measures.get("f1")

    def tune(oof: FloatArray, held_out: FloatArray) -> FloatArray:
        # The threshold of a label of one class is 0.
        both = np.asarray(positive.any(axis=0) & ~positive.all(axis=0))
        thresholds = np.zeros(len(both))
        for k in np.flatnonzero(both):
            thresholds[k] = binary.threshold(positive[:, k], oof[:, k], train.weight)
        return held_out - thresholds

    outputs = {
        DEFAULT_LEARNER: learned,
        TUNED_THRESHOLD: tune(model.auxiliary_outputs_[:, learner], learned),
        TUNED_STACK: tune(model.oof_log_odds_, stacked),
        CAPO: model.decision_function(test.X),
    }
    return outputs, {TUNED_STACK: model.timings_["adaptation"]}


def _tune_multipliers(
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
