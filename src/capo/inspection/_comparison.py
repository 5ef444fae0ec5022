"""Compare `CAPOClassifier` with simpler methods on the same rows and the same auxiliaries.

One fitted `CAPOClassifier` provides all that the four methods need, because its auxiliaries are cross-fitted:

- the default learner is one of the auxiliaries, with its probabilities cut at 0.5;
- the tuned threshold is the same learner, with a threshold chosen on its out-of-fold probabilities;
- the tuned stack is a logistic regression on all auxiliaries' out-of-fold probabilities, with a threshold
  chosen in the same way;
- capo is the fitted model itself.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.utils import check_random_state

from .._sklearn_compat import safe_indexing
from .._typing import BoolArray, FloatArray
from ..exceptions import DataWarning, InvalidInputError
from ..model_selection import Split, check_groups, fold_numbers, split_folds
from ..preprocessing import encode_binary_labels, positive_mask, warn_of_data

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier

DEFAULT_LEARNER, TUNED_THRESHOLD, TUNED_STACK = "default learner", "tuned threshold", "tuned stack"
CAPO = "capo"
#: The methods from the simplest to the most complex.
METHODS = (DEFAULT_LEARNER, TUNED_THRESHOLD, TUNED_STACK, CAPO)
#: Quantile of Student's t distribution for a two-sided test at the 5% level.
SIGNIFICANCE_QUANTILE = 0.975
#: Lower limit of a standard error: folds that agree to the last digit are no evidence.
MIN_STANDARD_ERROR = 1e-4
#: The auxiliary used as the default learner if the model has it; otherwise the first one is used.
PREFERRED_LEARNER = "boosting"
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
        needed = float(student.ppf(SIGNIFICANCE_QUANTILE, self.folds - 1)) * max(error, MIN_STANDARD_ERROR)
        return int(gain > needed) - int(gain < -needed)

    @property
    def verdict(self) -> str:
        """Whether capo is better here than simpler methods, as text."""
        others = [each for each in self.methods if each.name != CAPO]
        others.sort(key=_mean_nan_last, reverse=True)
        alternative = next((each for each in others if self._significant_sign(each.name) < 0), others[0])
        sign = self._significant_sign(alternative.name)
        gain, error = self.gain(alternative.name)
        evidence = (
            f"{self.measure} {gain:+.4f} ± {error:.4f} (standard error) compared with the {alternative.name}"
        )
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
        }

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Restore a comparison from the output of `to_dict`.

        Parameters
        ----------
        data : dict
            "measure", "default_learner" and "methods" as `to_dict` returns them, for instance read from
            JSON. Means, standard deviations and the verdict are computed again from the values on the folds.

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
            }:
                methods = [MethodResult.from_dict(each) for each in entries]
            case _:
                raise ValueError('it needs the keys "measure", "default_learner" and "methods"')
        if {each.name for each in methods} != set(METHODS) or len(methods) != len(METHODS):
            raise ValueError(f"its methods must be {', '.join(METHODS)}, each once")
        counts = {len(each.values) for each in methods}
        if len(counts) > 1 or min(counts) < 2:
            raise ValueError("its methods must have the same number of values, at least 2")
        return cls(measure, learner, methods)

    def __str__(self) -> str:
        column = max(8, len(self.measure))
        rows = [f"{'held-out folds':<16}  {self.measure:>{column}}  {'std':>7}  {'seconds':>8}"]
        for each in self.methods:
            rows.append(f"{each.name:<16}  {each.mean:>{column}.4f}  {each.std:>7.4f}  {each.seconds:>8.1f}")
        legend = "std: standard deviation over folds; seconds: time of one fit"
        return "\n".join([*rows, legend, "", self.verdict])

    __repr__ = __str__


def _is_finite_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_STORED_NUMBER


def _mean_nan_last(method: MethodResult) -> float:
    return -np.inf if np.isnan(method.mean) else method.mean


def compare(
    model: CAPOClassifier,
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    folds: int = 5,
    random_state: int | None = None,
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
    splits = _split(folds, positive, group, random_state)
    warn_of_data(X, fold_numbers(splits, len(positive)), stacklevel=2)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    results = []
    for number, (train, test) in enumerate(splits, start=1):
        start = time.perf_counter()
        weight_train, weight_test = (None, None) if weight is None else (weight[train], weight[test])
        group_train = None if group is None else group[train]
        params = {} if group is None else {"groups": group_train}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # issued above for all rows
            fitted = clone(model).fit(
                safe_indexing(X, train), labels[train], sample_weight=weight_train, **params
            )
        results.append(
            compare_on_fold(
                fitted,
                labels[train],
                weight_train,
                safe_indexing(X, test),
                labels[test],
                weight_test,
                groups=group_train,
            )
        )
        on_progress(f"fold {number} of {folds}: {time.perf_counter() - start:.0f} s")
    return _aggregate_folds(fitted, results)


def _split(
    folds: int, positive: BoolArray, groups: NDArray[Any] | None, random_state: int | None
) -> list[Split]:
    """Return the training rows and the held-out rows of each fold."""
    _check_folds(folds, positive, groups)
    return split_folds(folds, positive, positive, {"groups": groups}, check_random_state(random_state))


def _check_folds(folds: int, positive: BoolArray, groups: NDArray[Any] | None) -> None:
    """Check that each class has two units for each fold: rows, or groups with rows of the class."""
    units = "rows" if groups is None else "groups"
    ids = np.arange(len(positive)) if groups is None else groups
    fewest = min(len(np.unique(ids[rows])) for rows in (positive, ~positive))
    if not 2 <= folds <= fewest // 2:
        enough = f"enough for 2 to {fewest // 2} folds" if fewest > 3 else "and at least 4 are needed"
        which = "the rarer class has" if groups is None else "one class has rows in"
        raise InvalidInputError(f"{which} {fewest} {units}, {enough}: got {folds} folds.")


@dataclass(frozen=True)
class FoldResult:
    """Value and fit time of each method on one held-out fold, by the method's name."""

    values: dict[str, float]
    seconds: dict[str, float]


def compare_on_fold(
    model: CAPOClassifier,
    y: ArrayLike,
    weight: FloatArray | None,
    X_test: Any,
    y_test: ArrayLike,
    weight_test: FloatArray | None = None,
    *,
    groups: NDArray[Any] | None = None,
) -> FoldResult:
    """Evaluate the four methods on held-out rows, given one fitted model, its labels and its groups."""
    measure, learner = model.measure_, _default_learner_index(model)
    positive, positive_test = positive_mask(y, model.classes_), positive_mask(y_test, model.classes_)
    raw_test = model.auxiliary_outputs(X_test)
    decision = model.combination_.log_odds(raw_test.T, model.delta_features(X_test))
    oof, test = expit(model.auxiliary_outputs_), expit(raw_test)

    def score(decision: FloatArray) -> float:
        return measure.score(positive_test, decision, weight_test)

    def score_tuned(oof_scores: FloatArray, test_scores: FloatArray) -> float:
        return score(test_scores - measure.threshold(positive, oof_scores, weight))

    start = time.perf_counter()
    stack_oof, stack_test = _fit_stack(oof, positive, weight, test, groups)
    stack_seconds = time.perf_counter() - start
    values = {
        DEFAULT_LEARNER: score(test[:, learner] - 0.5),
        TUNED_THRESHOLD: score_tuned(oof[:, learner], test[:, learner]),
        TUNED_STACK: score_tuned(stack_oof, stack_test),
        CAPO: score(decision - model.combination_.threshold_log_odds),
    }
    return FoldResult(values, _fit_seconds(model, learner, stack_seconds))


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


def _default_learner_index(model: CAPOClassifier) -> int:
    names = list(model.auxiliaries_)
    return names.index(PREFERRED_LEARNER) if PREFERRED_LEARNER in names else 0


def _fit_seconds(model: CAPOClassifier, learner: int, stack_seconds: float) -> dict[str, float]:
    """Fit time of each method; a default learner is fitted once, the others also once per fold."""
    timings = model.timings_
    cross_fitted = timings[f"auxiliary {list(model.auxiliaries_)[learner]}"]
    n_fits = 1 + len(next(iter(model.auxiliary_scores_.values())).leave_one_out)
    return {
        DEFAULT_LEARNER: cross_fitted / n_fits,
        TUNED_THRESHOLD: cross_fitted,
        TUNED_STACK: timings["auxiliaries"] + stack_seconds,
        CAPO: sum(timings[step] for step in ("auxiliaries", "delta", "adaptation")),
    }


def _aggregate_folds(model: CAPOClassifier, results: list[FoldResult]) -> Comparison:
    methods = [
        MethodResult(
            name,
            np.array([each.values[name] for each in results]),
            float(np.mean([each.seconds[name] for each in results])),
        )
        for name in METHODS
    ]
    learner = list(model.auxiliaries_)[_default_learner_index(model)]
    return Comparison(model.measure_.label, learner, methods)
