"""Certificates of problems with huge numbers, against the objective in rational arithmetic."""

import re
import warnings
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator
from sklearn.exceptions import ConvergenceWarning

from capo import SVMPerfClassifier, measures
from capo.engine import ChunkedDesign, CuttingPlane, Status
from capo.exceptions import (
    ConstraintWarning,
    ExhaustiveSearchWarning,
    InvalidInputError,
    TrivialSolutionWarning,
)
from capo.measures import Measure

from ..cases import ALL_MEASURES
from ..exact import exact_objective

KINDS = ("one row", "several rows", "columns", "rows and columns", "one number", "limit of float64")
REFUSAL = re.compile(
    r"column \d+ of (the design holds|X \(counted from 0\) contains) \S+ in row \d+.* overflow.* Scale"
)
#: Problems of all kinds and measures; the fast suite takes some of them.
N_PROBLEMS = 960
#: What a bound may be off by, in units of max(C, J): its last digits.
MAX_EXCESS = Fraction(1, 10**12)
#: Multiples of the solution at which the lower bound is checked.
FACTORS = (0.0, 0.5, 0.9, 0.99, 1.0, 1.01, 1.1)
EXPECTED_WARNINGS = (ConvergenceWarning, TrivialSolutionWarning, ConstraintWarning, ExhaustiveSearchWarning)


@dataclass
class ScaledProblem:
    """A small problem some of whose numbers are huge."""

    kind: str
    measure: Measure
    X: np.ndarray
    y: np.ndarray
    counts: np.ndarray | None
    C: float
    tol: float


def make_problem(seed):
    rng = np.random.default_rng(seed)
    kind, measure = KINDS[seed % len(KINDS)], ALL_MEASURES[seed // len(KINDS) % len(ALL_MEASURES)]
    n, d = int(rng.integers(3, 7)), int(rng.integers(1, 4))
    y = rng.permutation(np.where(np.arange(n) < rng.integers(1, n), 1, -1))
    X = rng.normal(size=(n, d)) + rng.choice([0.0, 1.0, 3.0]) * y[:, None]
    if rng.random() < 0.3:
        X = np.rint(X)
    if kind in ("columns", "rows and columns"):
        X = X * 10.0 ** rng.uniform(-12, 12, size=d)
    if kind in ("one row", "rows and columns"):
        X[rng.integers(n)] *= 10.0 ** rng.integers(5, 26)
    elif kind == "several rows":
        X[rng.random(n) < 0.5] *= 10.0 ** rng.integers(5, 26)
    elif kind == "one number":
        X[rng.integers(n), rng.integers(d)] *= 10.0 ** rng.integers(5, 26)
    elif kind == "limit of float64":
        X[: int(rng.choice([1, n]))] *= 10.0 ** rng.choice([145.0, 155.0, 200.0, 300.0, 307.0])
    counts = rng.integers(1, 3, size=n) if rng.random() < 0.25 and n < 5 else None
    return ScaledProblem(kind, measure, X, y, counts, 10.0 ** rng.integers(-1, 5), rng.choice([1e-3, 1e-6]))


def outcome(problem):
    """What a fit ends with: a refusal, an honest status, or FALSE with the reason."""
    p = problem
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in EXPECTED_WARNINGS:
            warnings.simplefilter("ignore", category)
        try:
            model = SVMPerfClassifier(p.measure, C=p.C, tol=p.tol, max_iter=300).fit(p.X, p.y, p.counts)
        except InvalidInputError as error:
            return "refused" if REFUSAL.search(str(error)) else f"FALSE sentence: {error}"
    return check_certificate(p, model.solution_)


def check_certificate(p, solution):
    """The status, or what is wrong with it or with the bounds."""
    if solution.status is Status.INCONSISTENT:
        return solution.status.name
    rows = np.repeat(np.arange(len(p.y)), 1 if p.counts is None else p.counts)
    table, measure = np.column_stack([p.X, np.ones(len(p.y))])[rows], p.measure.for_training()

    def objective(v):
        return exact_objective(measure, table, p.y[rows], v, p.C)

    J, dual = objective(solution.v), Fraction(float(solution.dual))
    slack = MAX_EXCESS * Fraction(max(p.C, float(J)))
    claims = {
        "primal value below J": Fraction(float(solution.primal)) + slack >= J,
        "primal below dual": dual <= Fraction(float(solution.primal)) + slack,
        "optimal": solution.status is not Status.OPTIMAL or dual + Fraction(p.C * p.tol) + slack >= J,
        "lower bound": all(dual <= objective(factor * solution.v) + slack for factor in FACTORS),
    }
    wrong = [claim for claim, holds in claims.items() if not holds]
    return f"FALSE {solution.status.name}: {wrong}" if wrong else solution.status.name


@pytest.mark.parametrize("seed", range(0, N_PROBLEMS, 13))
def test_no_false_certificate(seed):
    assert_honest(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, N_PROBLEMS, 60))
def test_no_false_certificate_of_many_problems(first):
    for seed in range(first, first + 60):
        assert_honest(seed)


def assert_honest(seed):
    problem = make_problem(seed)
    result = outcome(problem)
    assert not result.startswith("FALSE"), (result, problem)
    if problem.kind == "limit of float64":
        assert result == "refused" or abs(problem.X).max() <= 1e100  # larger elements are refused


@pytest.mark.parametrize("make", [np.asarray, csr_array, aslinearoperator])
def test_a_huge_row_on_the_right_side_does_not_spoil_the_certificate(make):
    X = np.array([[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-3.0, 0.5]])
    X[0] *= 1e20
    solution = CuttingPlane(make(X), measures.get("f1").oracle([1, 1, -1, -1])).solve(C=10.0)
    assert solution.status is Status.OPTIMAL


@pytest.mark.parametrize("make", [np.asarray, csr_array, aslinearoperator])
def test_scores_that_are_rounding_errors_are_not_certified(make):
    """The features cancel to less than their rounding errors, in a row that must be on the right side."""
    X = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-3], [1.0, -1.0]]) * [[1e25], [1e25], [1.0]]
    solution = CuttingPlane(make(X), measures.get("accuracy").oracle([1, -1, -1])).solve(
        C=1e4, tol=1e-6, max_iter=200
    )
    J = exact_objective(measures.get("accuracy"), X, [1, -1, -1], solution.v, 1e4)
    assert solution.status is not Status.OPTIMAL or Fraction(solution.dual) + Fraction(1e4 * 1e-6) >= J
    assert solution.dual <= solution.primal


def test_numbers_at_the_limit_of_float64_are_refused_by_row_and_column():
    X = np.ones((4, 3))
    X[2, 1] = -3e300
    message = r"column 1 of the design contains 3e\+300 in row 2 \(both counted from 0\)"
    for table in (X, csr_array(X), ChunkedDesign(lambda: (X[:3], X[3:]), X.shape)):
        with pytest.raises(InvalidInputError, match=message):
            CuttingPlane(table, measures.get("f1").oracle([1, 0, 1, 0])).solve(C=1.0)


def test_an_oracle_without_a_direction_has_a_looser_bound():
    X = np.array([[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-3.0, 0.5]])
    X[0] *= 1e20
    oracle = measures.get("f1").oracle([1, 1, -1, -1])
    plain = CuttingPlane(X, oracle.__call__).solve(C=10.0, max_iter=100)
    assert plain.status is not Status.OPTIMAL
    assert plain.gap > 10.0 * 1e-3
