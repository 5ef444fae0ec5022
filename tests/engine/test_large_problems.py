"""What only large problems use: slopes from changed rows, bins in place of sorts, threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array
from threadpoolctl import ThreadpoolController, threadpool_limits

from capo import measures
from capo.engine import CuttingPlane, Status, _line_search, _solver, as_design, augment


def make_data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, X[:, 0] - X[:, 1] + 2 * rng.normal(size=n) > 1.0


class CountedRows:
    """A design that counts products with all rows and with some."""

    def __init__(self, X):
        self.design = as_design(X)
        self.shape, self.matvec = X.shape, self.design.matvec
        self.n_full = self.n_partial = 0

    def rmatvec(self, coef):
        self.n_full += 1
        return self.design.rmatvec(coef)

    def rmatvec_rows(self, rows, values):
        self.n_partial += 1
        return self.design.rmatvec_rows(rows, values)


few_numbers = st.sampled_from([0.0, -0.0, 1.0, 2.5, -1e300, 1e15])


@given(st.integers(0, 40), st.data(), few_numbers)
def test_long_vectors_are_added_compared_and_multiplied_in_blocks(length, data, factor):
    a, b = (data.draw(hnp.arrays(np.float64, length, elements=few_numbers)) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, np.errstate(over="ignore", invalid="ignore"):
        patch.setattr(_line_search, "MAX_UNDIVIDED", 3)
        patch.setattr(_line_search, "BLOCK_LENGTH", 7)
        inside = b.copy()
        np.testing.assert_array_equal(_line_search.add_multiple(a, inside, factor, inside), a + factor * b)
        for other in (b, None):
            rows, changes = _line_search.changed_rows(a, other)
            difference = a - (0.0 if other is None else other)
            np.testing.assert_array_equal(rows, np.flatnonzero(difference))
            np.testing.assert_array_equal(changes, difference[rows])
        small, products = np.clip(a, -10.0, 10.0), (np.clip(b, -10.0, 10.0), np.arange(2.0 * length)[::2])
        found = _line_search.inner_products(small, *products)
    assert found == pytest.approx([float(small @ each) for each in products], abs=1e-9)


@given(st.lists(st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0]), min_size=1, max_size=40), st.booleans())
def test_solver_from_changed_rows(shares, sparse):
    """Cuts of which some, few or all coefficients change, against the product with all rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_solver, "MIN_SIZE", 0)
        slopes = _solver.SlopeUpdates(as_design(csr_array(X) if sparse else X))
        coef = rng.normal(size=500)
        for share in shares:
            coef = np.where(rng.random(500) < share, rng.choice([-1.0, 0.0, 1.0], size=500), coef)
            np.testing.assert_allclose(slopes(coef), X.T @ coef, atol=1e-10)


def test_a_slope_is_computed_anew_after_some_updates():
    rng = np.random.default_rng(0)
    design = CountedRows(rng.normal(size=(_solver.MIN_SIZE, 1)))
    slopes, coef = _solver.SlopeUpdates(design), rng.normal(size=_solver.MIN_SIZE)
    for i in range(2 * _solver.MAX_UPDATES + 3):
        coef = coef.copy()
        coef[i] += 1.0
        slopes(coef)
    assert (design.n_full, design.n_partial) == (3, 2 * _solver.MAX_UPDATES)
    slopes.stop()
    slopes(coef)
    assert (design.n_full, slopes.error_factor) == (4, 1.0)


@pytest.mark.parametrize(
    "name",
    ["accuracy", "roc_auc", *(pytest.param(name, marks=pytest.mark.slow) for name in ("f1", "prbep", "mcc"))],
)
def test_the_certificate_holds_with_bins_and_updates(name):
    X, y = make_data(40_000)
    measure, design = measures.get(name), augment(X)
    solution = CuttingPlane(design, measure.oracle(y)).solve(C=1000.0, tol=1e-3)
    assert solution.status is Status.OPTIMAL
    scores = design.matvec(solution.v)
    primal = 0.5 * solution.v @ solution.v + 1000.0 * measure.most_violated(scores, y).value(scores)
    assert solution.dual <= primal <= solution.dual + 1.0
    assert primal <= solution.primal + 1e-9
    # The plain method: exact searches, all products.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_solver, "MIN_SIZE", np.inf)
        plain = CuttingPlane(design, measure.oracle(y).__call__).solve(C=1000.0, tol=1e-5, max_iter=3000)
    assert plain.status is Status.OPTIMAL
    assert max(plain.dual, solution.dual) <= min(plain.primal, solution.primal)


@pytest.mark.usefixtures("small_tasks")
@pytest.mark.parametrize("name", ["accuracy", "f1", "roc_auc"])
def test_a_solution_does_not_depend_on_the_number_of_threads(name, use_threads):
    X, y = make_data(40_000)
    found = []
    for n_threads in (1, 2, 4):
        use_threads(n_threads)
        found.append(CuttingPlane(augment(X), measures.get(name).oracle(y)).solve(C=1000.0))
    for other in found[1:]:
        np.testing.assert_array_equal(other.v, found[0].v)
        assert (other.primal, other.dual) == (found[0].primal, found[0].dual)


def test_a_fit_uses_one_thread_of_blas_and_restores_the_others():
    X, y = make_data(300)
    oracle, seen = measures.get("f1").oracle(y), []
    controller = ThreadpoolController().select(user_api="blas")

    def count(scores):
        seen.append(max(library["num_threads"] for library in controller.info()))
        return oracle(scores)

    with threadpool_limits(2, "blas"):
        CuttingPlane(X, count).solve(1.0)
        assert {library["num_threads"] for library in controller.info()} == {2}
    assert set(seen) == {1}
