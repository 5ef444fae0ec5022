"""The factor of a kernel matrix: K = F F' + E, whatever the rows and however few the pivots."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from capo import kernels
from capo.exceptions import InvalidInputError
from capo.kernels import Kernel, KernelExpansion, factorize_kernel

#: F is in single precision.
SINGLE = 1e-6


def factor_of(kernel, X, max_rank, seed=0):
    return factorize_kernel(kernel, X, max_rank, np.random.RandomState(seed))


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def nystroem(K, rows):
    """The part of K that some of its rows span, by an eigenvalue decomposition of their own."""
    values, vectors = np.linalg.eigh(K[np.ix_(rows, rows)])
    kept = values > 1e-10 * values.max()
    half = K[:, rows] @ vectors[:, kept] / np.sqrt(values[kept])
    return half @ half.T


def check(factor, K, X, atol=SINGLE):
    """All that a factor promises, from the kernel matrix in full."""
    F, scale = factor.rows.astype(np.float64), max(K.diagonal().max(), 1e-300)
    E = K - F @ F.T
    assert F.dtype == np.float64
    assert factor.rows.shape == (len(K), factor.rank)
    assert (factor.residual_diagonal >= 0).all()
    np.testing.assert_allclose(E.diagonal(), factor.residual_diagonal, atol=atol * scale)
    assert np.linalg.eigvalsh(E / scale).min() >= -atol * len(K)
    assert factor.residual == pytest.approx(max(E.trace(), 0) / max(K.trace(), 1e-300), abs=atol)
    own = [int(np.flatnonzero((dense(X) == pivot).all(axis=1))[0]) for pivot in dense(factor.pivots)]
    assert len(set(own)) == factor.rank  # no row twice
    np.testing.assert_allclose(factor.triangle @ factor.triangle.T, K[np.ix_(own, own)], atol=1e-6 * scale)
    assert (np.triu(factor.triangle, 1) == 0).all()


@st.composite
def tables(draw):
    """Random rows with some that are the same, some constant columns, some far apart."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, d = draw(st.integers(1, 25)), draw(st.integers(1, 4))
    X = rng.normal(size=(n, d)) * draw(st.sampled_from([0.3, 1.0, 4.0]))
    kind = draw(st.sampled_from(["any", "repeated", "constant column", "all the same", "grid"]))
    if kind == "repeated":
        X = X[rng.integers(0, max(1, n // 3), n)]
    elif kind == "constant column":
        X[:, 0] = 1.0
    elif kind == "all the same":
        X[:] = X[0]
    elif kind == "grid":
        X = np.rint(X)
    return X


@pytest.mark.parametrize("name", kernels.kernel_names())
@settings(derandomize=True)
@given(tables(), st.integers(1, 30), st.integers(0, 5))
def test_what_is_left_is_known(name, X, max_rank, seed):
    kernel = Kernel(name, 0.5, degree=2.0, coef0=0.5)
    K = kernel(X, X)
    K = np.where((X[:, None] == X).all(axis=2), kernel.diagonal(X)[:, None], K)  # equal rows, exactly
    factor = factor_of(kernel, X, max_rank, seed)
    assert factor.rank <= min(max_rank, len(np.unique(X, axis=0)))
    check(factor, K, X, atol=1e-5)
    if max_rank >= len(X):
        np.testing.assert_allclose(factor.rows @ factor.rows.T, K, atol=1e-5 * K.diagonal().max())


@pytest.mark.parametrize("name", kernels.kernel_names())
@pytest.mark.parametrize("max_rank", [60, 61, 10**9])
def test_exact_with_all_rows(name, max_rank):
    X = np.random.default_rng(0).normal(size=(60, 5))
    kernel = Kernel(name, 0.2)
    factor = factor_of(kernel, X, max_rank)
    K = kernel(X, X)
    np.testing.assert_allclose(factor.rows @ factor.rows.T, K, atol=SINGLE * K.max())
    assert factor.residual_diagonal.max() <= 1e-9 * K.max()
    assert factor.residual <= 1e-9


@pytest.mark.parametrize("max_rank", [1, 2, 7, 40, 199])
def test_the_part_that_the_pivots_span(max_rank):
    X = np.random.default_rng(1).normal(size=(200, 4))
    K = rbf_kernel(X, gamma=0.3)
    factor = factor_of(Kernel("rbf", 0.3), X, max_rank)
    assert factor.rank == max_rank
    rows = [int(np.flatnonzero((pivot == X).all(axis=1))[0]) for pivot in factor.pivots]
    np.testing.assert_allclose(factor.rows @ factor.rows.T, nystroem(K, rows), atol=1e-5)
    np.testing.assert_allclose(factor.residual_diagonal, (K - nystroem(K, rows)).diagonal(), atol=1e-6)
    check(factor, K, X)


def test_one_pivot_by_hand():
    X = np.array([[0.0], [1.0], [3.0]])
    factor = factor_of(Kernel("rbf", 1.0), X, 1)
    column = np.exp(-((X[:, 0] - factor.pivots[0, 0]) ** 2))
    np.testing.assert_allclose(factor.rows[:, 0], column, rtol=1e-6)
    np.testing.assert_allclose(factor.residual_diagonal, 1 - column**2, atol=1e-12)
    assert factor.residual == pytest.approx(np.sum(1 - column**2) / 3)


def test_more_pivots_leave_less():
    """Never less than the best of their number, and about as little as any rows, or less."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3))
    K = rbf_kernel(X, gamma=0.5)
    values = np.linalg.eigvalsh(K)[::-1]
    before = 1.0
    for rank in (1, 5, 25, 100, 250):
        residual = factor_of(Kernel("rbf", 0.5), X, rank).residual
        best = values[rank:].sum() / values.sum()  # Eckart and Young
        any_rows = [1 - nystroem(K, rng.permutation(300)[:rank]).trace() / 300 for _ in range(5)]
        assert best - SINGLE <= residual <= 1.2 * max(any_rows) + SINGLE
        assert residual < before
        before = residual


@pytest.mark.parametrize("max_rank", [3, 50, 150, 400])
def test_a_kernel_of_low_rank_needs_no_more_pivots(max_rank):
    X = np.random.default_rng(3).normal(size=(400, 6))
    factor = factor_of(Kernel("poly", 1.0, degree=1.0), X, max_rank)
    assert factor.rank == min(max_rank, 6)
    check(factor, X @ X.T, X, atol=1e-5)
    squares = factor_of(Kernel("poly", 1.0, degree=2.0, coef0=1.0), X, max_rank)
    assert squares.rank == min(max_rank, 28)  # 1, 6 features, 21 products
    check(squares, polynomial_kernel(X, degree=2, gamma=1.0), X, atol=1e-5)


@pytest.mark.parametrize("max_rank", [1, 3, 10, 200])
def test_repeated_rows_are_one_pivot(max_rank):
    X = np.random.default_rng(4).normal(size=(5, 2))[np.arange(200) % 5]
    factor = factor_of(Kernel("laplacian", 1.0), X, max_rank)
    assert factor.rank == min(max_rank, 5)
    check(factor, Kernel("laplacian", 1.0)(X, X), X)


@pytest.mark.parametrize("name", kernels.kernel_names())
@pytest.mark.parametrize("max_rank", [1, 2, 9])
def test_rows_that_are_all_the_same(name, max_rank):
    factor = factor_of(Kernel(name, 0.5), np.full((9, 2), 0.3), max_rank)
    assert factor.rank == 1
    assert factor.residual <= SINGLE


@pytest.mark.parametrize("max_rank", [2, 9])
def test_a_kernel_of_zeros_has_no_pivots(max_rank):
    factor = factor_of(Kernel("poly"), np.zeros((9, 2)), max_rank)
    assert factor.rank == 0
    assert factor.rows.shape == (9, 0)
    assert factor.residual == 0.0
    assert factor.dual_coef(np.zeros(0)).shape == (0,)


def test_rows_of_very_different_length():
    """The polynomial kernel of the longest is a million times that of the shortest."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 3)) * np.logspace(-1, 1, 150)[:, None]
    kernel = Kernel("poly", 1.0, degree=3.0, coef0=0.1)
    check(factor_of(kernel, X, 150), kernel(X, X), X, atol=1e-5)
    check(factor_of(kernel, X, 12), kernel(X, X), X, atol=1e-5)


@pytest.mark.parametrize("name", kernels.kernel_names())
@pytest.mark.parametrize("max_rank", [20, 80])
def test_sparse_and_single_precision_are_the_same(name, max_rank):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(80, 10)).astype(np.float32).astype(np.float64) * (rng.random((80, 10)) < 0.4)
    kernel = Kernel(name, 0.1, degree=2.0, coef0=1.0)
    reference = factor_of(kernel, X, max_rank)
    for kind in (sparse.csr_array, sparse.csr_matrix, np.asfortranarray):
        factor = factor_of(kernel, kind(X), max_rank)
        if max_rank == 20:  # with all rows, those equally far away come in any order
            np.testing.assert_array_equal(dense(factor.pivots), reference.pivots)
        np.testing.assert_allclose(factor.rows @ factor.rows.T, reference.rows @ reference.rows.T, atol=1e-5)
        np.testing.assert_allclose(factor.residual_diagonal, reference.residual_diagonal, atol=1e-8)
    single = factor_of(kernel, X.astype(np.float32), max_rank)
    check(single, kernel(X, X), X, atol=1e-5)
    assert single.pivots.dtype == np.float64


def test_the_same_seed_the_same_pivots():
    X = np.random.default_rng(7).normal(size=(500, 3))
    one, other, third = (factor_of(Kernel("rbf", 0.5), X, 150, seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.pivots, other.pivots)
    np.testing.assert_array_equal(one.rows, other.rows)
    assert not np.array_equal(one.pivots, third.pivots)


def test_rows_far_from_all_others_are_found():
    """A thousand rows in a heap and three far away, where the first pivots are hardly ever."""
    X = np.vstack([np.random.default_rng(8).normal(size=(1000, 2)) * 1e-3, [[9, 0], [0, 9], [9, 9]]])
    found = [factor_of(Kernel("rbf", 1.0), X, 140, seed).residual_diagonal[-3:].max() for seed in range(3)]
    assert max(found) <= 1e-6


@pytest.mark.parametrize("name", kernels.kernel_names())
@pytest.mark.parametrize("max_rank", [15, 90])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_function_on_new_rows(name, max_rank, kind):
    """F w at the training rows is the expansion in the pivots, which has a value everywhere else too."""
    rng = np.random.default_rng(9)
    X, new = rng.normal(size=(90, 4)), rng.normal(size=(30, 4))
    kernel = Kernel(name, 0.2, degree=3.0, coef0=1.0)
    factor = factor_of(kernel, kind(X), max_rank)
    w = rng.normal(size=factor.rank)
    function = KernelExpansion(kernel, factor.pivots, factor.dual_coef(w))
    at_rows = factor.rows.astype(np.float64) @ w
    np.testing.assert_allclose(function(kind(X)), at_rows, atol=2e-5 * np.abs(at_rows).max())
    assert function.squared_norm() == pytest.approx(w @ w, rel=1e-6)
    P = dense(factor.pivots)
    plain = kernel(new, P) @ np.linalg.lstsq(kernel(P, P), factor.triangle @ w, rcond=None)[0]
    np.testing.assert_allclose(function(kind(new)), plain, atol=1e-4 * np.abs(plain).max())


def test_a_function_of_the_user():
    X = np.random.default_rng(10).normal(size=(50, 3))
    factor = factor_of(Kernel(lambda A, B: A @ B.T), X, 10)
    assert factor.rank == 3
    check(factor, X @ X.T, X)


@pytest.mark.parametrize("max_rank", [30, 1000])
def test_a_kernel_that_is_no_inner_product_is_refused(max_rank):
    X = np.random.RandomState(0).randn(200, 3)
    kernel = Kernel(lambda X, Z: np.tanh(X @ Z.T - 1.0))
    assert np.linalg.eigvalsh(kernel(X, X))[0] < -1
    with pytest.raises(InvalidInputError, match=r"not positive semidefinite.*'rbf'"):
        factorize_kernel(kernel, X, max_rank, np.random.RandomState(0))


def three_apart(X, Z):
    """Three directions, each two of them 143 degrees apart, which no three directions are."""
    same = X.argmax(axis=1)[:, None] == Z.argmax(axis=1)[None, :]
    return np.where(same, 1.0, -0.8)


@pytest.mark.parametrize("max_rank", [2, 1000])
def test_angles_that_do_not_fit_together_are_refused(max_rank):
    X = np.eye(3)[np.arange(60) % 3]
    assert np.linalg.eigvalsh(three_apart(X, X))[0] < -1
    with pytest.raises(InvalidInputError, match=r"not positive.*negative squared distance.*'rbf'"):
        factorize_kernel(Kernel(three_apart), X, max_rank, np.random.RandomState(0))


@pytest.mark.parametrize("power", [1, 2])
def test_a_distance_is_no_kernel(power):
    X = np.random.RandomState(0).randn(50, 3)
    distance = Kernel(lambda X, Z: -(((X[:, None] - Z[None]) ** 2).sum(axis=2) ** (power / 2)))
    with pytest.raises(InvalidInputError, match=r"not positive semidefinite.*squared norms 0 and 0"):
        factorize_kernel(distance, X, 50, np.random.RandomState(0))


def test_an_outlier_hides_nothing():
    X = np.random.RandomState(0).randn(100, 3)
    X[0] *= 300
    with pytest.raises(InvalidInputError, match="not positive semidefinite"):
        factorize_kernel(Kernel(lambda X, Z: (X @ Z.T - 3.0) ** 3), X, 100, np.random.RandomState(0))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("kind", ["rbf", "poly", "laplacian", "inverse_distance", "inverse_squared_distance"])
def test_a_kernel_is_not_refused_for_its_rows(kind, scale):
    X = scale * np.random.RandomState(0).randn(300, 4)
    X[:50] = X[50:100]
    X[100:110] = 0.0
    X[110] *= 1e4
    for table in (X, X.astype(np.float32), sparse.csr_array(X)):
        kernel = kernels.make_kernel(kind, table)
        assert factorize_kernel(kernel, table, 100, np.random.RandomState(0)).rank > 0
