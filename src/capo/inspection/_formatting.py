"""Values of measures in text: rates with four decimals, large utilities with fewer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

#: Values from this size on are written in scientific notation.
MIN_SCIENTIFIC = 1e12
#: The number of decimals for values below each size.
DECIMALS_BELOW = ((100.0, 4), (10_000.0, 2), (100_000.0, 1))


def count_decimals(values: Iterable[float]) -> int:
    """The number of decimals for a column of values, fewer the larger they are."""
    largest = max((abs(each) for each in values if math.isfinite(each)), default=0.0)
    return next((decimals for size, decimals in DECIMALS_BELOW if largest < size), 0)


def format_value(value: float, decimals: int | None = None, *, sign: str = "") -> str:
    """Write a value of a measure; `sign` is "+" to write the sign of positive values as well.

    Examples
    --------
    >>> [format_value(each) for each in (0.73, 1184.0, 123456.789, -2.5e15)]
    ['0.7300', '1,184.00', '123,457', '-2.5e+15']
    """
    if not math.isfinite(value):
        return "n/a"
    if abs(value) >= MIN_SCIENTIFIC:
        return f"{value:{sign}.4g}"
    text = f"{value:{sign},.{count_decimals([value]) if decimals is None else decimals}f}"
    return text[1:] if text.startswith("-") and not text.strip("-0.,") else text


def format_table(rows: Sequence[Sequence[str]], min_widths: Sequence[int]) -> list[str]:
    """Write rows as lines of aligned columns: the first column to the left, the others to the right."""
    widths = [max(least, *(len(row[i]) for row in rows)) for i, least in enumerate(min_widths)]
    lines = []
    for first, *others in rows:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells]))
    return lines


def format_interval(value: float, low: float, high: float) -> tuple[str, str]:
    """Write a value, and the ends of its interval with the same number of decimals."""
    decimals = count_decimals((value, low, high))
    return format_value(value, decimals), f"{format_value(low, decimals)} to {format_value(high, decimals)}"
