"""C4.5 decision trees.

Each node of the tree holds the entries of its rows, still sorted, and for each column one placeholder for
all rows that are zero there. Cumulative sums give the weights of the left branch for all cuts of all columns.

A node holds rows of total weight W, of which P is of the positive class. Its entropy, times W, is

    H(W, P) = W log2 W - P log2 P - (W - P) log2 (W - P)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import ndtri, xlogy
from sklearn.utils.validation import check_is_fitted

from .._compat import ArrayLike, BoolArray, FloatArray, IntArray, Interval, NDArray
from ..estimators import WeightedClassifier

Reader = Callable[[int, IntArray], FloatArray]

#: C4.5's tolerance for values of a feature.
RESOLUTION = 1e-5
#: C4.5's tolerance for gains, weights and errors.
TIE = 1e-6


class TrainingRows(NamedTuple):
    """Access to the training rows, with their weights; `positive` has 0 for rows of the negative class."""

    read: Reader
    weight: FloatArray
    positive: FloatArray

    def totals(self, rows: IntArray) -> tuple[float, float]:
        """Total weight, and that of the positive class, of some rows."""
        return float(self.weight[rows].sum()), float(self.positive[rows].sum())


class Entries(NamedTuple):
    """Entries sorted by (column, value); an entry of row n is the placeholder for the zeros of its column."""

    column: IntArray
    value: FloatArray
    row: IntArray

    def select(self, mask: BoolArray) -> Entries:
        return Entries(self.column[mask], self.value[mask], self.row[mask])

    def starts(self) -> IntArray:
        """Position of the first entry of each column."""
        return np.flatnonzero(np.diff(self.column, prepend=-1))

    def column_slice(self, column: int) -> slice:
        return slice(*np.searchsorted(self.column, [column, column + 1]))

    def drop_idle_zeros(self, n_rows: int, placeholder: int) -> Entries:
        """Drop the placeholders of columns without zeros, or with nothing but zeros."""
        zeros = self.row == placeholder
        if not zeros.any():
            return self
        starts = self.starts()
        length = np.diff(starts, append=len(self.column))
        n_nonzero = length - np.add.reduceat(zeros, starts, dtype=np.intp)
        idle = (n_nonzero == 0) | (n_nonzero == n_rows)
        return self.select(~(zeros & np.repeat(idle, length)))

    def cuts(
        self, rows: TrainingRows, W: float, P: float, min_weight: float
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """Positions of the entries after which a column may be cut, and the weights up to them."""
        starts = self.starts()
        W_left = self._cumulative_weights(rows.weight, W, starts)[:-1]
        distinct = (np.diff(self.column) == 0) & (np.diff(self.value) > RESOLUTION)
        position = np.flatnonzero(distinct & (W_left >= min_weight - TIE) & (W - W_left >= min_weight - TIE))
        P_left = self._cumulative_weights(rows.positive, P, starts)[position]
        return position, W_left[position], np.clip(P_left, 0.0, P)

    def _cumulative_weights(self, weight: FloatArray, total: float, starts: IntArray) -> FloatArray:
        """Cumulative weights within each column; a placeholder has the weight of the rows without entries."""
        w = np.append(weight, 0.0)[self.row]
        zeros = np.flatnonzero(self.row == len(weight))
        rest = np.maximum(total - np.add.reduceat(w, starts), 0.0)
        w[zeros] = rest[np.searchsorted(starts, zeros, side="right") - 1]
        sums = np.cumsum(w)
        return sums - np.repeat(sums[starts] - w[starts], np.diff(starts, append=len(w)))

    def threshold_between(self, column: int, lower: float, upper: float) -> float:
        """The largest value of the column that is not above the midpoint of two neighboring values."""
        values = self.value[self.column_slice(column)]
        middle = (lower + upper) / 2
        middle = middle if middle < upper else lower
        return float(values[np.searchsorted(values, middle, side="right") - 1])

    def goes_left(self, column: int, threshold: float, n: int) -> BoolArray:
        """Mask over the n rows and the placeholder: whether the column is at most the threshold."""
        left = np.full(n + 1, threshold >= 0.0)
        here = self.column_slice(column)
        left[self.row[here]] = self.value[here] <= threshold
        return left

    def branch(self, mask: BoolArray, rows: IntArray) -> tuple[Entries, IntArray]:
        """The entries of a branch and its rows: those of `rows` where the mask is true."""
        rows = rows[mask[rows]]
        placeholder = len(mask) - 1
        mask[placeholder] = True
        return self.select(mask[self.row]).drop_idle_zeros(len(rows), placeholder), rows


def sort_entries(X: Any) -> Entries:
    """The sorted non-zero entries, and a placeholder for the zeros of each column."""
    X = _to_csc(X)
    n, d = X.shape
    entries = Entries(np.repeat(np.arange(d), np.diff(X.indptr)), X.data, X.indices.astype(np.intp))
    entries = entries.select(entries.value != 0)
    column = np.concatenate([entries.column, np.arange(d)])
    value = np.concatenate([entries.value, np.zeros(d)])
    row = np.concatenate([entries.row, np.full(d, n)])
    order = np.lexsort((value, column))
    return Entries(column[order], value[order], row[order]).drop_idle_zeros(n, n)


def column_reader(X: Any) -> Reader:
    """A function that returns the values of a column for some rows."""
    if not sparse.issparse(X):
        return lambda column, rows: X[rows, column]
    X = _to_csc(X)
    dense = np.zeros(X.shape[0])

    def read(column: int, rows: IntArray) -> FloatArray:
        here = slice(X.indptr[column], X.indptr[column + 1])
        dense[X.indices[here]] = X.data[here]
        values = dense[rows]
        dense[X.indices[here]] = 0.0
        return values

    return read


def _to_csc(X: Any) -> Any:
    """A copy of the matrix in CSC format, without duplicate entries."""
    X = sparse.csc_array(X, copy=True)
    X.sum_duplicates()
    return X


@dataclass
class Tree:
    """The nodes, one list per attribute; `left` and `right` of a leaf are -1."""

    column: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    W: list[float] = field(default_factory=list)
    P: list[float] = field(default_factory=list)
    rows: dict[int, IntArray] = field(default_factory=dict)  # the training rows of each leaf

    def add_leaf(self, W: float, P: float, rows: IntArray) -> int:
        """Append a leaf and return its number."""
        for values, value in zip(self._parts(), (-1, math.nan, -1, -1, W, P), strict=True):
            values.append(value)
        self.rows[len(self.W) - 1] = rows
        return len(self.W) - 1

    def _parts(self) -> tuple[list[Any], ...]:
        return self.column, self.threshold, self.left, self.right, self.W, self.P

    def errors(self, node: int) -> float:
        """Weight of the rows that are misclassified if the node is a leaf."""
        return min(self.P[node], self.W[node] - self.P[node])

    def below(self, root: int) -> Iterator[int]:
        """The node and all its descendants, parents first, left before right."""
        stack = [root]
        while stack:
            node = stack.pop()
            yield node
            if self.left[node] >= 0:
                stack += (self.right[node], self.left[node])

    def rows_below(self, root: int) -> IntArray:
        """The training rows of the node."""
        return np.concatenate([self.rows[node] for node in self.below(root) if node in self.rows])

    def cut_off(self, node: int) -> None:
        """Make the node a leaf."""
        self.rows[node], self.left[node], self.right[node] = self.rows_below(node), -1, -1

    def routes(self, root: int, rows: IntArray, read: Reader) -> Iterator[tuple[int, IntArray]]:
        """The leaves below `root` that these rows reach, each with its rows."""
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

    def compact(self) -> Tree:
        """A copy without the pruned nodes and the training rows."""
        kept = list(self.below(0))
        place = {node: position for position, node in enumerate(kept)}
        place[-1] = -1
        column, threshold, left, right, W, P = ([part[node] for node in kept] for part in self._parts())
        return Tree(column, threshold, [place[i] for i in left], [place[i] for i in right], W, P)

    def depth(self) -> int:
        """Number of tests on the longest path to a leaf."""
        depth = [0] * len(self.W)
        for node in self.below(0):
            if self.left[node] >= 0:
                depth[self.left[node]] = depth[self.right[node]] = depth[node] + 1
        return max(depth)

    def lines(self, names: Sequence[str], classes: list[Any]) -> Iterator[str]:
        """The tree as text, one line per branch."""
        stack = [(0, "", "")]
        while stack:
            node, indent, test = stack.pop()
            is_leaf = self.left[node] < 0
            if is_leaf:
                label = classes[int(self.P[node] > self.W[node] - self.P[node])]
                wrong = f"/{self.errors(node):.1f}" if self.errors(node) else ""
                yield f"{indent}{test}: {label} ({self.W[node]:.1f}{wrong})"
            else:
                if test:
                    yield indent + test
                indent += "|   " if test else ""
                name, threshold = names[self.column[node]], f"{self.threshold[node]:.10g}"
                stack.append((self.right[node], indent, f"{name} > {threshold}"))
                stack.append((self.left[node], indent, f"{name} <= {threshold}"))


def total_entropy(W: Any, P: Any) -> Any:
    """H(W, P)."""
    N = np.maximum(W - P, 0.0)
    return (xlogy(W, W) - xlogy(P, P) - xlogy(N, N)) / math.log(2)


#: A feature is considered if its gain is at least the average minus this.
AVERAGE_SLACK = 1e-3


def grow(entries: Entries, rows: TrainingRows, min_samples_leaf: int) -> Tree:
    """Split the nodes until no split is useful."""
    tree, all_entries = Tree(), entries
    stack = [(entries, np.arange(len(rows.weight)), -1, tree.left)]
    while stack:
        entries, node_rows, parent, children = stack.pop()
        W, P = rows.totals(node_rows)
        node = tree.add_leaf(W, P, node_rows)
        if parent >= 0:
            children[parent] = node
        split = _best_split(entries, rows, W, P, min_samples_leaf)
        if split is None:
            continue
        tree.column[node] = split[0]
        tree.threshold[node] = threshold = all_entries.threshold_between(*split)
        goes_left = entries.goes_left(split[0], threshold, len(rows.weight))
        del tree.rows[node]
        stack.append((*entries.branch(~goes_left, node_rows), node, tree.right))
        stack.append((*entries.branch(goes_left, node_rows), node, tree.left))
    return tree


def _best_split(
    entries: Entries, rows: TrainingRows, W: float, P: float, min_samples_leaf: int
) -> tuple[int, float, float] | None:
    """The feature with the best gain ratio of those with at least average gain, and the values at its cut."""
    if min_samples_leaf > W / 2 or min(P, W - P) <= TIE or not len(entries.column):
        return None
    # J48's rule for the smallest weight of a branch, for two classes.
    min_weight = max(min_samples_leaf, min(0.1 * W / 2, 25.0))
    position, W_left, P_left = entries.cuts(rows, W, P, min_weight)
    if not len(position):
        return None
    gain = (total_entropy(W, P) - total_entropy(W_left, P_left) - total_entropy(W - W_left, P - P_left)) / W
    column = entries.column[position]
    # For each column with cuts, the position of the best cut, the first in a tie, and the number of cuts.
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    n_cuts = np.diff(starts, append=len(column))
    top = np.flatnonzero(gain >= np.repeat(np.maximum.reduceat(gain, starts), n_cuts) - TIE)
    best = top[np.flatnonzero(np.diff(column[top], prepend=-1))]
    reduced = gain[best] - np.log2(n_cuts) / W
    useful = reduced >= TIE
    if not useful.any():
        return None
    eligible = useful & (reduced >= reduced[useful].mean() - AVERAGE_SLACK)
    ratio = np.where(eligible, reduced * W / total_entropy(W, W_left[best]), 0.0)
    chosen = best[np.flatnonzero(ratio >= ratio.max() - TIE)[0]]
    at = position[chosen]
    return int(column[chosen]), float(entries.value[at]), float(entries.value[at + 1])


#: Pruning may raise the expected errors by this much.
MAX_ADDED_ERRORS = 0.1


def added_errors(W: float, E: float, confidence: float) -> float:
    """Expected errors of a leaf beyond the E observed among weight W: J48's upper confidence limit.

    The limit is exact for E = 0, linear between E = 0 and 1, and above that the normal approximation to
    the binomial distribution with continuity correction.

    Parameters
    ----------
    W, E : float
        Weight of the leaf's rows, and of those that it misclassifies.
    confidence : float
        Probability of at most E errors if the error rate is at the limit.

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
        at_zero = W * (1.0 - confidence ** (1.0 / W))
        return at_zero if E == 0 else at_zero + E * (added_errors(W, 1.0, confidence) - at_zero)
    if E + 0.5 >= W:
        return max(W - E, 0.0)
    z = float(-ndtri(confidence))
    rate = (E + 0.5) / W
    half_width = z * math.sqrt(rate / W - rate**2 / W + z**2 / (4 * W**2))
    return W * (rate + z**2 / (2 * W) + half_width) / (1 + z**2 / W) - E


def collapse(tree: Tree) -> None:
    """Remove the subtrees that do not reduce the training error."""
    errors = [tree.errors(node) for node in range(len(tree.W))]
    for node in reversed(range(len(errors))):
        if tree.left[node] >= 0:
            errors[node] = errors[tree.left[node]] + errors[tree.right[node]]
    for node in tree.below(0):
        if tree.left[node] >= 0 and errors[node] >= tree.errors(node) - 1e-3:
            tree.cut_off(node)  # its former descendants are not visited


class Pruner:
    """Replaces subtrees by a leaf or by their larger branch, from the bottom up."""

    def __init__(self, tree: Tree, rows: TrainingRows, confidence: float, raising: bool) -> None:
        self.tree, self.rows, self.confidence, self.raising = tree, rows, confidence, raising
        self.expected = [0.0] * len(tree.W)

    def run(self) -> None:
        """Prune the tree in place."""
        stack = [(0, False)]
        while stack:
            node, branches_done = stack.pop()
            left, right = self.tree.left[node], self.tree.right[node]
            if left < 0:
                self.expected[node] = self._leaf_errors(self.tree.W[node], self.tree.P[node])
            elif not branches_done:
                stack += ((node, True), (right, False), (left, False))
            elif self._prune_node(node, left, right):
                stack.append((node, False))

    def _prune_node(self, node: int, left: int, right: int) -> bool:
        """Prune a node whose branches have been pruned; true if one of them replaced it."""
        tree = self.tree
        smaller, larger = (left, right) if tree.W[right] >= tree.W[left] else (right, left)
        as_tree = self.expected[left] + self.expected[right]
        as_leaf = self._leaf_errors(tree.W[node], tree.P[node])
        as_branch = self._errors_if_raised(smaller, larger) if self.raising else math.inf
        if as_leaf <= min(as_tree, as_branch) + MAX_ADDED_ERRORS + TIE:
            tree.cut_off(node)
            self.expected[node] = as_leaf
            return False
        if as_branch <= as_tree + MAX_ADDED_ERRORS + TIE:
            for leaf, rows in tree.routes(larger, tree.rows_below(smaller), self.rows.read):
                tree.rows[leaf] = np.concatenate([tree.rows[leaf], rows])
            for under in reversed(list(tree.below(larger))):
                if tree.left[under] < 0:
                    tree.W[under], tree.P[under] = self.rows.totals(tree.rows[under])
                    continue
                for mass in (tree.W, tree.P):
                    mass[under] = mass[tree.left[under]] + mass[tree.right[under]]
            for part in tree._parts()[:4]:
                part[node] = part[larger]
            return True
        self.expected[node] = as_tree
        return False

    def _leaf_errors(self, W: float, P: float) -> float:
        E = min(P, W - P)
        return E + added_errors(W, E, self.confidence)

    def _errors_if_raised(self, smaller: int, larger: int) -> float:
        """Expected errors if the larger branch replaced the node."""
        if self.tree.left[larger] < 0:
            return math.inf  # replacing the node by a leaf is considered separately
        expected = self.expected[larger]
        for leaf, rows in self.tree.routes(larger, self.tree.rows_below(smaller), self.rows.read):
            W, P = self.rows.totals(rows)
            expected += self._leaf_errors(self.tree.W[leaf] + W, self.tree.P[leaf] + P) - self.expected[leaf]
        return expected


@dataclass(eq=False, repr=False)
class C45Classifier(WeightedClassifier):
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
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had any.

    Notes
    -----
    As in C4.5, values that differ by 1e-5 or less are treated as equal: rescale features with very small
    values. The threshold is the largest value in the training data that is not above the midpoint of the
    two neighboring values. An integer weight of a row is equivalent to that many copies of it.

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
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "confidence": [Interval(Real, 0, 0.5, closed="right")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "subtree_raising": ["boolean"],
        "pruning": ["boolean"],
    }

    confidence: float = 0.25
    _: KW_ONLY
    min_samples_leaf: int = 2
    subtree_raising: bool = True
    pruning: bool = True

    def _fit_rows(self, rows: IntArray, X: Any, positive: BoolArray, weight: FloatArray) -> None:
        training = TrainingRows(column_reader(X), weight, np.where(positive, weight, 0.0))
        tree = grow(sort_entries(X), training, self.min_samples_leaf)
        collapse(tree)
        if self.pruning:
            Pruner(tree, training, self.confidence, self.subtree_raising).run()
        self._tree = tree = tree.compact()
        self.n_leaves_, self.depth_ = tree.left.count(-1), tree.depth()

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
        table = self._validate_predict_data(X)
        share = np.empty(table.shape[0])
        for leaf, rows in self._tree.routes(0, np.arange(len(share)), column_reader(table)):
            share[rows] = self._tree.P[leaf] / self._tree.W[leaf]
        return np.column_stack([1.0 - share, share])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the more frequent class of the leaf, the first one in case of a tie."""
        class_index = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[class_index])

    def describe(self) -> str:
        """The tree as text, one line per branch; features without names are x0, x1, ...

        Returns
        -------
        str
            Tests, and for a leaf its class with (weight of its rows/weight of its misclassified rows).
        """
        check_is_fitted(self)
        default = [f"x{j}" for j in range(self.n_features_in_)]
        names = getattr(self, "feature_names_in_", default)
        return "\n".join(self._tree.lines(names, self.classes_.tolist()))
