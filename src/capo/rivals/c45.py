"""C4.5's decision tree for numeric features, as WEKA's J48 grows and prunes it.

A node holds rows of total weight W, of which P is of the positive class. Its entropy, times W, is

    H(W, P) = W log2 W - P log2 P - (W - P) log2 (W - P)

The features are kept as the non-zero entries sorted by (column, value) once. A node owns those of its
rows, still sorted, and one stand-in for the rows that are zero in a column. Cumulative sums over them
give W and P of the left branch for all cuts of all columns at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import ndtri, xlogy
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from ..exceptions import InvalidInputError
from ..validation import row_weights, two_classes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]
Reader = Callable[[int, IntArray], FloatArray]

#: C4.5's constants: values closer than this are one value; gains and errors closer than this are equal;
#: a feature competes if its gain lacks less than this to the average; a pruned tree may be worse by this.
RESOLUTION, TIE, NEAR_AVERAGE, WORSE_BY = 1e-5, 1e-6, 1e-3, 0.1


class C45Classifier(ClassifierMixin, BaseEstimator):
    """Decision tree of C4.5 (release 8) for numeric features, with the rules of WEKA's J48.

    A node is split by ``x <= t``. For each feature the cut with the largest information gain is taken,
    and its gain reduced by log2(number of cuts) / W, the price of naming the cut. Among the features
    whose reduced gain is at least the average, the one with the largest ratio of gain to the entropy
    of the split itself wins; among equals the first. The grown tree is pruned: a subtree gives way to a
    leaf, or to its larger branch, if the errors to be expected do not rise by more than 0.1.

    Parameters
    ----------
    confidence : float, default=0.25
        Level of the upper confidence limit of a leaf's error rate; smaller values prune more.
    min_samples_leaf : int, default=2
        Least weight of a branch. Cuts leave at least a tenth of the node's weight per class, at most
        25, on both sides if that is more.
    subtree_raising : bool, default=True
        Whether a subtree may be replaced by its larger branch.
    pruning : bool, default=True
        Whether to prune. Without it, only subtrees that save no training error are cut off.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two labels; the second is the positive class.
    n_leaves_ : int
        Number of leaves.
    depth_ : int
        Number of tests on the longest way to a leaf.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the information gained.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had any.

    Notes
    -----
    As in C4.5, values that differ by 1e-5 or less are not told apart: scale up features that are
    measured in tiny units. The threshold is the largest value of the training set that is not above the
    middle between the two neighbours.

    References
    ----------
    J. R. Quinlan. C4.5: programs for machine learning. Morgan Kaufmann, 1993.

    J. R. Quinlan. Improved use of continuous attributes in C4.5. Journal of Artificial Intelligence
    Research 4, 1996.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from capo.rivals.c45 import C45Classifier
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

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree and prune it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features; a sparse matrix stays sparse.
        y : array-like of shape (n_samples,)
            Two labels; the larger one is the positive class.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; a whole number counts as that many copies of the row.

        Returns
        -------
        self : C45Classifier
            The fitted classifier.
        """
        self._validate_params()
        X, y = validate_data(self, X, y, accept_sparse=("csc", "csr"), dtype=np.float64)
        self.classes_, positive = two_classes(np.asarray(y))
        weight = row_weights(sample_weight, X)
        rows = _Rows(_reader(X), weight, np.where(positive, weight, 0.0))
        tree = _grow(_sorted_entries(X, weight > 0), rows, self.min_samples_leaf)
        _collapse(tree)
        if self.pruning:
            _Pruner(tree, rows, self.confidence, self.subtree_raising).run()
        self._keep(tree)
        return self

    def _keep(self, tree: _Tree) -> None:
        self._tree = tree.compact()
        self.n_leaves_ = self._tree.left.count(-1)
        self.depth_ = self._tree.depth()
        gain = self._tree.gains(self.n_features_in_)
        self.feature_importances_ = gain / gain.sum() if gain.any() else gain

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Shares of the two classes among the training rows of the leaf.

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
        table: Any = validate_data(self, X, accept_sparse=("csc", "csr"), dtype=np.float64, reset=False)
        share = np.empty(table.shape[0])
        for leaf, rows in self._tree.routes(0, np.arange(len(share)), _reader(table)):
            share[rows] = self._tree.P[leaf] / self._tree.W[leaf]
        return np.column_stack([1.0 - share, share])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The more frequent class of the leaf, the first if they are equally frequent."""
        likely = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likely])

    def describe(self, feature_names: Sequence[str] | None = None) -> str:
        """The tree as text, a line for each branch.

        Parameters
        ----------
        feature_names : sequence of str, optional
            Names to use; those of the training data or x0, x1, ... by default.

        Returns
        -------
        str
            Tests, and for a leaf its class with (weight of the rows/weight of those of the other class).
        """
        check_is_fitted(self)
        default = [f"x{j}" for j in range(self.n_features_in_)]
        names = getattr(self, "feature_names_in_", default) if feature_names is None else feature_names
        if len(names) != self.n_features_in_:
            raise InvalidInputError(
                f"feature_names has {len(names)} names, but the tree was trained on {self.n_features_in_} "
                "features. Give one name for each."
            )
        return "\n".join(self._tree.lines(names, self.classes_.tolist()))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


def added_errors(W: float, E: float, confidence: float) -> float:
    """Errors to be expected in a leaf beyond the E seen among weight W: J48's upper confidence limit.

    The limit is exact for E = 0, linear between 0 and 1, and from there the normal approximation to the
    binomial distribution with continuity correction.

    Parameters
    ----------
    W, E : float
        Weight of the leaf's rows, and of those of the other class.
    confidence : float
        Probability of so few errors at the limit.

    Returns
    -------
    float
        Expected errors minus E.

    Examples
    --------
    >>> round(added_errors(6, 0, 0.25), 3)  # 6 x 0.206, Quinlan's example
    1.238
    """
    if E < 1:
        none = W * (1.0 - confidence ** (1.0 / W))
        return none if E == 0 else none + E * (added_errors(W, 1.0, confidence) - none)
    if E + 0.5 >= W:
        return max(W - E, 0.0)
    z = float(-ndtri(confidence))
    rate = (E + 0.5) / W
    spread = z * math.sqrt(rate / W - rate**2 / W + z**2 / (4 * W**2))
    return W * (rate + z**2 / (2 * W) + spread) / (1 + z**2 / W) - E


class _Rows(NamedTuple):
    """The training rows: how to read them, their weights, and the weights of the positive ones."""

    read: Reader
    weight: FloatArray
    positive: FloatArray

    def totals(self, rows: IntArray) -> tuple[float, float]:
        return float(self.weight[rows].sum()), float(self.positive[rows].sum())


class _Split(NamedTuple):
    """A cut of a column between two neighbouring values."""

    column: int
    lower: float
    upper: float


class _Entries(NamedTuple):
    """Entries sorted by (column, value); row n stands for all rows that are zero in the column."""

    column: IntArray
    value: FloatArray
    row: IntArray

    def of(self, chosen: BoolArray) -> _Entries:
        return _Entries(self.column[chosen], self.value[chosen], self.row[chosen])

    def starts(self) -> IntArray:
        """Where each column begins."""
        return np.flatnonzero(np.diff(self.column, prepend=-1))

    def part(self, column: int) -> slice:
        return slice(*np.searchsorted(self.column, [column, column + 1]))

    def without_idle(self, n_rows: int, stand_in: int) -> _Entries:
        """Drop the stand-ins that stand for no row, or for all of them."""
        zeros = self.row == stand_in
        if not zeros.any():
            return self
        starts = self.starts()
        length = np.diff(starts, append=len(self.column))
        n_nonzero = length - np.add.reduceat(zeros, starts, dtype=np.intp)
        idle = (n_nonzero == 0) | (n_nonzero == n_rows)
        return self.of(~(zeros & np.repeat(idle, length)))

    def cuts(self, rows: _Rows, W: float, P: float, least: float) -> tuple[IntArray, FloatArray, FloatArray]:
        """After which entries a column may be cut, and the weights up to them."""
        starts = self.starts()
        W_left = self._cumulated(rows.weight, W, starts)[:-1]
        apart = (np.diff(self.column) == 0) & (np.diff(self.value) > RESOLUTION)
        position = np.flatnonzero(apart & (W_left >= least - TIE) & (W - W_left >= least - TIE))
        P_left = self._cumulated(rows.positive, P, starts)[position]
        return position, W_left[position], np.clip(P_left, 0.0, P)

    def _cumulated(self, weight: FloatArray, total: float, starts: IntArray) -> FloatArray:
        """Weights summed up within each column; a stand-in weighs what the other entries leave."""
        w = np.append(weight, 0.0)[self.row]
        zeros = np.flatnonzero(self.row == len(weight))
        rest = np.maximum(total - np.add.reduceat(w, starts), 0.0)
        w[zeros] = rest[np.searchsorted(starts, zeros, side="right") - 1]
        summed = np.cumsum(w)
        return summed - np.repeat(summed[starts] - w[starts], np.diff(starts, append=len(w)))

    def largest_not_above(self, split: _Split) -> float:
        """The largest value of the column that is not above the middle of the cut."""
        values = self.value[self.part(split.column)]
        middle = (split.lower + split.upper) / 2
        middle = middle if middle < split.upper else split.lower
        return float(values[np.searchsorted(values, middle, side="right") - 1])

    def goes_left(self, column: int, threshold: float, n: int) -> BoolArray:
        """Whether the column is at most the threshold, for the rows that the entries are of."""
        left = np.full(n + 1, threshold >= 0.0)
        part = self.part(column)
        left[self.row[part]] = self.value[part] <= threshold
        return left

    def branch(self, chosen: BoolArray, rows: IntArray) -> tuple[_Entries, IntArray]:
        """The entries of the chosen rows, and these rows."""
        rows = rows[chosen[rows]]
        stand_in = len(chosen) - 1
        chosen[stand_in] = True
        return self.of(chosen[self.row]).without_idle(len(rows), stand_in), rows


@dataclass
class _Tree:
    """Nodes as lists; a leaf has no left branch (-1)."""

    column: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    W: list[float] = field(default_factory=list)
    P: list[float] = field(default_factory=list)
    rows: dict[int, IntArray] = field(default_factory=dict)  # of the leaves

    def add_leaf(self, W: float, P: float, rows: IntArray) -> int:
        for values, value in zip(self._parts(), (-1, math.nan, -1, -1, W, P), strict=True):
            values.append(value)
        self.rows[len(self.W) - 1] = rows
        return len(self.W) - 1

    def _parts(self) -> tuple[list[Any], ...]:
        return self.column, self.threshold, self.left, self.right, self.W, self.P

    def errors(self, node: int) -> float:
        return min(self.P[node], self.W[node] - self.P[node])

    def below(self, root: int) -> Iterator[int]:
        """The node and all under it, parents first, left before right."""
        stack = [root]
        while stack:
            node = stack.pop()
            yield node
            if self.left[node] >= 0:
                stack += (self.right[node], self.left[node])

    def gathered(self, root: int) -> IntArray:
        """Training rows under the node."""
        return np.concatenate([self.rows[node] for node in self.below(root) if node in self.rows])

    def cut_off(self, node: int) -> None:
        """Make the node a leaf."""
        rows = self.gathered(node)
        for under in self.below(node):
            self.rows.pop(under, None)
        self.rows[node], self.left[node], self.right[node] = rows, -1, -1

    def replace(self, node: int, larger: int, smaller: int) -> None:
        """Put one of its branches in the place of a node."""
        for under in self.below(smaller):
            self.rows.pop(under, None)
        for part in self._parts()[:4]:
            part[node] = part[larger]

    def routes(self, root: int, rows: IntArray, read: Reader) -> Iterator[tuple[int, IntArray]]:
        """The leaves under the node that these rows come to, each with its rows."""
        stack = [(root, rows)]
        while stack:
            node, rows = stack.pop()
            if not len(rows):
                continue
            if self.left[node] < 0:
                yield node, rows
                continue
            goes_left = read(self.column[node], rows) <= self.threshold[node]
            stack += ((self.left[node], rows[goes_left]), (self.right[node], rows[~goes_left]))

    def compact(self) -> _Tree:
        """Without the nodes that were pruned and the rows."""
        kept = list(self.below(0))
        place = {node: position for position, node in enumerate(kept)}
        place[-1] = -1
        column, threshold, left, right, W, P = ([part[node] for node in kept] for part in self._parts())
        return _Tree(column, threshold, [place[i] for i in left], [place[i] for i in right], W, P)

    def depth(self) -> int:
        depth = [0] * len(self.W)
        for node in self.below(0):
            if self.left[node] >= 0:
                depth[self.left[node]] = depth[self.right[node]] = depth[node] + 1
        return max(depth)

    def gains(self, n_features: int) -> FloatArray:
        """Entropy that the tests on each feature take away."""
        H = _entropy(np.array(self.W), np.array(self.P))
        gain = np.zeros(n_features)
        for node, left in enumerate(self.left):
            if left >= 0:
                gain[self.column[node]] += H[node] - H[left] - H[self.right[node]]
        return np.maximum(gain, 0.0)

    def lines(self, names: Sequence[str], classes: list[Any]) -> Iterator[str]:
        stack = [(0, "", "")]
        while stack:
            node, indent, test = stack.pop()
            is_leaf = self.left[node] < 0
            if test or is_leaf:
                yield indent + test + (self._leaf(node, classes) if is_leaf else "")
            if not is_leaf:
                indent += "|   " if test else ""
                name, threshold = names[self.column[node]], f"{self.threshold[node]:.10g}"
                stack.append((self.right[node], indent, f"{name} > {threshold}"))
                stack.append((self.left[node], indent, f"{name} <= {threshold}"))

    def _leaf(self, node: int, classes: list[Any]) -> str:
        label = classes[int(self.P[node] > self.W[node] - self.P[node])]
        wrong = f"/{self.errors(node):.1f}" if self.errors(node) else ""
        return f": {label} ({self.W[node]:.1f}{wrong})"


def _grow(entries: _Entries, rows: _Rows, min_samples_leaf: int) -> _Tree:
    """Split until no split is useful."""
    tree, whole = _Tree(), entries
    stack = [(entries, np.flatnonzero(rows.weight), -1, tree.left)]
    while stack:
        entries, here, parent, side = stack.pop()
        W, P = rows.totals(here)
        node = tree.add_leaf(W, P, here)
        if parent >= 0:
            side[parent] = node
        split = _best_split(entries, rows, W, P, min_samples_leaf)
        if split is None:
            continue
        tree.column[node] = split.column
        tree.threshold[node] = threshold = whole.largest_not_above(split)
        goes_left = entries.goes_left(split.column, threshold, len(rows.weight))
        del tree.rows[node]
        stack.append((*entries.branch(~goes_left, here), node, tree.right))
        stack.append((*entries.branch(goes_left, here), node, tree.left))
    return tree


def _best_split(entries: _Entries, rows: _Rows, W: float, P: float, min_samples_leaf: int) -> _Split | None:
    """The feature with the best gain ratio among those of at least average gain."""
    if min_samples_leaf > W / 2 or min(P, W - P) <= TIE or not len(entries.column):
        return None
    position, W_left, P_left = entries.cuts(rows, W, P, _least(W, min_samples_leaf))
    if not len(position):
        return None
    gain = (_entropy(W, P) - _entropy(W_left, P_left) - _entropy(W - W_left, P - P_left)) / W
    column = entries.column[position]
    best, n_cuts = _first_best(gain, column)
    reduced = gain[best] - np.log2(n_cuts) / W
    useful = reduced >= TIE
    if not useful.any():
        return None
    competes = useful & (reduced >= reduced[useful].mean() - NEAR_AVERAGE)
    ratio = np.where(competes, reduced * W / _entropy(W, W_left[best]), 0.0)
    chosen = best[np.flatnonzero(ratio >= ratio.max() - TIE)[0]]
    at = position[chosen]
    return _Split(int(column[chosen]), float(entries.value[at]), float(entries.value[at + 1]))


def _first_best(gain: FloatArray, column: IntArray) -> tuple[IntArray, IntArray]:
    """For each column that has cuts its best one, the first among equals, and the number of its cuts."""
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    n_cuts = np.diff(starts, append=len(column))
    top = np.flatnonzero(gain >= np.repeat(np.maximum.reduceat(gain, starts), n_cuts) - TIE)
    return top[np.flatnonzero(np.diff(column[top], prepend=-1))], n_cuts


def _least(W: float, min_samples_leaf: int) -> float:
    """Least weight on each side of a cut: J48's rule, for two classes."""
    return max(min_samples_leaf, min(0.1 * W / 2, 25.0))


def _entropy(W: Any, P: Any) -> Any:
    """H(W, P)."""
    N = np.maximum(W - P, 0.0)
    return (xlogy(W, W) - xlogy(P, P) - xlogy(N, N)) / math.log(2)


def _collapse(tree: _Tree) -> None:
    """Cut off the subtrees that save no training error."""
    errors = [tree.errors(node) for node in range(len(tree.W))]
    for node in reversed(range(len(errors))):
        if tree.left[node] >= 0:
            errors[node] = errors[tree.left[node]] + errors[tree.right[node]]
    stack = [0]
    while stack:
        node = stack.pop()
        if tree.left[node] < 0:
            continue
        if errors[node] >= tree.errors(node) - 1e-3:
            tree.cut_off(node)
        else:
            stack += (tree.right[node], tree.left[node])


class _Pruner:
    """Replaces subtrees, from the bottom up, by a leaf or by their larger branch."""

    def __init__(self, tree: _Tree, rows: _Rows, confidence: float, raising: bool) -> None:
        self.tree, self.rows, self.confidence, self.raising = tree, rows, confidence, raising
        self.expected = [0.0] * len(tree.W)

    def run(self) -> None:
        stack = [(0, False)]
        while stack:
            node, branches_done = stack.pop()
            left, right = self.tree.left[node], self.tree.right[node]
            if left < 0:
                self.expected[node] = self._of_leaf(self.tree.W[node], self.tree.P[node])
            elif not branches_done:
                stack += ((node, True), (right, False), (left, False))
            elif self._settle(node, left, right):
                stack.append((node, False))

    def _settle(self, node: int, left: int, right: int) -> bool:
        """Decide on a node whose branches are done; true if it was replaced by one of them."""
        tree = self.tree
        smaller, larger = (left, right) if tree.W[right] >= tree.W[left] else (right, left)
        as_tree = self.expected[left] + self.expected[right]
        as_leaf = self._of_leaf(tree.W[node], tree.P[node])
        as_branch = self._raised(smaller, larger) if self.raising else math.inf
        if as_leaf <= min(as_tree, as_branch) + WORSE_BY + TIE:
            tree.cut_off(node)
            self.expected[node] = as_leaf
            return False
        if as_branch <= as_tree + WORSE_BY + TIE:
            self._raise(node, smaller, larger)
            return True
        self.expected[node] = as_tree
        return False

    def _of_leaf(self, W: float, P: float) -> float:
        E = min(P, W - P)
        return E + added_errors(W, E, self.confidence)

    def _raised(self, smaller: int, larger: int) -> float:
        """Errors to be expected if the larger branch took the rows of the smaller one too."""
        if self.tree.left[larger] < 0:
            return math.inf  # that would be a leaf
        expected = self.expected[larger]
        for leaf, rows in self._moved(smaller, larger):
            W, P = self.rows.totals(rows)
            expected += self._of_leaf(self.tree.W[leaf] + W, self.tree.P[leaf] + P) - self.expected[leaf]
        return expected

    def _moved(self, smaller: int, larger: int) -> Iterator[tuple[int, IntArray]]:
        return self.tree.routes(larger, self.tree.gathered(smaller), self.rows.read)

    def _raise(self, node: int, smaller: int, larger: int) -> None:
        tree = self.tree
        for leaf, rows in self._moved(smaller, larger):
            tree.rows[leaf] = np.concatenate([tree.rows[leaf], rows])
        for under in reversed(list(tree.below(larger))):
            if tree.left[under] < 0:
                tree.W[under], tree.P[under] = self.rows.totals(tree.rows[under])
            else:
                left, right = tree.left[under], tree.right[under]
                tree.W[under], tree.P[under] = tree.W[left] + tree.W[right], tree.P[left] + tree.P[right]
        tree.replace(node, larger, smaller)


def _reader(X: Any) -> Reader:
    """A function that reads some rows of a column."""
    if not sparse.issparse(X):
        return lambda column, rows: X[rows, column]
    X = _by_columns(X)
    dense = np.zeros(X.shape[0])

    def read(column: int, rows: IntArray) -> FloatArray:
        part = slice(X.indptr[column], X.indptr[column + 1])
        dense[X.indices[part]] = X.data[part]
        values = dense[rows]
        dense[X.indices[part]] = 0.0
        return values

    return read


def _by_columns(X: Any) -> Any:
    """CSC with each entry once."""
    X = sparse.csc_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _sorted_entries(X: Any, counted: BoolArray) -> _Entries:
    """The non-zero entries of the rows that count, and a stand-in for the zeros of each column."""
    X = _by_columns(X)
    n, d = X.shape
    entries = _Entries(np.repeat(np.arange(d), np.diff(X.indptr)), X.data, X.indices.astype(np.intp))
    entries = entries.of(counted[entries.row] & (entries.value != 0))
    column = np.concatenate([entries.column, np.arange(d)])
    value = np.concatenate([entries.value, np.zeros(d)])
    row = np.concatenate([entries.row, np.full(d, n)])
    order = np.lexsort((value, column))
    return _Entries(column[order], value[order], row[order]).without_idle(int(counted.sum()), n)
