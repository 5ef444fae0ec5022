"""Dates and timestamps as seconds since 1970, from the formats of tables."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from datetime import date
from typing import ClassVar, Self

from ._base import (
    ColumnValues,
    ParsedKind,
    Recognition,
    are_few,
    describe_parsed,
    doubt_of_missing,
    odd_texts,
)
from ._calendar_names import ZONE_NAMES, month_number, zone_seconds

_EPOCH = date(1970, 1, 1).toordinal()
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:[.,]\d+)?))?"
_ZONE = rf"(?:(?P<zone>{ZONE_NAMES}|[+-]\d{{2}}:?\d{{2}}|[+-]\d{{2}})(?:\s?\[[\w/+-]+\])?)"
_TIME = rf"(?:(?:[ T,:]|, )\s*{_CLOCK}\s*(?P<half>[ap]\.?m\.?)?\s*(?:uhr|{_ZONE})?)?"
_YEAR = r"(?P<year>\d{4}|\d{2})"
_DAY = r"(?P<day>\d{1,2})"
_MONTH = r"(?P<month>\d{1,2})"
_MONTH_NAME = r"(?P<month>[^\W\d_]{3,10})\.?"
_WEEKDAY = r"(?:[^\W\d_]{2,10}\.?,?\s+)?"
_SEPARATOR = r"(?P<separator>[-/. ])"
_JOIN = r"(?:[ /-]| de )"
_QUARTER = r"Q(?P<quarter>[1-4])"
#: The layouts of dates, and the pattern of each.
_LAYOUTS: dict[str, re.Pattern[str]] = {
    layout: re.compile(pattern, re.IGNORECASE)
    for layout, pattern in {
        "year-month-day": rf"(?P<year>\d{{4}}){_SEPARATOR}{_MONTH}(?P=separator){_DAY}{_TIME}",
        "day-month-year": rf"{_DAY}{_SEPARATOR}{_MONTH}(?P=separator){_YEAR}{_TIME}",
        "month-day-year": rf"{_MONTH}{_SEPARATOR}{_DAY}(?P=separator){_YEAR}{_TIME}",
        "day name-of-month year": rf"{_WEEKDAY}{_DAY}\.?{_JOIN}{_MONTH_NAME}{_JOIN}{_YEAR}{_TIME}",
        "name-of-month day year": rf"{_WEEKDAY}{_MONTH_NAME}[ -]{_DAY}(?:st|nd|rd|th)?,?[ -]{_YEAR}{_TIME}",
        "name-of-month day time year": (
            rf"{_WEEKDAY}{_MONTH_NAME}\s+{_DAY},? {_CLOCK}\s+(?:{_ZONE}\s+)?(?P<year>\d{{4}})"
        ),
        "year年month月day日": rf"(?P<year>\d{{4}})[年년] ?{_MONTH}[月월] ?{_DAY}[日일]{_TIME}",
        "yearmonthday": (
            r"(?P<year>(?:19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})"
            r"(?:[T_ ]?(?P<hour>\d{2})(?P<minute>\d{2})(?P<second>\d{2})?(?P<zone>z)?)?"
        ),
        "year-month": r"(?P<year>\d{4})[-/](?P<month>\d{2})",
        "month-year": r"(?P<month>\d{1,2})[-/](?P<year>\d{4})",
        "name-of-month year": rf"{_MONTH_NAME}[ /-]?(?P<year>\d{{4}})",
        "name-of-month two-digit-year": rf"{_MONTH_NAME}['/-](?P<year>\d{{2}})",
        "year quarter": rf"(?P<year>\d{{4}})[ /-]?{_QUARTER}",
        "quarter year": rf"{_QUARTER}[ /-]?(?P<year>\d{{4}})",
        "year week": r"(?P<year>\d{4})-?W(?P<week>\d{2})",
    }.items()
}
#: Layouts of counts of time since 1970, and the units of a second.
_COUNTS = {"seconds since 1970": 1.0, "milliseconds since 1970": 1e3, "microseconds since 1970": 1e6}
_COUNT_PATTERN = re.compile(r"\d{9,16}(?:\.\d*)?")
#: Counts are dates only between these two, the years 1990 and 2100.
_FIRST_COUNT, _LAST_COUNT = 631_152_000.0, 4_102_444_800.0
#: Names of columns that may hold counts of time.
_TIME_NAME = re.compile(
    r"time|date|stamp|epoch|created|updated|modified|changed|opened|closed|(^|[^a-z])(ts|at|on|when)($|[^a-z])|[a-z]At$",
    re.IGNORECASE,
)
_UNAMBIGUOUS = "year-month-day"
_DAY_FIRST, _MONTH_FIRST = "day-month-year", "month-day-year"
_TWO_DIGIT_YEAR = "name-of-month two-digit-year"
#: Digits may be a number, which a column of other dates has no place for.
_COMPACT = "yearmonthday"
#: Dates that stand for none in databases.
_NO_DATE = re.compile(
    r"(?:0000[-/.]00[-/.]00|00[-/.]00[-/.]0000|9999[-/.]12[-/.]31|(?:31[-/.]12|12[-/.]31)[-/.]9999)"
    r"(?:[ T].*)?"
)
#: What separates the layouts of a column that mixes several.
_LAYOUT_SEPARATOR = ", "
#: Years written with two digits up to this one are of this century.
LAST_TWO_DIGIT_YEAR = 50
#: A layout is tried on all values only if it fits one of so many first ones.
N_HEAD_VALUES = 50
#: Digits are a date only if there are at least this many different ones.
MIN_COMPACT_DATES = 5


@dataclass(frozen=True)
class DateKind(ParsedKind):
    """Dates and timestamps; a time zone is converted to UTC.

    Attributes
    ----------
    layout : str
        The order of year, month and day; several, separated by commas, for a column that mixes them; "typed"
        for a column with a data type of dates.
    """

    name: ClassVar[str] = "date"
    role: ClassVar = "date"
    description: ClassVar[str] = "dates"
    layout: str = "typed"

    def parse(self, text: str) -> float | None:
        if _NO_DATE.fullmatch(text):
            return math.nan
        # Columns with a data type of dates are written in the unambiguous order where they become text.
        found = (_parse_layout(text, layout) for layout in (*self.layouts, _UNAMBIGUOUS))
        return next((seconds for seconds in found if seconds is not None), None)

    @property
    def layouts(self) -> list[str]:
        """The layouts one by one."""
        return self.layout.split(_LAYOUT_SEPARATOR)

    @classmethod
    def recognize(cls, values: ColumnValues) -> Recognition | None:
        head = list(values.counts)[:N_HEAD_VALUES]
        counts = _COUNTS if is_time_name(values.name) else ()
        likely = [
            layout
            for layout in (*_LAYOUTS, *counts)
            if any(_parse_layout(text, layout) is not None for text in head)
        ]
        fitting = cls._fit_layouts(values, likely) or cls._fit_layouts(values, _mix_layouts(likely))
        is_digits = bool(fitting) and fitting[0].layout in (_COMPACT, *_COUNTS)
        if not fitting or (is_digits and len(values.counts) < MIN_COMPACT_DATES):
            return None
        kind, doubt = fitting[0], ""
        if len(fitting) > 1 and fitting[1].layout == kind.layout.replace(_DAY_FIRST, _MONTH_FIRST):
            is_month_first = any("/" in text for text in head if _LAYOUTS[_DAY_FIRST].fullmatch(text))
            kind = fitting[int(is_month_first)]
            doubt = f"the {'first' if is_month_first else 'second'} number is taken for the month"
        mixed = f"its dates are written in {len(kind.layouts)} ways" if len(kind.layouts) > 1 else ""
        short = "the number after the month is taken for the year" if kind.layout == _TWO_DIGIT_YEAR else ""
        missing = (*kind.missing, *filter(_NO_DATE.fullmatch, values.counts))
        doubts = "; ".join(each for each in (mixed, doubt, short, doubt_of_missing(missing)) if each)
        return Recognition(kind, describe_parsed(kind, values, f"dates: {kind.layout}"), doubts)

    @classmethod
    def _fit_layouts(cls, values: ColumnValues, layouts: list[str]) -> list[Self]:
        """The kinds with those of the layouts that fit all values, or all but a few."""
        kinds = (cls(layout=layout) for layout in layouts)
        fitting = (replace(kind, missing=odd_texts(kind, values)) for kind in kinds)
        return [kind for kind in fitting if are_few(kind.missing, values)]

    @classmethod
    def _impose_unrecognized(cls, values: ColumnValues) -> Self:
        layouts = (*_LAYOUTS, *_COUNTS, *_mix_layouts(list(_LAYOUTS)))
        kinds = (cls(layout=layout) for layout in layouts)
        best = min(kinds, key=lambda kind: len(odd_texts(kind, values)))
        return replace(best, missing=odd_texts(best, values))


def is_time_name(name: str) -> bool:
    """Whether numbers in a column of this name may count the seconds since 1970.

    Examples
    --------
    >>> from capo.preprocessing import is_time_name
    >>> is_time_name("created_at"), is_time_name("balance")
    (True, False)
    """
    return _TIME_NAME.search(name) is not None


def _mix_layouts(layouts: list[str]) -> list[str]:
    """The layouts of a column that mixes several: with the day first, and with the month first."""
    mixtures = [
        [layout for layout in layouts if layout not in (_COMPACT, *_COUNTS, other)]
        for other in (_MONTH_FIRST, _DAY_FIRST)
    ]
    return list(dict.fromkeys(_LAYOUT_SEPARATOR.join(each) for each in mixtures if len(each) > 1))


def _parse_layout(text: str, layout: str) -> float | None:
    if layout in _COUNTS:
        return _parse_count(text, _COUNTS[layout])
    found = _LAYOUTS[layout].fullmatch(text) if layout in _LAYOUTS else None
    return None if found is None else _to_seconds(found.groupdict())


def _parse_count(text: str, units_per_second: float) -> float | None:
    seconds = float(text) / units_per_second if _COUNT_PATTERN.fullmatch(text) else 0.0
    return seconds if _FIRST_COUNT <= seconds <= _LAST_COUNT else None


def _to_seconds(parts: dict[str, str | None]) -> float | None:
    year, seconds = int(parts["year"] or 0), _time_of_day(parts)
    if year < 100:
        year += 2000 if year <= LAST_TWO_DIGIT_YEAR else 1900
    try:
        day = _find_day(year, parts)
    except ValueError:
        return None
    return None if seconds is None or day is None else (day.toordinal() - _EPOCH) * 86400.0 + seconds


def _find_day(year: int, parts: dict[str, str | None]) -> date | None:
    """The day, or the first day of a quarter, week or month; a ValueError if there is no such day."""
    if quarter := parts.get("quarter"):
        return date(year, 3 * int(quarter) - 2, 1)
    if week := parts.get("week"):
        return date.fromisocalendar(year, int(week), 1)
    text = parts["month"] or ""
    month = int(text) if text.isdecimal() else month_number(text)
    return None if month is None else date(year, month, int(parts.get("day") or 1))


def _time_of_day(parts: dict[str, str | None]) -> float | None:
    if not parts.get("hour"):
        return 0.0
    hour, minute = int(parts["hour"] or 0), int(parts["minute"] or 0)
    if half := parts.get("half"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    second = float((parts.get("second") or "0").replace(",", "."))
    if hour > 24 or minute > 59 or second >= 61:
        return None
    return hour * 3600.0 + minute * 60.0 + second - zone_seconds(parts.get("zone") or "")
