"""Support vector machine with class costs, chosen by a performance measure."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_memory

from .. import measures
from .._compat import ArrayLike, BoolArray, FloatArray, HasMethods, Interval, StrOptions
from ..estimators import (
    MeasureClassifier,
    SVMPerfClassifierCV,
    atomic_fit,
    check_positive_grid,
    reject_confidence,
)
from ..exceptions import InvalidInputError
from ..kernels import default_gamma_grid, make_kernel
from ..learning.cross_fit import code_key
from ..learning.folds import check_groups, split_folds
from ..measures import Measure
from ..tables.targets import encode_binary_labels

#: The customary grids for SVMlight: C, and the cost factor j of errors on positive rows.
DEFAULT_CS = tuple((2.0 ** np.arange(-7, 8)).tolist())
DEFAULT_COSTS = tuple((2.0 ** np.arange(-2, 7)).tolist())
#: Limit on the solver's iterations in cross-validation, where most settings are poor.
MAX_CV_ITER = 20_000


class SVMParams(NamedTuple):
    """Hyperparameters of one support vector machine; gamma is None for the linear one."""

    C: float
    cost: float
    gamma: float | None


@dataclass(eq=False, repr=False)
class CostSVMClassifier(MeasureClassifier):
    """Support vector machine whose C, class cost and kernel width are chosen by a performance measure.

    The classic approach to measures other than accuracy (Morik, Brockhausen and Joachims, 1999; Lewis,
    2001): errors on positive rows cost j times as much, and cross-validation chooses j together with C,
    and with gamma for the Gaussian kernel, by the measure. The support vector machines are
    scikit-learn's `LinearSVC` and `SVC`.

    Parameters
    ----------
    measure : str, Measure or callable, default="f1"
        The measure that the choice maximizes.
    kernel : {"linear", "rbf"}, default="linear"
        The kernel.
    Cs, costs, gammas : array-like, optional
        The grids. By default, the customary ones for SVMlight: C from 2^-7 to 2^7, j from 2^-2 to 2^6,
        gamma from a quarter to four times the inverse of the mean squared distance between two rows.
    cv : int, splitter or iterable, default=5
        The folds of the cross-validation; an integer means stratified folds of shuffled rows, or of groups if
        ``groups`` are passed to `fit`.
    max_rows : int, optional, default=2000
        Number of rows for the cross-validation, a stratified random sample; None for all. The final fit
        uses all rows.
    max_iter : int, default=-1
        Limit on the iterations of the final fit with the Gaussian kernel; -1 for no limit.
    memory : str or joblib.Memory, optional
        Cache of the cross-validation's scores, so that it is not repeated for another measure; it needs
        a fixed `random_state`.
    random_state : int, RandomState instance or None, default=None
        Seed for the sample of rows and the folds. Pass an int for reproducible results.

    Attributes
    ----------
    C_, cost_, gamma_ : float
        The chosen values; gamma_ is None for the linear kernel.
    score_ : float
        The measure of the chosen values in cross-validation.
    best_estimator_ : LinearSVC or SVC
        The support vector machine fitted to all rows.
    n_iter_ : int
        Iterations of the final fit.
    selection_seconds_ : float
        CPU seconds of the cross-validation, or of the original run if its scores came from the cache.
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SVMPerfClassifierCV._parameter_constraints,
        "kernel": [StrOptions({"linear", "rbf"})],
        "costs": ["array-like", None],
        "max_rows": [Interval(Integral, 10, None, closed="left"), None],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "memory": [str, HasMethods(["cache"]), None],
    }

    measure: str | Measure | Callable[..., Any] = "f1"
    _: KW_ONLY
    kernel: str = "linear"
    Cs: ArrayLike | None = None
    costs: ArrayLike | None = None
    gammas: ArrayLike | None = None
    cv: Any = 5
    max_rows: int | None = 2000
    max_iter: int = -1
    memory: Any = None
    random_state: Any = None

    @atomic_fit
    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Choose the parameters, then fit to all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Two labels; the larger one is the positive class.
        groups : array-like of shape (n_samples,), optional
            The group of each row, such as a patient: rows of one group are held out together.

        Returns
        -------
        self : CostSVMClassifier
            The fitted classifier.
        """
        self._validate_params()
        measure = measures.get(self.measure)
        reject_confidence(measure, self)
        table, labels = self._validate_fit_data(X, y)
        classes, positive = encode_binary_labels(labels)
        best, score, seconds = self._select(measure, table, positive, groups)
        model = make_svm(best, self.max_iter).fit(table, positive)
        self.classes_, self.measure_, self.best_estimator_ = classes, measure, model
        (self.C_, self.cost_, self.gamma_), self.score_ = best, score
        self.selection_seconds_, self.n_iter_ = seconds, int(np.max(model.n_iter_))
        self._fitted_to_sparse = issparse(table)
        return self

    def _select(
        self, measure: Measure, table: Any, positive: BoolArray, groups: ArrayLike | None
    ) -> tuple[SVMParams, float, float]:
        """The best parameters in cross-validation, their mean score and the CPU seconds."""
        random = check_random_state(self.random_state)
        rows = np.arange(len(positive))
        if self.max_rows is not None and len(rows) > self.max_rows:
            sample, _ = train_test_split(
                rows, train_size=self.max_rows, stratify=positive, random_state=random
            )
            rows = np.sort(sample)
        table_cv, positive_cv = table[rows], positive[rows]
        groups_cv = None if groups is None else check_groups(groups, len(positive))[rows]
        gammas: list[float | None] = [None]
        if self.kernel == "rbf":
            gamma_grid = default_gamma_grid("rbf", table) if self.gammas is None else self.gammas
            gammas = list(check_positive_grid(gamma_grid, "gammas"))
        Cs = check_positive_grid(DEFAULT_CS if self.Cs is None else self.Cs, "Cs")
        costs = check_positive_grid(DEFAULT_COSTS if self.costs is None else self.costs, "costs")
        # The settings with the same gamma in succession.
        grid = [SVMParams(C, cost, gamma) for gamma, C, cost in itertools.product(gammas, Cs, costs)]
        try:
            splits = split_folds(self.cv, table_cv, positive_cv, {"groups": groups_cv}, random)
        except IndexError as error:
            raise InvalidInputError(
                f"cv contains row indices beyond the {len(rows)} rows of the cross-validation: set "
                "max_rows=None, or cv to a number of folds."
            ) from error
        compute_scores = check_memory(self.memory).cache(held_out_scores)
        scores, seconds = compute_scores(grid, table_cv, positive_cv, splits, code_key(make_svm))
        values = [
            float(np.mean([measure.score(positive_cv[test], each[test]) for _, test in splits]))
            for each in scores
        ]
        best = int(np.argmax(values))
        return grid[best], values[best], seconds

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Signed distance from the decision boundary, in units of the margin; positive above 0."""
        rows = self._validate_predict_data(X)
        if issparse(rows) and not self._fitted_to_sparse:  # SVC needs the format of its training rows
            rows = rows.toarray()
        return np.asarray(self.best_estimator_.decision_function(rows))


def make_svm(params: SVMParams, max_iter: int = -1) -> LinearSVC | SVC:
    """The unfitted support vector machine; the linear one has squared slacks, which are fastest."""
    weight = {False: 1.0, True: params.cost}
    if params.gamma is None:
        return LinearSVC(C=params.C, class_weight=weight, dual="auto", random_state=0)
    return SVC(C=params.C, gamma=params.gamma, class_weight=weight, max_iter=max_iter, cache_size=1000)


def held_out_scores(
    grid: list[SVMParams], X: Any, positive: BoolArray, splits: list[tuple[Any, Any]], code: str
) -> tuple[list[FloatArray], float]:
    """The scores of the held-out rows for each setting of the grid, and the total CPU seconds.

    `code` identifies the code of the machines in a cache.
    """
    start = time.process_time()
    scores = [np.zeros(len(positive)) for _ in grid]
    kernels: dict[float, FloatArray] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for params, out in zip(grid, scores, strict=True):
            model, inputs = make_svm(params, MAX_CV_ITER), X
            if params.gamma is not None:
                if params.gamma not in kernels:  # the kernel matrix of one gamma at a time
                    kernels = {params.gamma: make_kernel("rbf", X, params.gamma)(X, X)}
                model, inputs = model.set_params(kernel="precomputed"), kernels[params.gamma]
            for train, test in splits:
                columns = slice(None) if params.gamma is None else train
                model.fit(inputs[train][:, columns], positive[train])
                out[test] = model.decision_function(inputs[test][:, columns])
    return scores, time.process_time() - start
