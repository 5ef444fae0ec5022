"""Formats of real files: each writes the values of a numeric column as texts of one kind."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import numpy as np

#: The first day of columns that are written as dates.
FIRST_DAY = datetime(2014, 3, 1)
#: Decimal digits that all formats keep.
DIGITS = 2
#: The standard deviation to which columns are scaled, so that the digits suffice.
SCALE = 2000.0


def quantize(values: np.ndarray) -> np.ndarray:
    """The values with few digits, so that every format can hold them exactly."""
    spread = np.nanstd(values)
    power = 0 if spread == 0 else int(np.ceil(np.log10(SCALE / spread)))
    return np.round(values * 10.0**power, DIGITS)


def to_days(values: np.ndarray) -> np.ndarray:
    """The values as whole numbers of days from 0 on."""
    return np.round(values - np.nanmin(values))


def dollars(value: float) -> str:
    return f"-${-value:,.2f}" if value < 0 else f"${value:,.2f}"


def euros(value: float) -> str:
    return f"{value:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".") + " EUR"


def thousands(value: float) -> str:
    return f"{value:,.2f}"


def spaced(value: float) -> str:
    return f"{value:,.2f}".replace(",", " ").replace(".", ",")


def accounting(value: float) -> str:
    return f"({-value:,.2f})" if value < 0 else f"{value:,.2f}"


def francs(value: float) -> str:
    return f"CHF {value:,.2f}".replace(",", "'")


def clock(value: float) -> str:
    hours, seconds = divmod(abs(value), 3600)
    return f"{'-' if value < 0 else ''}{hours:.0f}:{seconds // 60:02.0f}:{seconds % 60:05.2f}"


def percent(value: float) -> str:
    return f"{value:.2f}%"


def kilograms(value: float) -> str:
    return f"{value:.2f} kg"


def iso_date(value: float) -> str:
    return (FIRST_DAY + timedelta(days=value)).strftime("%Y-%m-%d")


def dotted_date(value: float) -> str:
    return (FIRST_DAY + timedelta(days=value)).strftime("%d.%m.%Y")


def timestamp(value: float) -> str:
    return (FIRST_DAY + timedelta(days=value)).strftime("%Y-%m-%dT%H:%M:%SZ")


#: The formats in the order in which columns get them, with the kind that each should be taken for.
FORMATS: tuple[tuple[Callable[[float], str], str], ...] = (
    (dollars, "money"),
    (percent, "percentage"),
    (iso_date, "date"),
    (thousands, "number"),
    (kilograms, "quantity"),
    (euros, "money"),
    (dotted_date, "date"),
    (spaced, "number"),
    (timestamp, "date"),
    (accounting, "number"),
    (clock, "duration"),
    (francs, "money"),
)
#: Spellings of yes and no, which one column mixes.
YES, NO = ("Yes", "yes", "TRUE", "1", "Y"), ("No", "no", "FALSE", "0", "N")
#: Spellings of missing values, which one file mixes.
MISSING = ("", "NA", "-", "n.a.", "unknown")
