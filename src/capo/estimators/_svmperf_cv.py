"""SVMPerfClassifier with C and the kernel's width chosen by the measure itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import measures
from .._sklearn_compat import Interval
from ..adaptation import AdaptationData, GridPoint, PathSearch, Settings
from ..kernels import KernelFactor, KernelLike, default_gamma_grid, factorize_kernel, make_kernel
from ..measures import Measure
from ..model_selection import fold_numbers, split_folds
from ..preprocessing import encode_binary_labels
from ._base import BinaryClassifier, DecisionFunctionMixin, MeasureScoreMixin
from ._progress import ProgressLogger
from ._svmperf import SVMPerfClassifier
from ._validation import check_positive_grid, check_row_weights

#: SVMperf's grid in units of R: 2^-7 to 2^7 percent.
CS = tuple((100.0 * 2.0 ** np.arange(-7, 8)).tolist())


class KernelGridPoint(NamedTuple):
    """One width and one C."""

    gamma: float | None
    point: GridPoint


class SVMPerfClassifierCV(MeasureScoreMixin, DecisionFunctionMixin, BinaryClassifier):
    """`SVMPerfClassifier` that chooses C, and with a kernel gamma, in cross-validation.

    For each width the folds walk up the C's together, sharing the cuts of the smaller ones, so that all
    C's cost little more than the last. The values are judged by the measure, on rows held out; measures
    of labels at the cut of 0 that they are trained for.

    Parameters
    ----------
    measure, kernel, degree, coef0, max_rank, tol, max_iter, verbose, random_state
        As in `SVMPerfClassifier`; `tol` and `max_iter` are those of the last fit, and cross-validation is
        content with less.
    Cs : array-like, optional
        The C's to try; 15 from 0.78 to 12,800 if not given, SVMperf's 2^-7 to 2^7.
    gammas : array-like, optional
        The widths to try; a quarter to four times the default one if not given.
    extend : bool, default=True
        Whether the C's are continued past their ends, by up to 16 values, while the best is at one of them.
    cv : int, splitter or iterable, default=5
        Folds; a number means stratified folds of shuffled rows.
    cv_rank : int, default=500
        Rows that span the kernel's space in cross-validation; the last fit has `max_rank`.

    Attributes
    ----------
    C_, gamma_ : float
        The chosen values; gamma_ is None for the linear kernel.
    cv_results_ : dict of str to ndarray
        "param_C", "param_gamma", "test_score", "std_test_score" and "rounds" of all that was tried.
    selection_seconds_ : float
        CPU seconds of the choice.
    best_estimator_ : SVMPerfClassifier
        Trained on all rows with the chosen values: coefficients, certificate, history.
    n_iter_ : int
        Rounds of the last fit.
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
    >>> model = SVMPerfClassifierCV("prbep", Cs=[1, 10, 100], extend=False, random_state=0).fit(scale(X), y)
    >>> model.C_ in (1, 10, 100)
    True
    """

    _dtypes = [np.float64, np.float32]  # noqa: RUF012 (scikit-learn wants a list)
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        **{
            name: allowed
            for name, allowed in SVMPerfClassifier._parameter_constraints.items()
            if name not in ("C", "gamma", "fit_intercept", "callback")
        },
        "Cs": ["array-like", None],
        "gammas": ["array-like", None],
        "extend": ["boolean"],
        "cv": ["cv_object"],
        "cv_rank": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        measure: str | Measure | Callable[..., Any] = "f1",
        *,
        Cs: ArrayLike | None = None,
        kernel: KernelLike = "linear",
        gammas: ArrayLike | None = None,
        degree: float = 3.0,
        coef0: float = 0.0,
        extend: bool = True,
        cv: Any = 5,
        cv_rank: int = 500,
        max_rank: int | None = None,
        tol: float = 1e-3,
        max_iter: int = 10_000,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.measure = measure
        self.Cs = Cs
        self.kernel = kernel
        self.gammas = gammas
        self.degree = degree
        self.coef0 = coef0
        self.extend = extend
        self.cv = cv
        self.cv_rank = cv_rank
        self.max_rank = max_rank
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose C and gamma, and train on all rows with them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Two labels; the larger one is the positive class.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; a whole number counts as that many copies of the row.

        Returns
        -------
        self : SVMPerfClassifierCV
            The fitted classifier.
        """
        self._validate_params()
        table, labels = self._validate_fit_data(X, y)
        self.classes_, positive = encode_binary_labels(labels)
        weight = None if sample_weight is None else check_row_weights(sample_weight, table)
        start = time.process_time()
        tried = self._try_all(table, positive, weight)
        self.selection_seconds_ = time.process_time() - start
        best = max(tried, key=lambda each: each.point.cv_score.value)
        self.C_, self.gamma_, self.score_ = best.point.C, best.gamma, best.point.cv_score.value
        self.cv_results_ = _results(tried)
        self.best_estimator_ = self._final().fit(table, labels, weight)
        self.n_iter_, self.measure_ = self.best_estimator_.n_iter_, self.best_estimator_.measure_
        return self

    def _try_all(
        self, table: Any, positive: NDArray[np.bool_], weight: NDArray[np.float64] | None
    ) -> list[KernelGridPoint]:
        """Every C for every width."""
        random, progress = check_random_state(self.random_state), ProgressLogger(self.verbose)
        settings = Settings(measures.get(self.measure), "zero", tol=float(self.tol), threshold="zero")
        splits = split_folds(self.cv, table, positive, {}, random)
        folds = fold_numbers(splits, len(positive))
        grid = sorted(check_positive_grid(CS if self.Cs is None else self.Cs, "Cs"))
        tried: list[KernelGridPoint] = []
        for gamma in self._widths(table, weight):
            features = table if gamma is None else self._factor(table, gamma, random).rows
            rows = AdaptationData(np.zeros((len(positive), 0)), features, positive, weight)
            walk = PathSearch(rows, folds, settings)
            walk.run(grid, extend=self.extend, leave=False, say=progress.log)
            tried += [KernelGridPoint(gamma, point) for point in walk.candidates]
        return tried

    def _widths(self, table: Any, weight: NDArray[np.float64] | None) -> list[float | None]:
        if self.kernel == "linear":
            return [None]
        if self.gammas is not None:
            return list(check_positive_grid(self.gammas, "gammas"))
        return list(default_gamma_grid(self.kernel, table, weight))

    def _factor(self, table: Any, gamma: float, random: np.random.RandomState) -> KernelFactor:
        kernel = make_kernel(self.kernel, table, gamma, self.degree, self.coef0)
        return factorize_kernel(kernel, table, self.cv_rank, random)

    def _final(self) -> SVMPerfClassifier:
        return SVMPerfClassifier(
            self.measure,
            C=self.C_,
            kernel=self.kernel,
            gamma="scale" if self.gamma_ is None else self.gamma_,
            degree=self.degree,
            coef0=self.coef0,
            max_rank=self.max_rank,
            tol=self.tol,
            max_iter=self.max_iter,
            verbose=self.verbose,
            random_state=self.random_state,
        )

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """The score of each row minus the threshold: above 0 is positive."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(self._validate_predict_data(X))


def _results(tried: list[KernelGridPoint]) -> dict[str, NDArray[Any]]:
    return {
        "param_C": np.array([each.point.C for each in tried]),
        "param_gamma": np.array([each.gamma for each in tried], dtype=object),
        "test_score": np.array([each.point.cv_score.value for each in tried]),
        "std_test_score": np.array([each.point.cv_score.spread for each in tried]),
        "rounds": np.array([each.point.rounds for each in tried]),
    }
