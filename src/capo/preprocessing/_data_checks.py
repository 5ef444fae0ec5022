"""Checks of training data for what would mislead: leaks of the target, constant columns, sorted rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from .._typing import BoolArray, FloatArray, IntArray
from ._columns import is_dataframe
from ._kinds import ParsedKind, to_text
from ._parsing import parse_column
from ._schema import ColumnInfo, FeatureSchema, infer_schema

#: The ROC area of a single column from which on it gives the target away, whatever the other columns do.
MIN_LEAK_AUC = 0.995
#: A lower ROC area is enough for a column of a few values that stands out: the next best errs so many times
#: as often. A measurement may be that good by itself; a column of a few values is more likely a copy.
MIN_OUTSTANDING_AUC, OUTSTANDING_FACTOR, MAX_FEW_VALUES = 0.97, 5.0, 20
#: A lower ROC area is enough for a column whose name contains that of the target.
MIN_NAMESAKE_AUC = 0.9
#: With fewer rows of a class, nothing is said about columns and order.
MIN_CLASS_ROWS = 10
#: Numbers with more different values are binned by quantiles into so many bins.
MAX_CODES, N_BINS = 200, 30
#: Rows whose label changes so rarely, relative to a random order and in standard errors, are sorted.
MAX_RELATIVE_RUNS, MIN_SORTED_DEVIATIONS = 0.7, 6.0
#: Shorter names of targets are not looked for in names of columns.
MIN_NAME_LENGTH = 3


class DataFinding(NamedTuple):
    """Something about training data that may mislead.

    Attributes
    ----------
    topic : {"leak", "constant", "empty", "sorted"}
        What it is.
    columns : tuple of str
        The columns that it is about.
    message : str
        A sentence for the user.
    """

    topic: Literal["leak", "constant", "empty", "sorted"]
    columns: tuple[str, ...]
    message: str


def check_data(
    X: Any, positive: BoolArray, schema: FeatureSchema | None = None, *, target: str = ""
) -> list[DataFinding]:
    """Look for columns that give the target away, constant and empty columns, and sorted rows.

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
        What was found; empty if there is nothing.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from capo.preprocessing import check_data
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
        frame = nw.from_native(X, eager_only=True)
        position = frame.columns.index(column.key) if isinstance(column.key, str) else column.key
        series = frame[:, position]
        if column.kind.role in ("numeric", "date"):
            assert isinstance(column.kind, ParsedKind)
            return cls.of_numbers(parse_column(column.kind, series))
        texts = np.array([to_text(value) or "" for value in series.to_list()], dtype=object)
        return cls(np.unique(texts.astype(str), return_inverse=True)[1], None, not any(texts))

    @classmethod
    def of_numbers(cls, numbers: FloatArray) -> ColumnCodes:
        """Return the codes of numbers, with NaN for a missing value."""
        return cls(_bin(numbers), numbers, bool(np.isnan(numbers).all()))

    def take(self, rows: IntArray) -> ColumnCodes:
        """Return the codes of some of the rows."""
        return ColumnCodes(self.codes[rows], None if self.numbers is None else self.numbers[rows])

    @property
    def is_constant(self) -> bool:
        """Whether all values are the same."""
        return bool((self.codes == self.codes[0]).all())

    @property
    def has_few_values(self) -> bool:
        """Whether the column has only a few different values."""
        return len(np.unique(self.codes)) <= MAX_FEW_VALUES

    def roc_area(self, positive: BoolArray) -> float:
        """The ROC area of the column by itself; its codes are scored by the labels of other rows."""
        areas = [_roc_area(_cross_fitted_rates(self.codes, positive), positive)]
        if self.numbers is not None:
            present = ~np.isnan(self.numbers)
            is_common = present.mean() > 0.5 and 0 < positive[present].sum() < present.sum()
            area = _roc_area(self.numbers[present], positive[present]) if is_common else 0.5
            areas += [area, 1.0 - area]
        return max(areas)


def _bin(numbers: FloatArray) -> NDArray[np.intp]:
    """The different values, or bins of them; missing values have the last code."""
    different = np.unique(numbers[~np.isnan(numbers)])
    if len(different) > MAX_CODES:
        different = np.unique(np.quantile(different, np.linspace(0, 1, N_BINS + 1)[:-1]))
    codes = np.searchsorted(different, numbers, side="right")
    return np.where(np.isnan(numbers), len(different) + 1, codes)


def _cross_fitted_rates(codes: NDArray[np.intp], positive: BoolArray) -> FloatArray:
    """The rate of positive rows among the other half's rows of the same code."""
    half = np.random.default_rng(0).permutation(len(codes)) % 2
    rates = np.empty(len(codes))
    for part in (0, 1):
        other = half != part
        counts = np.bincount(codes[other], minlength=codes.max() + 1)
        sums = np.bincount(codes[other], weights=positive[other], minlength=codes.max() + 1)
        rates[~other] = ((sums + positive.mean()) / (counts + 1.0))[codes[~other]]
    return rates


def _roc_area(scores: FloatArray, positive: BoolArray) -> float:
    n_positive = int(positive.sum())
    above = rankdata(scores)[positive].sum() - n_positive * (n_positive + 1) / 2
    return float(above / (n_positive * (len(positive) - n_positive)))


def _find_leaks(columns: dict[str, ColumnCodes], positive: BoolArray, target: str) -> Iterable[DataFinding]:
    areas = {name: column.roc_area(positive) for name, column in columns.items()}
    for name, area in areas.items():
        next_best = max((other for key, other in areas.items() if key != name), default=0.5)
        stands_out = area >= MIN_OUTSTANDING_AUC and 1.0 - next_best >= OUTSTANDING_FACTOR * (1.0 - area)
        is_namesake = len(target) >= MIN_NAME_LENGTH and target.lower() in name.lower()
        is_leak = area >= MIN_LEAK_AUC or (stands_out and columns[name].has_few_values)
        if is_leak or (is_namesake and area >= MIN_NAMESAKE_AUC):
            yield DataFinding(
                "leak",
                (name,),
                f"The column {name!r} nearly gives the target away by itself (ROC area {area:.3f}). If it is "
                "known only after the fact, leave it out.",
            )


def _find_constants(columns: dict[str, ColumnCodes]) -> Iterable[DataFinding]:
    constant = {name: column.is_empty for name, column in columns.items() if column.is_constant}
    if names := tuple(name for name, is_empty in constant.items() if is_empty):
        verb = "is" if len(names) == 1 else "are"
        yield DataFinding(
            "empty", names, f"{_list_columns(names)} {verb} empty in all rows and cannot contribute."
        )
    if names := tuple(name for name, is_empty in constant.items() if not is_empty):
        verb = "has" if len(names) == 1 else "have"
        yield DataFinding(
            "constant",
            names,
            f"{_list_columns(names)} {verb} the same value in all rows and cannot contribute.",
        )


def _list_columns(names: tuple[str, ...]) -> str:
    shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
    return f"The column{'s' if len(names) > 1 else ''} {shown}"


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
            "The rows are sorted by the target, or by something that depends on it: a column that follows "
            "their order would give the target away. If the order is that of time, later rows should be "
            "predicted from earlier ones.",
        )
