"""The linear classifier trained for a measure: SVMperf's problem, certified."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import measures
from .certificate import warn_if_short
from .design import augment
from .engine import Round, Solution, Status, minimize_path
from .engine.cutting_plane import CuttingPlane
from .exceptions import TrivialSolutionWarning
from .measures import Measure
from .progress import Progress
from .validation import two_classes, which_positive

#: How far the tolerance is lowered in search of a solution that tells the rows apart.
LOWEST_TOL = 1e-8


class SVMPerfClassifier(LinearClassifierMixin, ClassifierMixin, BaseEstimator):
    """Linear classifier that optimises a performance measure instead of a loss per row.

    Minimises, to a certified gap,

        J(w, b) = 1/2 (||w||^2 + b^2) + C R(w, b)

    where R is the convex upper bound of the measure's loss that runs over all labellings of the
    training set (Joachims, 2005). R is at most 1, so that C does not depend on the number of rows;
    SVMperf's ``-c c`` is ``C = 100 c``, and values between 1 and 10,000 are usual.

    Parameters
    ----------
    measure : str, Measure or callable, default="f1"
        What to optimise: a name from `capo.measures.names()`, a measure made with
        `capo.measures.get`, or a vectorised function of (tp, fp, fn, tn).
    C : float, default=1.0
        Weight of the measure against the size of the coefficients.
    tol : float, default=1e-3
        Accuracy: the fit ends when J is proven to be within ``C * tol`` of its minimum, that is
        when R could be better by at most `tol`. If all coefficients are still 0 then, which tells no
        two rows apart, it goes on with a tenth of the tolerance, down to 1e-8.
    fit_intercept : bool, default=True
        Whether to fit an intercept, as a constant feature 1 inside the regulariser.
    max_iter : int, default=10000
        Limit on rounds. A fit that reaches it keeps its best point and its gap, and warns.
    verbose : int, default=0
        1 logs a line every two seconds, 2 a line every round, by the logger ``"capo"``; to the
        standard error if logging has not been set up.
    callback : callable, optional
        Called after each round with a `capo.engine.Round`; a true return value ends the fit.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Weights of the features.
    intercept_ : ndarray of shape (1,)
        The optimised bias minus `threshold_`.
    threshold_ : float
        Where the scores of the optimised solution are cut, chosen on the training rows. Measures of
        the confusion table are optimised for a cut at 0, which is kept unless another has a better
        value; with a constraint, among the cuts that keep it. For measures that fix the number of
        positives (PRBEP, precision at k) it is the cut that predicts that many, and for measures
        that only rank (ROC area, average precision) the one that predicts as many as there are.
    classes_ : ndarray of shape (2,)
        The two labels; the second is the positive class.
    primal_, dual_, gap_ : float
        J at the solution, a lower bound of its minimum, and their difference.
    n_iter_ : int
        Rounds.
    solution_ : capo.engine.Solution
        All that the solver returned, its history included; ``solution_.v`` is (w, b).
    measure_ : Measure
        The measure that was optimised.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had any.

    See Also
    --------
    svmperf_path : Solutions for many C's at little more than the cost of one.

    References
    ----------
    T. Joachims. A support vector method for multivariate performance measures. ICML 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from capo import SVMPerfClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), SVMPerfClassifier("f1", C=100.0)).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.99
    >>> model[-1].gap_ <= 100.0 * 1e-3
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        "measure": [str, Measure, callable],
        "C": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        measure: str | Measure | Callable[..., Any] = "f1",
        *,
        C: float = 1.0,
        tol: float = 1e-3,
        fit_intercept: bool = True,
        max_iter: int = 10_000,
        verbose: int = 0,
        callback: Callable[[Round], bool | None] | None = None,
    ) -> None:
        self.measure = measure
        self.C = C
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features. float64 or float32, dense or CSR, are never copied; a NumPy memory map is read
            from disk in two passes a round.
        y : array-like of shape (n_samples,)
            Two labels; the larger one is the positive class.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; a whole number counts as that many copies of the row.

        Returns
        -------
        self : SVMPerfClassifier
            The fitted classifier.
        """
        self._validate_params()
        table, positive, weight = self._validated(X, y, sample_weight)
        self.measure_ = measures.get(self.measure)
        oracle = self.measure_.for_training().oracle(positive, weight)
        solver = CuttingPlane(augment(table, bias=1.0 if self.fit_intercept else None), oracle)
        self.solution_ = self._solve(solver)
        scores = solver.scores
        del solver, oracle  # what they hold is as large as several score vectors
        self._set_coefficients(scores, positive, weight)
        self._warn()
        return self

    def _validated(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, np.ndarray, np.ndarray | None]:
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        self.classes_, positive = two_classes(np.asarray(y))
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        return X, positive, weight

    def _solve(self, solver: CuttingPlane) -> Solution:
        """Run the solver; a solution of zeros tells no two rows apart, so it is refined."""
        progress = _followed(self.verbose, self.callback)
        tol = float(self.tol)
        solution = solver.run(self.C, tol, self.max_iter, progress)
        while solution.status is Status.OPTIMAL and not solution.v.any() and tol >= 10 * LOWEST_TOL:
            tol /= 10
            solution = solver.run(self.C, tol, self.max_iter, progress)
        return solution

    def _set_coefficients(self, scores: np.ndarray, positive: np.ndarray, weight: np.ndarray | None) -> None:
        v = self.solution_.v
        self.threshold_ = self.measure_.threshold(positive, scores, weight)
        self.coef_ = v[None, : self.n_features_in_].copy()
        bias = v[-1] if self.fit_intercept else 0.0
        self.intercept_ = np.array([bias - self.threshold_])
        self.primal_, self.dual_, self.gap_ = self.solution_.primal, self.solution_.dual, self.solution_.gap
        self.n_iter_ = self.solution_.n_rounds

    def _warn(self) -> None:
        warn_if_short(self.solution_, stacklevel=3)
        if not self.coef_.any():
            warnings.warn(
                f"the optimum for {self.measure_!r} at C={self.C:g} has no weight on any feature, so that "
                "all rows get the same score. Check that the features vary and raise C; if that does not "
                "help, the classes overlap too much for this measure's convex bound, and training for "
                "'balanced_accuracy' or 'roc_auc' does better.",
                TrivialSolutionWarning,
                stacklevel=3,
            )

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The measure that was optimised, on these rows; higher is better."""
        check_is_fitted(self)
        positive = which_positive(y, self.classes_)
        return self.measure_.score(positive, self.decision_function(X), sample_weight)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


def svmperf_path(
    X: ArrayLike,
    y: ArrayLike,
    *,
    measure: str | Measure | Callable[..., Any] = "f1",
    Cs: ArrayLike,
    tol: float = 1e-3,
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    max_iter: int = 10_000,
) -> list[Solution]:
    """Solutions for many C's, which share their cuts.

    Parameters
    ----------
    X, y, sample_weight
        As in `SVMPerfClassifier.fit`.
    measure, tol, fit_intercept, max_iter
        As in `SVMPerfClassifier`.
    Cs : array-like
        The values of C.

    Returns
    -------
    list of Solution
        One for each C, in the order given; ``v`` is (w, b).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from capo import svmperf_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = svmperf_path(X / X.max(axis=0), y, measure="roc_auc", Cs=[1, 10, 100])
    >>> [bool(solution.gap <= solution.C * 1e-3) for solution in path]
    [True, True, True]
    """
    model = SVMPerfClassifier(measure, tol=tol, fit_intercept=fit_intercept, max_iter=max_iter)
    model._validate_params()
    table, positive, weight = model._validated(X, y, sample_weight)
    path = minimize_path(
        augment(table, bias=1.0 if fit_intercept else None),
        measures.get(measure).for_training().oracle(positive, weight),
        Cs=Cs,
        tol=tol,
        max_rounds=max_iter,
    )
    for solution in path:
        warn_if_short(solution, stacklevel=3)
    return path


def _followed(
    verbose: int, callback: Callable[[Round], bool | None] | None
) -> Callable[[Round], bool | None]:
    """What to call after each round: progress, and the user's own callback."""
    progress = Progress(verbose)

    def after(state: Round) -> bool | None:
        progress.round(state)
        return None if callback is None else callback(state)

    return after
