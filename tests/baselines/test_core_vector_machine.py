"""CoreVectorMachine against quadratic programs, liblinear, and its own optimality conditions."""

import logging
import pickle

import numpy as np
import piqp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from capo import kernels
from capo.baselines import CoreVectorMachine
from capo.exceptions import InvalidInputError

from ..cases import kernel_matrix

X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)

#: Polynomials of unscaled rows, where the tolerance is coarse; the warning has a test of its own.
pytestmark = pytest.mark.filterwarnings("ignore:the margin of a row")

#: Checks that ask for agreement to 1e-7, which the ball has not; tested below to what it has.
TO_THE_LAST_DIGIT = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


@parametrize_with_checks(
    [CoreVectorMachine(), CoreVectorMachine("poly", C=10.0), CoreVectorMachine("laplacian")]
)
def test_scikit_learns_own_checks(estimator, check):
    if check.func.__name__ in TO_THE_LAST_DIGIT:
        pytest.skip("equal up to the tolerance only")
    check(estimator)


# --- against the whole quadratic program --------------------------------------------------------


class Whole:
    """The problem on all rows, ``min a'Ka`` over the simplex, with every entry of K written out."""

    def __init__(self, K, y, C, weight=None):
        n = len(y)
        self.sign = np.where(y == np.unique(y)[1], 1.0, -1.0)
        slack = np.diag(1 / (C * (np.ones(n) if weight is None else weight)))
        self.matrix = np.outer(self.sign, self.sign) * (K + 1) + slack
        self.longest = self.matrix.diagonal().max()

    def solution(self):
        n = len(self.sign)
        solver = piqp.DenseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = 1e-11
        P = 2 * self.matrix / self.longest
        solver.setup(P, np.zeros(n), np.ones((1, n)), np.ones(1), None, None, None, np.zeros(n), None)
        assert solver.solve() == piqp.PIQP_SOLVED
        a = np.maximum(solver.result.x, 0.0)
        return a / a.sum()

    def share(self, model):
        a = np.zeros(len(self.sign))
        a[model.support_] = self.sign[model.support_] * model.dual_coef_[0]
        assert (a >= 0).all()
        return a / a.sum()

    def excess(self, a):
        """How far outside the ball around the center each row is, by the distances themselves."""
        square = a @ self.matrix @ a
        distance = np.sqrt(self.longest + square - 2 * self.matrix @ a)
        return distance / np.sqrt(self.longest - square) - 1

    def check(self, model, tol=1e-6, rounding=1e-7):
        """All rows in the ball, figures as they should be, and the value next to the smallest there is.

        Rows within ``(1 + tol) r`` bound ``a'Ka`` by its minimum plus ``2 tol r^2``, by convexity.
        """
        a = self.share(model)
        square = a @ self.matrix @ a
        assert model.excess_ <= tol
        assert self.excess(a).max() == pytest.approx(model.excess_, abs=rounding)
        assert model.radius_ == pytest.approx(np.sqrt(self.longest - square), rel=1e-9)
        assert np.abs(model.dual_coef_).sum() == pytest.approx(1 / square, rel=1e-7)
        assert model.intercept_[0] == pytest.approx(model.dual_coef_.sum())
        best = self.solution()
        least, room = best @ self.matrix @ best, 2 * (tol + rounding) * (self.longest - square)
        assert least - 1e-8 * self.longest <= square <= least + 1.01 * room
        return best, least, room

    def decision(self, a, K_new):
        return (K_new + 1) @ (self.sign * a) / (a @ self.matrix @ a)


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, d = draw(st.integers(2, 40)), draw(st.integers(1, 4))
    X = rng.normal(size=(n, d)) + draw(st.sampled_from([0.0, 3.0]))
    if draw(st.booleans()):
        X = np.rint(X)  # rows that are the same, of both classes
    y = rng.permutation(np.arange(n) < draw(st.integers(1, n - 1))).astype(int)
    return X, y, draw(st.sampled_from([0.05, 1.0, 100.0])), rng


@pytest.mark.parametrize("name", kernels.kernel_names())
@settings(derandomize=True)
@given(problems(), st.sampled_from([0.1, 1.0]))
def test_against_the_whole_quadratic_program(name, problem, gamma):
    X, y, C, rng = problem
    if name == "poly":
        X = X / 4.0  # third powers of longer rows lose the digits that are compared, here and in the program
    weight = rng.uniform(0.2, 3.0, len(y))
    model = CoreVectorMachine(name, C=C, gamma=gamma, coef0=0.5, random_state=0).fit(X, y, weight)
    whole = Whole(kernel_matrix(name, gamma, X, X), y, C, weight)
    best, least, room = whole.check(model)
    new = rng.normal(size=(20, X.shape[1]))
    K_new = kernel_matrix(name, gamma, new, X)
    expected = whole.decision(best, K_new)
    # the centers are within sqrt(room) of each other, and the new rows have this length
    length = np.sqrt([kernel_matrix(name, gamma, row[None], row[None])[0, 0] + 1 for row in new])
    bound = np.sqrt(room) * length / least + np.abs(expected) * room / least
    assert (np.abs(model.decision_function(new) - expected) <= bound + 1e-6 * length / least).all()


@pytest.mark.parametrize("name", kernels.kernel_names())
@pytest.mark.parametrize("C", [0.1, 100.0])
def test_core_sets_that_are_not_all_rows(name, C):
    """More rows than the first core set takes, in several iterations."""
    rng = np.random.default_rng(0)
    X, y = make_moons(400, noise=0.2, random_state=0)
    model = CoreVectorMachine(name, C=C, gamma=1.0, coef0=0.5, tol=1e-8, random_state=0).fit(X, y)
    whole = Whole(kernel_matrix(name, 1.0, X, X), y, C)
    best, _, _ = whole.check(model, tol=1e-8)
    assert model.n_iter_ > 1
    new = rng.normal(size=(50, 2))
    expected = whole.decision(best, kernel_matrix(name, 1.0, new, X))
    np.testing.assert_allclose(model.decision_function(new), expected, atol=0.01 * np.abs(expected).max())


def test_rows_are_drawn_from_a_large_table():
    X, y = make_moons(3000, noise=0.15, random_state=1)
    model = CoreVectorMachine(C=10.0, gamma=2.0, random_state=0).fit(X, y)
    assert model.excess_ <= 1e-6
    assert len(model.support_) < 1500
    whole = Whole(np.exp(-2.0 * euclidean_distances(X, squared=True)), y, 10.0)
    assert whole.excess(whole.share(model)).max() == pytest.approx(model.excess_, abs=1e-8)


@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-4])
def test_a_larger_tolerance_needs_fewer_rows(tol):
    X, y = make_moons(1500, noise=0.2, random_state=2)
    rough, fine = (
        CoreVectorMachine(C=100.0, gamma=2.0, tol=t, random_state=0).fit(X, y) for t in (tol, 1e-6)
    )
    assert rough.excess_ <= tol
    assert len(rough.support_) <= len(fine.support_)
    assert rough.n_iter_ <= fine.n_iter_
    whole = Whole(np.exp(-2.0 * euclidean_distances(X, squared=True)), y, 100.0)
    assert whole.excess(whole.share(rough)).max() <= tol + 1e-8


# --- against liblinear ----------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_linear_kernel_is_liblinears_squared_hinge(C, weighted):
    """Divided by rho, it is ``||w||^2 + b^2 + C sum_i max(0, 1 - y_i f(x_i))^2``: twice liblinear's."""
    weight = np.random.default_rng(3).uniform(0.1, 2.0, len(Y)) if weighted else None
    svm = LinearSVC(C=C / 2, tol=1e-9, max_iter=1_000_000, dual=True).fit(X, Y, sample_weight=weight)
    for params in ({"kernel": lambda A, B: A @ B.T}, {"kernel": "poly", "degree": 1, "gamma": 1.0}):
        model = CoreVectorMachine(C=C, tol=1e-7, random_state=0, **params).fit(X, Y, weight)
        coef, intercept = model.dual_coef_ @ model.support_vectors_, model.intercept_
        np.testing.assert_allclose(coef, svm.coef_, atol=1e-3)
        np.testing.assert_allclose(intercept, svm.intercept_, atol=1e-3)
        np.testing.assert_allclose(model.decision_function(X), svm.decision_function(X), atol=5e-3)

        def value(coef, intercept):
            slack = np.maximum(0, 1 - np.where(Y == 1, 1, -1) * (X @ coef[0] + intercept[0]))
            squares = slack**2 if weight is None else weight * slack**2
            return np.sum(coef**2) + intercept[0] ** 2 + C * squares.sum()

        assert value(coef, intercept) == pytest.approx(value(svm.coef_, svm.intercept_), rel=1e-5)


def test_two_rows_by_hand():
    """The center is between the two: a = 1/2 each."""
    rows, C = np.array([[0.0], [1.5]]), 4.0
    model = CoreVectorMachine(gamma=1.0, C=C).fit(rows, [0, 1])
    k = np.exp(-(1.5**2))
    square = ((2 + 1 / C) - (k + 1)) / 2
    np.testing.assert_allclose(model.dual_coef_, [[-0.5 / square, 0.5 / square]])
    np.testing.assert_allclose(model.intercept_, [0.0], atol=1e-12)
    np.testing.assert_allclose(model.decision_function(rows), np.array([-1, 1]) * (1 - k) / (2 * square))
    assert model.radius_ == pytest.approx(np.sqrt(2 + 1 / C - square))
    assert list(model.predict(rows)) == [0, 1]
    assert model.n_iter_ == 1


# --- rounding errors ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", kernels.kernel_names())
@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize("n", [3, 10, 300])
def test_it_ends_where_single_precision_would_not_tell(name, offset, n):
    """The distance of a row from itself is no longer 0 there, least of all far from the origin."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 3)) + offset
    y = (X[:, 0] - offset + rng.normal(size=n) > 0).astype(int)
    y[:2] = 0, 1
    gamma = 1e-4 if name == "poly" else 0.3
    model = CoreVectorMachine(name, C=10.0, gamma=gamma, coef0=0.5, random_state=0).fit(X, y)
    assert model.n_iter_ < 30
    Whole(kernel_matrix(name, gamma, X, X), y, 10.0).check(model, rounding=1e-6 if offset else 1e-8)


def test_a_small_ball_far_from_the_origin():
    """All points of the kernel's space lie close together: the radius is small against their length."""
    X = np.random.default_rng(5).normal(size=(60, 2)) + 10
    X[::2] *= -1
    y = np.arange(60) % 2
    model = CoreVectorMachine("poly", degree=1, gamma=1.0, C=100.0).fit(X, y)
    whole = Whole(X @ X.T, y, 100.0)
    assert model.radius_**2 < 0.5 * whole.longest
    whole.check(model)


def test_a_tolerance_beyond_rounding_ends_with_a_warning():
    with pytest.warns(
        ConvergenceWarning, match=r"outside the ball by .* after \d+ iterations, more than tol=1e-14"
    ):
        model = CoreVectorMachine(C=10.0, tol=1e-14, random_state=0).fit(X[:150], Y[:150])
    assert model.excess_ > 1e-14
    assert model.excess_ < 1e-5
    assert model.n_iter_ < 50


def test_a_fit_that_stops_short_says_so():
    with pytest.warns(ConvergenceWarning, match=r"after 1 iterations, .* Raise max_iter or tol") as caught:
        model = CoreVectorMachine(C=100.0, max_iter=1, random_state=0).fit(X, Y)
    assert caught[0].filename == __file__
    assert model.n_iter_ == 1
    assert model.excess_ > 1e-6
    assert model.score(X, Y) > 0.9


# --- weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", kernels.kernel_names())
def test_weights_of_whole_numbers_are_repeated_rows(name):
    """Copies share the slack's cost: xi is the same for all, and w_i xi^2 is w_i times xi^2."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(150, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=150) > 0).astype(int)
    counts = rng.integers(0, 4, 150)
    rows = np.repeat(np.arange(150), counts)
    weighted, repeated = (CoreVectorMachine(name, C=2.0, tol=1e-7, random_state=0) for _ in range(2))
    weighted.fit(X, y, counts)
    repeated.fit(X[rows], y[rows])
    assert weighted.kernel_.gamma == pytest.approx(repeated.kernel_.gamma, rel=1e-9)
    assert np.abs(weighted.dual_coef_).sum() == pytest.approx(np.abs(repeated.dual_coef_).sum(), rel=1e-5)
    expected = repeated.decision_function(X)
    np.testing.assert_allclose(weighted.decision_function(X), expected, atol=2e-3 * np.abs(expected).max())


def test_the_whole_programs_of_weights_and_of_copies_agree():
    """The same by quadratic programs alone: what the derivation says, without the estimator."""
    rng = np.random.default_rng(7)
    X, y, counts = rng.normal(size=(12, 2)), np.arange(12) % 2, rng.integers(1, 4, 12)
    rows = np.repeat(np.arange(12), counts)
    K = kernel_matrix("rbf", 0.5, X, X)
    weighted, copies = Whole(K, y, 3.0, counts), Whole(K[np.ix_(rows, rows)], y[rows], 3.0)
    a = weighted.solution()
    b = np.bincount(rows, copies.solution())
    np.testing.assert_allclose(a, b, atol=1e-6)


def test_rows_of_weight_zero_are_not_there():
    weight = np.random.default_rng(8).integers(0, 2, len(Y))
    there = np.flatnonzero(weight)
    model = CoreVectorMachine(random_state=0).fit(X, Y, weight)
    reference = CoreVectorMachine(random_state=0).fit(X[there], Y[there])
    np.testing.assert_array_equal(model.support_, there[reference.support_])
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    np.testing.assert_array_equal(model.decision_function(X), reference.decision_function(X))


def test_a_weight_multiplies_C():
    one = CoreVectorMachine(C=6.0, random_state=0).fit(X, Y)
    other = CoreVectorMachine(C=2.0, random_state=0).fit(X, Y, np.full(len(Y), 3.0))
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-9)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-np.ones(len(Y)), "Negative values"),
        (np.zeros(len(Y)), "zero|are 0"),
        (Y.astype(float), "y has only one class, 1"),
        (np.ones(3), "sample_weight"),
        (np.full(len(Y), np.nan), "NaN"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        CoreVectorMachine().fit(X, Y, sample_weight=weight)


# --- as its users meet it -------------------------------------------------------------------------


@pytest.mark.parametrize("name", kernels.kernel_names())
def test_all_kinds_of_input_give_the_same_model(name):
    table = X[:200] * (np.abs(X[:200]) > 0.7)
    reference = CoreVectorMachine(name, random_state=0).fit(table, Y[:200]).decision_function(table)
    frame = pytest.importorskip("pandas").DataFrame(table, columns=[f"x{i}" for i in range(30)])
    for other in (sparse.csr_array(table), sparse.csc_matrix(table), np.asfortranarray(table), frame):
        model = CoreVectorMachine(name, random_state=0).fit(other, Y[:200])
        np.testing.assert_allclose(
            model.decision_function(other), reference, atol=1e-4 * np.abs(reference).max()
        )
    assert list(model.feature_names_in_) == list(frame.columns)


def test_labels_of_any_kind():
    names = np.where(Y == 1, "benign", "malignant")
    model = CoreVectorMachine(random_state=0).fit(X, names)
    assert list(model.classes_) == ["benign", "malignant"]
    swapped = CoreVectorMachine(random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X) == "benign", swapped.predict(X) == 1)
    np.testing.assert_allclose(model.decision_function(X), -swapped.decision_function(X), atol=1e-4)
    assert model.score(X, names) > 0.97


def test_columns_that_are_constant_do_not_matter():
    wide = np.hstack([X, np.full((len(X), 2), 0.7)])
    one, other = (CoreVectorMachine(random_state=0).fit(table, Y) for table in (X, wide))
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(wide), atol=1e-4)


@pytest.mark.parametrize("name", kernels.kernel_names())
@pytest.mark.parametrize("value", [0.0, 0.3])
def test_rows_that_are_all_the_same(name, value):
    """Nothing to go by but the numbers of the classes."""
    rows, y = np.full((30, 2), value), np.arange(30) < 20
    model = CoreVectorMachine(name, random_state=0).fit(rows, y)
    assert model.excess_ <= 1e-6
    assert model.predict(rows).all()


def test_the_same_seed_the_same_model_and_another_one_nearly():
    one, other, third = (CoreVectorMachine(C=10.0, random_state=seed).fit(X, Y) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    np.testing.assert_allclose(one.decision_function(X), third.decision_function(X), atol=5e-3)


def test_inside_scikit_learn():
    model = CoreVectorMachine(C=10.0, random_state=0).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert clone(model).get_params() == model.get_params()
    assert cross_val_score(model, X, Y, cv=3).min() > 0.95
    X_moons, y_moons = make_moons(400, noise=0.1, random_state=0)
    assert (
        CoreVectorMachine(gamma=5.0, C=10.0, random_state=0).fit(X_moons, y_moons).score(X_moons, y_moons)
        > 0.98
    )


def test_progress_is_logged_when_asked_for(caplog):
    with caplog.at_level(logging.INFO, logger="capo"):
        CoreVectorMachine(random_state=0).fit(X, Y)
        assert not caplog.records
        CoreVectorMachine(random_state=0, verbose=2).fit(X, Y)
    assert "iteration 1:" in caplog.text
    assert "core vectors" in caplog.text


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0}, "The 'C' parameter"),
        ({"kernel": "linear"}, "The 'kernel' parameter"),
        ({"kernel": None}, "The 'kernel' parameter"),
        ({"gamma": 0.0}, "The 'gamma' parameter"),
        ({"gamma": "auto"}, "The 'gamma' parameter"),
        ({"degree": 0}, "The 'degree' parameter"),
        ({"coef0": -1.0}, "The 'coef0' parameter"),
        ({"tol": 0.0}, "The 'tol' parameter"),
        ({"max_iter": 0}, "The 'max_iter' parameter"),
        ({"random_state": "x"}, "The 'random_state' parameter"),
        ({"verbose": -1}, "The 'verbose' parameter"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        CoreVectorMachine(**params).fit(X, Y)


def test_bad_kernels():
    with pytest.raises(InvalidInputError, match="the kernel must return finite numbers of shape"):
        CoreVectorMachine(lambda A, B: np.ones(3)).fit(X, Y)
    with pytest.raises(InvalidInputError, match="Use an integer as degree"):
        CoreVectorMachine("poly", degree=1.5).fit(X, Y)


@pytest.mark.parametrize(
    ("y", "message"),
    [([1] * len(Y), "y has only one class, 1"), (np.arange(len(Y)) % 3, "y has 3 classes")],
)
def test_bad_labels(y, message):
    with pytest.raises(InvalidInputError, match=message):
        CoreVectorMachine().fit(X, y)


def test_a_tolerance_that_cannot_see_the_margin_is_said():
    rows = np.random.default_rng(0).normal(size=(100, 3))
    label = rows[:, 0] + 0.3 * rows[:, 1] > 0
    rows[0] *= 100
    with pytest.warns(ConvergenceWarning, match="the margin of a row is too small"):
        coarse = CoreVectorMachine("poly", coef0=0.5, C=100.0, random_state=0).fit(rows, label)
    assert coarse.excess_ <= coarse.tol
    assert coarse.shortfall_ > 0.5
    assert CoreVectorMachine(random_state=0).fit(scale(rows), label).shortfall_ < 0.5
