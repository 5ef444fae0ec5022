"""Partial effects: the mean output of a model, by the value of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import expit, ndtri

from .._typing import FloatArray, IntArray
from ..preprocessing import is_missing
from ._evaluated_rows import EvaluatedRows
from ._explained_table import ColumnGroup, ExplainedTable
from ._formatting import format_table
from ._permutation import split_weight
from ._scored_outputs import negative_and_positive

#: Bins of a column of numbers; the most frequent categories, of which there may be more.
N_BINS = 10
#: Standard errors on either side of the value in a 95% interval.
N_STD_ERRORS = float(ndtri(0.975))
#: Longer values are cut where they are printed.
MAX_VALUE_LENGTH = 24
MISSING, OTHER = "(missing)", "(other)"
#: Numbers in this range are printed without digits after the point.
MIN_WHOLE_NUMBER, MAX_WHOLE_NUMBER = 1e4, 1e12


@dataclass(frozen=True)
class EffectPoint:
    """The mean output of a model if all rows had certain values of a column.

    Attributes
    ----------
    values : str
        The values: a category, or the smallest and the largest number of a bin.
    position : float or None
        The mean of the numbers in the bin; None for a category.
    share : float
        The share of the rows with these values.
    output : float
        The mean output.
    low, high : float
        The ends of its 95% interval.
    """

    values: str
    position: float | None
    share: float
    output: float
    low: float
    high: float


@dataclass(frozen=True)
class ColumnEffect:
    """How the output of a model changes with a column; prints as a table.

    Attributes
    ----------
    columns : tuple of str
        The columns whose values are exchanged together; the values shown are those of the first.
    scale : str
        What the output is, such as "probability of 'yes'".
    points : list of EffectPoint
        In the order of the numbers, or the most frequent category first.
    """

    columns: tuple[str, ...]
    scale: str
    points: list[EffectPoint]

    def to_dict(self) -> dict[str, Any]:
        """The effect as values that JSON can hold."""
        return asdict(self)

    def __str__(self) -> str:
        rows = [(self.columns[0], self.scale, "95% interval", "share of rows")]
        rows += [
            (each.values, f"{each.output:.3f}", f"{each.low:.3f} to {each.high:.3f}", f"{each.share:.1%}")
            for each in self.points
        ]
        return "\n".join(format_table(rows, (0, 9, 16, 0)))


@dataclass(frozen=True)
class EffectScale:
    """What the outputs of a model of two classes are converted to.

    Attributes
    ----------
    name : str
        Its name.
    offsets : ndarray of shape (n_rows,), optional
        What is added to the decision of each row to give its log-odds; None if the model has none.
    """

    name: str
    offsets: FloatArray | None

    @classmethod
    def of(cls, parts: Sequence[EvaluatedRows]) -> EffectScale:
        """Return the probability of the positive class, or the decision of a model without probabilities."""
        model = parts[0].model
        if not hasattr(model, "combination_"):
            return cls("decision", None)
        offsets = [np.full(len(part.rows), part.model.combination_.threshold_log_odds) for part in parts]
        return cls(f"probability of {negative_and_positive(model).tolist()[1]!r}", np.concatenate(offsets))

    def apply(self, decisions: FloatArray) -> FloatArray:
        """Convert decisions for all rows, or for all pairs of rows."""
        if self.offsets is None:
            return decisions
        return np.asarray(expit(decisions + np.tile(self.offsets, len(decisions) // len(self.offsets))))


def estimate_effect(
    group: ColumnGroup,
    table: ExplainedTable,
    rows: IntArray,
    donors: IntArray,
    outputs: FloatArray,
    permuted: FloatArray,
    scale: str,
    weights: Sequence[FloatArray],
) -> ColumnEffect:
    """Estimate the effect of columns from the outputs of rows with values of their donors.

    The mean output over the pairs whose donor has a value is the partial dependence on it. The row's own
    output is a control variate, which reduces the variance where the column has a weak effect.

    Parameters
    ----------
    group : ColumnGroup
        The columns.
    table : ExplainedTable
        The table.
    rows : ndarray of shape (n_rows,)
        The positions of the rows.
    donors : ndarray of shape (n_repeats, n_rows)
        The positions of the donors among them.
    outputs, permuted : ndarray of shape (n_rows,) and (n_repeats * n_rows,)
        The outputs of the rows as they are, and of the pairs.
    scale : str
        What the outputs are.
    weights : sequence of ndarray of shape (n_rows,)
        The weights of the rows, and those of bootstrap resamples.
    """
    bins = _Bins.of(table, group.positions[0], rows)
    codes = bins.codes[donors].ravel()
    own = np.tile(outputs, len(donors))
    adjusted = permuted - _control_coefficient(permuted, own) * (own - own.mean())
    estimates = []
    for weight in weights:
        pairs = split_weight(weight, donors)
        mass = np.bincount(codes, pairs, minlength=len(bins.names))
        sums = np.bincount(codes, pairs * adjusted, minlength=len(bins.names))
        estimates.append(np.divide(sums, mass, out=np.full(len(mass), np.nan), where=mass > 0))
    output, resampled = estimates[0], np.stack(estimates[1:])
    margin = N_STD_ERRORS * np.nanstd(resampled, axis=0, ddof=1)
    share = np.bincount(bins.codes, weights[0], minlength=len(bins.names)) / weights[0].sum()
    columns = (bins.names, bins.positions, share, output, output - margin, output + margin)
    lists = (each if isinstance(each, list) else each.tolist() for each in columns)
    return ColumnEffect(group.columns, scale, [EffectPoint(*each) for each in zip(*lists, strict=True)])


def _control_coefficient(values: FloatArray, control: FloatArray) -> float:
    """The coefficient of a control variate that leaves the smallest variance."""
    centered = control - control.mean()
    variance = float(centered @ centered)
    return float(centered @ values) / variance if variance > 0 else 0.0


@dataclass(frozen=True)
class _Bins:
    """The bin of each row by the value of a column, and the name and mean number of each bin."""

    codes: IntArray
    names: list[str]
    positions: list[float | None]

    @classmethod
    def of(cls, table: ExplainedTable, position: int, rows: IntArray) -> _Bins:
        column, values = table.codes(position).take(rows), table.values(position)
        texts = np.array([short_text(values[row]) for row in rows], dtype=object)
        if column.numbers is None:
            return cls._of_categories(texts)
        return cls._of_numbers(column.numbers, texts)

    @classmethod
    def _of_categories(cls, texts: Any) -> _Bins:
        names, inverse, counts = np.unique(texts.astype(str), return_inverse=True, return_counts=True)
        frequent = np.argsort(-counts, kind="stable")[:N_BINS]
        place = np.full(len(names), len(frequent))
        place[frequent] = np.arange(len(frequent))
        shown = [*names[frequent].tolist(), *([OTHER] if len(names) > len(frequent) else [])]
        return cls(place[inverse], shown, [None] * len(shown))

    @classmethod
    def _of_numbers(cls, numbers: FloatArray, texts: Any) -> _Bins:
        present = ~np.isnan(numbers)
        different = np.unique(numbers[present])
        if len(different) > N_BINS:
            quantiles = np.quantile(numbers[present], np.linspace(0, 1, N_BINS + 1)[1:-1])
            different = np.concatenate((different[:1], np.unique(quantiles[quantiles > different[0]])))
        codes = np.searchsorted(different, numbers, side="right") - 1
        codes[~present] = len(different)
        used, codes = np.unique(codes, return_inverse=True)
        names, positions = [], []
        for code in used:
            rows = np.flatnonzero(codes == np.searchsorted(used, code))
            missing = code == len(different)
            names.append(MISSING if missing else _name_range(numbers[rows], texts[rows]))
            positions.append(None if missing else float(numbers[rows].mean()))
        return cls(codes, names, positions)


def _name_range(numbers: FloatArray, texts: Any) -> str:
    """The smallest and the largest value, as they are written in the table."""
    low, high = texts[int(np.argmin(numbers))], texts[int(np.argmax(numbers))]
    return str(low) if low == high else f"{low} to {high}"


def _format_number(value: float) -> str:
    """A number with four digits, or with all digits before the point."""
    return f"{value:.0f}" if MIN_WHOLE_NUMBER <= abs(value) < MAX_WHOLE_NUMBER else f"{value:.4g}"


def short_text(value: Any) -> str:
    """A value in short."""
    if is_missing(value):
        return MISSING
    text = _format_number(value) if isinstance(value, float) else str(value).removesuffix(" 00:00:00")
    return text if len(text) <= MAX_VALUE_LENGTH else text[: MAX_VALUE_LENGTH - 3] + "..."
