"""The importance of columns as it is returned, printed and stored."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ._effects import ColumnEffect
from ._explained_table import join_names
from ._formatting import count_decimals, format_table, format_value

#: The smallest width of each column of the table.
MIN_WIDTHS = (0, 9, 20)
#: What the rows are.
GIVEN_ROWS, OUT_OF_FOLD = "given rows", "out of fold"


@dataclass(frozen=True)
class ColumnImportance:
    """What the measure loses if some columns are shuffled.

    Attributes
    ----------
    columns : tuple of str
        The columns that are shuffled together.
    value : float
        The measure as it is, minus the measure with the columns shuffled.
    low, high : float
        The ends of the 95% interval.
    """

    columns: tuple[str, ...]
    value: float
    low: float
    high: float

    @property
    def name(self) -> str:
        """The names of the columns as one text; of many, the first ones."""
        return join_names(self.columns)


@dataclass(frozen=True)
class Importance:
    """How much a model's measure depends on each column; prints as a table.

    Attributes
    ----------
    measure : str
        The measure.
    value : float
        The measure on the rows as they are.
    columns : list of ColumnImportance
        The columns, the most important first.
    effects : list of ColumnEffect
        How the model's output changes with the strongest columns.
    n_rows, n_total_rows : int
        The number of rows that were used, drawn at random, and of all rows.
    n_repeats : int
        The number of times that each column was shuffled.
    rows : str
        What the rows are: "given rows" or "out of fold".
    caution : str, default=""
        What limits the trust in the intervals; empty if there is nothing.
    """

    measure: str
    value: float
    columns: list[ColumnImportance]
    effects: list[ColumnEffect]
    n_rows: int
    n_total_rows: int
    n_repeats: int
    rows: str
    caution: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The importance as values that JSON can hold."""
        return {
            "measure": self.measure,
            "value": self.value,
            "evaluated_on": self.rows,
            "rows_used": self.n_rows,
            "rows_given": self.n_total_rows,
            "repeats": self.n_repeats,
            "caution": self.caution,
            "importance": [{"name": each.name, **asdict(each)} for each in self.columns],
            "effects": [each.to_dict() for each in self.effects],
        }

    def __str__(self) -> str:
        rows = [("shuffled column", f"loss of {self.measure}", "95% interval")]
        rows += [_format_column(each) for each in self.columns]
        parts = [self._format_heading(), "", *format_table(rows, MIN_WIDTHS)]
        if self.caution:
            parts += ["", f"caution: {self.caution}"]
        for effect in self.effects:
            parts += ["", str(effect)]
        return "\n".join(parts)

    __repr__ = __str__

    def _format_heading(self) -> str:
        used = "" if self.n_rows == self.n_total_rows else f"{self.n_rows:,} of "
        repeats = "once" if self.n_repeats == 1 else f"{self.n_repeats} times"
        kind = ", out of fold" if self.rows == OUT_OF_FOLD else ""
        return (
            f"{self.measure} is {format_value(self.value)} on {used}{self.n_total_rows:,} rows{kind}; each "
            f"column was shuffled {repeats}"
        )


def _format_column(column: ColumnImportance) -> tuple[str, str, str]:
    decimals = count_decimals((column.value, column.low, column.high))
    value, low, high = (format_value(each, decimals) for each in (column.value, column.low, column.high))
    return column.name, value, f"{low} to {high}"
