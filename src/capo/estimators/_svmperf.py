"""The linear or kernel classifier trained for a measure: SVMperf's problem, certified."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from .. import engine, measures
from .._compat import BoolArray, FloatArray, Interval, StrOptions, check_sample_weight, check_y
from ..engine import BoundedDesign, CuttingPlane, Design, Iteration, Solution, Status
from ..exceptions import InvalidInputError, TrivialSolutionWarning
from ..kernels import KernelExpansion, KernelFactor, KernelLike, factorize_kernel, kernel_names, make_kernel
from ..learning.task import solver_attributes
from ..measures import Measure
from ..tables.targets import encode_binary_labels
from ._base import MeasureClassifier, ProgressLogger, atomic_fit, reject_confidence, warn_not_converged

#: While all coefficients are 0, the tolerance is lowered down to this.
MIN_TOL = 1e-8
#: Limit on the numbers of a kernel's factor, in single precision, where `max_rank` is not given.
MAX_FACTOR_SIZE = 2**27
#: A warning is issued if the gap for the whole kernel exceeds this multiple of C * tol.
MAX_GAP_RATIO = 2.0
#: The factor's residual is computed exactly if its bound exceeds this share of C * tol.
MAX_RESIDUAL_SHARE = 0.1
#: Bound of the relative rounding error of the kernel's factor, with room for that of its products.
SINGLE_PRECISION = float(np.finfo(np.float32).eps)


@dataclass(eq=False, repr=False)
class SVMPerfClassifier(MeasureClassifier):
    """Linear or kernel classifier that optimizes a performance measure instead of a loss per row.

    Minimizes, to a certified gap,

        J(w, b) = 1/2 (||w||^2 + b^2) + C R(w, b)

    where R is the convex upper bound of the measure's loss that runs over all labelings of the
    training set (Joachims, 2005). R is at most 1, so that C does not depend on the number of rows;
    SVMperf's ``-c c`` is ``C = 100 c``, and values between 1 and 10,000 are usual.

    With a kernel, w is a function in its space. The kernel matrix is factorized once (pivoted Cholesky),
    and the problem is the linear one on the factor, without any kernel evaluation in its iterations. The
    factor is exact as long as it fits in 512 MiB, that is up to some 11,000 rows; beyond that it holds the
    part of the kernel that `max_rank` rows span. The gap is always that of the whole kernel, and so bounds
    what the rest could improve.

    Parameters
    ----------
    measure : str, Measure or callable, default="f1"
        What to optimize: a name from `capo.measures.names()`, a measure made with
        `capo.measures.get`, or a vectorized function of (tp, fp, fn, tn).
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
        Largest number of rows that span the kernel's space; None for as many as fit in memory.
    tol : float, default=1e-3
        Accuracy: the fit ends when J is proven to be within ``C * tol`` of its minimum, that is
        when R could be better by at most `tol`. If all coefficients are still 0 then, so that all rows
        have the same score, it goes on with a tenth of the tolerance, down to 1e-8.
    fit_intercept : bool, default=True
        Whether to fit an intercept, as a constant feature 1 inside the regularizer.
    max_iter : int, default=10000
        Limit on the number of iterations. A fit that reaches it keeps its best point and its gap, and warns.
    verbose : int, default=0
        1 logs a line every two seconds, 2 a line every iteration, by the logger ``"capo"``; to the
        standard error if logging has not been set up.
    random_state : int, RandomState instance or None, default=None
        Seed for the choice of the rows that span the kernel's space, if not all rows do. Pass an int
        for reproducible results.
    callback : callable, optional
        Called after each iteration with a `capo.engine.Iteration`; a true return value ends the fit.

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
        The optimized bias minus `threshold_`.
    threshold_ : float
        The threshold on the scores of the solution, chosen on the training rows. Measures of the confusion
        matrix are optimized for a threshold of 0, which is kept unless another one has a better value; with a
        constraint, among those that keep it. For measures that fix the number of positives (PRBEP, precision
        at k) it is the cut that predicts that many, and for measures that only rank (ROC area, average
        precision) the one that predicts as many as there are.
    classes_ : ndarray of shape (2,)
        The two labels; the second is the positive class.
    primal_, dual_, gap_ : float
        J at the solution, a lower bound on its minimum, and their difference. With a kernel they are
        those of the whole kernel, also where its factor is not exact.
    n_iter_ : int
        Number of iterations.
    solution_ : capo.engine.Solution
        The solver's result, with its history; ``solution_.v`` is (w, b), with a kernel in
        coordinates of the space that `support_vectors_` span.
    measure_ : Measure
        The measure that was optimized.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had any.

    See Also
    --------
    svmperf_path : Solutions for many values of C at up to about twice the cost of one fit.

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

    _dtypes: ClassVar[Any] = [np.float64, np.float32]
    _parameter_constraints: ClassVar[dict[str, Any]] = {
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

    measure: str | Measure | Callable[..., Any] = "f1"
    _: KW_ONLY
    C: float = 1.0
    kernel: KernelLike = "linear"
    gamma: str | float = "scale"
    degree: float = 3.0
    coef0: float = 0.0
    max_rank: int | None = None
    tol: float = 1e-3
    fit_intercept: bool = True
    max_iter: int = 10_000
    verbose: int = 0
    random_state: Any = None
    callback: Callable[[Iteration], bool | None] | None = None

    @atomic_fit
    def fit(self, X: ArrayLike | Design, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix, LinearOperator, Design} of shape (n_samples, n_features)
            Features. float64 or float32, dense or CSR, are never copied; a NumPy memory map is read
            from disk in two passes per iteration. With the linear kernel, also any object with `shape`,
            `matvec` and `rmatvec`: a `scipy.sparse.linalg.LinearOperator`, or a table that is read in blocks
            by `capo.engine.ChunkedDesign`.
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
        measure = measures.get(self.measure)
        reject_confidence(measure, self)
        table, positive, weight, self.classes_ = self._validate_training_data(X, y, sample_weight)
        oracle = measure.for_training().oracle(positive, weight)
        factor = None if self.kernel == "linear" else self._factorize(table, weight)
        design = engine.augment(
            table if factor is None else factor.rows, bias=1.0 if self.fit_intercept else None
        )
        solver = CuttingPlane(design, oracle, keep_cuts=factor is not None)
        solution = self._solve(solver)
        if factor is not None:
            solution = _bound_whole_kernel(solution, *solver.dual_solution(), factor, table, design)
        scores = solver.scores
        del solver, oracle  # they hold several arrays as large as the scores
        self._store(solution, measure.threshold(positive, scores, weight), factor)
        return self

    def _validate_training_data(
        self, X: ArrayLike | Design, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, BoolArray, FloatArray | None, NDArray[Any]]:
        """Check the arguments of `fit`, and record the number and the names of the features.

        Returns the table, which rows are positive, the weights and the classes.
        """
        if isinstance(X, Design):
            table, labels = self._validate_design(X, reset=True), check_y(y, estimator=self)
            check_consistent_length(table, labels)
        else:
            table, labels = self._validate_fit_data(X, y)
        classes, positive = encode_binary_labels(labels)
        weight = None
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, table, dtype=np.float64)
        return table, positive, weight, classes

    def _validate_design(self, X: Design, *, reset: bool) -> Design:
        """Check a design, of which only the shape can be checked."""
        if self.kernel != "linear":
            raise InvalidInputError(
                f"kernel={self.kernel!r} needs the rows of X, and X is a {type(X).__name__}, which only "
                "provides matrix-vector products. Use kernel='linear', or pass an array or a sparse matrix."
            )
        design = engine.as_design(X)
        if 0 in design.shape:
            raise InvalidInputError(
                f"X must have at least one row and one feature: got {type(X).__name__} of shape "
                f"{design.shape}."
            )
        validate_data(self, design, skip_check_array=True, reset=reset)
        return design

    def _factorize(self, table: Any, weight: FloatArray | None) -> KernelFactor:
        """The kernel matrix's factor, of rank `max_rank` or as large as fits."""
        kernel = make_kernel(self.kernel, table, self.gamma, self.degree, self.coef0, weight)
        max_rank = self.max_rank or max(1, MAX_FACTOR_SIZE // table.shape[0])
        factor = factorize_kernel(kernel, table, max_rank, check_random_state(self.random_state))
        ProgressLogger(self).log(
            "kernel: factor of rank %d, without %.3g of the trace", factor.rank, factor.residual
        )
        return factor

    def _solve(self, solver: CuttingPlane) -> Solution:
        """Run the solver; a solution of zeros gives all rows the same score, so it is refined."""
        progress, tol = ProgressLogger(self), float(self.tol)

        def callback(state: Iteration) -> bool | None:
            stops = progress.log_iteration(state)
            return stops if self.callback is None else self.callback(state) or stops

        solution = solver.solve(self.C, tol, self.max_iter, callback)
        while solution.status is Status.OPTIMAL and not solution.v.any() and tol >= 10 * MIN_TOL:
            tol /= 10
            solution = solver.solve(self.C, tol, self.max_iter, callback)
        return solution

    def _store(
        self, solution: Solution, threshold: float, factor: KernelFactor | None = None, stacklevel: int = 4
    ) -> None:
        """Set the fitted attributes, and warn about the solution."""
        weights, bias = (solution.v[:-1], solution.v[-1]) if self.fit_intercept else (solution.v, 0.0)
        self.measure_, self.threshold_ = measures.get(self.measure), threshold
        self.intercept_ = np.array([bias - threshold])
        self.__dict__.update(solver_attributes(solution))
        if factor is None:
            self.coef_ = weights[None, :].copy()
        else:
            self.support_vectors_, self.dual_coef_ = factor.pivots, factor.dual_coef(weights)[None, :]
            self.kernel_, self.kernel_residual_ = factor.kernel, factor.residual
        warn_not_converged(solution, stacklevel=stacklevel)
        max_gap = self.C * self.tol
        if solution.status is Status.OPTIMAL and solution.gap > MAX_GAP_RATIO * max_gap:
            warnings.warn(
                f"the {len(self.dual_coef_[0])} rows that span the kernel's space leave a gap of "
                f"{solution.gap:.3g} to the optimum in the whole space, against C * tol = {max_gap:.3g}. "
                "Raise max_rank, or use a smaller gamma.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )
        if not weights.any():
            warnings.warn(
                f"the optimum for {self.measure_.label} at C={self.C:g} has no weight on any feature: "
                "all rows get the same score. Check that the features vary, and try larger values of C; if "
                "that does not help, the classes overlap too much for this measure's convex bound, and "
                "training for 'balanced_accuracy' or 'roc_auc' does better.",
                TrivialSolutionWarning,
                stacklevel=stacklevel,
            )

    def decision_function(self, X: ArrayLike | Design) -> FloatArray:
        """The score of each row minus the threshold: above 0 is positive.

        Parameters
        ----------
        X : {array-like, sparse matrix, LinearOperator, Design} of shape (n_samples, n_features)
            Features; operators and designs with the linear kernel only.

        Returns
        -------
        ndarray of shape (n_samples,)
            One number per row.
        """
        check_is_fitted(self)
        if isinstance(X, Design):
            scores = self._validate_design(X, reset=False).matvec(self.coef_[0])
        elif hasattr(self, "coef_"):
            rows = self._validate_predict_data(X)
            scores = safe_sparse_dot(rows, self.coef_[0], dense_output=True)
        else:
            expansion = KernelExpansion(self.kernel_, self.support_vectors_, self.dual_coef_[0])
            scores = expansion(self._validate_predict_data(X))
        return np.asarray(scores + self.intercept_[0])


def fit_linear(
    model: SVMPerfClassifier,
    solver: CuttingPlane,
    classes: NDArray[Any],
    choose_threshold: Callable[[FloatArray], float],
) -> SVMPerfClassifier:
    """Fit a linear classifier by a solver whose rows are elsewhere, such as on other machines.

    `choose_threshold` gets the solution's coefficients, the intercept last.
    """
    solution = model._solve(solver)
    model.classes_ = classes
    model._store(solution, choose_threshold(solution.v), stacklevel=5)
    return model


def _bound_whole_kernel(
    solution: Solution, u: FloatArray, beta: float, factor: KernelFactor, table: Any, design: BoundedDesign
) -> Solution:
    """The solution with the lower bound that holds for the whole kernel.

    There the squared norm of the dual solution is larger by u'E u, the part outside the factor's span. E is
    positive semidefinite, so that its diagonal gives an upper bound; the factor is known in single precision.
    If the bound is too loose, one pass over the kernel gives the value. The dual solution is then scaled to
    where its lower bound is highest.
    """
    slope, size = design.rmatvec(u), np.abs(u)
    reach = np.abs(slope) + SINGLE_PRECISION * design.rmatvec(size, absolute=True)
    square = float(reach @ reach) + float(size @ np.sqrt(factor.residual_diagonal)) ** 2
    if 0.5 * (square - float(slope @ slope)) > MAX_RESIDUAL_SHARE * solution.C * solution.tol:
        square = min(
            square, _squared_norm(u, factor, table) + float(reach[factor.rank :] @ reach[factor.rank :])
        )
    least = beta - engine.relative_error(len(u)) * solution.C
    scale = 1.0 if square <= least else max(least, 0.0) / square
    return replace(solution, dual=scale * least - 0.5 * scale**2 * square)


def _squared_norm(u: FloatArray, factor: KernelFactor, table: Any) -> float:
    """``u'K u``, rounded up."""
    support = np.flatnonzero(u)
    rows = table[support].astype(np.float64)
    square = KernelExpansion(factor.kernel, rows, u[support]).squared_norm()
    largest = float(np.abs(u) @ np.sqrt(factor.diagonal)) ** 2  # of the sum of absolute values
    return square + 2.0 * engine.relative_error(len(support)) * largest


def svmperf_path(
    X: ArrayLike | Design,
    y: ArrayLike,
    *,
    measure: str | Measure | Callable[..., Any] = "f1",
    Cs: ArrayLike,
    tol: float = 1e-3,
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    max_iter: int = 10_000,
) -> list[Solution]:
    """Solutions for many values of C, which share their cuts.

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
    table, positive, weight, _ = model._validate_training_data(X, y, sample_weight)
    design = engine.augment(table, bias=1.0 if fit_intercept else None)
    oracle = measures.get(measure).for_training().oracle(positive, weight)
    path = CuttingPlane(design, oracle).solve_path(Cs, tol, max_iter)
    for solution in path:
        warn_not_converged(solution, stacklevel=3)
    return path
