"""Durations as a user writes and reads them."""

from __future__ import annotations

import re

from ..exceptions import InvalidInputError

#: Seconds of each unit.
UNIT_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
#: Durations of more units than this are shown in the next larger unit.
MAX_SHOWN_UNITS = 100


def parse_duration(text: str, option: str) -> float:
    """Return the seconds of a duration such as 60s, 5m, 1.5h or 60.

    Examples
    --------
    >>> from capo.cli._durations import parse_duration
    >>> parse_duration("5m", "--budget")
    300.0
    """
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*([smh]?)", text.strip().lower(), re.ASCII)
    seconds = float(found[1]) * UNIT_SECONDS[found[2] or "s"] if found else 0.0
    if not 0 < seconds < float("inf"):
        raise InvalidInputError(
            f"{option} takes a time above 0 such as 60s, 5m or 1h, or a number of seconds: got {text!r}."
        )
    return seconds


def format_duration(seconds: float) -> str:
    """Return a duration in seconds, minutes or hours.

    Examples
    --------
    >>> from capo.cli._durations import format_duration
    >>> [format_duration(seconds) for seconds in (0.25, 12.4, 150, 9000)]
    ['0.2 s', '12 s', '2.5 min', '2.5 h']
    """
    value, name = seconds, "s"
    for larger in ("min", "h"):
        if value >= MAX_SHOWN_UNITS:
            value, name = value / 60, larger
    return f"{value:.0f} {name}" if value >= 10 else f"{value:.1f} {name}"
