"""C45Classifier: against plain loops, the binomial distribution, WEKA's J48 and Quinlan's example."""

import pickle
import re
import textwrap
from itertools import pairwise
from math import log2

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import beta
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from capo.baselines import C45Classifier, Tree
from capo.baselines._c45 import added_errors, sort_entries, total_entropy
from capo.exceptions import InvalidInputError

X, Y = load_breast_cancer(return_X_y=True)

#: Sunny, overcast, rain, temperature, humidity, windy; whether to play (Quinlan, 1993, table 2.1).
GOLF = np.array(
    [
        [1, 0, 0, 75, 70, 1, 1],
        [1, 0, 0, 80, 90, 1, 0],
        [1, 0, 0, 85, 85, 0, 0],
        [1, 0, 0, 72, 95, 0, 0],
        [1, 0, 0, 69, 70, 0, 1],
        [0, 1, 0, 72, 90, 1, 1],
        [0, 1, 0, 83, 78, 0, 1],
        [0, 1, 0, 64, 65, 1, 1],
        [0, 1, 0, 81, 75, 0, 1],
        [0, 0, 1, 71, 80, 1, 0],
        [0, 0, 1, 65, 70, 1, 0],
        [0, 0, 1, 75, 80, 0, 1],
        [0, 0, 1, 68, 80, 0, 1],
        [0, 0, 1, 70, 96, 0, 1],
    ]
)


@parametrize_with_checks(
    [C45Classifier(), C45Classifier(pruning=False), C45Classifier(0.1, subtree_raising=False)]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


# --- the whole tree against plain loops -----------------------------------------------------------


def entropy(rows):
    total = sum(w for _, _, w in rows)
    share = [sum(w for _, y, w in rows if y == c) / total for c in (0, 1)]
    return -sum(p * log2(p) for p in share if p > 0)


def weight(rows):
    return sum(w for _, _, w in rows)


def cut_of(rows, j, least):
    """The gain and the middle of the best cut of a column, and the number of its cuts."""
    best, middle, n_cuts = 0.0, None, 0
    values = sorted({x[j] for x, _, _ in rows})
    for low, high in pairwise(values):
        left = [row for row in rows if row[0][j] <= low]
        right = [row for row in rows if row[0][j] > low]
        if min(weight(left), weight(right)) < least:
            continue
        n_cuts += 1
        after = sum(weight(part) * entropy(part) for part in (left, right)) / weight(rows)
        if entropy(rows) - after > best + 1e-6:
            best, middle = entropy(rows) - after, (low + high) / 2
    return best, middle, n_cuts


def plain_split(rows, least_leaf):
    """Column and middle of the split that J48's rules choose, or None."""
    W = weight(rows)
    if least_leaf > W / 2 or entropy(rows) == 0:
        return None
    least = max(least_leaf, min(0.1 * W / 2, 25))
    found = []
    for j in range(len(rows[0][0])):
        gain, middle, n_cuts = cut_of(rows, j, least)
        if middle is not None and gain - log2(n_cuts) / W >= 1e-6:
            side = weight([row for row in rows if row[0][j] <= middle]) / W
            found.append(
                (gain - log2(n_cuts) / W, -side * log2(side) - (1 - side) * log2(1 - side), j, middle)
            )
    average = sum(gain for gain, *_ in found) / max(len(found), 1)
    best, chosen = 0.0, None
    for gain, information, j, middle in found:
        if gain >= average - 1e-3 and gain / information > best + 1e-6:
            best, chosen = gain / information, (j, middle)
    return chosen


class Plain:
    """J48 by recursion over lists of (x, y, weight)."""

    def __init__(self, rows, all_rows, least_leaf, confidence):
        self.rows, self.confidence = rows, confidence
        self.split = plain_split(rows, least_leaf)
        if self.split is not None:
            j, middle = self.split
            self.split = j, max(x[j] for x, _, _ in all_rows if x[j] <= middle)
            self.sons = [Plain(part, all_rows, least_leaf, confidence) for part in self.parts(rows)]

    def parts(self, rows):
        j, t = self.split
        return [row for row in rows if row[0][j] <= t], [row for row in rows if row[0][j] > t]

    def errors(self):
        ones = weight([row for row in self.rows if row[1] == 1])
        return min(ones, weight(self.rows) - ones)

    def training_errors(self):
        return self.errors() if self.split is None else sum(son.training_errors() for son in self.sons)

    def collapse(self):
        if self.split is None:
            return
        if self.training_errors() >= self.errors() - 1e-3:
            self.split = None
            return
        for son in self.sons:
            son.collapse()

    def expected(self):
        if self.split is not None:
            return sum(son.expected() for son in self.sons)
        return (
            self.errors() + added_errors(weight(self.rows), self.errors(), self.confidence)
            if self.rows
            else 0
        )

    def given_rows(self, rows):
        """This tree with other rows in it."""
        tree = object.__new__(Plain)
        tree.rows, tree.confidence, tree.split = rows, self.confidence, self.split
        if self.split is not None:
            tree.sons = [son.given_rows(part) for son, part in zip(self.sons, self.parts(rows), strict=True)]
        return tree

    def prune(self, raising):
        if self.split is None:
            return
        for son in self.sons:
            son.prune(raising)
        left, right = self.sons
        branch = (right if weight(right.rows) >= weight(left.rows) else left).given_rows(self.rows)
        leaf = self.errors() + added_errors(weight(self.rows), self.errors(), self.confidence)
        as_branch = branch.expected() if raising else np.inf
        if leaf <= self.expected() + 0.1 + 1e-6 and leaf <= as_branch + 0.1 + 1e-6:
            self.split = None
        elif as_branch <= self.expected() + 0.1 + 1e-6:
            self.split, self.sons = branch.split, branch.sons
            self.prune(raising)

    def nested(self):
        if self.split is None:
            ones = weight([row for row in self.rows if row[1] == 1])
            return float(weight(self.rows)), float(ones)
        return (*self.split, *(son.nested() for son in self.sons))


def nested(tree, node=0):
    if tree.left[node] < 0:
        return tree.W[node], tree.P[node]
    return (
        tree.column[node],
        tree.threshold[node],
        nested(tree, tree.left[node]),
        nested(tree, tree.right[node]),
    )


@st.composite
def tables(draw):
    """Few different values, so that there are ties and zeros, and labels that depend on them."""
    n, d = draw(st.integers(4, 60)), draw(st.integers(1, 4))
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = random.integers(-draw(st.integers(0, 3)), draw(st.integers(1, 4)) + 1, (n, d)) / 4
    noise = random.normal(size=n) * draw(st.sampled_from([0.1, 0.5, 1.0]))
    y = (X @ random.normal(size=d) + X[:, 0] * X[:, -1] + noise > np.median(X)).astype(int)
    y[:2] = 0, 1
    return X, y, random.integers(1, draw(st.integers(1, 3)) + 1, n)


@given(tables(), st.integers(1, 4), st.sampled_from([0.05, 0.25, 0.5]), st.booleans(), st.booleans())
def test_the_tree_is_the_one_that_plain_loops_find(table, least_leaf, confidence, pruning, raising):
    X, y, weights = table
    rows = [(tuple(x), int(label), int(w)) for x, label, w in zip(X, y, weights, strict=True)]
    plain = Plain(rows, rows, least_leaf, confidence)
    plain.collapse()
    if pruning:
        plain.prune(raising)
    options = {"min_samples_leaf": least_leaf, "pruning": pruning, "subtree_raising": raising}
    model = C45Classifier(confidence, **options).fit(X, y, sample_weight=weights)
    assert nested(model._tree) == plain.nested()
    assert (
        C45Classifier(confidence, **options).fit(sparse.csr_array(X), y, weights).describe()
        == model.describe()
    )


def test_raising_happens():
    random = np.random.default_rng(1)
    X = random.integers(-2, 3, (400, 6)).astype(float)
    y = X[:, 0] * X[:, 1] + random.normal(size=400) > 0.3
    rows = [(tuple(x), int(label), 1) for x, label in zip(X, y, strict=True)]
    trees = []
    for raising in (True, False):
        plain = Plain(rows, rows, 2, 0.25)
        plain.collapse()
        plain.prune(raising)
        assert nested(C45Classifier(subtree_raising=raising).fit(X, y)._tree) == plain.nested()
        trees.append(plain.nested())
    assert trees[0] != trees[1]


# --- the bound -------------------------------------------------------------------------------------


@given(st.integers(1, 2000), st.floats(0.001, 0.5))
def test_without_errors_the_bound_is_the_binomials(N, confidence):
    assert added_errors(N, 0, confidence) == pytest.approx(N * beta.ppf(1 - confidence, 1, N))


@given(st.integers(3, 3000), st.data())
@example(16, None)
def test_with_errors_the_bound_is_near_the_binomials(N, data):
    E = 1 if data is None else data.draw(st.integers(1, N - 1))
    exact = N * beta.ppf(0.75, E + 1, N - E)  # P(Bin(N, exact / N) <= E) = 0.25
    # the normal approximation is out by its skewness: a fifth of an error, and less of the spread
    assert E + added_errors(N, E, 0.25) == pytest.approx(exact, abs=0.2, rel=0.002)


@given(st.floats(2.0, 100.0), st.floats(0.0, 1.0), st.floats(0.01, 0.5))
def test_between_no_error_and_one_the_bound_is_linear(W, E, confidence):
    ends = added_errors(W, 0, confidence), added_errors(W, 1, confidence)
    assert added_errors(W, E, confidence) == pytest.approx((1 - E) * ends[0] + E * ends[1])


@pytest.mark.parametrize(("W", "E", "expected"), [(4, 4, 0), (4, 3.6, 0.4), (1, 1, 0), (0.5, 1.0, 0.0)])
def test_at_the_top_all_rows_are_expected_to_be_errors(W, E, expected):
    assert added_errors(W, E, 0.25) == pytest.approx(expected)


@pytest.mark.parametrize(("N", "E", "rate"), [(6, 0, 0.206), (9, 0, 0.143), (1, 0, 0.750), (16, 1, 0.157)])
def test_quinlans_own_figures_of_the_bound(N, E, rate):
    """C4.5, page 42; the last one by the binomial, which the normal approximation meets to 0.01."""
    assert (E + added_errors(N, E, 0.25)) / N == pytest.approx(rate, abs=6e-4 if E == 0 else 0.01)


# --- examples with known trees ---------------------------------------------------------------------


def test_quinlans_golf():
    X, y = GOLF[:, :6].astype(float), np.where(GOLF[:, 6] == 1, "play", "don't")
    # The columns: sunny, overcast, rain, temperature, humidity, windy.
    assert total_entropy(14, 9) / 14 == pytest.approx(0.940, abs=5e-4)
    overcast = (total_entropy(14, 9) - total_entropy(4, 4) - total_entropy(10, 5)) / 14
    assert overcast == pytest.approx(0.226, abs=5e-4)
    model = C45Classifier(pruning=False).fit(X, y)
    assert model.describe().splitlines()[0] == "x1 <= 0"
    assert model.describe().splitlines()[-1] == "x1 > 0: play (4.0)"
    # in sunny weather Quinlan's tree asks for humidity <= 75: the rows have 70 and 85, the table 75
    assert sort_entries(X).threshold_between(4, 70.0, 85.0) == 75.0
    sunny = C45Classifier(pruning=False).fit(X[:5], y[:5])
    assert sunny.describe() == "x4 <= 70: play (2.0)\nx4 > 70: don't (3.0)"


def test_the_price_of_naming_the_cut():
    """Of two features with the same gain, the one with fewer cuts to choose from is cheaper."""
    y = np.array([0] * 6 + [1] * 6)
    X = np.column_stack([np.arange(12), y]).astype(float)
    assert C45Classifier().fit(X, y).describe() == "x1 <= 0: 0 (6.0)\nx1 > 0: 1 (6.0)"
    assert C45Classifier().fit(X[:, :1], y).describe() == "x0 <= 5: 0 (6.0)\nx0 > 5: 1 (6.0)"


def test_wekas_tree_for_breast_cancer():
    """Printed by J48 of WEKA 3.9 with its defaults."""
    expected = """\
        x23 <= 880.8
        |   x27 <= 0.1357
        |   |   x13 <= 36.46: 1 (319.0/3.0)
        |   |   x13 > 36.46
        |   |   |   x0 <= 14.96
        |   |   |   |   x11 <= 1.978: 1 (11.0)
        |   |   |   |   x11 > 1.978
        |   |   |   |   |   x11 <= 2.239: 0 (2.0)
        |   |   |   |   |   x11 > 2.239: 1 (3.0)
        |   |   |   x0 > 14.96: 0 (2.0)
        |   x27 > 0.1357
        |   |   x21 <= 27.37
        |   |   |   x27 <= 0.1789
        |   |   |   |   x13 <= 21.91: 1 (12.0)
        |   |   |   |   x13 > 21.91
        |   |   |   |   |   x12 <= 2.615: 0 (6.0/1.0)
        |   |   |   |   |   x12 > 2.615: 1 (6.0)
        |   |   |   x27 > 0.1789: 0 (4.0)
        |   |   x21 > 27.37: 0 (21.0)
        x23 > 880.8
        |   x6 <= 0.0716
        |   |   x1 <= 19.54: 1 (9.0/1.0)
        |   |   x1 > 19.54: 0 (10.0)
        |   x6 > 0.0716: 0 (164.0)"""
    model = C45Classifier().fit(X, Y)
    assert model.describe() == textwrap.dedent(expected)
    assert (model.n_leaves_, model.depth_) == (13, 6)


# --- as its users meet it --------------------------------------------------------------------------


def test_all_kinds_of_input_give_the_same_tree():
    centered = X - np.median(X, axis=0).round(3)  # so that there are zeros and values of both signs
    reference = C45Classifier().fit(centered, Y)
    for kind in (np.asfortranarray, sparse.csr_array, sparse.csc_matrix, sparse.csr_matrix):
        model = C45Classifier().fit(kind(centered), Y)
        assert model.describe() == reference.describe()
        np.testing.assert_array_equal(model.predict_proba(kind(centered)), reference.predict_proba(centered))
    frame = pytest.importorskip("pandas").DataFrame(centered, columns=[f"column {j}" for j in range(30)])
    assert C45Classifier().fit(frame, Y).describe() == re.sub(r"x(\d+)", r"column \1", reference.describe())


def test_a_sparse_entry_in_pieces_is_one_entry():
    pieces = sparse.csr_array(
        (
            np.repeat(X.ravel() / 2, 2),
            np.tile(np.repeat(np.arange(30), 2), len(X)),
            np.arange(0, X.size * 2 + 1, 60),
        ),
        shape=X.shape,
    )
    model = C45Classifier().fit(pieces, Y)
    assert model.describe() == C45Classifier().fit(X, Y).describe()
    assert model.score(pieces, Y) == model.score(X, Y)


def test_weights_of_whole_numbers_are_repeated_rows():
    counts = np.random.default_rng(0).integers(0, 4, len(Y))
    rows = np.repeat(np.arange(len(Y)), counts)
    weighted = C45Classifier().fit(X, Y, sample_weight=counts)
    assert weighted.describe() == C45Classifier().fit(X[rows], Y[rows]).describe()


def test_fractions_of_weights():
    plain, halved = C45Classifier(min_samples_leaf=2), C45Classifier(min_samples_leaf=1)
    random = np.random.default_rng(0).uniform(0.1, 2.0, len(Y))
    assert plain.fit(X, Y, np.ones(len(Y))).n_leaves_ >= halved.fit(X, Y, np.full(len(Y), 0.5)).n_leaves_
    model = C45Classifier().fit(X, Y, sample_weight=random)
    assert model.score(X, Y, sample_weight=random) > 0.95
    assert sum(
        W for W, left in zip(model._tree.W, model._tree.left, strict=True) if left < 0
    ) == pytest.approx(random.sum())


def test_probabilities_are_shares_of_the_leaf():
    model = C45Classifier(min_samples_leaf=50, pruning=False).fit(X, Y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    for value in np.unique(proba[:, 1]):
        leaf = proba[:, 1] == value
        assert Y[leaf].mean() == pytest.approx(value)
    np.testing.assert_array_equal(model.predict(X), (proba[:, 1] > 0.5).astype(int))


def test_a_draw_goes_to_the_first_class():
    model = C45Classifier().fit([[1.0], [1.0]], ["b", "a"])
    assert list(model.predict([[1.0]])) == ["a"]
    assert model.describe() == ": a (2.0/1.0)"
    assert (model.n_leaves_, model.depth_) == (1, 0)


def test_constant_and_empty_columns_are_ignored():
    padded = np.column_stack([np.zeros(len(X)), X, np.full(len(X), 7.0)])
    for kind in (np.asarray, sparse.csr_array):
        model = C45Classifier().fit(kind(padded), Y)
        text = re.sub(r"x(\d+)", lambda found: f"x{int(found[1]) - 1}", model.describe())
        assert text == C45Classifier().fit(X, Y).describe()


def test_less_confidence_prunes_more():
    leaves = [C45Classifier(confidence).fit(X, Y).n_leaves_ for confidence in (0.5, 0.25, 0.001)]
    assert leaves[0] >= leaves[1] > leaves[2]
    assert C45Classifier(pruning=False).fit(X, Y).n_leaves_ >= leaves[0]


def test_very_deep_trees():
    """A chain of 5,000 tests needs no recursion."""
    n, tree = 5000, Tree()
    for node in range(n):
        tree.add_leaf(float(n - node), 0.0, np.empty(0, dtype=np.intp))
    for node in range(0, n - 2, 2):
        tree.column[node], tree.threshold[node] = 0, float(node)
        tree.left[node], tree.right[node] = node + 1, node + 2
    tree = tree.compact()
    assert tree.depth() == (n - 2) // 2
    values = np.arange(0.0, n, 7)
    reached = dict(tree.routes(0, np.arange(len(values)), lambda _, rows: values[rows]))
    assert sum(map(len, reached.values())) == len(values)
    assert len(list(tree.lines(["x"], [0, 1]))) == len(tree.W) - 1


def test_inside_scikit_learn():
    assert cross_val_score(C45Classifier(), X, Y, cv=5).mean() > 0.9
    model = C45Classifier().fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model).get_params() == model.get_params()


def test_what_is_wrong_is_said():
    with pytest.raises(InvalidInputError, match="only one class"):
        C45Classifier().fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="Input X contains NaN"):
        C45Classifier().fit(np.where(X > 20, np.nan, X), Y)
    with pytest.raises(ValueError, match="at least one"):
        C45Classifier().fit(X, Y, sample_weight=np.zeros(len(Y)))
    with pytest.raises(ValueError, match="Negative values"):
        C45Classifier().fit(X, Y, sample_weight=-np.ones(len(Y)))
    with pytest.raises(ValueError, match="'confidence' parameter"):
        C45Classifier(0.6).fit(X, Y)
