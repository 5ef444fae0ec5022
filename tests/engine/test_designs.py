"""Every design gives the products of the matrix it stands for, without a copy of it."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from capo.engine import ChunkedDesign, IdentityDesign, as_design, augment
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


@pytest.mark.parametrize("matrix", [*DENSE.values(), *SPARSE.values()], ids=[*DENSE, *SPARSE])
def test_products_of_absolute_values(matrix):
    v, c, auxiliary = RNG.normal(size=X.shape[1] + 2), RNG.normal(size=len(X)), RNG.normal(size=(len(X), 1))
    whole = np.abs(np.hstack([auxiliary / 2.0, X, np.full((len(X), 1), 3.0)]))
    design = augment(matrix, auxiliary=auxiliary, B=4.0, bias=-3.0)
    np.testing.assert_allclose(design.matvec(v, absolute=True), whole @ np.abs(v), rtol=1e-6)
    np.testing.assert_allclose(design.rmatvec(c, absolute=True), whole.T @ np.abs(c), rtol=1e-6)


@pytest.mark.parametrize("matrix", [*DENSE.values(), *SPARSE.values()], ids=[*DENSE, *SPARSE])
@pytest.mark.parametrize("n_rows", [0, 1, 700, len(X)])
def test_products_of_some_rows(matrix, n_rows):
    auxiliary, rows = RNG.normal(size=(len(X), 1)), np.sort(RNG.choice(len(X), n_rows, replace=False))
    values = RNG.normal(size=n_rows)
    whole = np.hstack([auxiliary / 2.0, X, np.full((len(X), 1), -3.0)])
    design = augment(matrix, auxiliary=auxiliary, B=4.0, bias=-3.0)
    expected = whole[rows].T @ values
    np.testing.assert_allclose(design.rmatvec_rows(rows, values), expected, atol=500 * tolerance(matrix))


def test_products_of_some_rows_of_other_designs():
    rows, values = np.array([2, 3, 1800]), np.array([1.0, -2.0, 0.5])
    for design in (as_design(aslinearoperator(X)), ChunkedDesign(lambda: (X[:1500], X[1500:]), X.shape)):
        np.testing.assert_allclose(design.rmatvec_rows(rows, values), X[rows].T @ values)
    np.testing.assert_array_equal(IdentityDesign(4).rmatvec_rows(rows[:2], values[:2]), [0.0, 0.0, 1.0, -2.0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_products_do_not_depend_on_the_number_of_threads(dtype, order, monkeypatch, use_threads):
    """To the last bit, with a size of tasks that does not divide the rows."""
    monkeypatch.setattr("capo.engine._designs.TASK_SIZE", 1000)
    v, c, rows = RNG.normal(size=X.shape[1]), RNG.normal(size=len(X)), np.arange(0, len(X), 2)
    design, results = as_design(np.asarray(X, dtype=dtype, order=order)), []
    for n_threads in (1, 2, 3):
        use_threads(n_threads)
        products = (
            design.matvec(v),
            design.rmatvec(c),
            design.matvec(v, absolute=True),
            design.rmatvec(c, absolute=True),
        )
        results.append((*products, design.rmatvec_rows(rows, c[rows])))
    for others in results[1:]:
        for first, other in zip(results[0], others, strict=True):
            np.testing.assert_array_equal(first, other)


def test_products_of_absolute_values_in_blocks():
    design = ChunkedDesign(lambda: (X[:1500], sparse.csr_array(X[1500:])), X.shape)
    v, c = RNG.normal(size=X.shape[1]), RNG.normal(size=len(X))
    np.testing.assert_allclose(design.matvec(v, absolute=True), np.abs(X) @ np.abs(v))
    np.testing.assert_allclose(design.rmatvec(c, absolute=True), np.abs(X).T @ np.abs(c))


def test_an_operators_absolute_values_are_estimated_from_above():
    design, v, c = as_design(aslinearoperator(X)), RNG.normal(size=X.shape[1]), RNG.normal(size=len(X))
    exact = np.abs(X).T @ np.abs(c)
    assert (design.rmatvec(c, absolute=True) > 0.3 * exact).all()
    assert (design.rmatvec(c, absolute=True) < 10 * exact).all()
    assert np.mean(design.matvec(v, absolute=True) >= 0.3 * (np.abs(X) @ np.abs(v))) > 0.95


def test_float32_is_summed_in_float64():
    """A million float32 ones and an epsilon that float32 sums would lose."""
    ones = np.ones((1_000_000, 1), dtype=np.float32)
    coef = np.full(1_000_000, 0.1)
    for matrix in (ones, sparse.csr_array(ones)):
        assert as_design(matrix).rmatvec(coef)[0] == pytest.approx(coef.sum(), rel=1e-10)


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
    design = as_design(X)
    assert augment(design, bias=None) is design


def test_designs_side_by_side_need_the_same_rows():
    with pytest.raises(InvalidInputError, match="the same number of rows: got 3, 4000"):
        augment(X, auxiliary=X[:3])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_chunked_passes(kind):
    passes = []

    def blocks():
        passes.append(1)
        return (kind(X[start : start + 700]) for start in range(0, len(X), 700))

    design = ChunkedDesign(blocks, X.shape)
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
        ChunkedDesign(blocks, X.shape).matvec(np.ones(X.shape[1]))


def test_a_generator_that_runs_dry_is_noticed():
    once = iter([X])
    design = ChunkedDesign(lambda: once, X.shape)
    design.matvec(np.ones(X.shape[1]))
    with pytest.raises(InvalidInputError, match="a new iterator over the same blocks"):
        design.matvec(np.ones(X.shape[1]))


@pytest.mark.parametrize("wrong", [[[1.0, 2.0]], np.ones(3), np.array([["a"]]), None], ids=str)
def test_what_is_not_a_table(wrong):
    with pytest.raises(InvalidInputError, match="two-dimensional array of real numbers, a sparse matrix"):
        as_design(wrong)


@pytest.mark.parametrize(
    "wrong",
    [X * 1j, sparse.csr_array(X * 1j), X[:, 0], X[None], X.astype(object)],
    ids=lambda X: str(X.dtype),
)
def test_matrices_that_are_not_real_or_not_two_dimensional(wrong):
    with pytest.raises(InvalidInputError, match=rf"got \w+ of shape \(.*\) and type {wrong.dtype}"):
        as_design(wrong)


class Columns:
    """A design of one's own, which returns columns in single precision."""

    shape = X.shape

    def matvec(self, v):
        return (X @ v)[:, None].astype(np.float32)

    def rmatvec(self, coef):
        return (X.T @ coef)[:, None].astype(np.float32)


OPERATORS = {
    "float64": aslinearoperator(X),
    "float32": aslinearoperator(X.astype(np.float32)),
    "sparse": aslinearoperator(sparse.csr_array(X)),
    "functions": LinearOperator(X.shape, matvec=lambda v: X @ v, rmatvec=lambda c: X.T @ c),
    "sum": aslinearoperator(0.25 * X) + 0.75 * aslinearoperator(X),
    "own class": Columns(),
}


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
def test_products_of_operators(operator):
    design = as_design(operator)
    v, c = RNG.normal(size=X.shape[1]), RNG.normal(size=len(X))
    np.testing.assert_allclose(design.matvec(v), X @ v, atol=5e-6)
    np.testing.assert_allclose(design.rmatvec(c), X.T @ c, atol=2e-4)
    assert design.matvec(v).dtype == design.rmatvec(c).dtype == np.float64
    assert design.shape == X.shape


def test_an_operator_that_returns_its_input_is_not_written_to():
    identity = LinearOperator((4, 4), matvec=lambda v: v, rmatvec=lambda c: c, dtype=float)
    v = np.arange(5.0)
    np.testing.assert_array_equal(augment(identity).matvec(v), [4.0, 5.0, 6.0, 7.0])
    np.testing.assert_array_equal(v, np.arange(5.0))


def test_designs_of_this_package_are_returned_as_they_are():
    for design in (
        as_design(X),
        augment(X),
        ChunkedDesign(lambda: [X], X.shape),
        as_design(OPERATORS["sum"]),
    ):
        assert as_design(design) is design


class WrongShape(Columns):
    shape = (4000, 13, 1)


@pytest.mark.parametrize(
    ("operator", "product", "message"),
    [
        (aslinearoperator(X * 1j), None, "must be a real matrix: got .* of type complex128"),
        (WrongShape(), None, r"must be two whole numbers, rows and coefficients: got \(4000, 13, 1\)"),
        (
            LinearOperator(X.shape, matvec=lambda v: X @ v),
            "rmatvec",
            r"of shape \(4000, 13\) does not implement rmatvec: the solver needs",
        ),
        (
            LinearOperator(X.shape, matvec=lambda v: (X @ v)[:9], dtype=float),
            "matvec",
            r"matvec of .* of shape \(4000, 13\) failed: cannot reshape array of size 9",
        ),
        (
            LinearOperator(X.shape, matvec=lambda v: X @ v * 1j, dtype=float),
            "matvec",
            "must return 4000 real numbers: got an array of shape .* and type complex128",
        ),
        (
            type("Transposed", (Columns,), {"rmatvec": Columns.matvec})(),
            "rmatvec",
            "matmul: Input operand 1 has a mismatch",
        ),
        (
            type("Short", (Columns,), {"rmatvec": lambda self, c: c[:5]})(),
            "rmatvec",
            r"rmatvec of Short of shape \(4000, 13\) must return 13 real numbers: got .* shape \(5,\)",
        ),
    ],
)
def test_operators_that_are_no_designs(operator, product, message):
    with pytest.raises(InvalidInputError, match=message):
        getattr(as_design(operator), product)(np.ones(13 if product == "matvec" else 4000))


def test_B_must_be_above_zero():
    with pytest.raises(InvalidInputError, match="B must be a finite number above 0: got -1"):
        augment(X, auxiliary=X[:, :1], B=-1)
