"""Columns of dates and durations."""

import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import ClassVar, Self

from .kinds import ColumnValues, ParsedKind, Recognition, read_values

_MONTH_NAMES = (
    "jan january januar janner janvier janv enero ene gennaio gen janeiro januari",
    "feb february februar fevrier fev fevr febrero febbraio fevereiro februari",
    "mar march marz mrz mars marzo marco maart mrt",
    "apr april avril avr abril abr aprile",
    "may mai mayo maggio mag maio mei",
    "jun june juni juin junio giugno giu junho",
    "jul july juli juillet juil julio luglio lug julho",
    "aug august aout agosto ago augustus",
    "sep sept september septembre septiembre settembre set setembro",
    "oct october oktober okt octobre octubre ottobre ott outubro out",
    "nov november novembre noviembre novembro",
    "dec december dezember dez decembre diciembre dic dicembre dezembro",
)
_MONTH_NUMBERS = {name: month for month, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()}
#: Hours to the east of Greenwich.
_ZONE_HOURS = read_values(
    "z=0 utc=0 gmt=0 wet=0 bst=1 cet=1 cest=2 eet=2 eest=3 msk=3 ist=5.5 sgt=8 hkt=8 jst=9 kst=9 aest=10 "
    "aedt=11 est=-5 edt=-4 cst=-6 cdt=-5 mst=-7 mdt=-6 pst=-8 pdt=-7"
)
_ZONE_NAMES = "|".join(sorted(_ZONE_HOURS, key=len, reverse=True))
_EPOCH = date(1970, 1, 1).toordinal()
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:[.,]\d+)?))?"
_ZONE = rf"(?:(?P<zone>{_ZONE_NAMES}|[+-]\d{{2}}:?\d{{2}}|[+-]\d{{2}})(?:\s?\[[\w/+-]+\])?)"
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
#: Layouts of digits only, which may be numbers and are not mixed with other layouts.
_COMPACT = "yearmonthday"
#: Dates that mean a missing date in databases.
_NO_DATE = re.compile(
    r"(?:0000[-/.]00[-/.]00|00[-/.]00[-/.]0000|9999[-/.]12[-/.]31|(?:31[-/.]12|12[-/.]31)[-/.]9999)"
    r"(?:[ T].*)?"
)
#: The separator of the layouts of a column with several layouts.
_LAYOUT_SEPARATOR = ", "
#: Years written with two digits up to this one are of this century.
LAST_TWO_DIGIT_YEAR = 50
#: A layout is tried on all values only if it fits one of this many first values.
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
        layouts = (*_LAYOUTS, *_COUNTS) if is_time_name(values.name) else _LAYOUTS
        likely = [each for each in layouts if any(_parse_layout(text, each) is not None for text in head)]
        for candidates in (likely, _mix_layouts(likely)):
            fitting = [each for each in candidates if cls(layout=each).accept(values, "dates") is not None]
            if fitting:
                break
        is_digits = bool(fitting) and fitting[0] in (_COMPACT, *_COUNTS)
        if not fitting or (is_digits and len(values.counts) < MIN_COMPACT_DATES):
            return None
        layout, order = fitting[0], ""
        if len(fitting) > 1 and fitting[1] == layout.replace(_DAY_FIRST, _MONTH_FIRST):
            is_month_first = any("/" in text for text in head if _LAYOUTS[_DAY_FIRST].fullmatch(text))
            layout = fitting[int(is_month_first)]
            order = f"the {'first' if is_month_first else 'second'} number is read as the month"
        kind = cls(layout=layout)
        mixed = f"its dates are written in {len(kind.layouts)} ways" if len(kind.layouts) > 1 else ""
        short = "the number after the month is read as the year" if layout == _TWO_DIGIT_YEAR else ""
        return kind.accept(values, f"dates: {layout}", mixed, order, short)

    @classmethod
    def _candidates(cls, values: ColumnValues) -> Iterator[Self]:
        return (cls(layout=layout) for layout in (*_LAYOUTS, *_COUNTS, *_mix_layouts(list(_LAYOUTS))))


def is_time_name(name: str) -> bool:
    """Whether numbers in a column of this name may count the seconds since 1970.

    Examples
    --------
    >>> from capo.tables.dates import is_time_name
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
        seconds = float(text) / _COUNTS[layout] if _COUNT_PATTERN.fullmatch(text) else 0.0
        return seconds if _FIRST_COUNT <= seconds <= _LAST_COUNT else None
    found = _LAYOUTS[layout].fullmatch(text) if layout in _LAYOUTS else None
    return None if found is None else _to_seconds(found.groupdict())


def _to_seconds(parts: dict[str, str | None]) -> float | None:
    year, seconds = int(parts["year"] or 0), _time_of_day(parts)
    if year < 100:
        year += 2000 if year <= LAST_TWO_DIGIT_YEAR else 1900
    try:
        day = _find_day(year, parts)
    except ValueError:
        return None
    return None if seconds is None else (day.toordinal() - _EPOCH) * 86400.0 + seconds


def _find_day(year: int, parts: dict[str, str | None]) -> date:
    """The day, or the first day of a quarter, week or month; a ValueError if there is no such day."""
    if quarter := parts.get("quarter"):
        return date(year, 3 * int(quarter) - 2, 1)
    if week := parts.get("week"):
        return date.fromisocalendar(year, int(week), 1)
    month = parts["month"] or ""
    if not month.isdecimal():
        letters = unicodedata.normalize("NFKD", month.lower())
        month = str(_MONTH_NUMBERS.get("".join(each for each in letters if each.isalpha()), 0))
    return date(year, int(month), int(parts.get("day") or 1))


def _time_of_day(parts: dict[str, str | None]) -> float | None:
    if not parts.get("hour"):
        return 0.0
    hour, minute = _clock_hour(parts["hour"], parts.get("half")), int(parts["minute"] or 0)
    second = float((parts.get("second") or "0").replace(",", "."))
    if hour is None or hour > 24 or minute > 59 or second >= 61:
        return None
    return hour * 3600.0 + minute * 60.0 + second - _zone_seconds(parts.get("zone") or "")


def _clock_hour(hour: str | None, half: str | None) -> float | None:
    """The hour of the day; of a clock with 12 hours, None if there is no such hour."""
    number = float(hour or 0)
    if not half:
        return number
    return number % 12 + (12 if half[0] in "pP" else 0) if 1 <= number <= 12 else None


def _zone_seconds(zone: str) -> float:
    """The seconds by which a zone such as CET or +02:00 is ahead of UTC."""
    if zone[:1] not in ("+", "-"):
        return 3600.0 * _ZONE_HOURS.get(zone.lower(), 0.0)
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return (-1.0 if zone[0] == "-" else 1.0) * (int(digits[:2]) * 3600.0 + int(digits[2:]) * 60.0)


#: Seconds of the units of time by their names; "m" beside hours or seconds is a minute.
_UNIT_SECONDS = {
    **dict.fromkeys(("y", "yr", "yrs", "year", "years"), 31557600.0),
    **dict.fromkeys(("mo", "mos", "mon", "mons", "month", "months"), 2629800.0),
    **dict.fromkeys(("w", "wk", "wks", "week", "weeks"), 604800.0),
    **dict.fromkeys(("d", "day", "days", "tag", "tage"), 86400.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours", "std"), 3600.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds", "sek"), 1.0),
    "ms": 1e-3,
}
_UNITS = "|".join(sorted(_UNIT_SECONDS, key=len, reverse=True))
_COUNT = re.compile(rf"(\d+(?:[.,]\d+)?)\s*({_UNITS})\.?(?![a-z])", re.IGNORECASE)
_UNIT_COUNTS = re.compile(
    rf"(?:{_COUNT.pattern}(?:\s*(?:,|and|und)?\s*|$))+".replace("(\\d+", "(?:\\d+"), re.IGNORECASE
)
_CLOCK_PATTERN = re.compile(
    r"(?:(?P<days>\d+)\s*(?:d|days?),?\s+)?\+?(?P<first>\d+):(?P<second>[0-5]?\d)(?::(?P<third>[0-5]?\d(?:[.,]\d+)?))?"
    r"\s*(?P<half>[ap]\.?m\.?)?",
    re.IGNORECASE,
)
_ISO = re.compile(
    r"P(?:(?P<y>\d+)Y)?(?:(?P<mo>\d+)M)?(?:(?P<w>\d+)W)?(?:(?P<d>\d+(?:\.\d+)?)D)?"
    r"(?:T(?:(?P<h>\d+(?:\.\d+)?)H)?(?:(?P<m>\d+(?:\.\d+)?)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?"
)
_HOURS, _MINUTES = "hours:minutes", "minutes:seconds"


@dataclass(frozen=True)
class DurationKind(ParsedKind):
    """Durations such as 1h 20m, 02:13:40 or PT90S, and times of day such as 17:24 or 5:24 PM, in seconds.

    Attributes
    ----------
    clock : {"hours:minutes", "minutes:seconds"}
        The meaning of two numbers with a colon.
    """

    name: ClassVar[str] = "duration"
    role: ClassVar = "numeric"
    description: ClassVar[str] = "durations or times of day"
    clock: str = _HOURS

    def parse(self, text: str) -> float | None:
        sign, text = (-1.0, text[1:].lstrip()) if text[:1] in ("-", "\u2212") else (1.0, text)
        found = (parse(text) for parse in (self._parse_clock, _parse_counts, _parse_iso))
        seconds = next((each for each in found if each is not None), None)
        return None if seconds is None else sign * seconds

    def _parse_clock(self, text: str) -> float | None:
        found = _CLOCK_PATTERN.fullmatch(text)
        if found is None:
            return None
        first = _clock_hour(found["first"], found["half"])
        second, third = (float((found[each] or "0").replace(",", ".")) for each in ("second", "third"))
        if first is None:
            return None
        is_short = found["third"] is None and self.clock == _MINUTES and not found["half"]
        seconds = first * 60 + second if is_short else first * 3600 + second * 60 + third
        return float(found["days"] or 0) * 86400.0 + seconds

    @classmethod
    def recognize(cls, values: ColumnValues) -> Recognition | None:
        head = list(values.counts)[:50]
        if 2 * sum(cls().parse(text) is not None for text in head) < len(head) or not head:
            return None
        n_colons = {text.count(":") for text in values.counts if _CLOCK_PATTERN.fullmatch(text)}
        is_short = n_colons == {1, 2}
        doubt = "times such as 48:03 are read as minutes and seconds" if is_short else ""
        return cls(clock=_MINUTES if is_short else _HOURS).accept(values, cls.description, doubt)


def _parse_counts(text: str) -> float | None:
    """Parse numbers with units of time."""
    if not _UNIT_COUNTS.fullmatch(text):
        return None
    return sum(
        float(number.replace(",", ".")) * _UNIT_SECONDS[unit.lower()] for number, unit in _COUNT.findall(text)
    )


def _parse_iso(text: str) -> float | None:
    """Parse a duration of ISO 8601, such as PT1H20M."""
    found = _ISO.fullmatch(text)
    parts = {} if found is None else {unit: number for unit, number in found.groupdict().items() if number}
    return sum(float(number) * _UNIT_SECONDS[unit] for unit, number in parts.items()) if parts else None
