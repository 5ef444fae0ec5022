"""Columns of vectors, such as embeddings: their kind, their values as one array, and features of them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Self

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import validate_data

from .._compat import FloatArray, NDArray
from ..exceptions import InvalidInputError
from .kinds import ColumnKind, ColumnValues, Recognition, TableTransformer, to_text

#: Number of texts to examine for lists of numbers.
N_HEAD_TEXTS = 200
#: The sum of the variances of a vector's entries after scaling; a column of numbers has 1. Among 1, 4, 16, 64
#: and 256, logistic regressions on embeddings of texts were best with it.
TOTAL_VARIANCE = 4.0
#: Entries of vectors that vary less are below the numbers of single precision, and count as constant.
MIN_VARIANCE = float(np.finfo(np.float32).tiny) ** 2
#: Rows from which principal directions are computed, and rows that are projected at once.
MAX_DIRECTION_ROWS, PROJECTED_ROWS = 4_000, 2_000

SingleArray = NDArray[np.float32]


@dataclass(frozen=True)
class VectorKind(ColumnKind):
    """Lists of numbers of the same length in all rows, such as embeddings; scaled as one block.

    Attributes
    ----------
    length : str
        The number of entries of each vector.
    """

    name: ClassVar[str] = "vector"
    role: ClassVar = "vector"
    description: ClassVar[str] = "vectors"
    length: str = "0"

    def __post_init__(self) -> None:
        if not self.length.isdecimal():
            raise ValueError(f"the length of vectors must be a whole number, not {self.length!r}")

    @classmethod
    def recognize(cls, values: ColumnValues) -> Recognition | None:
        vectors = [_to_vector(text) for text in islice(values.counts, N_HEAD_TEXTS)]
        lengths = Counter(0 if each is None else len(each) for each in vectors)
        length, count = lengths.most_common(1)[0] if lengths else (0, 0)
        # Lists of different lengths are tags, unless most have the same.
        return _make_recognition(length) if length > 1 and 2 * count > len(vectors) else None

    @classmethod
    def _impose_unrecognized(cls, values: ColumnValues) -> Self:
        example = next(iter(values.counts), "")[:40]
        raise InvalidInputError(
            f"the column {values.name!r} is declared as vectors, but contains {example!r}: write vectors as "
            "[0.1, 0.2, 0.3], with the same length in all rows."
        )


def _make_recognition(length: int) -> Recognition:
    return Recognition(VectorKind(str(length)), f"its values are lists of {length:,} numbers")


def recognize_vectors(column: Any, *, first_row: int = 0) -> Recognition | None:
    """Return the kind of a narwhals series of arrays or lists; None if its first value is not a vector."""
    dtype, length = column.dtype, 0
    if dtype == nw.Array and len(dtype.shape) == 1 and dtype.inner.is_numeric():
        length = dtype.shape[0]
    elif dtype in (nw.List, nw.Object) and not (dtype == nw.List and not dtype.inner.is_numeric()):
        values = column.drop_nulls().head(N_HEAD_TEXTS).to_list()
        head = (_to_vector(value) for value in values if not isinstance(value, str))
        length = next((len(each) for each in head if each is not None and len(each)), 0)
    if not length:
        return None
    found = _make_recognition(length)
    read_vectors(found.kind, column, first_row=first_row)  # raises an error if one is not valid
    return found


def _to_vector(value: Any) -> SingleArray | None:
    """A list, an array or a text such as "[0.1, 0.2]" as numbers; None if it is something else."""
    if isinstance(value, str):
        text = value.strip()
        value = text[1:-1].replace(",", " ").split() if f"{text[:1]}{text[-1:]}" in ("[]", "()") else None
    elif not isinstance(value, list | tuple | np.ndarray) or any(isinstance(each, str) for each in value[:1]):
        return None
    try:
        with np.errstate(over="ignore"):
            vector = np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError):
        return None
    return vector if vector.ndim == 1 else None


def read_vectors(kind: ColumnKind, column: Any, *, first_row: int = 0) -> SingleArray:
    """Return the vectors of a narwhals series as one array, with rows of NaN for missing ones.

    Vectors of another length than that of the kind, and vectors that contain NaN or infinity, are errors;
    their messages count rows from `first_row`.
    """
    assert isinstance(kind, VectorKind)
    length, dtype = int(kind.length), column.dtype
    if column.implementation.is_polars() and dtype in (nw.Array, nw.List) and dtype.inner.is_numeric():
        block = _read_polars(column, length, first_row)
    else:
        block = np.full((len(column), length), np.nan, dtype=np.float32)
        for row, value in enumerate(column.to_list()):
            vector = _to_vector(value)
            if vector is not None and len(vector) == length:
                block[row] = vector
            elif vector is not None or to_text(value) is not None:
                _raise_length(column.name, length, first_row + row, vector, value)
    sums = block.sum(axis=1, dtype=np.float64)  # one number that is not finite makes the sum so
    for row in np.flatnonzero(~np.isfinite(sums)).tolist():
        if not np.isnan(block[row]).all():
            found = "NaN" if np.isnan(block[row]).any() else "infinity"
            raise InvalidInputError(
                f"the column {column.name!r} has a vector with {found} in row {first_row + row:,}: all "
                "numbers of a vector must be finite. Correct it, or leave the whole vector missing."
            )
    return block


def _read_polars(column: Any, length: int, first_row: int) -> SingleArray:
    """The block of a polars series of arrays or lists, without a copy if it is one already."""
    import polars as pl  # noqa: PLC0415 (an extra)

    native = column.to_native()
    if column.dtype == nw.List:
        wrong = (native.list.len() != length).fill_null(False).arg_true()
        if len(wrong):
            row = int(wrong[0])
            _raise_length(column.name, length, first_row + row, native[row].to_numpy(), None)
        native = native.list.to_array(length)
    elif column.dtype.shape != (length,):
        _raise_length(column.name, length, first_row, np.empty(column.dtype.shape), None)
    return np.asarray(native.cast(pl.Array(pl.Float32, length)).to_numpy())


def _raise_length(name: str, length: int, row: int, vector: Any, value: Any) -> None:
    shown = to_text(value) or ""
    found = f"contains {shown[:40]!r}" if vector is None else f"has a vector of {len(vector):,}"
    raise InvalidInputError(
        f"the column {name!r} contains vectors of {length:,} numbers, but row {row:,} {found}: all vectors "
        "of a column must have the same length. Correct the row, or leave its vector missing."
    )


def parse_vectors(kind: VectorKind, column: Any, *, first_row: int = 0) -> Any:
    """Return a narwhals series of vectors in single precision; the same series if it is one already."""
    block = read_vectors(kind, column, first_row=first_row)
    is_parsed = column.dtype == nw.Array(nw.Float32, int(kind.length))
    if column.implementation.is_pandas_like():
        found = {getattr(value, "dtype", None) for value in column.to_native() if value is not None}
        is_parsed = found == {np.dtype(np.float32)}
    return column if is_parsed else make_series(column, block)


def make_series(column: Any, block: SingleArray) -> Any:
    """Return vectors as a narwhals series in place of a column."""
    if not column.implementation.is_pandas_like():
        dtype = nw.Array(nw.Float32, block.shape[1])
        return nw.new_series(column.name, block, dtype, backend=column.implementation)
    native = column.to_native()
    series = type(native)(list(block), index=native.index, name=native.name, dtype=object)
    return nw.from_native(series, series_only=True)


def encode_texts(encoder: Any, texts: list[str]) -> SingleArray:
    """Encode texts as vectors by a user's encoder."""
    name = type(encoder).__name__
    try:
        found = (encoder.transform if hasattr(encoder, "transform") else encoder.encode)(texts)
        vectors = np.asarray(found.toarray() if issparse(found) else found, dtype=np.float32)
    except NotFittedError as error:
        raise InvalidInputError(
            f"text_encoder is a {name} that is not fitted: fit it to texts of your own, and pass it in a "
            "sklearn.frozen.FrozenEstimator, which keeps it fitted."
        ) from error
    except Exception as error:
        raise InvalidInputError(
            f"text_encoder, a {name}, failed on a list of {len(texts):,} texts: {type(error).__name__}: "
            f"{error}"
        ) from error
    if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
        raise InvalidInputError(
            f"text_encoder, a {name}, must return a vector of finite numbers for each text: got an array of "
            f"shape {vectors.shape} for {len(texts):,} texts."
        )
    return vectors


def encode_column(
    column: Any, encode: Callable[[list[str]], SingleArray], length: int = 0
) -> tuple[Any, int]:
    """Return a narwhals series of vectors in place of one of texts, and their length.

    A missing text has a missing vector. Another length than the one that is given is an error.
    """
    texts = column.to_list()
    rows = [row for row, text in enumerate(texts) if to_text(text) is not None]
    vectors = encode([texts[row] for row in rows]) if rows else np.zeros((0, length), dtype=np.float32)
    if length and vectors.shape[1] != length:
        raise InvalidInputError(
            f"text_encoder returned vectors of {length:,} numbers in training, but now returns "
            f"{vectors.shape[1]:,}: use the same encoder."
        )
    block = np.full((len(texts), vectors.shape[1]), np.nan, dtype=np.float32)
    block[rows] = vectors
    return make_series(column, block), vectors.shape[1]


class VectorFeatures(TableTransformer):
    """The entries of vectors, centered and scaled as one block, or their principal components.

    All entries of a vector are divided by the same number: scaling them one by one would give directions that
    are noise as much weight as the others. A missing vector is the mean, and is marked if training had
    missing ones.

    Parameters
    ----------
    kinds : sequence of VectorKind
        The kind of each column.
    n_components : int, optional
        The number of principal directions for each column that is longer; all entries by default.
    random_state : int, RandomState instance or None, default=None
        Seed of the search for principal directions.

    Attributes
    ----------
    means_ : list of ndarray
        The mean of each column's vectors.
    factors_ : list of float
        The factor of each column's centered vectors.
    components_ : list of ndarray or None
        The principal directions of each column; None where all entries are used.
    has_missing_ : list of bool
        Which columns have missing vectors.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from capo.tables.vectors import VectorFeatures, VectorKind
    >>> table = pd.DataFrame({"embedding": [np.array([0.0, 1.0]), None, np.array([2.0, 1.0])]})
    >>> VectorFeatures([VectorKind("2")]).fit_transform(table)
    array([[-2.,  0.,  0.],
           [ 0.,  0.,  1.],
           [ 2.,  0.,  0.]], dtype=float32)
    """

    def __init__(self, kinds: Any, n_components: int | None = None, random_state: Any = None) -> None:
        self.kinds = kinds
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the mean, the scale and the principal directions of each column."""
        validate_data(self, X, skip_check_array=True)
        self.means_, self.factors_, self.components_, self.has_missing_ = [], [], [], []
        for block in self._blocks(X):
            is_missing = np.isnan(block[:, 0])
            present = block[~is_missing] if is_missing.any() else block
            mean = present.mean(axis=0, dtype=np.float64) if len(present) else np.zeros(block.shape[1])
            variance = float(np.einsum("ij,ij->", present, present, dtype=np.float64)) / max(len(present), 1)
            variance -= float(mean @ mean)
            is_constant = variance <= max(1e-10 * float(mean @ mean), MIN_VARIANCE)
            self.means_.append(mean.astype(np.float32))
            self.factors_.append(1.0 if is_constant else float(np.sqrt(TOTAL_VARIANCE / variance)))
            self.has_missing_.append(0 < len(present) < len(block))
            self.components_.append(self._find_directions(present, mean))
        return self

    def _find_directions(self, block: SingleArray, mean: FloatArray) -> FloatArray | None:
        if self.n_components is None or block.shape[1] <= self.n_components:
            return None
        rows = block[:: -(-len(block) // MAX_DIRECTION_ROWS) or 1] - mean.astype(np.float32)
        if not len(rows):
            return np.zeros((0, block.shape[1]))
        n_components = min(self.n_components, len(rows))
        found = randomized_svd(rows, n_components, n_iter=2, random_state=self.random_state)[2]
        return np.asarray(found, dtype=np.float64)

    def _blocks(self, X: Any) -> Any:
        columns = nw.from_native(X, eager_only=True).iter_columns()
        return (read_vectors(kind, column) for kind, column in zip(self.kinds, columns, strict=True))

    def transform(self, X: Any) -> Any:
        """Center and scale the vectors, or project them."""
        validate_data(self, X, reset=False, skip_check_array=True)
        parts: list[Any] = []
        fitted = zip(self.means_, self.factors_, self.components_, self.has_missing_, strict=True)
        for block, (mean, factor, components, has_missing) in zip(self._blocks(X), fitted, strict=True):
            is_missing = np.isnan(block[:, 0])
            if components is None:
                part = np.subtract(block, mean)
                part *= np.float32(factor)
            else:  # in double precision, in which an exported graph computes
                chunks = np.array_split(block, -(-len(block) // PROJECTED_ROWS))
                directions = factor * components.T
                found = [(each - mean.astype(np.float64)) @ directions for each in chunks]
                part = np.vstack(found).astype(np.float32)
            part[is_missing] = 0.0
            parts += [part, is_missing[:, None].astype(np.float32)] if has_missing else [part]
        return parts[0] if len(parts) == 1 else np.hstack(parts)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns and the positions in their vectors."""
        names = self.__dict__.get("feature_names_in_", range(self.n_features_in_))
        fitted = zip(names, self.means_, self.components_, self.has_missing_, strict=True)
        found = []
        for name, mean, components, has_missing in fitted:
            found += [
                f"{name}[{number}]" for number in range(len(mean if components is None else components))
            ]
            found += [f"{name} missing"] if has_missing else []
        return np.array(found, dtype=object)
