"""Dates and timestamps as seconds since 1970, from the formats of tables."""

from __future__ import annotations

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

_EPOCH = date(1970, 1, 1).toordinal()
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH_NUMBERS = {name: number for number, name in enumerate(_MONTHS, start=1)}
_MONTH_NAME = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_TIME = (
    r"(?:(?:[ T,]|, )\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:[.,]\d+)?))?"
    r"\s*(?P<half>[ap]\.?m\.?)?\s*(?P<zone>z|utc|gmt|[+-]\d{2}:?\d{2}|[+-]\d{2})?)?"
)
_YEAR = r"(?P<year>\d{4}|\d{2})"
_DAY = r"(?P<day>\d{1,2})"
_MONTH = r"(?P<month>\d{1,2})"
_WEEKDAY = r"(?:[a-z]{3,9},?\s+)?"
_SEPARATOR = r"(?P<separator>[-/.])"
#: The layouts of dates, and the pattern of each.
_LAYOUTS: dict[str, re.Pattern[str]] = {
    layout: re.compile(pattern, re.IGNORECASE)
    for layout, pattern in {
        "year-month-day": rf"(?P<year>\d{{4}}){_SEPARATOR}{_MONTH}(?P=separator){_DAY}{_TIME}",
        "day-month-year": rf"{_DAY}{_SEPARATOR}{_MONTH}(?P=separator){_YEAR}{_TIME}",
        "month-day-year": rf"{_MONTH}{_SEPARATOR}{_DAY}(?P=separator){_YEAR}{_TIME}",
        "day name-of-month year": rf"{_WEEKDAY}{_DAY}\.?[ -]{_MONTH_NAME}[ -]{_YEAR}{_TIME}",
        "name-of-month day year": rf"{_WEEKDAY}{_MONTH_NAME}[ -]{_DAY}(?:st|nd|rd|th)?,?[ -]{_YEAR}{_TIME}",
        "yearmonthday": r"(?P<year>(?:19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})",
        "year-month": r"(?P<year>\d{4})[-/](?P<month>\d{2})",
        "name-of-month year": rf"{_MONTH_NAME}[ -](?P<year>\d{{4}})",
    }.items()
}
_UNAMBIGUOUS = "year-month-day"
_DAY_FIRST, _MONTH_FIRST = "day-month-year", "month-day-year"
#: Eight digits may be a number, which a column of other dates has no place for.
_COMPACT = "yearmonthday"
#: What separates the layouts of a column that mixes several.
_LAYOUT_SEPARATOR = ", "
#: Years written with two digits up to this one are of this century.
LAST_TWO_DIGIT_YEAR = 50
#: A layout is tried on all values only if it fits one of so many first ones.
N_HEAD_VALUES = 50
#: Eight digits are a date only if there are at least this many different ones.
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
        likely = [
            layout for layout in _LAYOUTS if any(_parse_layout(text, layout) is not None for text in head)
        ]
        fitting = cls._fit_layouts(values, likely) or cls._fit_layouts(values, _mix_layouts(likely))
        if not fitting or (fitting[0].layout == _COMPACT and len(values.counts) < MIN_COMPACT_DATES):
            return None
        kind, doubt = fitting[0], ""
        if len(fitting) > 1 and fitting[1].layout == kind.layout.replace(_DAY_FIRST, _MONTH_FIRST):
            is_month_first = any("/" in text for text in head if _LAYOUTS[_DAY_FIRST].fullmatch(text))
            kind = fitting[int(is_month_first)]
            doubt = f"the {'first' if is_month_first else 'second'} number is taken for the month"
        mixed = f"its dates are written in {len(kind.layouts)} ways" if len(kind.layouts) > 1 else ""
        doubts = "; ".join(each for each in (mixed, doubt, doubt_of_missing(kind.missing)) if each)
        return Recognition(kind, describe_parsed(kind, values, f"dates: {kind.layout}"), doubts)

    @classmethod
    def _fit_layouts(cls, values: ColumnValues, layouts: list[str]) -> list[Self]:
        """The kinds with those of the layouts that fit all values, or all but a few."""
        kinds = (cls(layout=layout) for layout in layouts)
        fitting = (replace(kind, missing=odd_texts(kind, values)) for kind in kinds)
        return [kind for kind in fitting if are_few(kind.missing, values)]

    @classmethod
    def impose(cls, values: ColumnValues) -> Self:
        kinds = (cls(layout=layout) for layout in (*_LAYOUTS, *_mix_layouts(list(_LAYOUTS))))
        best = min(kinds, key=lambda kind: len(odd_texts(kind, values)))
        return replace(best, missing=odd_texts(best, values))


def _mix_layouts(layouts: list[str]) -> list[str]:
    """The layouts of a column that mixes several: with the day first, and with the month first."""
    mixtures = [
        [layout for layout in layouts if layout not in (_COMPACT, other)]
        for other in (_MONTH_FIRST, _DAY_FIRST)
    ]
    return list(dict.fromkeys(_LAYOUT_SEPARATOR.join(each) for each in mixtures if len(each) > 1))


def _parse_layout(text: str, layout: str) -> float | None:
    found = _LAYOUTS[layout].fullmatch(text) if layout in _LAYOUTS else None
    return None if found is None else _to_seconds(found.groupdict())


def _to_seconds(parts: dict[str, str | None]) -> float | None:
    year, month = int(parts["year"] or 0), str(parts["month"])
    if year < 100:
        year += 2000 if year <= LAST_TWO_DIGIT_YEAR else 1900
    number = _MONTH_NUMBERS.get(month.lower()) or int(month)
    try:
        day = date(year, number, int(parts.get("day") or 1)).toordinal() - _EPOCH
    except ValueError:
        return None
    seconds = _time_of_day(parts)
    return None if seconds is None else day * 86400.0 + seconds


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
    return hour * 3600.0 + minute * 60.0 + second - _zone_offset(parts.get("zone") or "")


def _zone_offset(zone: str) -> float:
    if zone[:1] not in ("+", "-"):
        return 0.0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return (-1.0 if zone[0] == "-" else 1.0) * (int(digits[:2]) * 3600.0 + int(digits[2:]) * 60.0)
