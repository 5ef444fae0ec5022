"""Kernels against plain loops and scikit-learn's own."""

from itertools import product
from math import exp, sqrt

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances, laplacian_kernel, polynomial_kernel, rbf_kernel

from capo import kernels
from capo.engine import iter_row_slices
from capo.exceptions import InvalidInputError
from capo.kernels import Kernel, KernelExpansion, make_kernel, mean_squared_distance

OF_DISTANCE = {
    "rbf": lambda gamma, d: exp(-gamma * d * d),
    "laplacian": lambda gamma, d: exp(-sqrt(gamma) * d),
    "inverse_distance": lambda gamma, d: 1 / (sqrt(gamma) * d + 1),
    "inverse_squared_distance": lambda gamma, d: 1 / (gamma * d * d + 1),
}
#: The square root of a rounding error is far larger than the error.
ROUGH_AT_ZERO = ("laplacian", "inverse_distance")
KINDS = [np.asarray, sparse.csr_array, sparse.csr_matrix]


def plain(name, gamma, degree, coef0, x, z):
    """The kernel of two rows by its formula, one number after the other."""
    if name == "poly":
        return (gamma * sum(a * b for a, b in zip(x, z, strict=True)) + coef0) ** degree
    return OF_DISTANCE[name](gamma, sqrt(sum((a - b) ** 2 for a, b in zip(x, z, strict=True))))


def tables(rows, columns):
    return arrays(np.float64, (rows, columns), elements=st.floats(-4, 4, allow_subnormal=False, width=32))


@st.composite
def pairs_of_tables(draw):
    n, m, d = (draw(st.integers(1, most)) for most in (5, 4, 3))
    X, Z = draw(tables(n, d)), draw(tables(m, d))
    if draw(st.booleans()):
        Z[0] = X[0]
    return X, Z


def test_the_names():
    assert kernels.kernel_names() == [*OF_DISTANCE, "poly"]


@pytest.mark.parametrize("name", [*OF_DISTANCE, "poly"])
@given(pairs_of_tables(), st.sampled_from([0.01, 0.7, 3.0]), st.integers(1, 4), st.sampled_from([0.0, 1.5]))
@example((np.zeros((1, 1)), np.zeros((1, 1))), 0.7, 3, 0.0)
def test_every_entry_is_the_formula(name, pair, gamma, degree, coef0):
    X, Z = pair
    kernel = Kernel(name, gamma, degree, coef0)
    expected = np.array([[plain(name, gamma, degree, coef0, x, z) for z in Z] for x in X])
    atol = 1e-6 if name in ROUGH_AT_ZERO else 1e-12
    for left, right in product(KINDS, KINDS):
        values = kernel(left(X), right(Z))
        assert type(values) is np.ndarray
        np.testing.assert_allclose(values, expected, rtol=1e-10, atol=atol * (1 + abs(expected).max()))
    diagonal = [plain(name, gamma, degree, coef0, x, x) for x in X]
    for kind in KINDS:
        np.testing.assert_allclose(kernel.diagonal(kind(X)), diagonal, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("rbf", lambda X, Z: rbf_kernel(X, Z, gamma=0.3)),
        ("poly", lambda X, Z: polynomial_kernel(X, Z, degree=3, gamma=0.3, coef0=1.0)),
        ("laplacian", lambda X, Z: np.exp(-np.sqrt(0.3) * euclidean_distances(X, Z))),
        ("inverse_distance", lambda X, Z: 1 / (np.sqrt(0.3) * euclidean_distances(X, Z) + 1)),
        ("inverse_squared_distance", lambda X, Z: 1 / (0.3 * euclidean_distances(X, Z) ** 2 + 1)),
    ],
)
def test_scikit_learns_own_kernels(name, reference):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(40, 7)), rng.normal(size=(30, 7))
    kernel = Kernel(name, gamma=0.3, degree=3.0, coef0=1.0)
    np.testing.assert_allclose(kernel(X, Z), reference(X, Z), rtol=1e-10)
    single, double = kernel(X.astype(np.float32), Z.astype(np.float32)), reference(X, Z)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-5 * abs(double).max())


def test_the_laplacian_kernel_is_of_the_euclidean_distance():
    """scikit-learn's is of the sum of absolute differences: the two agree in one dimension."""
    x = np.linspace(-2, 2, 9)[:, None]
    np.testing.assert_allclose(Kernel("laplacian", gamma=0.25)(x, x), laplacian_kernel(x, x, gamma=0.5))


@pytest.mark.parametrize("name", kernels.kernel_names())
@pytest.mark.parametrize("kind", KINDS)
def test_a_table_in_single_with_one_in_double_precision_is_taken_in_double(name, kind):
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(6, 3)).astype(np.float32) + 50, rng.normal(size=(5, 3)) + 50
    kernel = Kernel(name, 0.4)
    expected = [[plain(name, 0.4, 3, 0, x, z) for z in Z] for x in X.astype(np.float64)]
    np.testing.assert_allclose(kernel(kind(X), kind(Z)), expected, rtol=1e-9)
    np.testing.assert_allclose(kernel(kind(Z), kind(X)), np.transpose(expected), rtol=1e-9)
    assert kernel.diagonal(kind(X)).dtype == np.float64
    diagonal = [plain(name, 0.4, 3, 0, x, x) for x in X.astype(np.float64)]
    np.testing.assert_allclose(kernel.diagonal(kind(X)), diagonal, rtol=1e-12)


@pytest.mark.parametrize("name", kernels.kernel_names())
def test_a_kernel_leaves_its_tables_alone(name):
    X, Z = np.ones((2, 2)), np.zeros((3, 2))
    Kernel(name)(X, Z)
    assert (X == 1).all()
    assert (Z == 0).all()


@pytest.mark.parametrize("name", kernels.kernel_names())
def test_kernel_matrices_are_positive_semidefinite(name):
    X = np.random.default_rng(2).normal(size=(50, 3))
    values = np.linalg.eigvalsh(Kernel(name, 0.5, degree=2.0, coef0=1.0)(X, X))
    assert values.min() >= -1e-6 * values.max()


# --- functions of the user ------------------------------------------------------------------------


def test_a_function_of_the_user():
    X = np.random.default_rng(3).normal(size=(7, 3))
    kernel = Kernel(lambda A, B: (A @ B.T).tolist())
    np.testing.assert_allclose(kernel(X, X[:2]), [[sum(x * z) for z in X[:2]] for x in X])
    np.testing.assert_allclose(kernel.diagonal(X), [sum(x * x) for x in X])
    assert kernel(X, X).dtype == np.float64


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda X, Z: X @ X.T, r"\(4, 4\)"),
        (lambda X, Z: 1.0, r"\(\)"),
        (lambda X, Z: np.full((4, 2), np.nan), r"\(4, 2\)"),
        (lambda X, Z: np.full((4, 2), np.inf), r"\(4, 2\)"),
    ],
)
def test_a_function_that_returns_something_else(function, shape):
    message = rf"the kernel must return finite numbers of shape \(4, 2\).*: got {shape}\."
    with pytest.raises(InvalidInputError, match=message):
        Kernel(function)(np.ones((4, 3)), np.ones((2, 3)))


def test_a_broken_power_needs_numbers_that_have_one():
    X = np.array([[1.0], [-1.0]])
    np.testing.assert_allclose(Kernel("poly", degree=2.5, coef0=1.0)(X, X), [[2**2.5, 0], [0, 2**2.5]])
    with pytest.raises(InvalidInputError, match=r"degree 2\.5 .* negative: got -1\. Use an integer"):
        Kernel("poly", degree=2.5)(X, X)


# --- the width ------------------------------------------------------------------------------------


@given(st.integers(1, 8).flatmap(lambda n: tables(n, 3)), st.data())
def test_the_mean_is_over_all_pairs(X, data):
    n = len(X)
    weight = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any)))
    repeated = np.repeat(X, weight, axis=0)
    expected, weighted = (
        np.mean([np.sum((x - z) ** 2) for x, z in product(table, table)]) for table in (X, repeated)
    )
    for kind in KINDS:
        assert mean_squared_distance(kind(X)) == pytest.approx(expected, abs=1e-11)
        assert mean_squared_distance(kind(X), weight) == pytest.approx(weighted, abs=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_in_single_precision_far_from_the_origin(kind):
    X = (np.random.default_rng(4).normal(size=(500, 2)) + 300).astype(np.float32)
    expected = np.mean(euclidean_distances(X.astype(np.float64) - 300, squared=True))
    assert mean_squared_distance(kind(X)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 1e6, 1e-6])
@pytest.mark.parametrize("n", [1, 7, 1000])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_are_all_the_same_have_no_distance(value, n, kind):
    X = kind(np.full((n, 3), value))
    assert mean_squared_distance(X) == 0.0
    assert make_kernel("rbf", X).gamma == 1.0


def test_the_default_width():
    X = np.array([[0.0], [2.0]])  # distances 0, 2, 2, 0
    assert make_kernel("rbf", X).gamma == pytest.approx(0.5)
    assert make_kernel("rbf", X, weight=np.array([3.0, 1.0])).gamma == pytest.approx(16 / 24)
    assert make_kernel("poly", X, 0.1, 2, 1) == Kernel("poly", 0.1, 2.0, 1.0)


# --- sums of kernels ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_an_expansion_is_the_sum(kind):
    rng = np.random.default_rng(5)
    X, Z, coef = rng.normal(size=(9, 2)), rng.normal(size=(4, 2)), rng.normal(size=4)
    function = KernelExpansion(Kernel("rbf", 0.3), kind(Z), coef)
    expected = [sum(c * plain("rbf", 0.3, 0, 0, x, z) for c, z in zip(coef, Z, strict=True)) for x in X]
    np.testing.assert_allclose(function(kind(X)), expected)
    parts = list(zip(coef, Z, strict=True))
    length = sum(a * b * plain("rbf", 0.3, 0, 0, x, z) for (a, x), (b, z) in product(parts, parts))
    assert function.squared_norm() == pytest.approx(length)


def test_an_expansion_in_blocks(monkeypatch):
    monkeypatch.setattr("capo.kernels.BLOCK_SIZE", 8)
    X, Z = np.random.default_rng(6).normal(size=(11, 2)), np.eye(2)
    np.testing.assert_allclose(
        KernelExpansion(Kernel("rbf"), Z, np.ones(2))(X), rbf_kernel(X, Z, gamma=1.0).sum(axis=1)
    )


def test_an_expansion_of_nothing_is_zero():
    X = np.ones((3, 2))
    nothing = KernelExpansion(Kernel("rbf"), X[:0], np.zeros(0))
    np.testing.assert_array_equal(nothing(X), np.zeros(3))
    assert nothing.squared_norm() == 0.0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 50), st.integers(0, 20), st.integers(1, 40))
def test_blocks_are_all_rows_once(n, width, numbers):
    blocks = list(iter_row_slices(n, width, numbers))
    rows = [row for block in blocks for row in range(n)[block]]
    assert rows == list(range(n))
    assert all(len(range(n)[block]) * width <= max(numbers, width) for block in blocks)


@pytest.mark.parametrize("name", ["rbf", "laplacian", "inverse_distance", "inverse_squared_distance"])
@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_columns_far_from_zero_lose_no_digits(name, offset):
    """Distances do not see a shift: steps of 1/16 are exact at both offsets."""
    X = np.random.default_rng(0).integers(-32, 32, size=(40, 3)) / 16.0
    kernel = Kernel(name, 0.3)
    np.testing.assert_allclose(kernel(X + offset, X[:7] + offset), kernel(X, X[:7]), atol=1e-7)
    assert mean_squared_distance(X + offset) == pytest.approx(mean_squared_distance(X), rel=1e-9)
