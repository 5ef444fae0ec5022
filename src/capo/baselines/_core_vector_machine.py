"""The core vector machine: an L2-SVM as a minimum enclosing ball, solved on a core set."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import OneClassSVM
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._sklearn_compat import Interval, StrOptions
from .._typing import FloatArray, IntArray
from ..estimators import BinaryClassifier, DecisionFunctionMixin, ProgressLogger, check_row_weights
from ..kernels import Kernel, KernelExpansion, make_kernel, names
from ..preprocessing import encode_binary_labels

#: Rows of the first core set, and how much it may grow in a round.
FIRST, GROWTH = 100, 0.5
#: Rows looked at in a round, as a multiple of the core set and at least; all of them once so few are outside.
LOOKED_AT, LEAST_LOOKED_AT, FEW_OUTSIDE = 2, 2000, 0.005
#: A tolerance of at most this means to be exact; a margin that is short by more than this is not.
FINE, MUCH = 1e-6, 0.5
#: The ball of a core set is exact up to this share of what its rows' mean distance from it is.
INNER_TOL = 1e-3


class Ball(NamedTuple):
    """The smallest ball around the rows of the core set: a convex combination of some of them."""

    rows: IntArray
    share: FloatArray
    square: float  # a' K a, the squared distance of the centre from the origin


class CoreVectorMachine(DecisionFunctionMixin, BinaryClassifier):
    """Kernel classifier whose training is a smallest enclosing ball.

    Minimises ``||w||^2 + b^2 - 2 rho + C sum_i xi_i^2`` subject to ``y_i (w'phi(x_i) + b) >= rho - xi_i``,
    whose dual asks for the smallest ball around points of a kernel space (Tsang, Kwok and Cheung,
    2005). The ball is found on a core set that grows by the rows furthest outside, until all rows
    are within ``1 + tol`` of its radius; rows that do not carry the ball leave the set. The ball of a core
    set comes from scikit-learn's `OneClassSVM`, whose problem it is.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        "rbf", "laplacian", "inverse_distance", "inverse_squared_distance", "poly", or a function of
        two tables that returns the matrix of their rows' kernel.
    C : float, default=1.0
        Weight of the squared slacks.
    gamma : "scale" or float, default="scale"
        The kernel's width; "scale" is the inverse of the mean squared distance between two rows.
    degree, coef0 : float, default=3.0 and 0.0
        Of the polynomial kernel ``(gamma x'z + coef0) ** degree``.
    tol : float, default=1e-6
        How far outside the ball a row may be, relative to the radius. LibCVM's ``-e 0.001`` is
        ``tol=1e-3``; it ends with a few hundred vectors, far from the optimum on large tables.
    max_iter : int, default=1000
        Limit on rounds. A fit that reaches it keeps its ball, and warns.
    random_state : int, RandomState instance or None, default=None
        Draws the first core set.
    verbose : int, default=0
        1 logs a line every two seconds, 2 every round, by the logger ``"capo"``.

    Attributes
    ----------
    support_ : ndarray of int
        Positions of the rows that carry the ball.
    support_vectors_ : {ndarray, sparse matrix}
        Those rows.
    dual_coef_ : ndarray of shape (1, n_support)
        Their weights, with the sign of their class.
    intercept_ : ndarray of shape (1,)
        The bias.
    radius_ : float
        The ball's radius.
    excess_ : float
        How far outside the furthest row is, relative to the radius; at most `tol` unless the fit warned.
    shortfall_ : float
        How much that row's margin is short of the support vectors', as a share of it. Where the longest row
        is far longer than the margin, a small `tol` still leaves much.
    kernel_ : Kernel
        The kernel with its parameters.
    n_iter_ : int
        Rounds.
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

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        "kernel": [StrOptions(set(names())), callable],
        "C": [Interval(Real, 0, None, closed="neither")],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 0, None, closed="neither")],
        "coef0": [Interval(Real, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        *,
        C: float = 1.0,
        gamma: str | float = "scale",
        degree: float = 3.0,
        coef0: float = 0.0,
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Two labels; the larger one is the positive class.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the squared slacks; a row of weight 0 is left out.

        Returns
        -------
        self : CoreVectorMachine
            The fitted classifier.
        """
        self._validate_params()
        table, labels = self._validate_fit_data(X, y)
        weight = check_row_weights(sample_weight, table)
        there = np.flatnonzero(weight)
        table, weight = table[there], weight[there]
        self.classes_, positive = encode_binary_labels(labels[there])
        self.kernel_ = make_kernel(self.kernel, table, self.gamma, self.degree, self.coef0, weight)
        space = Space(self.kernel_, table, positive, self.C * weight)
        ball = self._enclose(space)
        self._warn()
        sign = space.sign[ball.rows]
        # The ball's centre is defined up to its length; at this one the margin rho is 1.
        coef = sign * ball.share / ball.square
        self.support_ = there[ball.rows]
        self.support_vectors_ = table[ball.rows]
        self.dual_coef_ = coef[None, :]
        self.intercept_ = np.array([coef.sum()])
        return self

    def _enclose(self, space: Space) -> Ball:
        """The ball around all rows, from balls around core sets."""
        progress = ProgressLogger(self.verbose)
        rng = check_random_state(self.random_state)
        core = space.first(rng)
        for round_number in range(1, self.max_iter + 1):
            ball = space.smallest_ball(core, self.tol)
            outside, self.excess_ = self._look(space, ball, rng)
            self.n_iter_, self.radius_ = round_number, space.radius(ball)
            progress.log("round %d: %d core vectors, excess %.3g", round_number, len(ball.rows), self.excess_)
            if np.isin(outside, core).all():  # none, or as close as rounding errors allow
                break
            core = np.union1d(ball.rows, outside)
        self.shortfall_ = 0.5 * ((1.0 + self.excess_) ** 2 - 1.0) * self.radius_**2 / ball.square
        return ball

    def _look(self, space: Space, ball: Ball, rng: np.random.RandomState) -> tuple[IntArray, float]:
        """The rows that are furthest outside the ball, and how far the furthest is.

        Single precision finds them and double precision decides. That nothing is outside is said of all
        rows in double precision.
        """
        n, few = len(space.sign), max(LEAST_LOOKED_AT, LOOKED_AT * len(ball.rows))
        rows = rng.choice(n, few, replace=False) if few < n else np.arange(n)
        excess = space.excess(ball, rows, space.single)
        if few < n and np.mean(excess > self.tol) <= FEW_OUTSIDE:
            rows = np.arange(n)
            excess = space.excess(ball, rows, space.single)
        for candidates in (rows[_furthest(excess, self.tol, len(ball.rows))], np.arange(n)):
            excess = space.excess(ball, candidates, space.X)
            if excess.max(initial=0.0) > self.tol:
                break
        return candidates[_furthest(excess, self.tol, len(ball.rows))], float(excess.max())

    def _warn(self) -> None:
        """Say so if the ball is not what was asked for, or if what was asked for is not enough."""
        if self.excess_ > self.tol:
            warnings.warn(
                f"a row is outside the ball by {self.excess_:.3g} of its radius, against tol={self.tol:g}, "
                f"after {self.n_iter_} rounds. Raise max_iter or tol, lower C, or scale the features to a "
                "similar range.",
                ConvergenceWarning,
                stacklevel=3,
            )
        elif self.tol <= FINE and self.shortfall_ > MUCH:
            warnings.warn(
                f"the margin of a row is short by {self.shortfall_:.2g} times itself, which tol={self.tol:g} "
                "of the radius cannot see: some rows are far longer than the margin. Centre and scale the "
                "features, cut off outliers, lower C, or lower tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Signed distance from the border, in units of the margin: above 0 is positive.

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
        centre = KernelExpansion(self.kernel_, self.support_vectors_, self.dual_coef_[0])
        return np.asarray(centre(self._validate_predict_data(X)) + self.intercept_[0])


class Space:
    """The space whose smallest ball is the classifier.

    Row i is the point y_i (phi(x_i), 1, e_i / sqrt(C_i)); rows that are closer to the origin than the
    longest are lifted to its length by one more direction each, which leaves inner products alone.
    """

    def __init__(self, kernel: Kernel, X: Any, positive: NDArray[np.bool_], C: FloatArray) -> None:
        self.kernel, self.X, self.sign, self.slack = kernel, X, np.where(positive, 1.0, -1.0), 1.0 / C
        self.single = X.astype(np.float32)
        self.square = kernel.diagonal(X) + 1.0 + self.slack
        self.longest = float(self.square.max())

    def first(self, rng: np.random.RandomState) -> IntArray:
        """Some rows of both classes."""
        order = rng.permutation(len(self.sign))
        one_each = [order[np.argmax(self.sign[order] == sign)] for sign in (-1.0, 1.0)]
        return np.union1d(order[:FIRST], one_each)

    def smallest_ball(self, rows: IntArray, tol: float) -> Ball:
        """The smallest ball around some rows: a convex combination of least length."""
        sign, X = self.sign[rows], self.X[rows]
        matrix = self.kernel(X, X)
        matrix += 1.0
        matrix *= sign[:, None] * sign
        matrix[np.diag_indices_from(matrix)] = self.square[rows]
        # The ball is no smaller than this: its centre is no further from the origin than the mean row.
        squared_radius = self.longest - matrix.mean()
        accuracy = min(0.5 * tol * squared_radius, INNER_TOL * matrix.trace() / len(rows))
        solver = OneClassSVM(kernel="precomputed", nu=1.0 / len(rows), tol=accuracy, cache_size=1000).fit(
            matrix
        )
        share = solver.dual_coef_.ravel() / solver.dual_coef_.sum()
        at = solver.support_
        return Ball(rows[at], share, float(share @ matrix[np.ix_(at, at)] @ share))

    def radius(self, ball: Ball) -> float:
        """The ball's radius."""
        return float(np.sqrt(self.longest - ball.square))

    def excess(self, ball: Ball, rows: IntArray, table: Any) -> FloatArray:
        """How far outside the ball these rows of a table are, relative to its radius."""
        coef = self.sign[ball.rows] * ball.share
        centre = KernelExpansion(self.kernel, table[ball.rows], coef.astype(table.dtype))
        inner = self.sign[rows] * (centre(table[rows]) + coef.sum())
        share = np.zeros(len(self.sign))
        share[ball.rows] = ball.share
        inner += self.slack[rows] * share[rows]
        distance = np.sqrt(self.longest + ball.square - 2.0 * inner)
        return np.asarray(distance / self.radius(ball) - 1.0)


def _furthest(excess: FloatArray, tol: float, core: int) -> IntArray:
    """The rows furthest outside, as many as the core set may grow by."""
    outside = np.flatnonzero(excess > tol)
    return outside[np.argsort(-excess[outside], kind="stable")[: max(FIRST, int(GROWTH * core))]]
