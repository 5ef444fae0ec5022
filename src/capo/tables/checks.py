"""Data that may mislead: duplicates, identifiers, leaks, shifts.

In a table of a few discrete columns, equal rows are to be expected. A row counts as a copy only if equal rows
would be rare by chance: if its values were drawn independently, each with its frequency in its column.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import sklearn
from scipy.sparse import csr_array, issparse
from scipy.special import bdtrc
from sklearn.metrics import roc_auc_score

from .._compat import NEEDS_INTERCHANGE, BoolArray, FloatArray, IntArray, NDArray
from ..exceptions import DataWarning, InvalidInputError, list_labels
from .kinds import (
    IdentifierKind,
    ParsedKind,
    canonical_text,
    find_numbered_columns,
    is_dataframe,
    is_missing,
    to_text,
)
from .schema import ColumnInfo, FeatureSchema, infer_schema, parse_column
from .targets import MAX_POSITIVE_SHARE
from .vectors import read_vectors, recognize_vectors

#: Larger numbers are rejected like infinite ones: sums of their squares could overflow.
MAX_MAGNITUDE = 1e100
#: A single column with at least this ROC area determines the target, whatever the other columns do.
MIN_LEAK_AUC = 0.995
#: A lower ROC area is enough for a column with few values if the next best column errs this many times as
#: often. A measurement may be that good by itself; a column with few values is more likely a copy.
MIN_OUTSTANDING_AUC, OUTSTANDING_FACTOR, MAX_FEW_VALUES = 0.97, 5.0, 20
#: A lower ROC area is enough for a column whose name contains that of the target.
MIN_NAMESAKE_AUC = 0.9
#: Columns and the order of rows are not checked with fewer rows of a class.
MIN_CLASS_ROWS = 10
#: Number of quantile bins for numbers with more different values.
MAX_CODES, N_BINS = 200, 30
#: Rows count as sorted if their label changes more rarely than in a random order by this many standard
#: errors.
MAX_RELATIVE_RUNS, MIN_SORTED_DEVIATIONS = 0.7, 6.0
#: Shorter target names are not searched for in column names.
MIN_NAME_LENGTH = 3


def check_numbers(X: Any, *, first_row: int = 0) -> None:
    """Raise if X holds a number that would overflow, or a missing value in a sparse matrix.

    Parameters
    ----------
    X : data frame, array or sparse matrix
        Only columns of floating-point numbers are checked.
    first_row : int, default=0
        The number of the first row of a data frame in messages.
    """
    if issparse(X):
        if X.dtype.kind == "f" and np.isnan(X.data).any():
            raise InvalidInputError(
                "X is a sparse matrix with missing values (NaN), which only data frames and arrays may have: "
                "fill them in, or pass an array."
            )
        if _has_large_number(X.data):
            entries = X.tocoo()
            position = int(np.argmax(np.abs(entries.data)))
            row, column = entries.row[position], entries.col[position]
            _raise_large_number(entries.data[position], f"column {column} of X (counted from 0)", row)
    elif is_dataframe(X):
        if NEEDS_INTERCHANGE and not (hasattr(X, "iloc") or hasattr(X, "__dataframe__")):
            raise InvalidInputError(
                f"scikit-learn {sklearn.__version__} does not read this data frame, of {type(X).__module__}: "
                "upgrade scikit-learn to 1.9, or use polars 1 or pandas."
            )
        for column in nw.from_native(X, eager_only=True).iter_columns():
            values = column.to_numpy() if column.dtype.is_float() else np.empty(0)
            if _has_large_number(values):
                row = int(np.nanargmax(np.abs(values)))
                _raise_large_number(values[row], f"the column {column.name!r}", first_row + row)
    elif _has_large_number(X):
        row, column = np.unravel_index(np.nanargmax(np.abs(X)), X.shape)
        _raise_large_number(X[row, column], f"column {column} of X (counted from 0)", int(row))


def _has_large_number(values: NDArray[Any]) -> bool:
    if values.dtype.kind != "f" or not values.size:
        return False
    largest, smallest = np.fmax.reduce(values, axis=None), np.fmin.reduce(values, axis=None)
    return max(float(largest), -float(smallest)) > MAX_MAGNITUDE


def _raise_large_number(value: Any, column: str, row: int) -> None:
    found = f"{'-' if value < 0 else ''}infinity" if np.isinf(value) else f"{value:.3g}"
    raise InvalidInputError(
        f"{column} contains {found} in row {row:,}: numbers beyond {MAX_MAGNITUDE:g} overflow. Scale or clip "
        "the column, or remove the row."
    )


class DataFinding(NamedTuple):
    """A problem of the training data that may mislead.

    Attributes
    ----------
    topic : {"leak", "constant", "empty", "sorted"}
        What it is.
    columns : tuple of str
        The columns concerned.
    message : str
        A sentence for the user.
    """

    topic: Literal["leak", "constant", "empty", "sorted"]
    columns: tuple[str, ...]
    message: str


def check_data(
    X: Any, positive: BoolArray, schema: FeatureSchema | None = None, *, target: str = ""
) -> list[DataFinding]:
    """Find columns that determine the target, constant and empty columns, and sorted rows.

    Parameters
    ----------
    X : data frame
        The training rows.
    positive : ndarray of shape (n_samples,) of bool
        Which rows are positive.
    schema : FeatureSchema, optional
        The kinds of the columns; inferred by default.
    target : str, optional
        The name of the target, which a column that was derived from it may contain.

    Returns
    -------
    list of DataFinding
        The findings; empty if there are none.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from capo.tables.checks import check_data
    >>> rng = np.random.default_rng(0)
    >>> churned = rng.random(200) < 0.3
    >>> end = np.where(churned, "2024-05-31", None)
    >>> table = pd.DataFrame({"age": rng.normal(size=200), "end": end, "plan": "basic"})
    >>> [(finding.topic, finding.columns) for finding in check_data(table, churned)]
    [('leak', ('end',)), ('constant', ('plan',))]
    """
    if not is_dataframe(X):
        return []
    schema = schema or infer_schema(X)
    used = [column for column in schema.columns if column.kind.role != "none"]
    columns = {str(column.key): ColumnCodes.of(column, X) for column in used}
    findings = [*_find_constants(columns)]
    if min(positive.sum(), (~positive).sum()) >= MIN_CLASS_ROWS:
        findings = [*_find_leaks(columns, positive, target), *findings, *_find_order(positive)]
    return findings


class ColumnCodes(NamedTuple):
    """The values of a column as codes of a few different values, and as numbers if they have an order.

    Attributes
    ----------
    codes : ndarray of int
        The same number for equal values; numbers with many different values are binned by quantiles.
    numbers : ndarray of float, optional
        Numbers and dates as numbers, with NaN for a missing value; None for any other kind.
    """

    codes: NDArray[np.intp]
    numbers: FloatArray | None
    is_empty: bool = False

    @classmethod
    def of(cls, column: ColumnInfo, X: Any) -> ColumnCodes:
        """Return the codes of a column of a data frame."""
        series = column.select(X)
        if column.kind.role in ("numeric", "date"):
            assert isinstance(column.kind, ParsedKind)
            return cls.of_numbers(parse_column(column.kind, series))
        if column.kind.role == "vector":
            is_missing = np.isnan(read_vectors(column.kind, series)[:, 0])
            hashes = _row_hashes(_series_codes(series))
            return cls(np.unique(hashes, return_inverse=True)[1], None, bool(is_missing.all()))
        texts = np.array([to_text(value) or "" for value in series.to_list()], dtype=object)
        return cls(np.unique(texts.astype(str), return_inverse=True)[1], None, not any(texts))

    @classmethod
    def of_numbers(cls, numbers: FloatArray) -> ColumnCodes:
        """Return the codes of numbers, with NaN for a missing value, which has the last code."""
        is_nan = np.isnan(numbers)
        different = np.unique(numbers[~is_nan])
        if len(different) > MAX_CODES:
            different = np.unique(np.quantile(different, np.linspace(0, 1, N_BINS + 1)[:-1]))
        codes = np.searchsorted(different, numbers, side="right")
        codes = np.where(is_nan, len(different) + 1, codes)
        return cls(codes, numbers, bool(is_nan.all()))

    def take(self, rows: IntArray) -> ColumnCodes:
        """Return the codes of some of the rows."""
        return ColumnCodes(self.codes[rows], None if self.numbers is None else self.numbers[rows])

    def roc_area(self, positive: BoolArray) -> float:
        """The ROC area of the column by itself; a code's score is its rate of positives in the other half."""
        codes, n_codes = self.codes, self.codes.max() + 1
        half = np.random.default_rng(0).permutation(len(codes)) % 2
        rates = np.empty(len(codes))
        for part in (0, 1):
            other = half != part
            counts = np.bincount(codes[other], minlength=n_codes)
            sums = np.bincount(codes[other], weights=positive[other], minlength=n_codes)
            rates[~other] = ((sums + positive.mean()) / (counts + 1.0))[codes[~other]]
        areas = [roc_auc_score(positive, rates)]
        if self.numbers is not None:
            present = ~np.isnan(self.numbers)
            is_common = present.mean() > 0.5 and 0 < positive[present].sum() < present.sum()
            area = roc_auc_score(positive[present], self.numbers[present]) if is_common else 0.5
            areas += [area, 1.0 - area]
        return max(areas)


def _find_leaks(columns: dict[str, ColumnCodes], positive: BoolArray, target: str) -> Iterable[DataFinding]:
    areas = {name: column.roc_area(positive) for name, column in columns.items()}
    for name, area in areas.items():
        next_best = max((other for key, other in areas.items() if key != name), default=0.5)
        stands_out = area >= MIN_OUTSTANDING_AUC and 1.0 - next_best >= OUTSTANDING_FACTOR * (1.0 - area)
        is_namesake = len(target) >= MIN_NAME_LENGTH and target.lower() in name.lower()
        is_leak = area >= MIN_LEAK_AUC or (
            stands_out and len(np.unique(columns[name].codes)) <= MAX_FEW_VALUES
        )
        if is_leak or (is_namesake and area >= MIN_NAMESAKE_AUC):
            yield DataFinding(
                "leak",
                (name,),
                f"The column {name!r} almost determines the target by itself (ROC area {area:.3f}). Drop it "
                "if it is not known before the prediction.",
            )


def _find_constants(columns: dict[str, ColumnCodes]) -> Iterable[DataFinding]:
    constant = {name: each.is_empty for name, each in columns.items() if (each.codes == each.codes[0]).all()}
    topics: tuple[Literal["empty", "constant"], ...] = ("empty", "constant")
    for topic in topics:
        names = tuple(name for name, is_empty in constant.items() if is_empty == (topic == "empty"))
        if names:
            shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
            reason = "all values are missing" if topic == "empty" else "all rows have the same value"
            subject = "columns" if len(names) > 1 else "column"
            yield DataFinding(topic, names, f"The {subject} {shown} cannot be used: {reason}.")


def _find_order(positive: BoolArray) -> Iterable[DataFinding]:
    """A finding if the label changes far more rarely from row to row than in a random order."""
    n_rows, n_positive = len(positive), int(positive.sum())
    expected = 2.0 * n_positive * (n_rows - n_positive) / n_rows + 1.0
    deviation = np.sqrt(max((expected - 1) * (expected - 2) / (n_rows - 1), 1e-12))
    n_runs = 1 + int((positive[1:] != positive[:-1]).sum())
    if n_runs < MAX_RELATIVE_RUNS * expected and expected - n_runs > MIN_SORTED_DEVIATIONS * deviation:
        yield DataFinding(
            "sorted",
            (),
            "The rows are sorted by the target, or by something that depends on it: a column in the same "
            "order would determine the target. If the order is that of time, later rows should be predicted "
            "from earlier ones.",
        )


#: A row is a copy only if fewer rows equal to it than this are expected by chance.
MAX_EXPECTED_COPIES = 0.1
#: Number of parts of a vector with separate codes.
N_VECTOR_PARTS = 4
#: An odd number without structure: a product with it spreads a column's bits over the hash.
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)


def duplicate_share(X: Any, folds: IntArray) -> float:
    """Return the share of the rows that are copies of a row in another fold.

    Parameters
    ----------
    X : data frame, array or sparse matrix of shape (n_samples, n_features)
        The rows.
    folds : ndarray of shape (n_samples,)
        The number of the fold of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.tables.checks import duplicate_share
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> X[:10] = X[10:20]
    >>> duplicate_share(X, np.arange(100) // 10)
    0.2
    >>> duplicate_share(X.round() > 0, np.arange(100) // 10)
    0.0
    """
    columns = _column_codes(X)
    hashes = _row_hashes(columns)
    _, first, row_group = np.unique(hashes, return_index=True, return_inverse=True)
    is_elsewhere = folds != folds[first][row_group]  # than the first of the rows that are equal
    in_other_fold = np.bincount(row_group, is_elsewhere)[row_group] > 0
    if not in_other_fold.any():
        return 0.0
    return float((in_other_fold & (_expected_copies(columns) < MAX_EXPECTED_COPIES)).mean())


def _expected_copies(columns: list[NDArray[np.uint64]]) -> FloatArray:
    """The number of rows that would equal each row by chance."""
    n_rows = len(columns[0])
    expected = np.full(n_rows, float(n_rows))
    for column in columns:
        if (expected < MAX_EXPECTED_COPIES).all():
            break
        _, row_value, counts = np.unique(column, return_inverse=True, return_counts=True)
        expected *= (np.where(counts > 1, counts, 0) / n_rows)[row_value]
    return expected


def _column_codes(X: Any) -> list[NDArray[np.uint64]]:
    """A code of each value, column by column: the bits of a number, or a checksum; the same in any table."""
    if issparse(X):
        # One column: the sum over the hashes of a row's entries, which does not depend on their order.
        X = csr_array(X).copy()
        X.sum_duplicates()
        X.eliminate_zeros()
        entries = _mix(_bits(X.data.astype(np.float64)) ^ _mix(X.indices.astype(np.uint64)))
        totals = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(entries, dtype=np.uint64)))
        return [totals[X.indptr[1:]] - totals[X.indptr[:-1]]]
    if not is_dataframe(X):
        return [_bits(column) for column in np.asarray(X, dtype=np.float64).T]
    columns = nw.from_native(X, eager_only=True).iter_columns()
    return [codes for column in columns for codes in _series_codes(column)]


def _series_codes(column: Any) -> list[NDArray[np.uint64]]:
    """The codes of a column's values, or of some parts of its vectors, which are not equal by chance."""
    if column.dtype.is_float() or column.dtype.is_integer():
        return [_bits(column.cast(nw.Float64).fill_null(np.nan).to_numpy())]
    is_nested = column.dtype.is_nested() or column.dtype == nw.Object
    found = recognize_vectors(column) if is_nested else None
    if found is None:
        return [_value_codes(column.to_list())]
    vectors = read_vectors(found.kind, column)
    parts = np.array_split(np.arange(vectors.shape[1]), min(N_VECTOR_PARTS, vectors.shape[1]))
    return [np.array([_hash(row[part] + 0.0) for row in vectors], dtype=np.uint64) for part in parts]


def _hash(content: Any) -> int:
    return int.from_bytes(blake2b(content, digest_size=8).digest())


def _value_codes(values: list[Any]) -> NDArray[np.uint64]:
    plain = (str, int, float, type(None))
    if not all(issubclass(each, plain) for each in set(map(type, values))):
        values = [
            each if isinstance(each, plain) else None if is_missing(each) else str(each) for each in values
        ]
    codes = {value: _code(value) for value in dict.fromkeys(values)}
    return np.array(list(map(codes.__getitem__, values)), dtype=np.uint64)


def _code(value: Any) -> int:
    if is_missing(value):
        value = np.nan
    if isinstance(value, int | float) and not abs(value) > MAX_MAGNITUDE:
        return int(_bits(np.array([value], dtype=np.float64))[0])
    return _hash(str(value).encode(errors="surrogatepass"))


def _row_hashes(columns: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """A hash of each row from the codes of its values."""
    hashes = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        hashes = _mix(hashes ^ column)
    return hashes


def _bits(values: FloatArray) -> NDArray[np.uint64]:
    values = np.where(np.isnan(values), np.nan, values)  # NaN has many patterns of bits
    return np.asarray((values + 0.0).view(np.uint64))  # adding 0.0 turns -0.0 into 0.0


def _in_single_precision(X: Any) -> Any:
    """The table with its numbers as a file of single precision may have kept them."""
    with np.errstate(over="ignore"):
        if issparse(X):
            return X.astype(np.float32)
        if not is_dataframe(X):
            return np.asarray(X, dtype=np.float32)
        frame = nw.from_native(X, eager_only=True)
        names = [name for name, dtype in frame.schema.items() if dtype.is_float()]
        return frame.with_columns(nw.col(names).cast(nw.Float32)).to_native() if names else X


def _mix(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = (hashes + np.uint64(1)) * _MULTIPLIER
    return np.asarray((mixed ^ (mixed >> _SHIFT)) * _MULTIPLIER)


#: Above this share, copies in another fold cause a warning, and copies of training rows an error.
MAX_DUPLICATE_SHARE = 0.05
#: Fingerprints that are kept: those of the smallest hashes, which are a random sample of the rows.
MAX_FINGERPRINTS = 100_000
#: Rows are rejected if the probability of this many copies, at the largest allowed share, is below this.
MAX_P_VALUE = 1e-3


@dataclass(frozen=True)
class SeenRows:
    """Fingerprints of the rows that a model was trained on, by which copies of them are recognized.

    A fingerprint has 4 bytes, from which no value of the row follows. Rows that others may equal by chance,
    such as those of a few discrete columns, have none.

    Attributes
    ----------
    fingerprints : ndarray of uint32
        The second half of the hash of each row, in ascending order.
    max_hash : int
        Rows with a larger hash have no fingerprint.
    share_repeated : float
        The share of the rows with a fingerprint that equal another one; the same is expected of new rows.
    checksum : int
        The sum of all hashes, which identifies the whole table, in any order of its rows.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.tables.checks import SeenRows
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> SeenRows.from_rows(X[:60]).count_copies(X[40:])
    20
    """

    fingerprints: NDArray[np.uint32]
    max_hash: int
    share_repeated: float
    checksum: int

    @classmethod
    def from_rows(cls, X: Any) -> SeenRows:
        """Return the fingerprints of a data frame, array or sparse matrix."""
        columns = _column_codes(_in_single_precision(X))
        hashes = _row_hashes(columns)
        is_rare = _expected_copies(columns) < MAX_EXPECTED_COPIES
        different, counts = np.unique(hashes[is_rare], return_counts=True)
        kept = different[:MAX_FINGERPRINTS]
        max_hash = int(kept[-1]) if len(kept) < len(different) else 2**64 - 1
        share_repeated = float(counts[counts > 1].sum() + 1) / (len(hashes) + 2)
        return cls(np.unique(kept.astype(np.uint32)), max_hash, share_repeated, int(hashes.sum()))

    def count_copies(self, X: Any, max_share: float = MAX_DUPLICATE_SHARE) -> int:
        """Return how many rows are copies of these, without those that are equal by chance.

        It is 0 if their share may be at most `max_share`, and an estimate if not all rows have a fingerprint.
        """
        hashes = _row_hashes(_column_codes(_in_single_precision(X)))
        if int(hashes.sum()) == self.checksum:
            return len(hashes)
        compared = hashes[hashes <= np.uint64(self.max_hash)].astype(np.uint32)
        n_compared, n_equal = len(compared), int(np.isin(compared, self.fingerprints).sum())
        allowed = self.share_repeated + max_share * (1.0 - self.share_repeated)
        if n_equal <= allowed * n_compared or bdtrc(n_equal - 1, n_compared, allowed) > MAX_P_VALUE:
            return 0
        return round(len(hashes) * n_equal / n_compared)


_COPIES = (
    "{share} of the rows have an exact copy in another fold, so that out-of-fold values may be too "
    "optimistic. Drop duplicated rows if new data will not contain them, or hold them out together as a "
    "group."
)


def warn_of_data(
    X: Any,
    folds: IntArray,
    schema: FeatureSchema | None = None,
    targets: NDArray[Any] | None = None,
    target_name: str = "",
    *,
    stacklevel: int,
) -> None:
    """Warn of columns that look like an index or an identifier, and of copies of rows across folds.

    With a schema and targets, which are codes of classes or a matrix of labels, also of columns that
    determine the target, and of columns that are left out or whose kinds are doubtful.
    """
    if schema is not None and targets is not None:
        _warn_of_columns(X, schema, targets, target_name, stacklevel=stacklevel + 1)
    for name, reason in find_numbered_columns(X).items():
        advice = ". If it is an identifier, drop it: what a model learns from it does not apply to new rows."
        if reason:
            advice = (
                f", and {reason}: the auxiliaries selected by name and the delta function do not use it. "
                "Drop it, or convert it to float to use it."
            )
        message = f"The column {name!r} has a different whole number in each row{advice}"
        warnings.warn(message, DataWarning, stacklevel=stacklevel + 1)
    warn_of_copies(X, folds, _COPIES, stacklevel=stacklevel + 1)


def _warn_of_columns(
    X: Any, schema: FeatureSchema, targets: NDArray[Any], name: str, *, stacklevel: int
) -> None:
    """Warn of columns by their kinds, but for those of numbers that `warn_of_data` names, and of leaks."""
    is_matrix = targets.ndim == 2
    counts = targets.sum(axis=0) if is_matrix else np.bincount(targets)
    main = int(counts.argmax()) if is_matrix or len(counts) > 2 else 1
    positive = targets[:, main] > 0 if is_matrix else targets == main
    messages = [each.message for each in check_data(X, positive, schema, target=name) if each.topic == "leak"]
    numbered = find_numbered_columns(X)
    for column in schema.columns:
        if isinstance(column.kind, IdentifierKind) and not column.is_given and column.key not in numbered:
            messages.append(
                f"The column {column.key!r} is treated as an identifier and not used: {column.reason}. Pass "
                f"column_kinds={{{column.key!r}: 'category'}} to use it."
            )
        elif column.doubt and column.key not in numbered:
            messages.append(
                f"The column {column.key!r} is read as {column.kind.description}: {column.doubt}. Use "
                "column_kinds to change it."
            )
    for message in messages:
        warnings.warn(message, DataWarning, stacklevel=stacklevel + 1)


def warn_of_copies(X: Any, parts: IntArray, template: str, *, stacklevel: int) -> None:
    """Warn if many rows are exact copies of rows in another part; {share} of the text is their share."""
    share = duplicate_share(X, parts)
    if share > MAX_DUPLICATE_SHARE:
        warnings.warn(template.format(share=f"{share:.0%}"), DataWarning, stacklevel=stacklevel + 1)


def warn_of_majority_class(classes: NDArray[np.generic], positive: BoolArray, *, stacklevel: int) -> None:
    """Warn if the positive class is the larger of two texts and has most of the rows.

    Labels 0 and 1, -1 and 1, False and True name the positive class themselves.
    """
    share = float(positive.mean())
    if share > MAX_POSITIVE_SHARE and classes.dtype.kind not in "biuf":
        other, label = classes.tolist()
        warnings.warn(
            f"The positive class is {label!r}, the larger of the two labels, which {share:.0%} of the rows "
            f"have. Pass pos_label={other!r} if that is the class to find, or pos_label={label!r} to "
            "keep it.",
            DataWarning,
            stacklevel=stacklevel + 1,
        )


def warn_of_alphabetical_order(classes: NDArray[np.generic], measure: str, *, stacklevel: int) -> None:
    """Warn if the order of classes matters but is only alphabetical."""
    if classes.dtype.kind not in "biuf":
        warnings.warn(
            f"{measure} uses the alphabetical order of the classes: {list_labels(classes.tolist())}. Set the "
            "measure's parameter order if this is not their order.",
            DataWarning,
            stacklevel=stacklevel + 1,
        )


def segment_names(X: Any, column: str) -> NDArray[np.str_]:
    """Return the values of a column of X as texts that do not depend on the data type; empty if missing."""
    frame = nw.from_native(X, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or column not in frame.columns:
        raise InvalidInputError(
            f"the segments of the rows are in the column {column!r}, which X does not have: pass a data "
            "frame with this column. It need not be one of the features."
        )
    return canonical_segments(frame[column].to_list())


def canonical_segments(values: Iterable[Any]) -> NDArray[np.str_]:
    """Return segments as texts that do not depend on the data type; empty if missing."""
    texts = (canonical_text(each) or "" for each in values)
    return np.array([each.removesuffix(" 00:00:00") for each in texts], dtype=str)
