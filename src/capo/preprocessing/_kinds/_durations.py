"""Durations and times of day as seconds."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
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
_COUNTS = re.compile(
    rf"(?:{_COUNT.pattern}(?:\s*(?:,|and|und)?\s*|$))+".replace("(\\d+", "(?:\\d+"), re.IGNORECASE
)
_CLOCK = re.compile(
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
        What two numbers with a colon are.
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
        found = _CLOCK.fullmatch(text)
        if found is None:
            return None
        first, second, third = (
            float((found[each] or "0").replace(",", ".")) for each in ("first", "second", "third")
        )
        if half := found["half"]:
            if not 1 <= first <= 12:
                return None
            first = first % 12 + (12 if half[0] in "pP" else 0)
        is_short = found["third"] is None and self.clock == _MINUTES and not half
        seconds = first * 60 + second if is_short else first * 3600 + second * 60 + third
        return float(found["days"] or 0) * 86400.0 + seconds

    @classmethod
    def recognize(cls, values: ColumnValues) -> Recognition | None:
        head = list(values.counts)[:50]
        if 2 * sum(cls().parse(text) is not None for text in head) < len(head) or not head:
            return None
        n_colons = {text.count(":") for text in values.counts if _CLOCK.fullmatch(text)}
        kind = cls(clock=_MINUTES if n_colons == {1, 2} else _HOURS)
        kind = replace(kind, missing=odd_texts(kind, values))
        if not are_few(kind.missing, values):
            return None
        short = "times such as 48:03 are read as minutes and seconds" if kind.clock == _MINUTES else ""
        doubts = "; ".join(filter(None, (short, doubt_of_missing(kind.missing))))
        return Recognition(kind, describe_parsed(kind, values, cls.description), doubts)

    @classmethod
    def _impose_unrecognized(cls, values: ColumnValues) -> Self:
        return cls(missing=odd_texts(cls(), values))


def _parse_counts(text: str) -> float | None:
    """Parse numbers with units of time."""
    if not _COUNTS.fullmatch(text):
        return None
    return sum(
        float(number.replace(",", ".")) * _UNIT_SECONDS[unit.lower()] for number, unit in _COUNT.findall(text)
    )


def _parse_iso(text: str) -> float | None:
    """Parse a duration of ISO 8601, such as PT1H20M."""
    found = _ISO.fullmatch(text)
    parts = {} if found is None else {unit: number for unit, number in found.groupdict().items() if number}
    return sum(float(number) * _UNIT_SECONDS[unit] for unit, number in parts.items()) if parts else None
