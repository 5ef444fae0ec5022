"""C45Classifier: validates the data, grows the tree and prunes it."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..._sklearn_compat import Interval
from ..._typing import BoolArray, FloatArray
from ...estimators import BinaryClassifier, atomic_fit, check_row_weights
from ...exceptions import InvalidInputError
from ...preprocessing import encode_binary_labels
from ._entries import TrainingRows, column_reader, sort_entries
from ._growing import grow
from ._pruning import Pruner, collapse
from ._tree import Tree


class C45Classifier(BinaryClassifier):
    """Decision tree of C4.5 (release 8) for numeric features, with the rules of WEKA's J48.

    A node is split by ``x <= t``. For each feature the threshold with the largest information gain is
    taken, and the gain is reduced by log2(number of thresholds) / W, where W is the weight of the node's
    rows. Among the features whose reduced gain is at least the average, the one with the largest ratio of
    gain to the entropy of the split is chosen, the first one in case of a tie. The tree is then pruned: a
    subtree is replaced by a leaf, or by its larger branch, if that does not raise the expected errors by
    more than 0.1.

    Parameters
    ----------
    confidence : float, default=0.25
        Confidence level of the upper limit of a leaf's error rate; smaller values prune more.
    min_samples_leaf : int, default=2
        Smallest weight of a branch. The limit is raised to a tenth of the node's mean weight per class,
        up to 25, if that is larger.
    subtree_raising : bool, default=True
        Whether a subtree may be replaced by its larger branch.
    pruning : bool, default=True
        Whether to prune. If not, only subtrees that do not reduce the training error are removed.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two labels; the second is the positive class.
    n_leaves_ : int
        Number of leaves.
    depth_ : int
        Number of tests on the longest path to a leaf.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the total information gain.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had any.

    Notes
    -----
    As in C4.5, values that differ by 1e-5 or less are treated as equal: rescale features with very small
    values. The threshold is the largest value in the training data that is not above the midpoint of the
    two neighboring values.

    References
    ----------
    J. R. Quinlan. C4.5: programs for machine learning. Morgan Kaufmann, 1993.

    J. R. Quinlan. Improved use of continuous attributes in C4.5. Journal of Artificial Intelligence
    Research 4, 1996.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from capo.baselines import C45Classifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = C45Classifier(min_samples_leaf=20).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.96
    >>> print(model.describe())
    worst area <= 880.8
    |   worst concave points <= 0.1357: 1 (337.0/7.0)
    |   worst concave points > 0.1357
    |   |   worst texture <= 27.37: 1 (28.0/9.0)
    |   |   worst texture > 27.37: 0 (21.0)
    worst area > 880.8: 0 (183.0/8.0)
    """

    _accept_sparse = ("csc", "csr")
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        "confidence": [Interval(Real, 0, 0.5, closed="right")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "subtree_raising": ["boolean"],
        "pruning": ["boolean"],
    }

    def __init__(
        self,
        confidence: float = 0.25,
        *,
        min_samples_leaf: int = 2,
        subtree_raising: bool = True,
        pruning: bool = True,
    ) -> None:
        self.confidence = confidence
        self.min_samples_leaf = min_samples_leaf
        self.subtree_raising = subtree_raising
        self.pruning = pruning

    @atomic_fit
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow and prune the tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features; a sparse matrix is not converted to a dense one.
        y : array-like of shape (n_samples,)
            Two labels; the larger one is the positive class.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; an integer weight is equivalent to that many copies of the row.

        Returns
        -------
        self : C45Classifier
            The fitted classifier.
        """
        self._validate_params()
        table, labels = self._validate_fit_data(X, y)
        weight = check_row_weights(sample_weight, table)
        encode_binary_labels(labels[weight > 0])  # both classes must have weight
        classes, positive = encode_binary_labels(labels)
        tree = self._grow_tree(table, weight, positive)
        gain = tree.gains(table.shape[1])
        self.classes_, self._tree = classes, tree
        self.n_leaves_, self.depth_ = tree.left.count(-1), tree.depth()
        self.feature_importances_ = gain / gain.sum() if gain.any() else gain
        return self

    def _grow_tree(self, table: Any, weight: FloatArray, positive: BoolArray) -> Tree:
        rows = TrainingRows(column_reader(table), weight, np.where(positive, weight, 0.0))
        tree = grow(sort_entries(table, weight > 0), rows, self.min_samples_leaf)
        collapse(tree)
        if self.pruning:
            Pruner(tree, rows, self.confidence, self.subtree_raising).run()
        return tree.compact()

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Class probabilities: the shares of the classes among the training rows of the leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probabilities, in the order of `classes_`.
        """
        check_is_fitted(self)
        table = self._validate_predict_data(X)
        share = np.empty(table.shape[0])
        for leaf, rows in self._tree.routes(0, np.arange(len(share)), column_reader(table)):
            share[rows] = self._tree.P[leaf] / self._tree.W[leaf]
        return np.column_stack([1.0 - share, share])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the more frequent class of the leaf, the first one in case of a tie."""
        class_index = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[class_index])

    def describe(self, feature_names: Sequence[str] | None = None) -> str:
        """The tree as text, one line per branch.

        Parameters
        ----------
        feature_names : sequence of str, optional
            Names to use; those of the training data or x0, x1, ... by default.

        Returns
        -------
        str
            Tests, and for a leaf its class with (weight of its rows/weight of its misclassified rows).
        """
        check_is_fitted(self)
        default = [f"x{j}" for j in range(self.n_features_in_)]
        names = getattr(self, "feature_names_in_", default) if feature_names is None else feature_names
        if len(names) != self.n_features_in_:
            raise InvalidInputError(
                f"feature_names has {len(names)} names, but the tree was trained on {self.n_features_in_} "
                "features. Give one name per feature."
            )
        return "\n".join(self._tree.lines(names, self.classes_.tolist()))
