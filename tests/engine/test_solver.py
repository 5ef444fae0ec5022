"""The solver against problems whose optimum is known from elsewhere, and its certificate."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize as scipy_minimize
from scipy.sparse.linalg import aslinearoperator
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

from capo import CAPOClassifier, SVMPerfClassifier, measures
from capo.engine import CuttingPlane, Status, as_design, augment
from capo.exceptions import InvalidInputError
from capo.measures import Cut

from ..cases import ALL_MEASURES

X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)


def objective(v, v0, C, measure, X, y):
    """J recomputed from scratch in float64, slack at least 0."""
    scores = X @ v
    return 0.5 * np.sum((v - v0) ** 2) + C * max(0.0, measure.most_violated(scores, y).value(scores))


@pytest.mark.parametrize("measure", ALL_MEASURES, ids=repr)
@pytest.mark.parametrize("C", [0.5, 200.0])
def test_the_certificate_holds_when_recomputed(measure, C):
    tol = 1e-3
    solution = CuttingPlane(as_design(X), measure.oracle(Y)).solve(C=C, tol=tol)
    primal = objective(solution.v, 0.0, C, measure, X, Y)
    assert solution.status is Status.OPTIMAL
    assert primal == pytest.approx(solution.primal, rel=1e-9)
    assert solution.dual <= primal
    assert primal - solution.dual <= C * tol * (1 + 1e-9)
    assert primal <= objective(np.zeros(X.shape[1]), 0.0, C, measure, X, Y)


@pytest.mark.parametrize(
    "measure", [measures.get("f1"), measures.get("roc_auc"), measures.get("prbep")], ids=repr
)
def test_no_other_point_is_below_the_dual_value(measure):
    rng = np.random.default_rng(0)
    solution = CuttingPlane(as_design(X), measure.oracle(Y)).solve(C=50.0, tol=1e-4)
    for size in (1e-3, 1e-2, 1e-1, 1.0):
        near = solution.v + size * rng.normal(size=(20, X.shape[1])) / np.sqrt(X.shape[1])
        assert min(objective(v, 0.0, 50.0, measure, X, Y) for v in near) >= solution.dual


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_accuracy_is_the_hinge_svm_of_liblinear(C):
    """The bias is a feature of 1s inside the regularizer, as in liblinear."""
    solution = CuttingPlane(augment(X), measures.get("accuracy").oracle(Y)).solve(C=C, tol=1e-6)
    svm = LinearSVC(loss="hinge", C=C / len(Y), tol=1e-8, max_iter=1_000_000, dual=True).fit(X, Y)
    v = np.append(svm.coef_[0], svm.intercept_)
    theirs = objective(v, 0.0, C, measures.get("accuracy"), np.column_stack([X, np.ones(len(Y))]), Y)
    assert solution.dual <= theirs * (1 + 1e-9)
    assert theirs == pytest.approx(solution.primal, rel=1e-4)


@st.composite
def small_problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    n, d = draw(st.integers(3, 6)), draw(st.integers(1, 3))
    y = rng.permutation(np.where(np.arange(n) < draw(st.integers(1, n - 1)), 1, -1))
    v0 = rng.normal(size=d) * draw(st.sampled_from([0.0, 1.0]))
    bounded = rng.random(d) < draw(st.sampled_from([0.0, 0.6]))
    return rng.normal(size=(n, d)), y, v0, bounded, draw(st.sampled_from([0.1, 3.0, 100.0]))


@pytest.mark.parametrize("name", ["f1", "mcc", "prbep", "accuracy", "recall_at_precision"])
@settings(max_examples=25, deadline=None, derandomize=True)
@given(small_problems())
def test_against_the_whole_quadratic_program(name, problem):
    """All constraints written out and given to SciPy: any v0, any bounds."""
    X, y, v0, bounded, C = problem
    measure = measures.get(name)
    labelings = [bits for bits in map(np.array, product((-1, 1), repeat=len(y))) if measure.admits(y, bits)]
    slopes = np.array([X.T @ (y - bits) / (2 * len(y)) for bits in labelings])
    losses = np.array([measure.loss(y, bits) for bits in labelings])
    d = len(v0)
    result = scipy_minimize(
        lambda z: 0.5 * np.sum((z[:d] - v0) ** 2) + C * z[d],
        np.append(np.where(bounded, np.maximum(v0, 0), v0), 2.0 + np.abs(slopes @ v0).max()),
        jac=lambda z: np.append(z[:d] - v0, C),
        constraints={
            "type": "ineq",
            "fun": lambda z: slopes @ z[:d] + z[d] - losses,
            "jac": lambda z: np.column_stack([slopes, np.ones(len(losses))]),
        },
        bounds=[(0.0 if fixed else None, None) for fixed in bounded] + [(0.0, None)],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    v = np.where(bounded, np.maximum(result.x[:d], 0), result.x[:d])
    # The slack is computed anew: where SLSQP fails, its own may violate the constraints.
    reference = 0.5 * np.sum((v - v0) ** 2) + C * (losses - slopes @ v).max(initial=0.0)
    solution = CuttingPlane(as_design(X), measure.oracle(y), v0=v0, nonnegative=bounded).solve(C=C, tol=1e-7)
    assert (solution.v[bounded] >= 0).all()
    assert solution.gap <= C * 1e-7
    assert solution.dual <= reference + 1e-6 * (1 + C)
    if result.success:
        assert solution.primal == pytest.approx(reference, abs=1e-5 * (1 + C))


def test_a_tight_tolerance_is_met():
    """The quadratic programs must be solved more exactly than for the usual tolerance of 1e-3."""
    rows = np.array([[-0.59, -0.46, -0.43], [-0.05, -0.76, -1.67], [1.8, 0.11, -1.45]])
    oracle = measures.get("mcc").oracle(np.array([1, -1, -1]))
    solution = CuttingPlane(
        as_design(rows), oracle, v0=np.array([-0.41, 2.18, -0.46]), nonnegative=np.array([False, True, True])
    ).solve(C=100.0, tol=1e-7)
    assert solution.status is Status.OPTIMAL


def test_a_start_that_breaks_its_bounds_is_still_solved():
    bounded = np.ones(X.shape[1], dtype=bool)
    v0 = -np.ones(X.shape[1])
    solution = CuttingPlane(as_design(X), measures.get("f1").oracle(Y), v0=v0, nonnegative=bounded).solve(
        C=100.0
    )
    assert solution.status is Status.OPTIMAL
    assert (solution.v >= 0).all()
    assert objective(solution.v, v0, 100.0, measures.get("f1"), X, Y) == pytest.approx(solution.primal)


def test_around_a_good_v0_few_iterations_are_needed():
    oracle = measures.get("f1").oracle(Y)
    far = CuttingPlane(as_design(X), oracle).solve(C=1000.0)
    near = CuttingPlane(as_design(X), oracle, v0=far.v).solve(C=1000.0)
    assert near.n_iter < far.n_iter
    assert near.primal <= objective(far.v, far.v, 1000.0, measures.get("f1"), X, Y) + 1e-9


@pytest.mark.parametrize("measure", [measures.get("f1"), measures.get("accuracy")], ids=repr)
def test_path_gives_each_solution_in_the_order_asked(measure):
    Cs = [100.0, 1.0, 10.0, 1000.0]
    path = CuttingPlane(as_design(X), measure.oracle(Y)).solve_path(Cs=Cs, tol=1e-4)
    assert [solution.C for solution in path] == Cs
    for C, solution in zip(Cs, path, strict=True):
        single = CuttingPlane(as_design(X), measure.oracle(Y)).solve(C=C, tol=1e-4)
        assert solution.gap <= C * 1e-4
        assert max(solution.dual, single.dual) <= min(solution.primal, single.primal)
    alone = CuttingPlane(as_design(X), measure.oracle(Y)).solve(C=1000.0, tol=1e-4)
    assert sum(solution.n_iter for solution in path) <= 2 * alone.n_iter


def test_history_rises_from_below_and_falls_from_above():
    seen = []
    solution = CuttingPlane(as_design(X), measures.get("f1").oracle(Y)).solve(C=300.0, callback=seen.append)
    assert seen == solution.history
    assert [state.number for state in seen] == list(range(1, solution.n_iter + 1))
    assert all(np.diff([state.primal for state in seen]) <= 1e-9)
    assert all(np.diff([state.dual for state in seen]) >= 0)
    assert solution.n_matvecs == solution.n_iter + 1  # one an iteration, one to check the certificate
    assert solution.n_oracle_calls < 4.5 * solution.n_iter


def test_a_callback_can_stop():
    solution = CuttingPlane(as_design(X), measures.get("f1").oracle(Y)).solve(
        C=1e4, callback=lambda s: s.number == 3
    )
    assert solution.status is Status.STOPPED
    assert solution.n_iter == 3
    assert solution.gap == pytest.approx(
        objective(solution.v, 0.0, 1e4, measures.get("f1"), X, Y) - solution.dual
    )


def test_the_limit_on_iterations():
    solution = CuttingPlane(as_design(X), measures.get("f1").oracle(Y)).solve(C=1e4, max_iter=2)
    assert (solution.status, solution.n_iter) == (Status.MAX_ITER, 2)
    assert "limit on iterations" in solution.message
    assert f"{solution.gap:.3g}" in solution.message


@pytest.mark.parametrize("when", [1, 2, 7, 12])
def test_an_interrupt_returns_the_best_so_far_with_its_gap(when):
    plain = measures.get("f1").oracle(Y)
    calls = []

    def oracle(scores):
        calls.append(1)
        if len(calls) == when + 1:
            raise KeyboardInterrupt
        return plain(scores)

    solution = CuttingPlane(as_design(X), oracle).solve(C=1e4)
    assert solution.status is Status.INTERRUPTED
    assert solution.primal == pytest.approx(objective(solution.v, 0.0, 1e4, measures.get("f1"), X, Y))
    assert solution.dual <= solution.primal


def test_an_interrupted_path_returns_all_it_has():
    def stop(state):
        raise KeyboardInterrupt

    path = CuttingPlane(as_design(X), measures.get("f1").oracle(Y)).solve_path(
        Cs=[100.0, 200.0, 400.0], callback=stop
    )
    assert [solution.status for solution in path] == [Status.INTERRUPTED] * 3
    assert all(np.isfinite(solution.gap) for solution in path)


def test_a_risk_below_zero_counts_as_zero():
    """With k above the number of positives y itself is no labeling, and the maximum can be negative."""
    X = np.array([[5.0], [4.0], [3.0], [-5.0]])
    measure = measures.get("recall_at_k", k=1)
    solution = CuttingPlane(as_design(X), measure.oracle([1, 1, 1, 0])).solve(C=100.0, tol=1e-6)
    assert solution.primal == pytest.approx(
        objective(solution.v, 0.0, 100.0, measure, X, [1, 1, 1, 0]), abs=1e-9
    )
    assert solution.status is Status.OPTIMAL


@pytest.mark.parametrize("name", ["f1", "accuracy", "roc_auc", "mcc"])
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_features_of_very_different_scale(name, C):
    """As they come, from 0.001 to 4,000: the cuts' Gram matrix would lose what matters."""
    raw = load_breast_cancer().data
    measure = measures.get(name)
    for table in (raw, np.hstack([raw, raw]), raw * np.logspace(-3, 3, 30)):
        solution = CuttingPlane(as_design(table), measure.oracle(Y)).solve(C=C)
        assert solution.status is Status.OPTIMAL
        assert objective(solution.v, 0.0, C, measure, table, Y) - solution.dual <= C * 1e-3 * (1 + 1e-6)


@pytest.mark.parametrize("n_coef", [5, 200])
def test_bounds_with_few_and_with_many_coefficients(n_coef):
    """The small program is solved in its primal or in its dual form; the certificate tells."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, n_coef))
    y = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=150) > 0
    bounded = np.arange(n_coef) % 2 == 1
    v0 = rng.normal(size=n_coef) / 10
    solution = CuttingPlane(as_design(X), measures.get("f1").oracle(y), v0=v0, nonnegative=bounded).solve(
        C=50.0, tol=1e-5
    )
    assert solution.status is Status.OPTIMAL
    assert (solution.v[bounded] >= 0).all()
    assert (solution.v[bounded] == 0).any()
    assert objective(solution.v, v0, 50.0, measures.get("f1"), X, y) - solution.dual <= 50.0 * 1e-5 * (
        1 + 1e-6
    )
    free = CuttingPlane(as_design(X), measures.get("f1").oracle(y), v0=v0).solve(C=50.0, tol=1e-5)
    assert free.primal <= solution.primal + 50.0 * 1e-5


def test_a_tolerance_beyond_rounding_stalls_with_an_honest_gap():
    solution = CuttingPlane(as_design(X * 1e4), measures.get("f1").oracle(Y)).solve(
        C=1e6, tol=1e-17, max_iter=400
    )
    assert solution.status in (Status.STALLED, Status.MAX_ITER)
    assert solution.gap > 0


@pytest.mark.parametrize(
    ("center", "params", "message"),
    [
        ({}, {"C": 0}, "C must be a finite number above 0: got 0"),
        ({}, {"C": -1.0}, "C must be a finite number above 0"),
        ({}, {"C": np.nan}, "C must be a finite number above 0"),
        ({}, {"C": 1.0, "tol": 0.0}, "tol must be a finite number above 0"),
        ({"v0": [1.0]}, {"C": 1.0}, "v0 must be one finite number per coefficient"),
        ({"v0": np.full(30, np.inf)}, {"C": 1.0}, "v0 must be one finite number per coefficient"),
        ({"v0": np.nan}, {"C": 1.0}, "v0 must be one finite number per coefficient"),
        ({"nonnegative": [True]}, {"C": 1.0}, "nonnegative must be one finite number"),
        ({"nonnegative": np.arange(30)}, {"C": 1.0}, "nonnegative must be one boolean per coefficient"),
    ],
)
def test_bad_parameters(center, params, message):
    with pytest.raises(InvalidInputError, match=message):
        CuttingPlane(as_design(X), measures.get("f1").oracle(Y), **center).solve(**params)


def test_a_design_that_holds_nan():
    table = X.copy()
    table[3, 4] = np.nan
    with pytest.raises(InvalidInputError, match="the design or the oracle returned NaN or infinity"):
        CuttingPlane(as_design(table), measures.get("f1").oracle(Y)).solve(C=1.0)


def test_a_design_of_other_rows_than_the_labels():
    with pytest.raises(InvalidInputError, match="569 rows to score but 100 labels"):
        CuttingPlane(as_design(X), measures.get("f1").oracle(Y[:100])).solve(C=1.0)


def test_an_array_will_do_for_a_design():
    assert CuttingPlane(X, measures.get("f1").oracle(Y)).solve(C=1.0).status is Status.OPTIMAL


def test_a_path_needs_a_C():
    with pytest.raises(InvalidInputError, match="at least one number"):
        CuttingPlane(as_design(X), measures.get("f1").oracle(Y)).solve_path(Cs=[])


def test_an_oracle_of_ones_own():
    """The mean absolute error, against the linear program's optimum as SciPy finds it."""
    rng = np.random.default_rng(0)
    A, target, C = rng.normal(size=(40, 3)), rng.normal(size=40), 5.0

    def absolute_error(scores):
        coef = np.sign(target - scores) / len(target)
        return Cut(coef, coef @ target)

    solution = CuttingPlane(A, absolute_error).solve(C=C, tol=1e-7)
    result = scipy_minimize(
        lambda z: 0.5 * z[:3] @ z[:3] + C * z[3:].mean(),
        np.append(np.zeros(3), np.abs(target)),
        constraints=[
            {"type": "ineq", "fun": lambda z: z[3:] - (target - A @ z[:3])},
            {"type": "ineq", "fun": lambda z: z[3:] + (target - A @ z[:3])},
        ],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    assert result.success
    assert solution.primal == pytest.approx(result.fun, abs=1e-6)
    np.testing.assert_allclose(solution.v, result.x[:3], atol=1e-4)


def test_a_linear_operator_will_do_for_a_design():
    oracle = measures.get("f1").oracle(Y)
    theirs, ours = (
        CuttingPlane(aslinearoperator(X), oracle).solve(C=100.0),
        CuttingPlane(X, oracle).solve(C=100.0),
    )
    np.testing.assert_allclose(theirs.v, ours.v, rtol=1e-6, atol=1e-9)


def test_one_solver_for_many_C():
    solver = CuttingPlane(X, measures.get("f1").oracle(Y))
    for C in (10.0, 1000.0, 1.0):
        solution = solver.solve(C, tol=1e-4)
        alone = CuttingPlane(X, measures.get("f1").oracle(Y)).solve(C=C, tol=1e-4)
        assert max(solution.dual, alone.dual) <= min(solution.primal, alone.primal)
        np.testing.assert_array_equal(solver.v, solution.v)
        np.testing.assert_allclose(solver.scores, X @ solution.v)
        assert 0 <= solution.primal - solver.objective(C) <= 1e-10 * C  # a bound of rounding errors
        assert solver.risk == pytest.approx((solution.primal - 0.5 * solution.v @ solution.v) / C)


def test_the_dual_solution_bounds_the_objective():
    solver = CuttingPlane(X, measures.get("f1").oracle(Y), keep_cuts=True)
    solution = solver.solve(100.0)
    u, beta = solver.dual_solution()
    assert beta - 0.5 * np.sum((X.T @ u) ** 2) == pytest.approx(solution.dual)
    with pytest.raises(InvalidInputError, match="needs a solver with keep_cuts=True"):
        CuttingPlane(X, measures.get("f1").oracle(Y)).dual_solution()


@pytest.mark.parametrize(
    ("returned", "found"),
    [
        ((np.zeros(569), 1.0), "got tuple"),
        (None, "got NoneType"),
        (Cut(np.zeros(3), 1.0), r"got Cut with `coef` of shape \(3,\)"),
        (Cut([0.0] * 569, 1.0), "an array of shape"),
    ],
    ids=str,
)
def test_an_oracle_that_returns_no_cut(returned, found):
    with pytest.raises(InvalidInputError, match=rf"the oracle must return a cut.* {found}"):
        CuttingPlane(X, lambda scores: returned).solve(C=1.0)


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("when", [0, 1, 3])
def test_an_oracle_that_returns_nan_or_infinity(number, when):
    plain, calls = measures.get("f1").oracle(Y), []

    def oracle(scores):
        calls.append(1)
        cut = plain(scores)
        return cut if len(calls) <= when else Cut(cut.coef, number)

    with pytest.raises(InvalidInputError, match="the design or the oracle returned NaN or infinity"):
        CuttingPlane(X, oracle).solve(C=100.0)


def test_cuts_that_are_no_lower_bounds_are_not_called_optimal():
    """R = 3 - s^2 / 4 is concave: its tangents lie above it, and so does the dual value."""

    def oracle(scores):
        return Cut(scores / 2, 3.0 + float(scores @ scores) / 4)

    solution = CuttingPlane(np.array([[1.0]]), oracle, v0=[1.0]).solve(C=1.0)
    assert solution.dual > solution.primal
    assert solution.status is Status.INCONSISTENT
    assert "exceeds the value that was reached" in solution.message


class NotTransposed:
    """A design whose `rmatvec` belongs to another matrix."""

    shape = X.shape

    def matvec(self, v):
        return X @ v

    def rmatvec(self, coef):
        return -X.T @ coef


def test_a_wrong_transpose_is_not_called_optimal():
    solution = CuttingPlane(NotTransposed(), measures.get("f1").oracle(Y)).solve(C=100.0, max_iter=200)
    assert solution.status is not Status.OPTIMAL


@pytest.mark.parametrize("C", [1e101, 1e300])
def test_a_C_that_overflows_is_refused(C):
    with pytest.raises(InvalidInputError, match=r"C must be at most 1e\+100, since larger .*: got 1e"):
        SVMPerfClassifier("f1", C=C).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InvalidInputError, match=r"C must be at most 1e\+100"):
        CAPOClassifier("f1", C=[1.0, C]).fit([[0.0], [1.0]], [0, 1])


def test_numbers_that_overflow_give_no_warnings_of_numpy():
    solver = CuttingPlane(np.array([[1e90], [-1e90]]), measures.get("accuracy").oracle([1, 0]))
    solution = solver.solve(1e99)
    assert solution.status in (Status.OPTIMAL, Status.STALLED)
