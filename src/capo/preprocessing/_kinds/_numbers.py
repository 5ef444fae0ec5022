"""Numbers in the spellings of tables: separators, currencies, percent signs, units."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import ClassVar, NamedTuple, Self

from ._base import (
    ColumnValues,
    ParsedKind,
    Recognition,
    are_few,
    describe_parsed,
    doubt_of_missing,
    odd_texts,
)

#: Values that are tried first; a kind that does not fit them is not tried on all values.
N_HEAD_VALUES = 200
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
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'", "\u2212": "-"})
_CURRENCY = (
    r"(?:[$€£¥₹₩₽₺₴฿]|R\$|[A-Z]{2}\$|kr\.?|zł|Kč|Ft|Fr\.?|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN"
    r"|CZK|HUF|BRL|MXN|ZAR|TRY|RUB|KRW)"
)
_CURRENCY_PATTERN = re.compile(_CURRENCY)
_UNIT = r"[A-Za-zµμ°²³\"'][A-Za-zµμ°²³/\"'0-9]{0,9}\.?"
#: Units that can be converted into each other, as multiples of the first.
_UNIT_FAMILIES: tuple[dict[str, float], ...] = (
    {"m": 1, "mm": 1e-3, "cm": 1e-2, "dm": 0.1, "km": 1e3, "in": 0.0254, "ft": 0.3048, "yd": 0.9144}
    | {"mi": 1609.344},
    {"kg": 1, "mg": 1e-6, "g": 1e-3, "t": 1e3, "lb": 0.45359237, "lbs": 0.45359237, "oz": 0.028349523125},
    {"s": 1, "sec": 1, "ms": 1e-3, "min": 60, "mins": 60, "h": 3600, "hr": 3600, "hrs": 3600}
    | {"hour": 3600, "hours": 3600, "d": 86400, "day": 86400, "days": 86400, "week": 604800, "weeks": 604800}
    | {"month": 2629800, "months": 2629800, "y": 31557600, "yrs": 31557600, "year": 31557600}
    | {"years": 31557600},
    {"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
    | {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
    {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "m": 1e6, "bn": 1e9, "B": 1e9, "Mio": 1e6, "Mrd": 1e9},
    {"l": 1, "L": 1, "ml": 1e-3, "mL": 1e-3, "cl": 1e-2, "dl": 0.1, "hl": 100},
    {"W": 1, "kW": 1e3, "MW": 1e6},
    {"Wh": 1, "kWh": 1e3, "MWh": 1e6},
)


@cache
def _number_pattern(style: Style) -> re.Pattern[str]:
    thousands, decimal = (re.escape(each) for each in style)
    grouped = rf"\d{{1,3}}(?:{thousands}\d{{3}})+|" if thousands else ""
    exponent = r"(?:[eE][+-]?\d+)?"
    return re.compile(rf"(?:(?:{grouped}\d+)(?:{decimal}\d*)?|{decimal}\d+){exponent}")


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
    is_decimal = decimal_comma if separator == "," else not is_money
    if separator not in ",.":
        return grouped[0], ""
    meaning = "a decimal point" if is_decimal else "a separator of thousands"
    doubt = "" if separator == "." and is_decimal else f"{separator!r} is read as {meaning}"
    return (plain if is_decimal else grouped)[0], doubt


_PARTS = re.compile(
    r"(?P<open>\()?\s*(?P<sign>[+-])?\s*(?P<prefix>[^\d\s().,+'-]{1,4}\.?)?\s*(?P<sign2>[+-])?\s*"
    r"(?P<number>\d[\d.,' ]*(?:[eE][+-]?\d+)?|[.,]\d+(?:[eE][+-]?\d+)?)\s*"
    r"(?P<suffix>[^\d\s(),+-][^\d\s(),+-]{0,10}[23]?)?\s*(?P<close>\))?"
)


class _Parts(NamedTuple):
    """A text split into sign, number and what surrounds it."""

    number: str
    prefix: str
    suffix: str
    is_negative: bool

    @classmethod
    def split(cls, text: str) -> _Parts | None:
        """Split a text; None if it has no number."""
        found = _PARTS.fullmatch(text.translate(_SPACES))
        if found is None or bool(found["open"]) != bool(found["close"]):
            return None
        is_negative = "-" in ((found["sign"] or "") + (found["sign2"] or "")) or bool(found["open"])
        return cls(found["number"].strip(), found["prefix"] or "", found["suffix"] or "", is_negative)


@dataclass(frozen=True)
class NumberKind(ParsedKind):
    """Numbers, also with separators of thousands or a decimal comma.

    Attributes
    ----------
    thousands, decimal : str
        The separator of thousands, empty if there is none, and the decimal point.
    """

    name: ClassVar[str] = "number"
    role: ClassVar = "numeric"
    description: ClassVar[str] = "numbers"
    thousands: str = ""
    decimal: str = "."

    def __post_init__(self) -> None:
        if self._style not in STYLES:
            raise ValueError(f"numbers have no separators {self._style}")

    @property
    def _style(self) -> Style:
        return self.thousands, self.decimal

    def _factor(self, parts: _Parts) -> float | None:
        """The number that the surroundings of a number stand for; None if they are not of this kind."""
        return None if parts.prefix or parts.suffix else 1.0

    def parse(self, text: str) -> float | None:
        parts = _Parts.split(text)
        factor = None if parts is None else self._factor(parts)
        if parts is None or factor is None:
            return None
        number = parse_number(parts.number, self._style)
        return None if number is None else (-number if parts.is_negative else number) * factor

    @classmethod
    def _with_surroundings(cls, parts: list[_Parts]) -> Self | None:
        """The kind for numbers with these surroundings."""
        return cls() if not any(each.prefix or each.suffix for each in parts) else None

    def _describe(self) -> str:
        spelling = [f"{self.thousands!r} between thousands"] if self.thousands else []
        spelling += ["a decimal comma"] if self.decimal == "," else []
        return f"{self.description} with {' and '.join(spelling)}" if spelling else self.description

    @classmethod
    def _is_possible(cls, parts: _Parts) -> bool:
        """Whether a value with these surroundings may be in a column of this kind."""
        return not parts.prefix and not parts.suffix

    @classmethod
    def _is_likely(cls, values: ColumnValues) -> bool:
        """Whether most of the first values may be of this kind; all values are tried only then."""
        head = list(islice(values.counts, N_HEAD_VALUES))
        found = [each for each in map(_Parts.split, head) if each is not None]
        return 2 * len(found) >= len(head) and all(cls._is_possible(each) for each in found)

    @classmethod
    def recognize(cls, values: ColumnValues) -> Recognition | None:
        if not cls._is_likely(values):
            return None
        parts = {text: _Parts.split(text) for text in values.counts}
        odd = tuple(text for text, each in parts.items() if each is None)
        kind = cls._with_surroundings([each for each in parts.values() if each is not None])
        if kind is None or len(odd) == len(parts):
            return None
        style = choose_style(
            [each.number for each in parts.values() if each is not None],
            values.decimal_comma,
            is_money=cls is MoneyKind,
        )
        if style is None:
            return None
        kind = replace(kind, thousands=style[0][0], decimal=style[0][1])
        odd = odd_texts(kind, values)
        if not are_few(odd, values):
            return None
        doubts = [doubt for doubt in (style[1], kind._doubt(), doubt_of_missing(odd)) if doubt]
        reason = describe_parsed(kind, values, kind._describe())
        return Recognition(replace(kind, missing=odd), reason, "; ".join(doubts))

    def _doubt(self) -> str:
        return ""

    @classmethod
    def impose(cls, values: ColumnValues) -> Self:
        parts = [each for each in map(_Parts.split, values.counts) if each is not None]
        kind = cls._from_parts(parts)
        candidates = [replace(kind, thousands=thousands, decimal=decimal) for thousands, decimal in STYLES]
        best = min(candidates, key=lambda each: len(odd_texts(each, values)))
        return replace(best, missing=odd_texts(best, values))

    @classmethod
    def _from_parts(cls, parts: list[_Parts]) -> Self:
        return cls._with_surroundings(parts) or cls()


@dataclass(frozen=True)
class PercentageKind(NumberKind):
    """Numbers with a percent sign."""

    name: ClassVar[str] = "percentage"
    description: ClassVar[str] = "percentages"

    def _factor(self, parts: _Parts) -> float | None:
        return 1.0 if parts.suffix in ("%", "") and not parts.prefix else None

    @classmethod
    def _is_possible(cls, parts: _Parts) -> bool:
        return parts.suffix == "%" and not parts.prefix

    @classmethod
    def _with_surroundings(cls, parts: list[_Parts]) -> Self | None:
        return cls() if parts and all(each.suffix == "%" and not each.prefix for each in parts) else None


@dataclass(frozen=True)
class MoneyKind(NumberKind):
    """Amounts of money, with a sign or a code of the currency before or after the number.

    Attributes
    ----------
    currencies : tuple of str
        The currencies; amounts are not converted.
    """

    name: ClassVar[str] = "money"
    description: ClassVar[str] = "amounts of money"
    currencies: tuple[str, ...] = ()

    def _factor(self, parts: _Parts) -> float | None:
        return 1.0 if self._is_possible(parts) else None

    @classmethod
    def _is_possible(cls, parts: _Parts) -> bool:
        return _currency(parts) is not None

    @classmethod
    def _with_surroundings(cls, parts: list[_Parts]) -> Self | None:
        found = [_currency(each) for each in parts]
        named = sorted({each for each in found if each})
        return cls(currencies=tuple(named)) if named and None not in found else None

    def _doubt(self) -> str:
        n_named = len(self.currencies)
        return f"amounts in {n_named} currencies are not converted" if n_named > 1 else ""

    def _describe(self) -> str:
        return f"{super()._describe()} ({', '.join(self.currencies)})"


def _currency(parts: _Parts) -> str | None:
    """The currency of an amount, empty if it has none; None if it is no amount of money."""
    around = [each for each in (parts.prefix, parts.suffix) if each]
    if not around:
        return ""
    is_currency = len(around) == 1 and _CURRENCY_PATTERN.fullmatch(around[0])
    return around[0] if is_currency else None


@dataclass(frozen=True)
class QuantityKind(NumberKind):
    """Numbers with a unit after them; several units of one family are converted.

    Attributes
    ----------
    units : tuple of str
        The units of the training rows.
    """

    name: ClassVar[str] = "quantity"
    description: ClassVar[str] = "numbers with a unit"
    units: tuple[str, ...] = ()

    @classmethod
    def _is_possible(cls, parts: _Parts) -> bool:
        return not parts.prefix

    def _factor(self, parts: _Parts) -> float | None:
        if parts.prefix:
            return None
        if len(self.units) == 1 and parts.suffix == self.units[0]:
            return 1.0
        family = _unit_family(self.units)
        return None if family is None else family.get(parts.suffix)

    @classmethod
    def _with_surroundings(cls, parts: list[_Parts]) -> Self | None:
        units = tuple(sorted({each.suffix for each in parts}))
        if not any(units) or any(each.prefix for each in parts):
            return None
        is_one = len(units) == 1 and re.fullmatch(_UNIT, units[0])
        return cls(units=units) if is_one or _unit_family(units) else None

    def _describe(self) -> str:
        return f"{super()._describe()} ({', '.join(unit or 'none' for unit in self.units)})"


def _unit_family(units: Iterable[str]) -> dict[str, float] | None:
    return next((family for family in _UNIT_FAMILIES if all(unit in family for unit in units)), None)
