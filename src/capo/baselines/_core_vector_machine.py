"""Core vector machine: an L2-SVM trained as a minimum enclosing ball, on a core set."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import OneClassSVM
from sklearn.utils import check_random_state

from .._compat import ArrayLike, BoolArray, FloatArray, IntArray, StrOptions
from ..estimators import ProgressLogger, SVMPerfClassifier, WeightedClassifier
from ..kernels import Kernel, KernelExpansion, kernel_names, make_kernel

#: Rows of the initial core set.
N_INITIAL = 100
#: Largest relative growth of a core set in one iteration.
MAX_GROWTH = 0.5
#: An iteration checks a sample of this many rows per row of the core set ...
SAMPLE_FACTOR = 2
#: ... and of at least this many rows.
MIN_SAMPLE = 2000
#: Once at most this share of the sample is outside the ball, an iteration checks all rows.
MAX_SHARE_OUTSIDE = 0.005
#: Up to this `tol` the solution is expected to be exact ...
EXACT_TOL = 1e-6
#: ... and a `shortfall_` above this limit is reported in a warning.
MAX_SHORTFALL = 0.5
#: Tolerance of the ball around a core set, relative to the mean squared norm of its points.
BALL_TOL = 1e-3


class Ball(NamedTuple):
    """The smallest ball around a core set; its center is a convex combination of the points `rows`."""

    rows: IntArray
    weights: FloatArray
    squared_norm: float  # of the center


@dataclass(eq=False, repr=False)
class CoreVectorMachine(WeightedClassifier):
    """Kernel classifier trained as a minimum enclosing ball.

    Minimizes ``||w||^2 + b^2 - 2 rho + C sum_i xi_i^2`` subject to ``y_i (w'phi(x_i) + b) >= rho - xi_i``,
    whose dual is the problem of the minimum enclosing ball of points in a kernel space (Tsang, Kwok and
    Cheung, 2005). The ball is computed for a core set, to which the rows furthest outside are added until
    all rows are within ``1 + tol`` times its radius; rows without weight in the center are removed from
    the set. The ball of a core set is computed by scikit-learn's `OneClassSVM`, which solves the same
    problem.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        "rbf", "laplacian", "inverse_distance", "inverse_squared_distance", "poly", or a function of
        two arrays of rows that returns their kernel matrix.
    C : float, default=1.0
        Weight of the squared slacks, which `sample_weight` multiplies.
    gamma : "scale" or float, default="scale"
        The kernel's coefficient; "scale" is the inverse of the mean squared distance between two rows.
    degree, coef0 : float, default=3.0 and 0.0
        Parameters of the polynomial kernel ``(gamma x'z + coef0) ** degree``.
    tol : float, default=1e-6
        Largest distance of a row from the ball, relative to the radius. LibCVM's ``-e 0.001`` is
        ``tol=1e-3``; it stops with a few hundred vectors, far from the optimum on large data sets.
    max_iter : int, default=1000
        Limit on the number of iterations. A fit that reaches it keeps its ball and issues a warning.
    random_state : int, RandomState instance or None, default=None
        Seed for the initial core set and the samples of rows. Pass an int for reproducible results.
    verbose : int, default=0
        1 logs a line every two seconds, 2 every iteration, by the logger ``"capo"``.

    Attributes
    ----------
    support_ : ndarray of int
        Indices of the support vectors.
    support_vectors_ : {ndarray, sparse matrix}
        The support vectors.
    dual_coef_ : ndarray of shape (1, n_support)
        Their weights, with the sign of their class.
    intercept_ : ndarray of shape (1,)
        The bias.
    radius_ : float
        The ball's radius.
    excess_ : float
        Distance of the furthest row from the ball, relative to the radius; at most `tol` unless `fit` warned.
    shortfall_ : float
        The difference between the margins of the support vectors and of that row, relative to the former. It
        can be large in spite of a small `tol` if some rows have norms far larger than the margin.
    kernel_ : Kernel
        The kernel with its parameters.
    n_iter_ : int
        Number of iterations.
    classes_ : ndarray of shape (2,)
        The two labels; the second is the positive class.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had any.

    References
    ----------
    I. W. Tsang, J. T. Kwok, P.-M. Cheung. Core vector machines: fast SVM training on very large data sets.
    JMLR 6, 2005. For kernels whose k(x, x) varies: I. W. Tsang, J. T. Kwok, J. M. Zurada. Generalized
    core vector machines. IEEE Transactions on Neural Networks 17(5), 2006.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from capo.baselines import CoreVectorMachine
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> CoreVectorMachine(gamma=5.0, C=10.0, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SVMPerfClassifier._parameter_constraints,
        "kernel": [StrOptions(set(kernel_names())), callable],
    }

    kernel: str | Callable[[Any, Any], Any] = "rbf"
    _: KW_ONLY
    C: float = 1.0
    gamma: str | float = "scale"
    degree: float = 3.0
    coef0: float = 0.0
    tol: float = 1e-6
    max_iter: int = 1000
    random_state: Any = None
    verbose: int = 0

    def _fit_rows(self, rows: IntArray, X: Any, positive: BoolArray, weight: FloatArray) -> None:
        kernel = make_kernel(self.kernel, X, self.gamma, self.degree, self.coef0, weight)
        problem = BallProblem(kernel, X, positive, self.C * weight)
        progress, random = ProgressLogger(self), check_random_state(self.random_state)
        core = problem.initial_core(random)
        for n_iter in range(1, self.max_iter + 1):
            ball = problem.smallest_ball(core, self.tol)
            outside, excess = self._furthest_rows(problem, ball, random)
            progress.log("iteration %d: %d core vectors, excess %.3g", n_iter, len(ball.rows), excess)
            if np.isin(outside, core).all():  # no row is outside, or only by rounding errors
                break
            core = np.union1d(ball.rows, outside)
        self.radius_, self.excess_, self.n_iter_ = problem.radius(ball), excess, n_iter
        self.shortfall_ = 0.5 * ((1.0 + self.excess_) ** 2 - 1.0) * self.radius_**2 / ball.squared_norm
        if self.excess_ > self.tol:
            warnings.warn(
                f"a row is outside the ball by {self.excess_:.3g} times its radius after {self.n_iter_} "
                f"iterations, more than tol={self.tol:g}. Raise max_iter or tol, lower C, or scale the "
                "features to a similar range.",
                ConvergenceWarning,
                stacklevel=4,
            )
        elif self.tol <= EXACT_TOL and self.shortfall_ > MAX_SHORTFALL:
            warnings.warn(
                f"the margin of a row is too small by {self.shortfall_:.2g} times the margin of the support "
                f"vectors, although tol={self.tol:g} was reached: some rows have norms far larger than the "
                "margin. Center and scale the features, clip outliers, lower C, or lower tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        # The center determines the classifier up to a factor; with this one the margin rho is 1.
        coef = problem.sign[ball.rows] * ball.weights / ball.squared_norm
        self.kernel_, self.support_ = kernel, rows[ball.rows]
        self.support_vectors_, self.dual_coef_ = X[ball.rows], coef[None, :]
        self.intercept_ = np.array([coef.sum()])

    def _furthest_rows(
        self, problem: BallProblem, ball: Ball, random: np.random.RandomState
    ) -> tuple[IntArray, float]:
        """The rows furthest outside the ball, and the relative distance of the furthest one.

        Only a check of all rows can find that no row is outside; a sample finds most rows outside.
        """
        n, n_sample = len(problem.sign), max(MIN_SAMPLE, SAMPLE_FACTOR * len(ball.rows))
        rows = random.choice(n, n_sample, replace=False) if n_sample < n else np.arange(n)
        excess = problem.excess(ball, rows)
        if n_sample < n and np.mean(excess > self.tol) <= MAX_SHARE_OUTSIDE:
            rows = np.arange(n)
            excess = problem.excess(ball, rows)
        outside = np.flatnonzero(excess > self.tol)
        n_added = max(N_INITIAL, int(MAX_GROWTH * len(ball.rows)))
        furthest = outside[np.argsort(-excess[outside], kind="stable")[:n_added]]
        return rows[furthest], float(excess.max())

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Signed distance from the decision boundary, in units of the margin; positive above 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Decision values.
        """
        rows = self._validate_predict_data(X)
        center = KernelExpansion(self.kernel_, self.support_vectors_, self.dual_coef_[0])
        return np.asarray(center(rows) + self.intercept_[0])


class BallProblem:
    """The points whose minimum enclosing ball determines the classifier.

    Row i is the point y_i (phi(x_i), 1, e_i / sqrt(C_i)). Each point gets one more coordinate of its own
    that makes all norms equal to the largest; inner products of different points stay the same.
    """

    def __init__(self, kernel: Kernel, X: Any, positive: BoolArray, C: FloatArray) -> None:
        self.kernel, self.X, self.sign, self.slack = kernel, X, np.where(positive, 1.0, -1.0), 1.0 / C
        self.squared_norms = kernel.diagonal(X) + 1.0 + self.slack
        self.max_squared_norm = float(self.squared_norms.max())

    def initial_core(self, random: np.random.RandomState) -> IntArray:
        """A random sample of rows with at least one of each class."""
        order = random.permutation(len(self.sign))
        one_of_each = [order[np.argmax(self.sign[order] == sign)] for sign in (-1.0, 1.0)]
        return np.union1d(order[:N_INITIAL], one_of_each)

    def smallest_ball(self, rows: IntArray, tol: float) -> Ball:
        """The minimum enclosing ball of some rows: the convex combination with the smallest norm."""
        sign, X = self.sign[rows], self.X[rows]
        matrix = self.kernel(X, X)
        matrix += 1.0
        matrix *= sign[:, None] * sign
        matrix[np.diag_indices_from(matrix)] = self.squared_norms[rows]
        # A lower bound: the norm of the center is at most that of the mean point.
        squared_radius = self.max_squared_norm - matrix.mean()
        solver_tol = min(0.5 * tol * squared_radius, BALL_TOL * matrix.trace() / len(rows))
        solver = OneClassSVM(kernel="precomputed", nu=1.0 / len(rows), tol=solver_tol, cache_size=1000)
        solver.fit(matrix)
        weights, support = solver.dual_coef_.ravel() / solver.dual_coef_.sum(), solver.support_
        return Ball(rows[support], weights, float(weights @ matrix[np.ix_(support, support)] @ weights))

    def radius(self, ball: Ball) -> float:
        """The ball's radius."""
        return float(np.sqrt(self.max_squared_norm - ball.squared_norm))

    def excess(self, ball: Ball, rows: IntArray) -> FloatArray:
        """Distances of these rows from the ball relative to its radius."""
        coef = self.sign[ball.rows] * ball.weights
        center = KernelExpansion(self.kernel, self.X[ball.rows], coef)
        inner = self.sign[rows] * (center(self.X[rows]) + coef.sum())
        weights = np.zeros(len(self.sign))
        weights[ball.rows] = ball.weights
        inner += self.slack[rows] * weights[rows]
        distance = np.sqrt(self.max_squared_norm + ball.squared_norm - 2.0 * inner)
        return np.asarray(distance / self.radius(ball) - 1.0)
