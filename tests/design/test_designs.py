"""Every design gives the products of the matrix it stands for, without a copy of it."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from capo.design import Augmented, Constant, Dense, Scaled, Sparse, as_design, augment, chunked
from capo.exceptions import InvalidInputError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4000, 13))
X[RNG.random(X.shape) < 0.6] = 0.0

DENSE = {
    "float64 C": X,
    "float64 F": np.asfortranarray(X),
    "float32 C": X.astype(np.float32),
    "float32 F": np.asfortranarray(X.astype(np.float32)),
    "view with gaps": np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": X[::-1][::-1],
}
SPARSE = {
    f"{kind.__name__} {np.dtype(dtype).name}": kind(X.astype(dtype))
    for kind in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix)
    for dtype in (np.float64, np.float32)
}


def tolerance(matrix):
    return 1e-12 if matrix.dtype == np.float64 else 3e-7  # X itself was rounded, the sums are not


@pytest.mark.parametrize("matrix", [*DENSE.values(), *SPARSE.values()], ids=[*DENSE, *SPARSE])
def test_products(matrix):
    design = as_design(matrix)
    v, c = RNG.normal(size=X.shape[1]), RNG.normal(size=len(X))
    np.testing.assert_allclose(design.matvec(v), X @ v, atol=tolerance(matrix) * 10)
    np.testing.assert_allclose(design.rmatvec(c), X.T @ c, atol=tolerance(matrix) * 500)
    assert design.matvec(v).dtype == design.rmatvec(c).dtype == np.float64
    assert design.shape == X.shape


def test_float32_is_summed_in_float64():
    """A million float32 ones and an epsilon that float32 sums would lose."""
    ones = np.ones((1_000_000, 1), dtype=np.float32)
    coef = np.full(1_000_000, 0.1)
    for design in (Dense(ones), Sparse(sparse.csr_array(ones))):
        assert design.rmatvec(coef)[0] == pytest.approx(coef.sum(), rel=1e-10)


@pytest.mark.parametrize("name", ["float32 C", "float64 F", "csr_array float32"])
def test_nothing_the_size_of_the_matrix_is_allocated(name):
    matrix = (DENSE | SPARSE)[name]
    if sparse.issparse(matrix):
        big = sparse.csr_array(sparse.hstack([sparse.vstack([matrix] * 40)] * 8))
    else:
        big = np.tile(matrix, (40, 8)).astype(matrix.dtype, order="F" if "F" in name else "C")
    size = big.data.nbytes + big.indices.nbytes if sparse.issparse(big) else big.nbytes
    v, c, auxiliary = np.ones(big.shape[1] + 2), np.ones(big.shape[0]), np.ones((big.shape[0], 1))
    tracemalloc.start()
    design = augment(big, auxiliary=auxiliary)
    design.matvec(v)
    design.rmatvec(c)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * c.nbytes + 8_000_000 < size / 4  # two or three score vectors, and a block


def test_augmented_is_the_matrix_side_by_side():
    auxiliary = RNG.normal(size=(len(X), 2))
    whole = np.hstack([auxiliary / 2.0, X, np.full((len(X), 1), 3.0)])
    for phi in (X, sparse.csr_array(X)):
        design = augment(phi, auxiliary=auxiliary, B=4.0, bias=3.0)
        v, c = RNG.normal(size=whole.shape[1]), RNG.normal(size=len(X))
        np.testing.assert_allclose(design.matvec(v), whole @ v)
        np.testing.assert_allclose(design.rmatvec(c), whole.T @ c)
        assert design.shape == whole.shape


def test_augment_without_bias_or_auxiliary_is_the_matrix():
    assert isinstance(augment(X, bias=None), Dense)


def test_designs_side_by_side_need_the_same_rows():
    with pytest.raises(InvalidInputError, match="the same number of rows: got 4000, 3"):
        Augmented([Dense(X), Constant(3)])


def test_scaled_and_constant():
    design = Scaled(Constant(3, 2.0), 0.5)
    np.testing.assert_array_equal(design.matvec(np.array([7.0])), [7.0, 7.0, 7.0])
    np.testing.assert_array_equal(design.rmatvec(np.array([1.0, 2.0, 3.0])), [6.0])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_chunked_passes(kind):
    passes = []

    def blocks():
        passes.append(1)
        return (kind(X[start : start + 700]) for start in range(0, len(X), 700))

    design = chunked(blocks, X.shape)
    v, c = RNG.normal(size=X.shape[1]), RNG.normal(size=len(X))
    np.testing.assert_allclose(design.matvec(v), X @ v)
    np.testing.assert_allclose(design.rmatvec(c), X.T @ c)
    assert len(passes) == 2


@pytest.mark.parametrize(
    ("blocks", "found"),
    [
        (lambda: [X[:100]], "100 rows in all"),
        (lambda: [X, X], "ends at row 8000"),
        (lambda: [X[:, :5]], r"a block of shape \(4000, 5\)"),
    ],
)
def test_blocks_that_do_not_make_up_the_table(blocks, found):
    with pytest.raises(InvalidInputError, match=found):
        chunked(blocks, X.shape).matvec(np.ones(X.shape[1]))


def test_a_generator_that_runs_dry_is_noticed():
    once = iter([X])
    design = chunked(lambda: once, X.shape)
    design.matvec(np.ones(X.shape[1]))
    with pytest.raises(InvalidInputError, match="must start the same blocks over"):
        design.matvec(np.ones(X.shape[1]))


@pytest.mark.parametrize("wrong", [[[1.0, 2.0]], np.ones(3), np.array([["a"]]), None], ids=str)
def test_what_is_not_a_table(wrong):
    with pytest.raises(InvalidInputError, match="two-dimensional array of numbers or a sparse matrix: got"):
        as_design(wrong)


def test_B_must_be_above_zero():
    with pytest.raises(InvalidInputError, match="B must be above 0: got -1"):
        augment(X, auxiliary=X[:, :1], B=-1)
