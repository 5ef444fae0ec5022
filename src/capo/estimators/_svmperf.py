"""The linear or kernel classifier trained for a measure: SVMperf's problem, certified."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from .. import measures
from .._sklearn_compat import Interval, StrOptions, check_sample_weight
from ..design import Design, augment
from ..engine import CuttingPlane, Round, Solution, Status, minimize_path
from ..exceptions import TrivialSolutionWarning
from ..kernels import KernelExpansion, KernelFactor, KernelLike, factorize_kernel, make_kernel
from ..kernels import names as kernel_names
from ..measures import Measure
from ..preprocessing import encode_binary_labels
from ._base import BinaryClassifier, DecisionFunctionMixin, MeasureScoreMixin
from ._convergence import warn_not_converged
from ._progress import ProgressLogger

#: How far the tolerance is lowered in search of a solution that tells the rows apart.
LOWEST_TOL = 1e-8
#: Numbers of a kernel's factor, in single precision, unless `max_rank` says otherwise.
FACTOR_NUMBERS = 2**27
#: A gap this much above what was asked for is worth a warning; it is the factor's, not the solver's.
MUCH_WIDER = 2.0
#: A share of the tolerance; what the factor leaves out is not looked at if it cannot be worth more.
ROUGH = 0.1

#: Attributes that a fit has or has not, depending on its kernel.
OF_A_KERNEL = ("coef_", "kernel_", "kernel_residual_", "support_vectors_", "dual_coef_")


class SVMPerfClassifier(MeasureScoreMixin, DecisionFunctionMixin, BinaryClassifier):
    """Linear or kernel classifier that optimises a performance measure instead of a loss per row.

    Minimises, to a certified gap,

        J(w, b) = 1/2 (||w||^2 + b^2) + C R(w, b)

    where R is the convex upper bound of the measure's loss that runs over all labellings of the
    training set (Joachims, 2005). R is at most 1, so that C does not depend on the number of rows;
    SVMperf's ``-c c`` is ``C = 100 c``, and values between 1 and 10,000 are usual.

    With a kernel, w is a function in its space. The kernel matrix is factorised once (pivoted Cholesky),
    and the problem is the linear one on the factor, without any kernel evaluation in its rounds. The
    factor is exact as long as it fits in 512 MiB, that is up to some 11,000 rows; beyond that it holds the
    part of the kernel that `max_rank` rows span, and the gap, which is always that of the whole kernel,
    says what the rest could still be worth.

    Parameters
    ----------
    measure : str, Measure or callable, default="f1"
        What to optimise: a name from `capo.measures.names()`, a measure made with
        `capo.measures.get`, or a vectorised function of (tp, fp, fn, tn).
    C : float, default=1.0
        Weight of the measure against the size of the coefficients.
    kernel : str or callable, default="linear"
        "linear", "rbf", "laplacian", "inverse_distance", "inverse_squared_distance", "poly", or a
        function of two tables that returns the matrix of their rows' kernel.
    gamma : "scale" or float, default="scale"
        The kernel's width; "scale" is the inverse of the mean squared distance between two rows.
    degree, coef0 : float, default=3.0 and 0.0
        Of the polynomial kernel ``(gamma x'z + coef0) ** degree``.
    max_rank : int, optional
        Rows that may span the kernel's space; None for as many as fit.
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
    random_state : int, RandomState instance or None, default=None
        Draws the rows that span the kernel's space where not all of them can.
    callback : callable, optional
        Called after each round with a `capo.engine.Round`; a true return value ends the fit.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Weights of the features; with the linear kernel only.
    support_vectors_, dual_coef_ : {ndarray, sparse matrix}, ndarray of shape (1, n_support)
        Rows that span the kernel's space, and their weights; with other kernels only.
    kernel_ : Kernel
        The kernel with its parameters; with kernels other than the linear one.
    kernel_residual_ : float
        The share of the kernel matrix's trace that `support_vectors_` do not span.
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
        J at the solution, a lower bound of its minimum, and their difference. With a kernel they are
        those of the whole kernel, also where its matrix was not taken whole.
    n_iter_ : int
        Rounds.
    solution_ : capo.engine.Solution
        All that the solver returned, its history included; ``solution_.v`` is (w, b), with a kernel in
        coordinates of the space that `support_vectors_` span.
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

    _dtypes = [np.float64, np.float32]  # noqa: RUF012 (scikit-learn wants a list)
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        "measure": [str, Measure, callable],
        "C": [Interval(Real, 0, None, closed="neither")],
        "kernel": [StrOptions({"linear", *kernel_names()}), callable],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 0, None, closed="neither")],
        "coef0": [Interval(Real, 0, None, closed="left")],
        "max_rank": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        measure: str | Measure | Callable[..., Any] = "f1",
        *,
        C: float = 1.0,
        kernel: KernelLike = "linear",
        gamma: str | float = "scale",
        degree: float = 3.0,
        coef0: float = 0.0,
        max_rank: int | None = None,
        tol: float = 1e-3,
        fit_intercept: bool = True,
        max_iter: int = 10_000,
        verbose: int = 0,
        random_state: Any = None,
        callback: Callable[[Round], bool | None] | None = None,
    ) -> None:
        self.measure = measure
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_rank = max_rank
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state
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
        for name in OF_A_KERNEL:  # left by an earlier fit with another one
            self.__dict__.pop(name, None)
        linear = self.kernel == "linear"
        factor = None if linear else self._factor(table, weight)
        design = augment(table if factor is None else factor.rows, bias=1.0 if self.fit_intercept else None)
        solver = CuttingPlane(design, oracle, keep_cuts=not linear)
        self.solution_ = self._solve(solver)
        if factor is not None:
            self.solution_ = _of_whole_kernel(self.solution_, *solver.dual_point(), factor, table, design)
        scores = solver.scores
        del solver, oracle  # what they hold is as large as several score vectors
        self._set_coefficients(scores, positive, weight, factor)
        self._warn()
        return self

    def _factor(self, table: Any, weight: np.ndarray | None) -> KernelFactor:
        """The kernel matrix's factor, with as many columns as are wanted or fit."""
        self.kernel_ = make_kernel(self.kernel, table, self.gamma, self.degree, self.coef0, weight)
        most = self.max_rank or max(1, FACTOR_NUMBERS // table.shape[0])
        factor = factorize_kernel(self.kernel_, table, most, check_random_state(self.random_state))
        ProgressLogger(self.verbose).log(
            "kernel: %d rows span all but %.3g of it", factor.rank, factor.residual
        )
        return factor

    def _validated(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, np.ndarray, np.ndarray | None]:
        table, labels = self._validate_fit_data(X, y)
        self.classes_, positive = encode_binary_labels(labels)
        weight = None
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, table, dtype=np.float64)
        return table, positive, weight

    def _solve(self, solver: CuttingPlane) -> Solution:
        """Run the solver; a solution of zeros tells no two rows apart, so it is refined."""
        progress = _followed(self.verbose, self.callback)
        tol = float(self.tol)
        solution = solver.run(self.C, tol, self.max_iter, progress)
        while solution.status is Status.OPTIMAL and not solution.v.any() and tol >= 10 * LOWEST_TOL:
            tol /= 10
            solution = solver.run(self.C, tol, self.max_iter, progress)
        return solution

    def _set_coefficients(
        self, scores: np.ndarray, positive: np.ndarray, weight: np.ndarray | None, factor: KernelFactor | None
    ) -> None:
        v = self.solution_.v
        self.threshold_ = self.measure_.threshold(positive, scores, weight)
        if factor is None:
            self.coef_ = v[None, : self.n_features_in_].copy()
        else:
            self.support_vectors_ = factor.pivots
            self.dual_coef_ = factor.dual_coef(v[: factor.rank])[None, :]
            self.kernel_residual_ = factor.residual
        bias = v[-1] if self.fit_intercept else 0.0
        self.intercept_ = np.array([bias - self.threshold_])
        self.primal_, self.dual_, self.gap_ = self.solution_.primal, self.solution_.dual, self.solution_.gap
        self.n_iter_ = self.solution_.n_rounds

    def _warn(self) -> None:
        warn_not_converged(self.solution_, stacklevel=3)
        v, wanted = self.solution_.v, self.C * self.tol
        if self.solution_.status is Status.OPTIMAL and self.gap_ > MUCH_WIDER * wanted:
            warnings.warn(
                f"the {len(self.dual_coef_[0])} rows that span the kernel's space leave a gap of "
                f"{self.gap_:.3g} to the optimum in the whole space, against C * tol = {wanted:.3g}. Raise "
                "max_rank, or take a smaller gamma.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if not (v[:-1] if self.fit_intercept else v).any():
            warnings.warn(
                f"the optimum for {self.measure_.label} at C={self.C:g} has no weight on any feature: "
                "all rows get the same score. Check that the features vary and raise C; if that does not "
                "help, the classes overlap too much for this measure's convex bound, and training for "
                "'balanced_accuracy' or 'roc_auc' does better.",
                TrivialSolutionWarning,
                stacklevel=3,
            )

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """The score of each row minus the threshold: above 0 is positive.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            One number a row.
        """
        check_is_fitted(self)
        rows = self._validate_predict_data(X)
        if hasattr(self, "coef_"):
            scores = safe_sparse_dot(rows, self.coef_[0], dense_output=True)
        else:
            scores = KernelExpansion(self.kernel_, self.support_vectors_, self.dual_coef_[0])(rows)
        return np.asarray(scores + self.intercept_[0])


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
        warn_not_converged(solution, stacklevel=3)
    return path


def _of_whole_kernel(
    solution: Solution, u: np.ndarray, beta: float, factor: KernelFactor, table: Any, design: Design
) -> Solution:
    """The solution with the lower bound that holds for the whole kernel.

    The dual solution is longer there, by u'E u, the squared length of what of it lies outside the factor's
    span. E is positive semidefinite, so that its diagonal bounds that; if the bound is too rough, one pass
    over the kernel gives the value. The solution is then shortened to where its own bound is highest.
    """
    slope = design.rmatvec(u)
    inside = float(slope[: factor.rank] @ slope[: factor.rank])
    outside = float(np.abs(u) @ np.sqrt(factor.left)) ** 2
    if 0.5 * outside > ROUGH * solution.C * solution.tol:
        carried = np.flatnonzero(u)
        rows = table[carried].astype(np.float64)
        whole = KernelExpansion(factor.kernel, rows, u[carried]).squared_norm()
        outside = max(0.0, whole - inside)
    square = float(slope @ slope) + outside
    step = 1.0 if square <= beta else beta / square
    return replace(solution, dual=step * beta - 0.5 * step**2 * square)


def _followed(
    verbose: int, callback: Callable[[Round], bool | None] | None
) -> Callable[[Round], bool | None]:
    """What to call after each round: progress, and the user's own callback."""
    progress = ProgressLogger(verbose)

    def after(state: Round) -> bool | None:
        progress.round(state)
        return None if callback is None else callback(state)

    return after
