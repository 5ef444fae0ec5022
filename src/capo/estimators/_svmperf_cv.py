"""SVMPerfClassifier with C and the kernel's width chosen by the measure itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import measures
from .._compat import ArrayLike, BoolArray, FloatArray, Interval
from ..decisions import ZeroThreshold
from ..kernels import KernelLike, default_gamma_grid, factorize_kernel, make_kernel
from ..learning.adaptation import Objective, make_search
from ..learning.center import ZeroPrior
from ..learning.combination import AdaptationData
from ..learning.folds import Split, check_fold_sizes, fold_numbers, split_folds
from ..learning.path import MAX_GRID_EXTENSIONS, CGrid, GridPoint
from ..measures import Measure
from ..tables.targets import encode_binary_labels
from ._base import (
    MeasureClassifier,
    ProgressLogger,
    atomic_fit,
    check_positive_grid,
    check_row_weights,
    reject_confidence,
    reject_operator,
)
from ._svmperf import SVMPerfClassifier

#: SVMperf's grid of C's, 2^-7 to 2^7, in units in which the measure's loss is at most 1.
SVMPERF_CS = tuple((100.0 * 2.0 ** np.arange(-7, 8)).tolist())
#: Parameters that `SVMPerfClassifier` has as well.
SHARED = ("measure", "kernel", "degree", "coef0", "max_rank", "tol", "max_iter", "verbose", "random_state")


@dataclass(eq=False, repr=False)
class SVMPerfClassifierCV(MeasureClassifier):
    """`SVMPerfClassifier` that chooses C, and with a kernel gamma, in cross-validation.

    For each gamma, the values of C are solved in increasing order and share their cuts, so that a path costs
    at most about twice as much as the most expensive single fit. The values are compared by the measure on
    held-out rows; measures of labels use the threshold of 0 that they are trained for.

    Parameters
    ----------
    measure, kernel, degree, coef0, max_rank, tol, max_iter, verbose, random_state
        As in `SVMPerfClassifier`; `tol` and `max_iter` are those of the final fit, cross-validation
        stops earlier.
    Cs : array-like, optional
        The values of C to try; by default 15 from 0.78 to 12,800 (2^-7 to 2^7 for SVMperf).
    gammas : array-like, optional
        The values of gamma to try; a quarter to four times the default one if not given.
    extend_grid : bool, default=True
        Whether to extend the grid of C by up to 16 values while the best value is at one of its ends.
    cv : int, splitter or iterable, default=5
        Folds; an integer means stratified folds of shuffled rows, or of groups if `fit` is given ``groups``.
    cv_rank : int, default=500
        Rows that span the kernel's space in cross-validation; the final fit has `max_rank`.

    Attributes
    ----------
    C_, gamma_ : float
        The chosen values; gamma_ is None for the linear kernel.
    cv_results_ : dict of str to ndarray
        "param_C", "param_gamma", "test_score", "std_test_score" and "n_iter" of all values that were
        tried.
    selection_seconds_ : float
        CPU seconds of the search.
    best_estimator_ : SVMPerfClassifier
        Trained on all rows with the chosen values: coefficients, certificate, history.
    n_iter_ : int
        Iterations of the final fit.
    score_ : float
        The chosen values' out-of-fold value of the measure.
    classes_ : ndarray of shape (2,)
        The two labels; the second is the positive class.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had any.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from capo import SVMPerfClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SVMPerfClassifierCV("prbep", Cs=[1, 10, 100], extend_grid=False, random_state=0)
    >>> model = model.fit(scale(X), y)
    >>> model.C_ in (1, 10, 100)
    True
    """

    _dtypes: ClassVar[Any] = [np.float64, np.float32]
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{name: SVMPerfClassifier._parameter_constraints[name] for name in SHARED},
        "Cs": ["array-like", None],
        "gammas": ["array-like", None],
        "extend_grid": ["boolean"],
        "cv": ["cv_object"],
        "cv_rank": [Interval(Integral, 1, None, closed="left")],
    }

    measure: str | Measure | Callable[..., Any] = "f1"
    _: KW_ONLY
    Cs: ArrayLike | None = None
    kernel: KernelLike = "linear"
    gammas: ArrayLike | None = None
    degree: float = 3.0
    coef0: float = 0.0
    extend_grid: bool = True
    cv: Any = 5
    cv_rank: int = 500
    max_rank: int | None = None
    tol: float = 1e-3
    max_iter: int = 10_000
    verbose: int = 0
    random_state: Any = None

    @atomic_fit
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose C and gamma, and train on all rows with them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Two labels; the larger one is the positive class.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; a whole number counts as that many copies of the row.
        groups : array-like of shape (n_samples,), optional
            The group of each row, such as a patient: rows of one group are held out together.

        Returns
        -------
        self : SVMPerfClassifierCV
            The fitted classifier.
        """
        self._validate_params()
        reject_operator(X, self)
        measure = measures.get(self.measure)
        reject_confidence(measure, self)
        table, labels = self._validate_fit_data(X, y)
        self.classes_, positive = encode_binary_labels(labels)
        weight = None if sample_weight is None else check_row_weights(sample_weight, table)
        start = time.process_time()
        random = check_random_state(self.random_state)
        splits = split_folds(self.cv, table, positive, {"groups": groups}, random, weight=weight)
        check_fold_sizes(measure, splits, len(positive), weight)
        points = self._evaluate_grid(measure, table, positive, weight, splits, random)
        self.selection_seconds_ = time.process_time() - start
        self.gamma_, best = max(points, key=lambda each: each[1].cv_score.value)
        self.C_, self.score_ = best.C, best.cv_score.value
        self.cv_results_ = {
            "param_C": np.array([point.C for _, point in points]),
            "param_gamma": np.array([gamma for gamma, _ in points], dtype=object),
            "test_score": np.array([point.cv_score.value for _, point in points]),
            "std_test_score": np.array([point.cv_score.std for _, point in points]),
            "n_iter": np.array([point.n_iter for _, point in points]),
        }
        shared = {name: getattr(self, name) for name in SHARED}
        machine = SVMPerfClassifier(C=best.C, gamma="scale" if self.gamma_ is None else self.gamma_, **shared)
        self.best_estimator_ = machine.fit(table, labels, weight)
        self.n_iter_, self.measure_ = self.best_estimator_.n_iter_, self.best_estimator_.measure_
        return self

    def _evaluate_grid(
        self,
        measure: Measure,
        table: Any,
        positive: BoolArray,
        weight: FloatArray | None,
        splits: list[Split],
        random: np.random.RandomState,
    ) -> list[tuple[float | None, GridPoint]]:
        """Evaluate every C for every gamma."""
        progress = ProgressLogger(self)
        objective = Objective(measure, ZeroPrior(), tol=float(self.tol), threshold_rule=ZeroThreshold())
        folds = fold_numbers(splits, len(positive))
        Cs = check_positive_grid(SVMPERF_CS if self.Cs is None else self.Cs, "Cs")
        grid = CGrid(tuple(sorted(Cs)), MAX_GRID_EXTENSIONS if self.extend_grid else 0)
        points: list[tuple[float | None, GridPoint]] = []
        for gamma in self._gamma_grid(table, weight):
            features = table
            if gamma is not None:
                kernel = make_kernel(self.kernel, table, gamma, self.degree, self.coef0)
                features = factorize_kernel(kernel, table, self.cv_rank, random).rows
            data = AdaptationData(np.zeros((len(positive), 0)), features, positive, weight)
            search = make_search(data, folds, objective, progress.log)
            points += [(gamma, point) for point in search.run(grid)]
        return points

    def _gamma_grid(self, table: Any, weight: FloatArray | None) -> list[float | None]:
        if self.kernel == "linear":
            return [None]
        if self.gammas is not None:
            return list(check_positive_grid(self.gammas, "gammas"))
        return list(default_gamma_grid(self.kernel, table, weight))

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """The score of each row minus the threshold: above 0 is positive."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(self._validate_predict_data(X))
