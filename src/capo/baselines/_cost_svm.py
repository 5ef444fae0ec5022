"""The support vector machine with a cost model: its costs chosen by the measure."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, check_memory

from .. import measures
from .._sklearn_compat import HasMethods, Interval, StrOptions
from .._typing import BoolArray, FloatArray
from ..estimators import BinaryClassifier, DecisionFunctionMixin, MeasureScoreMixin, check_positive_grid
from ..exceptions import InvalidInputError
from ..kernels import default_gamma_grid, make_kernel
from ..measures import Measure
from ..model_selection import split_folds
from ..preprocessing import encode_binary_labels

#: SVMlight's grids: C, and the cost j of a positive row.
CS = tuple((2.0 ** np.arange(-7, 8)).tolist())
COSTS = tuple((2.0 ** np.arange(-2, 7)).tolist())
#: Limit on the solver's steps in cross-validation, where most candidates are poor.
CV_STEPS = 20_000


class Candidate(NamedTuple):
    """One setting of the machine; gamma is None for the linear one."""

    C: float
    cost: float
    gamma: float | None


class CostSVMClassifier(MeasureScoreMixin, DecisionFunctionMixin, BinaryClassifier):
    """Support vector machine whose C, class costs and width are those that the measure likes best.

    The classic way to a measure that is not accuracy (Morik, Brockhausen and Joachims, 1999; Lewis,
    2001): errors on positive rows cost j times as much, and j is chosen with C, and with the
    Gaussian kernel gamma, by the measure in cross-validation. The machines are scikit-learn's
    `LinearSVC` and `SVC`.

    Parameters
    ----------
    measure : str, Measure or callable, default="f1"
        What the choice is judged by.
    kernel : {"linear", "rbf"}, default="linear"
        The machine.
    Cs, costs, gammas : array-like, optional
        The grids; SVMlight's customary ones if not given: C from 2^-7 to 2^7, j from 2^-2 to 2^6, gamma
        from a quarter to four times the inverse of the mean squared distance between two rows.
    cv : int, splitter or iterable, default=5
        Folds.
    max_rows : int, optional, default=2000
        Rows, drawn at random within the classes, that the choice is made on; None for all. The chosen machine
        is trained on all rows.
    max_iter : int, default=-1
        Limit on the last fit's steps with the Gaussian kernel; -1 for none.
    memory : str or joblib.Memory, optional
        Where to keep what cross-validation found, so that another measure need not repeat it; give a
        `random_state` too.
    random_state : int, RandomState instance or None, default=None
        Draws rows and folds.

    Attributes
    ----------
    C_, cost_, gamma_ : float
        The chosen values; gamma_ is None for the linear machine.
    score_ : float
        Their value of the measure in cross-validation.
    best_estimator_ : LinearSVC or SVC
        The machine trained on all rows.
    n_iter_ : int
        Steps of the last fit.
    selection_seconds_ : float
        CPU seconds of the cross-validation; those of the run that filled the memory if it was remembered.
    classes_ : ndarray of shape (2,)
        The two labels; the second is the positive class.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had any.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from capo.baselines import CostSVMClassifier
    >>> X, y = make_classification(400, weights=[0.9], random_state=0)
    >>> model = CostSVMClassifier("f1", Cs=[0.1, 1.0], costs=[1, 4], random_state=0).fit(X, y)
    >>> model.cost_ in (1, 4)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        "measure": [str, Measure, callable],
        "kernel": [StrOptions({"linear", "rbf"})],
        "Cs": ["array-like", None],
        "costs": ["array-like", None],
        "gammas": ["array-like", None],
        "cv": ["cv_object"],
        "max_rows": [Interval(Integral, 10, None, closed="left"), None],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "memory": [str, HasMethods(["cache"]), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        measure: str | Measure | Callable[..., Any] = "f1",
        *,
        kernel: str = "linear",
        Cs: ArrayLike | None = None,
        costs: ArrayLike | None = None,
        gammas: ArrayLike | None = None,
        cv: Any = 5,
        max_rows: int | None = 2000,
        max_iter: int = -1,
        memory: Any = None,
        random_state: Any = None,
    ) -> None:
        self.measure = measure
        self.kernel = kernel
        self.Cs = Cs
        self.costs = costs
        self.gammas = gammas
        self.cv = cv
        self.max_rows = max_rows
        self.max_iter = max_iter
        self.memory = memory
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose the costs, and train on all rows with them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Two labels; the larger one is the positive class.

        Returns
        -------
        self : CostSVMClassifier
            The fitted classifier.
        """
        self._validate_params()
        self.measure_ = measures.get(self.measure)
        table, labels = self._validate_fit_data(X, y)
        self.classes_, positive = encode_binary_labels(labels)
        random = check_random_state(self.random_state)
        rows = _some(positive, self.max_rows, random)
        few, marked = table[rows], positive[rows]
        candidates = list(self._candidates(table))
        try:
            splits = split_folds(self.cv, few, marked, {}, random)
        except IndexError as error:
            raise InvalidInputError(
                f"cv names rows beyond the {len(rows)} on which the choice is made: give max_rows=None, or a "
                "number of folds."
            ) from error
        cached = check_memory(self.memory).cache(held_out_scores)
        scores, self.selection_seconds_ = cached(candidates, few, marked, splits)
        values = [self._value(each, marked, splits) for each in scores]
        best = int(np.argmax(values))
        (self.C_, self.cost_, self.gamma_), self.score_ = candidates[best], values[best]
        self.best_estimator_ = machine(candidates[best], self.max_iter).fit(table, positive)
        self._sparse = issparse(table)
        self.n_iter_ = int(np.max(self.best_estimator_.n_iter_))
        return self

    def _candidates(self, table: Any) -> Iterator[Candidate]:
        """Every setting, those of one width together."""
        gammas: list[float | None] = [None]
        if self.kernel == "rbf":
            given = default_gamma_grid("rbf", table) if self.gammas is None else self.gammas
            gammas = list(check_positive_grid(given, "gammas"))
        Cs = check_positive_grid(CS if self.Cs is None else self.Cs, "Cs")
        costs = check_positive_grid(COSTS if self.costs is None else self.costs, "costs")
        for gamma, C, cost in itertools.product(gammas, Cs, costs):
            yield Candidate(C, cost, gamma)

    def _value(self, scores: FloatArray, positive: BoolArray, splits: Any) -> float:
        """The measure on the rows held out, averaged over folds."""
        return float(np.mean([self.measure_.score(positive[test], scores[test]) for _, test in splits]))

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Signed distance from the border, in units of the margin: above 0 is positive."""
        check_is_fitted(self)
        rows = self._validate_predict_data(X)
        if issparse(rows) and not self._sparse:  # a machine of dense rows takes no others
            rows = rows.toarray()
        return np.asarray(self.best_estimator_.decision_function(rows))


def machine(candidate: Candidate, max_iter: int = -1) -> LinearSVC | SVC:
    """The machine for a setting; the linear one with squared slacks, which it solves fastest."""
    weight = {False: 1.0, True: candidate.cost}
    if candidate.gamma is None:
        return LinearSVC(C=candidate.C, class_weight=weight, dual="auto", random_state=0)
    return SVC(C=candidate.C, gamma=candidate.gamma, class_weight=weight, max_iter=max_iter, cache_size=1000)


def held_out_scores(
    candidates: list[Candidate], X: Any, positive: BoolArray, splits: list[tuple[Any, Any]]
) -> tuple[list[FloatArray], float]:
    """For every setting the scores of the rows held out, and the CPU seconds of them all."""
    start = time.process_time()
    scores = [np.zeros(len(positive)) for _ in candidates]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for number, candidate in enumerate(candidates):
            known = X
            if candidate.gamma is not None:
                if number == 0 or candidate.gamma != candidates[number - 1].gamma:
                    matrix = make_kernel("rbf", X, candidate.gamma)(X, X)
                known = matrix
            for train, test in splits:
                scores[number][test] = _scores(candidate, known, positive, train, test)
    return scores, time.process_time() - start


def _scores(candidate: Candidate, known: Any, positive: BoolArray, train: Any, test: Any) -> FloatArray:
    """Scores of the rows held out; `known` is the table, or the kernel matrix of its rows."""
    model = machine(candidate, CV_STEPS)
    if candidate.gamma is None:
        return np.asarray(model.fit(known[train], positive[train]).decision_function(known[test]))
    model.set_params(kernel="precomputed")
    model.fit(known[np.ix_(train, train)], positive[train])
    return np.asarray(model.decision_function(known[np.ix_(test, train)]))


def _some(positive: BoolArray, most: int | None, random: np.random.RandomState) -> NDArray[np.intp]:
    """Rows drawn within the classes; all of them if there are no more than that."""
    rows = np.arange(len(positive))
    if most is None or len(rows) <= most:
        return rows
    drawn, _ = train_test_split(rows, train_size=most, stratify=positive, random_state=random)
    return np.sort(drawn)
