"""Spellings of numbers: separators of thousands and decimal points."""

from __future__ import annotations

import re
from functools import cache

#: A spelling of numbers: the separator of thousands and the decimal point.
Style = tuple[str, str]
#: All styles, from the most to the least usual.
STYLES: tuple[Style, ...] = (
    ("", "."),
    (",", "."),
    (".", ","),
    (" ", ","),
    (" ", "."),
    ("'", "."),
    ("", ","),
)
#: "1.234" can be 1234 only if there are at least so many different digits after points.
MIN_POINTED_ENDINGS = 5
_POINTED = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+")
_BELOW_THOUSAND = re.compile(r"[+-]?[1-9]\d{0,2}")


@cache
def _number_pattern(style: Style) -> re.Pattern[str]:
    thousands, decimal = (re.escape(each) for each in style)
    grouped = rf"\d{{1,3}}(?:{thousands}\d{{3}})+(?:{decimal}\d*)?|" if thousands else ""
    # 1,23,456 is how lakhs and crores are written.
    lakhs = rf"\d{{1,2}}(?:,\d{{2}})+,\d{{3}}(?:{decimal}\d*)?|" if style == (",", ".") else ""
    return re.compile(rf"{grouped}{lakhs}(?:\d+(?:{decimal}\d*)?|{decimal}\d+)(?:[eE][+-]?\d+)?")


def parse_number(text: str, style: Style) -> float | None:
    """Parse a number without a sign."""
    if not _number_pattern(style).fullmatch(text):
        return None
    thousands, decimal = style
    return float((text.replace(thousands, "") if thousands else text).replace(decimal, "."))


def choose_style(
    numbers: list[str], decimal_comma: bool, *, is_money: bool = False
) -> tuple[Style, str] | None:
    """The style that all numbers have, and a doubt if another would give other values."""
    fitting = [style for style in STYLES if all(map(_number_pattern(style).fullmatch, numbers))]
    if not fitting:
        return None
    grouped = [style for style in fitting if style[0] and any(style[0] in each for each in numbers)]
    plain = [style for style in fitting if style not in grouped]
    if not grouped or not plain:
        return (grouped or plain)[0], ""
    # "1,234" or "1.234" in every row: a separator of thousands, or a decimal point with three digits.
    separator = grouped[0][0]
    if separator not in ",.":
        return grouped[0], ""
    is_decimal = decimal_comma if separator == "," else not (is_money or has_pointed_thousands(numbers))
    meaning = "a decimal point" if is_decimal else "a separator of thousands"
    doubt = "" if separator == "." and is_decimal else f"{separator!r} is read as {meaning}"
    return (plain if is_decimal else grouped)[0], doubt


def has_pointed_thousands(numbers: list[str]) -> bool:
    """Whether points are separators of thousands: all numbers from 1000 on have them, and none below.

    Decimal fractions that are rounded to three digits would include 1.5 before they include 2.
    """
    others = [each for each in numbers if "." not in each and each.strip("+-0")]
    return (
        bool(others) and may_have_pointed_thousands(numbers) and all(map(_BELOW_THOUSAND.fullmatch, others))
    )


def may_have_pointed_thousands(numbers: list[str]) -> bool:
    """Whether every number with a point could be a whole number with separators of thousands."""
    pointed = [each for each in numbers if "." in each]
    has_endings = len({each[-3:] for each in pointed}) >= MIN_POINTED_ENDINGS
    return has_endings and all(map(_POINTED.fullmatch, pointed))
