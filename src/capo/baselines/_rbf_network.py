"""A network of Gaussian units under a logistic regression, as WEKA's RBFNetwork trains it.

Unit k has a prior p_k, a centre m_k and standard deviations s_k, in standardised features x. It is one of
the clusters of the rows of one class. A row's membership in the unit is

    q_k(x) = p_k N(x; m_k, s_k) / sum over l of p_l N(x; m_l, s_l)

and the log-odds of the positive class are linear in the memberships.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis
from sklearn.utils.validation import check_is_fitted

from .._sklearn_compat import Interval, StrOptions
from .._typing import BoolArray, FloatArray, IntArray
from ..estimators import BinaryClassifier, DecisionFunctionMixin, check_row_weights
from ..exceptions import InvalidInputError
from ..preprocessing import encode_binary_labels
from ._weka import first_rows


class RBFNetworkClassifier(DecisionFunctionMixin, BinaryClassifier):
    """Gaussian units found by k-means in each class, and a logistic regression on the memberships.

    The units are axis-parallel Gaussians fitted to the clusters. The regression's features are the
    posterior probabilities of the units, so that it corrects a mixture of Gaussians for each class.

    Parameters
    ----------
    n_clusters : int, default=2
        Units for each class; fewer if the class has fewer different rows.
    min_std : float, default=0.1
        Least standard deviation of a unit, in units of the standard deviation of all rows. Below it
        the standard deviation of the class is taken, and `min_std` if that is below it too.
    ridge : float, default=1e-8
        Weight of the squared coefficients of the standardised memberships in the negative
        log-likelihood.
    init : "random", "weka" or array-like of int, default="random"
        Rows of X that k-means starts from: drawn by `random_state`; drawn as WEKA does by default, which
        depends on the order of the rows; or these, those of a class for the clusters of that class,
        whatever `n_clusters` is.
    random_state : int, RandomState instance or None, default=None
        Draws the rows that k-means starts from.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two labels; the second is the positive class.
    centers_, stds_ : ndarray of shape (n_units, n_features)
        Centres and standard deviations of the units, in the units of X. Those of the negative class
        come first.
    priors_ : ndarray of shape (n_units,)
        Prior probabilities of the units.
    coef_ : ndarray of shape (1, n_units)
        Weights of the memberships in the log-odds of the positive class.
    intercept_ : ndarray of shape (1,)
        Constant of the log-odds.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had any.

    Notes
    -----
    As WEKA's SimpleKMeans does, k-means measures each feature relative to its range in the class and
    starts once, from rows drawn at random. The priors count each unit one row larger than it is.

    References
    ----------
    C. M. Bishop. Neural networks for pattern recognition. Oxford University Press, 1995.

    M. Hall, E. Frank, G. Holmes, B. Pfahringer, P. Reutemann, I. H. Witten. The WEKA data mining
    software: an update. SIGKDD Explorations 11(1), 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from capo.baselines._rbf_network import RBFNetworkClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RBFNetworkClassifier(random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.95
    >>> model.centers_.shape
    (4, 30)
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "min_std": [Interval(Real, 0, None, closed="neither")],
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "init": ["array-like", StrOptions({"random", "weka"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        min_std: float = 0.1,
        ridge: float = 1e-8,
        init: ArrayLike | str = "random",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.min_std = min_std
        self.ridge = ridge
        self.init = init
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Place the units and fit the regression.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features; a sparse matrix stays sparse.
        y : array-like of shape (n_samples,)
            Two labels; the larger one is the positive class.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; a whole number counts as that many copies of the row, but for where ``init="weka"``
            starts.

        Returns
        -------
        self : RBFNetworkClassifier
            The fitted classifier.
        """
        self._validate_params()
        table, labels = self._validate_fit_data(X, y)
        weight = check_row_weights(sample_weight, table)
        counted = np.flatnonzero(weight)
        self.classes_, positive = encode_binary_labels(labels[counted])
        given = None if isinstance(self.init, str) else _marked(self.init, len(labels))[counted]
        table, weight = table[counted], weight[counted]
        self._place_units(table, positive, weight, given)
        self._fit_regression(self._memberships(table), positive, weight)
        return self

    def _place_units(self, X: Any, positive: BoolArray, weight: FloatArray, given: BoolArray | None) -> None:
        random = check_random_state(self.random_state)
        least = self.min_std * _nonzero(np.sqrt(_moments(X, weight)[1]))
        found = []
        for rows in (np.flatnonzero(~positive), np.flatnonzero(positive)):
            table = _divided(X[rows], _nonzero(_range(X[rows])))
            if given is not None:
                start = np.flatnonzero(given[rows])
            elif self.init == "weka":
                start = first_rows(table, self.n_clusters)
            else:
                start = _drawn(table, weight[rows], self.n_clusters, random)
            found.append(_units(X[rows], weight[rows], _clustered(table, weight[rows], start), least))
        prior, center, std = (np.concatenate(part) for part in zip(*found, strict=True))
        self.priors_, self.centers_, self.stds_ = prior / weight.sum(), center, std

    def _fit_regression(self, Q: FloatArray, positive: BoolArray, weight: FloatArray) -> None:
        mean, variance = _moments(Q, weight)
        scale = _nonzero(np.sqrt(variance))
        model = LogisticRegression(C=0.5 / self.ridge, solver="newton-cholesky", tol=1e-10, max_iter=1000)
        with warnings.catch_warnings():
            # classes that the units tell apart: Newton's method ends early and L-BFGS goes on from there
            warnings.filterwarnings("ignore", message="(?s).*resort to lbfgs")
            model.fit((Q - mean) / scale, positive, sample_weight=weight)
        self.coef_ = model.coef_ / scale
        self.intercept_ = model.intercept_ - self.coef_ @ mean

    def _memberships(self, X: Any) -> FloatArray:
        """q_k(x) of all rows and units."""
        log_density = np.column_stack(
            [_log_density(X, center, std) for center, std in zip(self.centers_, self.stds_, strict=True)]
        )
        return np.asarray(softmax(log_density + np.log(self.priors_), axis=1))

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
        check_is_fitted(self)
        return self._memberships(self._validate_predict_data(X))

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


def _units(
    X: Any, weight: FloatArray, label: IntArray, least: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Priors (times the weight of all rows), centres and standard deviations of a class's clusters."""
    fallback = np.maximum(np.sqrt(_moments(X, weight)[1]), least)
    prior, center, std = [], [], []
    for cluster in np.unique(label):
        rows = np.flatnonzero(label == cluster)
        mean, variance = _moments(X[rows], weight[rows])
        prior.append(1.0 + weight[rows].sum())
        center.append(mean)
        std.append(np.where(np.sqrt(variance) <= least, fallback, np.sqrt(variance)))
    return weight.sum() * np.array(prior) / np.sum(prior), np.array(center), np.array(std)


def _clustered(X: Any, weight: FloatArray, start: IntArray) -> IntArray:
    """The clusters of the rows that k-means finds from some of them."""
    first = X[start].toarray() if sparse.issparse(X) else X[start]
    if not len(first):
        raise InvalidInputError("init has no row of one of the classes. Give at least one row of each.")
    model = KMeans(len(first), init=first, n_init=1, max_iter=500, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer clusters than were asked for
        return np.asarray(model.fit(X, sample_weight=weight).labels_)


def _marked(rows: ArrayLike, n: int) -> BoolArray:
    """Which of n rows are listed."""
    listed = np.asarray(rows)
    if listed.dtype.kind not in "iu" or listed.ndim != 1 or ((listed < 0) | (listed >= n)).any():
        raise InvalidInputError(f"init must list rows of X, numbers from 0 to {n - 1}; got {rows!r}.")
    marked = np.zeros(n, dtype=bool)
    marked[listed] = True
    return marked


def _drawn(X: Any, weight: FloatArray, n_rows: int, random: np.random.RandomState) -> IntArray:
    """Different rows, drawn with probabilities in proportion to their weights.

    The rows are drawn in the order of a random projection, so that neither their order nor whether a
    weight is written as copies matters.
    """
    key = np.asarray(X @ random.standard_normal(X.shape[1]))
    order = np.argsort(key, kind="stable")
    upto = np.cumsum(weight[order])
    place = np.searchsorted(upto, random.uniform(size=20 * n_rows) * upto[-1], side="right")
    drawn = order[np.minimum(place, len(order) - 1)]
    _, first = np.unique(key[drawn], return_index=True)
    return np.asarray(drawn[np.sort(first)[:n_rows]])


def _log_density(X: Any, center: FloatArray, std: FloatArray) -> FloatArray:
    """The logarithm of N(x; center, std) for all rows, up to the constant of the dimension."""
    if sparse.issparse(X):
        # a zero contributes (center / std)^2; what a non-zero entry adds to that is summed up
        inverse = 1.0 / std**2
        squares = X.multiply(X) @ inverse - 2.0 * (X @ (center * inverse)) + center**2 @ inverse
    else:
        squares = (((X - center) / std) ** 2).sum(axis=1)
    return np.asarray(-0.5 * squares - np.log(std).sum())


def _moments(X: Any, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted mean and variance of each column."""
    if sparse.issparse(X):
        mean, variance = mean_variance_axis(X, axis=0, weights=weight)
        return mean, variance
    mean = np.average(X, axis=0, weights=weight)
    return mean, np.average((X - mean) ** 2, axis=0, weights=weight)


def _range(X: Any) -> FloatArray:
    low, high = min_max_axis(X, axis=0) if sparse.issparse(X) else (X.min(axis=0), X.max(axis=0))
    return np.asarray(high - low)


def _divided(X: Any, by: FloatArray) -> Any:
    return (X @ sparse.diags_array(1.0 / by)).tocsr() if sparse.issparse(X) else X / by


def _nonzero(scale: FloatArray) -> FloatArray:
    """1 in place of 0: a constant column has no scale."""
    return np.where(scale > 0, scale, 1.0)
