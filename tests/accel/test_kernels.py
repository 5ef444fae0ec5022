"""Compiled kernels give what NumPy gives: the same bits, or sums within the bounds of rounding errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from capo import measures
from capo._accel import loader
from capo.engine import CuttingPlane, Status, as_design, augment, relative_error
from capo.measures import Binner, Labels

pytest.importorskip("numba")

numbers = st.floats(-1e6, 1e6) | st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-300, 1e15])


def vectors(length, elements=numbers):
    return hnp.arrays(np.float64, length, elements=elements)


@pytest.fixture(autouse=True)
def _compile_everything(monkeypatch):
    """Use kernels for problems of any size, in blocks of a few rows."""
    monkeypatch.delenv("CAPO_NUMBA", raising=False)
    monkeypatch.setattr(loader, "MIN_STEPS", 0)


def without_kernels(function, *args):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAPO_NUMBA", "0")
        return function(*args)


@given(
    st.data(), st.integers(2, 40), st.sampled_from([1, 3, 100]), st.booleans(), st.sampled_from([0.0, 1.0])
)
def test_bins_are_the_same_bits(data, length, n_bins, weighted, margin):
    """Ties, weights of 0, equal scores, and bins with no row."""
    scores = data.draw(vectors(length, st.floats(-1e3, 1e3) | st.sampled_from([0.0, 1.0])))
    y = np.r_[True, False, data.draw(hnp.arrays(bool, length - 2))]
    weight = np.r_[1.0, 0.3, data.draw(vectors(length - 2, st.sampled_from([0.0, 0.3, 2.5])))]
    labels = Labels.from_arrays(y, weight if weighted else None)

    def count():
        binner = Binner(labels, margin, with_totals=True)
        bins = binner(scores, n_bins, *binner.score_range(scores))
        table = np.arange(2.0 * (n_bins + 1)).reshape(2, -1) / 7.0
        return bins, binner.coef_from_table(bins.slots, table)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("capo.measures._binned.TASK_ROWS", 7)
        patch.setattr("capo.measures._binned.MIN_TASK_ROWS_PER_BIN", 0)
        (compiled, coef), (expected, expected_coef) = count(), without_kernels(count)
    assert (compiled.slots.dtype, expected.slots.dtype) == (np.int32, np.intp)
    for one, other in ((compiled.slots, expected.slots), (compiled.mass, expected.mass)):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(compiled.total, expected.total)
    np.testing.assert_array_equal(coef, expected_coef)


@given(st.data(), st.integers(0, 13), st.integers(1, 9))
def test_products_with_float32_are_within_the_rounding_errors(data, n_rows, n_columns):
    small = st.floats(-1e3, 1e3, width=32)
    X = data.draw(hnp.arrays(np.float32, (n_rows, n_columns), elements=small))
    X.flags.writeable = False
    v, coef = data.draw(vectors(n_columns)), data.draw(vectors(n_rows))
    rows = np.flatnonzero(data.draw(hnp.arrays(bool, n_rows)))
    exact, size = X.astype(np.float64), np.abs(X.astype(np.float64))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("capo.engine._designs.TASK_SIZE", 3 * n_columns)
        design = as_design(X)
        products = [
            (design.matvec(v), exact @ v, size @ np.abs(v)),
            (design.rmatvec(coef), coef @ exact, np.abs(coef) @ size),
            (design.rmatvec_rows(rows, coef[rows]), coef[rows] @ exact[rows], np.abs(coef) @ size),
            (design.matvec(v, absolute=True), size @ np.abs(v), size @ np.abs(v)),
            (design.rmatvec(coef, absolute=True), np.abs(coef) @ size, np.abs(coef) @ size),
        ]
    for found, expected, bound in products:
        assert found.dtype == np.float64
        assert (np.abs(found - expected) <= 2.0 * relative_error(max(n_rows, n_columns)) * bound).all()


def test_products_with_some_rows_take_coefficients_of_any_type():
    X = np.arange(12, dtype=np.float32).reshape(4, 3)
    found = as_design(X).rmatvec_rows(np.array([1, 3], dtype=np.int32), np.float32([1.0, 2.0]))
    np.testing.assert_array_equal(found, X[1] + 2.0 * X[3])


def make_data(n_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 8)).astype(np.float32)
    return X, X @ rng.normal(size=8) + 2.0 * rng.normal(size=n_rows) > 3.0


@pytest.mark.usefixtures("small_tasks")
@pytest.mark.parametrize("name", ["accuracy", "f1", "roc_auc"])
def test_a_fit_is_certified_and_the_same_in_any_number_of_threads(name, use_threads):
    X, y = make_data(40_000)
    measure, found = measures.get(name), []
    for n_threads in (1, 2, 4):
        use_threads(n_threads)
        found.append(CuttingPlane(augment(X), measure.oracle(y)).solve(C=1000.0))
    for other in found[1:]:
        np.testing.assert_array_equal(other.v, found[0].v)
        assert (other.primal, other.dual) == (found[0].primal, found[0].dual)
    plain = without_kernels(lambda: CuttingPlane(augment(X), measure.oracle(y)).solve(C=1000.0))
    scores = augment(X.astype(np.float64)).matvec(found[0].v)
    primal = 0.5 * found[0].v @ found[0].v + 1000.0 * measure.most_violated(scores, y).value(scores)
    assert found[0].status is Status.OPTIMAL
    assert found[0].dual <= primal <= found[0].primal + 1e-9
    assert max(plain.dual, found[0].dual) <= min(plain.primal, found[0].primal)


def test_kernels_release_the_lock_of_the_interpreter():
    kernels = [each for each in vars(loader.load_kernels(1)).values() if hasattr(each, "targetoptions")]
    assert kernels
    assert all(each.targetoptions["nogil"] for each in kernels)
