"""SVMPerfClassifier with kernels: exact problems from elsewhere, and the certificate of the whole kernel."""

import logging
import pickle
from itertools import product

import numpy as np
import piqp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from capo import SVMPerfClassifier, kernels, measures
from capo.engine import CuttingPlane, as_design
from capo.exceptions import InterruptedFitWarning, InvalidInputError, TrivialSolutionWarning
from capo.testing import labeling_losses, ranking_cuts

from ..cases import kernel_matrix

X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)
MOONS = make_moons(120, noise=0.3, random_state=0)

#: Low ranks are tried on purpose; the warning has a test of its own.
pytestmark = pytest.mark.filterwarnings("ignore:the .* rows that span the kernel")

#: Checks that ask for agreement to 1e-7, which single precision has not; tested below to what it has.
TO_THE_LAST_DIGIT = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
#: F is in single precision.
SINGLE = 1e-6


@parametrize_with_checks(
    [
        SVMPerfClassifier(kernel="rbf"),
        SVMPerfClassifier("roc_auc", kernel="laplacian", C=10.0, random_state=0),
        SVMPerfClassifier("accuracy", kernel="poly", max_rank=5, random_state=0),
    ]
)
@pytest.mark.filterwarnings("ignore::capo.exceptions.TrivialSolutionWarning")  # some train on noise
def test_scikit_learns_own_checks(estimator, check):
    if check.func.__name__ in TO_THE_LAST_DIGIT:
        pytest.skip("equal up to the tolerance only")
    check(estimator)


# --- the problem in full --------------------------------------------------------------------------


def all_cuts(name, y):
    """Every labeling or ranking by its plain definition: one row of coefficients and one loss each."""
    measure = measures.get(name)
    if name == "roc_auc":
        cuts = list(ranking_cuts(measure, y))
        return np.array([cut.coef for cut in cuts]), np.array([cut.loss for cut in cuts])
    labelings = np.array(list(product((-1, 1), repeat=len(y))))
    losses = labeling_losses(measure, y, labelings)
    admitted = np.isfinite(losses)
    return (y - labelings[admitted]) / (2 * len(y)), losses[admitted]


def least_value(K, y, name, C):
    """The minimum of J from the dual program over all labelings at once."""
    coefs, losses = all_cuts(name, y)
    coefs, which = np.unique(np.round(coefs, 12), axis=0, return_inverse=True)
    losses = np.array([losses[which.ravel() == i].max() for i in range(len(coefs))])
    m = len(losses)
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    solver.setup(
        C * coefs @ K @ coefs.T, -losses, None, None, np.ones((1, m)), None, np.ones(1), np.zeros(m), None
    )
    assert solver.solve() == piqp.PIQP_SOLVED
    return -C * solver.result.info.primal_obj


def exact_interval(K, y, measure, C, tol=1e-6, weight=None):
    """The bounds of the minimum from the linear problem on an exact factor, by eigenvalues."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-12 * values.max()
    F = vectors[:, kept] * np.sqrt(values[kept])
    solution = CuttingPlane(as_design(F), measures.get(measure).oracle(y, weight)).solve(C=C, tol=tol)
    assert solution.gap <= C * tol
    return solution.dual, solution.primal


def value_of(model, K_of, X, y, weight=None):
    """J at the function that the model predicts with, in double precision from its own vectors."""
    vectors, coef = np.asarray(model.support_vectors_), model.dual_coef_[0]
    bias = model.intercept_[0] + model.threshold_
    scores = K_of(X, vectors) @ coef + bias
    risk = model.measure_.most_violated(scores, y, weight).value(scores)
    return 0.5 * (coef @ K_of(vectors, vectors) @ coef + bias**2) + model.C * max(0.0, risk)


def held(K, rows):
    """The trace of the part of K that some rows span."""
    return np.trace(np.linalg.pinv(K[np.ix_(rows, rows)], rcond=1e-10, hermitian=True) @ K[rows] @ K[:, rows])


@st.composite
def small_problems(draw, most):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.integers(3, most))
    X = rng.normal(size=(n, 2))
    if draw(st.booleans()):
        X = np.rint(X)
    y = rng.permutation(np.where(np.arange(n) < draw(st.integers(1, n - 1)), 1, -1))
    return X, y, draw(st.sampled_from([0.5, 10.0, 300.0]))


def check_against_all_labelings(kernel, measure, problem, fit_intercept, rank):
    """Primal and dual value bracket the minimum of the whole problem, with any factor."""
    X, y, C = problem
    params = {"gamma": 0.7, "coef0": 0.5, "fit_intercept": fit_intercept, "random_state": 0}
    model = SVMPerfClassifier(measure, kernel=kernel, C=C, max_rank=rank, tol=1e-5, **params).fit(X, y)
    least = least_value(kernel_matrix(kernel, 0.7, X, X) + fit_intercept, y, measure, C)
    accuracy = 3e-6 * (1 + C)
    assert model.dual_ - accuracy <= least <= model.primal_ + accuracy
    assert model.primal_ - model.dual_ == pytest.approx(model.gap_)
    assert model.dual_ >= 0
    if rank is None:
        assert model.gap_ <= C * 1e-5 * (1 + 1e-3) + 1e-9
    assert value_of(model, lambda A, B: kernel_matrix(kernel, 0.7, A, B), X, y) == pytest.approx(
        model.primal_, abs=accuracy
    )


problem_sizes = pytest.mark.parametrize(
    ("measure", "most"), [("f1", 8), ("accuracy", 8), ("prbep", 8), ("roc_auc", 5)]
)
any_factor = given(data=st.data(), fit_intercept=st.booleans(), rank=st.sampled_from([None, 1, 2, 4]))


@pytest.mark.parametrize("kernel", kernels.kernel_names())
@problem_sizes
@pytest.mark.filterwarnings("ignore::capo.exceptions.TrivialSolutionWarning")
@settings(max_examples=2, deadline=None, derandomize=True)
@any_factor
def test_against_all_labelings(kernel, measure, most, data, fit_intercept, rank):
    check_against_all_labelings(kernel, measure, data.draw(small_problems(most)), fit_intercept, rank)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", kernels.kernel_names())
@problem_sizes
@pytest.mark.filterwarnings("ignore::capo.exceptions.TrivialSolutionWarning")
@settings(max_examples=8, deadline=None, derandomize=True)
@any_factor
def test_against_all_labelings_of_more_problems(kernel, measure, most, data, fit_intercept, rank):
    check_against_all_labelings(kernel, measure, data.draw(small_problems(most)), fit_intercept, rank)


@pytest.mark.parametrize("measure", ["f1", "accuracy", "prbep", "roc_auc"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_linear_kernel_as_a_function_is_the_linear_machine(measure, fit_intercept):
    params = {"C": 50.0, "tol": 1e-5, "fit_intercept": fit_intercept}
    linear = SVMPerfClassifier(measure, **params).fit(X, Y)
    for kernel in (lambda A, B: A @ B.T, "poly"):
        model = SVMPerfClassifier(measure, kernel=kernel, degree=1, gamma=1.0, **params).fit(X, Y)
        slack = 50.0 * SINGLE
        assert max(linear.dual_, model.dual_) <= min(linear.primal_, model.primal_) + slack
        coef = model.dual_coef_ @ model.support_vectors_
        np.testing.assert_allclose(coef, linear.coef_, atol=0.02)
        scores = model.decision_function(X) + model.threshold_
        expected = linear.decision_function(X) + linear.threshold_
        np.testing.assert_allclose(scores, expected, atol=0.03 * np.abs(expected).max())
        assert len(model.support_vectors_) == 30


@pytest.mark.parametrize("kernel", kernels.kernel_names())
@pytest.mark.parametrize("measure", ["f1", "roc_auc", "mcc"])
def test_against_an_exact_factor_by_eigenvalues(kernel, measure):
    X, y = MOONS
    model = SVMPerfClassifier(measure, kernel=kernel, C=100.0, gamma=1.0, coef0=0.5, tol=1e-4).fit(X, y)
    low, high = exact_interval(kernel_matrix(kernel, 1.0, X, X) + 1, y, measure, 100.0)
    slack = 100.0 * 1e-5
    assert model.dual_ <= high + slack
    assert low <= model.primal_ + slack
    assert model.gap_ <= 100.0 * 1e-4 * (1 + 1e-3)
    assert model.kernel_residual_ <= 1e-9


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_accuracy_is_the_hinge_svm_of_liblinear(C):
    X, y = MOONS
    values, vectors = np.linalg.eigh(rbf_kernel(X, gamma=1.0))
    F = vectors * np.sqrt(np.maximum(values, 0))
    svm = LinearSVC(loss="hinge", C=C / len(y), tol=1e-8, max_iter=1_000_000, dual=True).fit(F, y)
    v = np.append(svm.coef_[0], svm.intercept_)
    hinge = np.maximum(0, 1 - np.where(y, 1, -1) * svm.decision_function(F)).mean()
    model = SVMPerfClassifier("accuracy", kernel="rbf", gamma=1.0, C=C, tol=1e-5).fit(X, y)
    assert model.primal_ == pytest.approx(0.5 * v @ v + C * hinge, abs=2e-5 * C)
    expected = svm.decision_function(F)
    np.testing.assert_allclose(
        model.decision_function(X) + model.threshold_, expected, atol=0.02 * np.abs(expected).max()
    )


# --- factors of low rank --------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", kernels.kernel_names())
@pytest.mark.parametrize("measure", ["f1", "roc_auc"])
def test_every_rank_has_a_certificate_of_the_whole_kernel(kernel, measure):
    X, y = MOONS
    K = kernel_matrix(kernel, 1.0, X, X)
    low, high = exact_interval(K + 1, y, measure, 20.0)
    gaps, residuals = [], []
    for rank in (1, 4, 16, 64, 120):
        model = SVMPerfClassifier(
            measure, kernel=kernel, C=20.0, gamma=1.0, coef0=0.5, max_rank=rank, tol=1e-4, random_state=0
        ).fit(X, y)
        assert model.dual_ <= high + 20.0 * 1e-5
        assert low <= model.primal_ + 20.0 * 1e-5
        assert len(model.support_vectors_) == model.dual_coef_.shape[1] <= rank
        rows = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in model.support_vectors_]
        assert model.kernel_residual_ == pytest.approx(1 - held(K, rows) / K.trace(), abs=1e-5)
        gaps.append(max(model.gap_, 20.0 * 1e-4))
        residuals.append(model.kernel_residual_)
    assert gaps[-1] <= 20.0 * 1e-4 * (1 + 1e-3)
    assert (np.diff(gaps) <= 0).all()
    assert gaps[0] > 10 * gaps[-1]
    assert (np.diff(residuals) <= 1e-12).all()


@pytest.mark.parametrize("C", [1.0, 1e3, 1e5])
@pytest.mark.parametrize("max_rank", [3, 30, 119])
def test_the_certificate_holds_for_large_C(C, max_rank):
    """A factor that leaves a millionth of the kernel is not exact where C is a hundred thousand."""
    X, y = MOONS
    low, high = exact_interval(rbf_kernel(X, gamma=0.05) + 1, y, "f1", C, tol=1e-5)
    model = SVMPerfClassifier(kernel="rbf", gamma=0.05, C=C, max_rank=max_rank, random_state=0).fit(X, y)
    assert model.dual_ <= high + SINGLE * C
    assert low <= model.primal_ + SINGLE * C
    assert 0 <= model.dual_ <= model.primal_


@pytest.mark.parametrize("C", [1e2, 1e4])
def test_the_lower_bound_holds_although_the_factor_is_in_single_precision(C):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(40, 3))
        positive = rows[:, 0] + 0.3 * rng.normal(size=40) > 0
        gamma = 1 / (3 * rows.var())
        model = SVMPerfClassifier("accuracy", C=C, kernel="rbf", gamma=gamma, tol=1e-5).fit(rows, positive)
        values, vectors = np.linalg.eigh(rbf_kernel(rows, gamma=gamma))
        factor = np.column_stack([vectors * np.sqrt(np.maximum(values, 0.0)), np.ones(40)])
        exact = CuttingPlane(factor, measures.get("accuracy").oracle(positive)).solve(C=C, tol=1e-8)
        assert model.dual_ <= exact.primal
        assert model.gap_ <= C * 1e-5


def test_an_interrupted_fit_has_a_certificate_of_the_whole_kernel():
    X, y = MOONS
    low, high = exact_interval(rbf_kernel(X, gamma=1.0) + 1, y, "f1", 100.0)

    def interrupt(state):
        if state.number == 3:
            raise KeyboardInterrupt

    for params in ({}, {"max_rank": 10, "random_state": 0}):
        with pytest.warns(InterruptedFitWarning):
            model = SVMPerfClassifier(kernel="rbf", gamma=1.0, C=100.0, callback=interrupt, **params).fit(
                X, y
            )
        assert model.gap_ > 100.0 * 1e-3
        assert model.dual_ <= high
        assert low <= model.primal_


def test_the_same_seed_the_same_model():
    one, other, third = (
        SVMPerfClassifier(kernel="rbf", max_rank=20, C=10.0, random_state=seed).fit(X, Y)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    np.testing.assert_array_equal(one.support_vectors_, other.support_vectors_)
    assert not np.array_equal(one.support_vectors_, third.support_vectors_)
    assert max(one.dual_, third.dual_) <= min(one.primal_, third.primal_)


# --- as its users meet it -------------------------------------------------------------------------


def test_a_kernel_does_what_a_line_cannot():
    X, y = make_moons(600, noise=0.1, random_state=1)
    train, test = slice(None, 300), slice(300, None)
    scores = {}
    for kernel in ("linear", "rbf"):
        model = SVMPerfClassifier("f1", kernel=kernel, C=1000.0).fit(X[train], y[train])
        scores[kernel] = f1_score(y[test], model.predict(X[test]))
        assert model.score(X[test], y[test]) == pytest.approx(scores[kernel])
    assert scores["rbf"] > 0.98
    assert scores["linear"] < 0.95


@pytest.mark.parametrize("kernel", kernels.kernel_names())
@pytest.mark.parametrize("max_rank", [None, 25])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_all_kinds_of_input_give_the_same_model(kernel, max_rank, fit_intercept):
    table = (X[:150] * (np.abs(X[:150]) > 0.7)).astype(np.float32).astype(np.float64)
    params = {"max_rank": max_rank, "fit_intercept": fit_intercept, "random_state": 0, "tol": 1e-4}
    reference = SVMPerfClassifier(kernel=kernel, C=20.0, **params).fit(table, Y[:150])
    expected = reference.decision_function(table)
    for kind in (sparse.csr_array, sparse.csc_matrix, np.asfortranarray, np.float32):
        model = SVMPerfClassifier(kernel=kernel, C=20.0, **params).fit(kind(table), Y[:150])
        assert model.kernel_.gamma == pytest.approx(reference.kernel_.gamma, rel=1e-9)
        assert model.kernel_residual_ == pytest.approx(reference.kernel_residual_, abs=1e-6)
        assert model.primal_ == pytest.approx(reference.primal_, abs=20.0 * 2e-4)
        size = np.abs(expected).max()
        np.testing.assert_allclose(model.decision_function(kind(table)), expected, atol=0.05 * size)
        np.testing.assert_allclose(
            model.decision_function(table), model.decision_function(kind(table)), atol=1e-6 * size
        )
    assert (reference.intercept_[0] + reference.threshold_ == 0) is not fit_intercept


@pytest.mark.parametrize("scaled", [1.0, 1e-3])
def test_single_precision_predicts_what_it_trained(scaled):
    """Smooth kernels have factors whose weights cancel: the sum must not lose what is left."""
    X, y = make_moons(300, noise=0.2, random_state=3)
    X = (X * scaled).astype(np.float32)
    model = SVMPerfClassifier(kernel="rbf", gamma=0.05 / scaled**2, C=1e3).fit(X, y)
    K_of = lambda A, B: rbf_kernel(A.astype(np.float64), B, gamma=model.kernel_.gamma)  # noqa: E731
    assert value_of(model, K_of, X, y) == pytest.approx(model.primal_, rel=1e-4)
    expected = K_of(X, model.support_vectors_) @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("measure", ["f1", "roc_auc"])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_weights_of_whole_numbers_are_repeated_rows(measure, kernel):
    X, y = MOONS
    counts = np.random.default_rng(0).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), counts)
    weighted, repeated = (SVMPerfClassifier(measure, kernel=kernel, C=20.0, tol=1e-5) for _ in range(2))
    weighted.fit(X, y, sample_weight=counts)
    repeated.fit(X[rows], y[rows])
    assert weighted.kernel_.gamma == pytest.approx(repeated.kernel_.gamma, rel=1e-9)
    assert max(weighted.dual_, repeated.dual_) <= min(weighted.primal_, repeated.primal_) + 20 * SINGLE
    expected = repeated.decision_function(X) + repeated.threshold_
    scores = weighted.decision_function(X) + weighted.threshold_
    np.testing.assert_allclose(scores, expected, atol=0.02 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", kernels.kernel_names())
def test_a_repeated_row_changes_nothing_but_its_weight(kernel):
    X, y = MOONS
    twice = SVMPerfClassifier(kernel=kernel, gamma=1.0, C=20.0, tol=1e-5).fit(
        np.vstack([X, X]), np.append(y, y)
    )
    once = SVMPerfClassifier(kernel=kernel, gamma=1.0, C=20.0, tol=1e-5).fit(X, y)
    assert len(twice.support_vectors_) <= len(X)
    assert max(once.dual_, twice.dual_) <= min(once.primal_, twice.primal_) + 20 * SINGLE


def test_a_fit_after_another_one_with_another_kernel():
    model = SVMPerfClassifier(C=10.0).fit(X, Y)
    fresh = SVMPerfClassifier(C=10.0, kernel="rbf").fit(X, Y)
    model.set_params(kernel="rbf").fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X), fresh.decision_function(X))
    assert not hasattr(model, "coef_")
    model.set_params(kernel="linear").fit(X, Y)
    linear = SVMPerfClassifier(C=10.0).fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X), linear.decision_function(X))
    for name in ("dual_coef_", "support_vectors_", "kernel_", "kernel_residual_"):
        assert not hasattr(model, name)


def test_inside_scikit_learn():
    model = SVMPerfClassifier("f1", kernel="rbf", C=1000.0, max_rank=50, random_state=0).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "dual_coef_")
    assert cross_val_score(model, X, Y, cv=3).min() > 0.95
    names = np.where(Y == 1, "benign", "malignant")
    assert set(model.fit(X, names).predict(X)) == {"benign", "malignant"}


@pytest.mark.parametrize("kernel", kernels.kernel_names())
@pytest.mark.parametrize("value", [0.0, 0.3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.filterwarnings("ignore::capo.exceptions.TrivialSolutionWarning")
def test_rows_that_are_all_the_same(kernel, value, fit_intercept):
    rows, y = np.full((20, 2), value), [0, 1] * 10
    for max_rank in (None, 1, 5):
        model = SVMPerfClassifier(kernel=kernel, max_rank=max_rank, fit_intercept=fit_intercept).fit(rows, y)
        assert np.isfinite(model.decision_function(rows)).all()
        assert len(set(model.predict(rows))) == 1
        assert len(model.support_vectors_) <= 1


def test_a_kernel_of_zeros_is_not_silent():
    with pytest.warns(TrivialSolutionWarning, match="all rows get the same score"):
        SVMPerfClassifier(kernel="poly").fit(np.zeros((20, 2)), [0, 1] * 10)


def test_the_rank_is_logged_when_asked_for(caplog):
    with caplog.at_level(logging.INFO, logger="capo"):
        SVMPerfClassifier(kernel="rbf", max_rank=7, verbose=2).fit(X, Y)
    assert "kernel: factor of rank 7, without" in caplog.text


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": "sigmoid"}, "The 'kernel' parameter"),
        ({"kernel": 3}, "The 'kernel' parameter"),
        ({"kernel": "rbf", "gamma": 0}, "The 'gamma' parameter"),
        ({"kernel": "rbf", "gamma": "auto"}, "The 'gamma' parameter"),
        ({"kernel": "poly", "degree": 0}, "The 'degree' parameter"),
        ({"kernel": "poly", "coef0": -1.0}, "The 'coef0' parameter"),
        ({"kernel": "rbf", "max_rank": 0}, "The 'max_rank' parameter"),
        ({"kernel": "rbf", "max_rank": 2.5}, "The 'max_rank' parameter"),
        ({"kernel": "rbf", "random_state": "x"}, "The 'random_state' parameter"),
        ({"kernel": "poly", "degree": 1.5}, "degree 1.5 is not defined .* Use an integer"),
        ({"kernel": lambda A, B: A @ A.T}, "the kernel must return finite numbers of shape"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "the kernel must return finite numbers"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        SVMPerfClassifier(**params).fit(X, Y)


def test_a_kernel_that_fails_later_says_so():
    model = SVMPerfClassifier(kernel=lambda A, B: A @ B.T, C=10.0).fit(X, Y)
    model.kernel_ = kernels.Kernel(lambda A, B: np.zeros(3))
    with pytest.raises(InvalidInputError, match="one per pair of rows: got"):
        model.decision_function(X)


def test_a_gap_that_is_the_factors_is_said():
    with pytest.warns(ConvergenceWarning, match=r"5 rows that span .* Raise max_rank"):
        short = SVMPerfClassifier(kernel="rbf", gamma=5.0, C=100.0, max_rank=5, random_state=0).fit(*MOONS)
    assert short.gap_ > 2 * short.C * short.tol
