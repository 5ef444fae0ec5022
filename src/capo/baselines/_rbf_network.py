"""Radial basis function network: Gaussian units and a logistic regression, as in WEKA's RBFNetwork.

Unit k is a cluster of the rows of one class, with a prior p_k, a center m_k and standard deviations s_k. The
membership of a row x in it is

    q_k(x) = p_k N(x; m_k, s_k) / sum over l of p_l N(x; m_l, s_l)

and the log-odds of the positive class are a linear function of the memberships.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._compat import ArrayLike, BoolArray, FloatArray, IntArray, Interval, StrOptions
from ..estimators import WeightedClassifier
from ..exceptions import InvalidInputError

#: ``init(X, n_clusters, random_state)``, as for scikit-learn's KMeans.
InitFunction = Callable[[Any, int, np.random.RandomState], ArrayLike]


@dataclass(eq=False, repr=False)
class RBFNetworkClassifier(WeightedClassifier):
    """Radial basis function network: k-means in each class, then a logistic regression on the clusters.

    Each cluster becomes a unit, a Gaussian with a diagonal covariance matrix. The features of the
    regression are the posterior probabilities of the units.

    Parameters
    ----------
    n_clusters : int, default=2
        Units per class; fewer if the class has fewer distinct rows.
    min_std : float, default=0.1
        Smallest standard deviation of a unit, relative to that of all rows. A unit below it gets the
        standard deviation of its class, or `min_std` if that is larger.
    ridge : float, default=1e-8
        Weight of the squared coefficients of the standardized memberships in the negative
        log-likelihood.
    init : "random", callable or array-like of shape (2 * n_clusters, n_features), default="random"
        Initial centers of k-means.

        - "random": distinct rows of the class, chosen at random in proportion to their weights.
        - A callable, called once per class as ``init(X, n_clusters, random_state)``, where X are the rows
          of the class with each feature divided by its range in the class; it returns the centers.
        - An array: the centers for the negative class, then those for the positive class, in the units
          of X.
    random_state : int, RandomState instance or None, default=None
        Seed for the choice of the initial centers. Pass an int for reproducible results.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two labels; the second is the positive class.
    centers_, stds_ : ndarray of shape (n_units, n_features)
        Centers and standard deviations of the units, in the units of X; those of the negative class
        first.
    priors_ : ndarray of shape (n_units,)
        Prior probabilities of the units.
    coef_ : ndarray of shape (1, n_units)
        Weights of the memberships in the log-odds of the positive class.
    intercept_ : ndarray of shape (1,)
        Intercept of the log-odds.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had any.

    Notes
    -----
    As in WEKA, k-means divides each feature by its range in the class and runs once, and the priors are
    smoothed by counting one additional row in each unit. With ``init="random"`` or an array, an integer
    weight is equivalent to that many copies of the row.

    References
    ----------
    C. M. Bishop. Neural networks for pattern recognition. Oxford University Press, 1995.

    M. Hall, E. Frank, G. Holmes, B. Pfahringer, P. Reutemann, I. H. Witten. The WEKA data mining
    software: an update. SIGKDD Explorations 11(1), 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from capo.baselines import RBFNetworkClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RBFNetworkClassifier(random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.95
    >>> model.centers_.shape
    (4, 30)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "min_std": [Interval(Real, 0, None, closed="neither")],
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "init": ["array-like", StrOptions({"random"}), callable],
        "random_state": ["random_state"],
    }

    n_clusters: int = 2
    _: KW_ONLY
    min_std: float = 0.1
    ridge: float = 1e-8
    init: ArrayLike | str | InitFunction = "random"
    random_state: int | np.random.RandomState | None = None

    def _fit_rows(self, rows: IntArray, X: Any, positive: BoolArray, weight: FloatArray) -> None:
        self.priors_, self.centers_, self.stds_ = self._find_units(X, positive, weight)
        self.coef_, self.intercept_ = self._fit_regression(self._memberships(X), positive, weight)

    def _find_units(self, X: Any, positive: BoolArray, weight: FloatArray) -> list[FloatArray]:
        """Priors, centers and standard deviations of the Gaussian units."""
        random = check_random_state(self.random_state)
        min_std = self.min_std * _replace_zeros(np.sqrt(_moments(X, weight)[1]))
        parts = []
        for is_positive in (False, True):
            rows = np.flatnonzero(positive == is_positive)
            scale = _replace_zeros(np.ravel(_dense(X[rows].max(axis=0)) - _dense(X[rows].min(axis=0))))
            is_sparse = sparse.issparse(X)
            scaled = (X[rows] @ sparse.diags_array(1.0 / scale)).tocsr() if is_sparse else X[rows] / scale
            centers = self._initial_centers(scaled, weight[rows], scale, is_positive, random)
            model = KMeans(len(centers), init=centers, n_init=1, max_iter=500, tol=0.0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
                clusters = model.fit(scaled, sample_weight=weight[rows]).labels_
            parts.append(_fit_gaussians(X[rows], weight[rows], clusters, min_std))
        priors, centers, stds = (np.concatenate(part) for part in zip(*parts, strict=True))
        return [priors / weight.sum(), centers, stds]

    def _initial_centers(
        self, X: Any, weight: FloatArray, scale: FloatArray, positive: bool, random: np.random.RandomState
    ) -> FloatArray:
        """Initial centers for one class, whose features have been divided by `scale`."""
        if callable(self.init):
            return _check_centers(self.init(X, self.n_clusters, random), (None, X.shape[1]))
        if not isinstance(self.init, str):
            centers = _check_centers(self.init, (2 * self.n_clusters, X.shape[1]))
            return np.split(centers, 2)[positive] / scale
        return _dense(X[_sample_rows(X, weight, self.n_clusters, random)])

    def _fit_regression(
        self, Q: FloatArray, positive: BoolArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Coefficients and intercept for the memberships Q."""
        mean, variance = _moments(Q, weight)
        scale = _replace_zeros(np.sqrt(variance))
        model = LogisticRegression(C=0.5 / self.ridge, solver="newton-cholesky", tol=1e-10, max_iter=1000)
        with warnings.catch_warnings():
            # Separable classes: Newton's method stops early and scikit-learn continues with L-BFGS.
            warnings.filterwarnings("ignore", message="(?s).*resort to lbfgs")
            model.fit((Q - mean) / scale, positive, sample_weight=weight)
        coef = model.coef_ / scale
        return coef, model.intercept_ - coef @ mean

    def memberships(self, X: ArrayLike) -> FloatArray:
        """Posterior probabilities of the units, the features of the regression.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_units)
            Memberships; each row sums to 1.
        """
        return self._memberships(self._validate_predict_data(X))

    def _memberships(self, X: Any) -> FloatArray:
        """q_k(x) of all rows and units."""
        log_densities = []  # up to the constant of the dimension
        for center, std in zip(self.centers_, self.stds_, strict=True):
            if sparse.issparse(X):
                # The sum over all zeros, corrected at the non-zero entries.
                inverse = 1.0 / std**2
                squares = X.multiply(X) @ inverse - 2.0 * (X @ (center * inverse)) + center**2 @ inverse
            else:
                squares = (((X - center) / std) ** 2).sum(axis=1)
            log_densities.append(np.asarray(-0.5 * squares - np.log(std).sum()))
        return np.asarray(softmax(np.column_stack(log_densities) + np.log(self.priors_), axis=1))

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Log-odds of the positive class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Log-odds.
        """
        return np.asarray(self.memberships(X) @ self.coef_[0] + self.intercept_[0])

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the two classes, in the order of `classes_`."""
        scores = self.decision_function(X)
        return np.column_stack([expit(-scores), expit(scores)])


def _fit_gaussians(
    X: Any, weight: FloatArray, clusters: IntArray, min_std: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Priors (times the weight of the class), centers and standard deviations of a class's clusters."""
    class_std = np.maximum(np.sqrt(_moments(X, weight)[1]), min_std)
    prior, center, std = [], [], []
    for cluster in np.unique(clusters):
        rows = np.flatnonzero(clusters == cluster)
        mean, variance = _moments(X[rows], weight[rows])
        prior.append(1.0 + weight[rows].sum())
        center.append(mean)
        std.append(np.where(np.sqrt(variance) <= min_std, class_std, np.sqrt(variance)))
    return weight.sum() * np.array(prior) / np.sum(prior), np.array(center), np.array(std)


def _check_centers(centers: ArrayLike, shape: tuple[int | None, int]) -> FloatArray:
    """Initial centers as an array; None in `shape` allows any number of them from 1."""
    array = np.asarray(_dense(centers))
    n_centers = max(1, len(array)) if shape[0] is None and array.ndim else shape[0]
    if array.dtype.kind not in "iuf" or array.shape != (n_centers, shape[1]) or not np.isfinite(array).all():
        expected = "(n_clusters, n_features)" if shape[0] is None else "(2 * n_clusters, n_features)"
        raise InvalidInputError(
            f"init must be or return finite centers in an array of shape {expected} with {shape[1]} "
            f"features: got {array.dtype} of shape {array.shape}."
        )
    return array.astype(np.float64)


def _sample_rows(X: Any, weight: FloatArray, n_rows: int, random: np.random.RandomState) -> IntArray:
    """Indices of distinct rows, sampled in proportion to their weights.

    The rows are sampled in the order of a random projection, so that the result depends neither on the
    order of the rows nor on whether a weight is given as copies of a row.
    """
    projection = np.asarray(X @ random.standard_normal(X.shape[1]))
    order = np.argsort(projection, kind="stable")
    cumulative = np.cumsum(weight[order])
    positions = np.searchsorted(cumulative, random.uniform(size=20 * n_rows) * cumulative[-1], side="right")
    sample = order[np.minimum(positions, len(order) - 1)]
    _, first = np.unique(projection[sample], return_index=True)
    return np.asarray(sample[np.sort(first)[:n_rows]])


def _dense(X: Any) -> Any:
    return X.toarray() if sparse.issparse(X) else X


def _moments(X: Any, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted mean and variance of each column."""
    if sparse.issparse(X):
        mean, variance = mean_variance_axis(X, axis=0, weights=weight)
        return mean, variance
    mean = np.average(X, axis=0, weights=weight)
    return mean, np.average((X - mean) ** 2, axis=0, weights=weight)


def _replace_zeros(scale: FloatArray) -> FloatArray:
    """Replace the scale of constant columns, 0, by 1."""
    return np.where(scale > 0, scale, 1.0)
