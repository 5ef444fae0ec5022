"""Columns of numbers written as text: plain, money, percentages, quantities."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import ClassVar, NamedTuple, Self

from .kinds import MAX_ODD_TEXTS, ColumnValues, ParsedKind, Recognition, read_values

_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'", "\u2212": "-"})
_PARTS = re.compile(
    r"(?P<open>\()?\s*(?P<mark>[~≈<>≤≥]=?|ca\.|approx\.)?\s*(?P<sign>[+-])?\s*"
    r"(?P<prefix>[^\d\s().,+'~≈<>≤≥-]{1,4}\.?)?\s*(?P<open2>\()?(?P<sign2>[+-])?\s*"
    r"(?P<number>\d[\d.,' ]*(?:[eE][+-]?\d+)?|[.,]\d+(?:[eE][+-]?\d+)?)"
    r"(?P<end>[-\u2013\u2014]{1,2}|\+)?\s*"
    r"(?P<suffix>[^\d\s(),:+-][^():]{0,24}?)?\s*(?P<close>\))?"
)


class NumberParts(NamedTuple):
    """A text split into sign, number and what surrounds it.

    Attributes
    ----------
    number : str
        The number without its sign.
    prefix, suffix : str
        The text before and after it.
    is_negative : bool
        Whether it has a minus sign, before or after it, or is in parentheses.
    mark : str
        A mark of an inexact number, such as "<" or "+" after it.
    """

    number: str
    prefix: str
    suffix: str
    is_negative: bool
    mark: str = ""

    @classmethod
    def split(cls, text: str) -> NumberParts | None:
        """Split a text; None if it has no number."""
        found = _PARTS.fullmatch(text.translate(_SPACES))
        if found is None or bool(found["open"] or found["open2"]) != bool(found["close"]):
            return None
        number, end = found["number"].strip(), found["end"] or ""
        signs = f"{found['sign'] or ''}{found['sign2'] or ''}"
        if number[-1] in ".," and end not in ("", "+"):  # "CHF 20.-" has no cents
            number = number[:-1]
        else:
            signs += end
        if "\u2013" in signs or "\u2014" in signs or signs.count("-") > 1:
            return None
        is_negative = "-" in signs or bool(found["close"])
        mark = (found["mark"] or "") + ("+" if end == "+" else "")
        return cls(number, found["prefix"] or "", found["suffix"] or "", is_negative, mark)


#: A spelling of numbers: the separator of thousands and the decimal point.
Style = tuple[str, str]
#: All styles, from the most to the least usual.
STYLES: tuple[Style, ...] = (("", "."), (",", "."), (".", ","), (" ", ","), (" ", "."), ("'", "."), ("", ","))
#: "1.234" is read as 1234 only if at least this many different digits follow points.
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


def _parse_number(text: str, style: Style) -> float | None:
    """Parse a number without a sign."""
    if not _number_pattern(style).fullmatch(text):
        return None
    thousands, decimal = style
    return float((text.replace(thousands, "") if thousands else text).replace(decimal, "."))


def _choose_style(numbers: list[str], values: ColumnValues, is_money: bool) -> tuple[Style, str] | None:
    """The style of all numbers, and a doubt if another style would give different values."""
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
    if separator == ",":
        is_decimal = values.decimal_comma
    else:
        is_decimal = not (is_money or has_pointed_thousands(numbers, values.has_decimal_commas))
    meaning = "a decimal point" if is_decimal else "a separator of thousands"
    doubt = "" if separator == "." and is_decimal else f"{separator!r} is read as {meaning}"
    return (plain if is_decimal else grouped)[0], doubt


def has_pointed_thousands(numbers: Iterable[str], has_decimal_commas: bool) -> bool:
    """Whether points are separators of thousands: all numbers from 1000 on have them, and none below.

    Decimal fractions that are rounded to three digits would include 1.5 before they include 2. If the file
    has numbers with a decimal comma, numbers below 1000 are not required.
    """
    pointed = [each for each in numbers if "." in each]
    others = [each for each in numbers if "." not in each and each.strip("+-0")]
    n_endings = len({each[-3:] for each in pointed})
    if n_endings < MIN_POINTED_ENDINGS or not all(map(_POINTED.fullmatch, pointed)):
        return False
    return has_decimal_commas or (bool(others) and all(map(_BELOW_THOUSAND.fullmatch, others)))


#: Values that are tried first; a kind that does not fit them is not tried on all values.
N_HEAD_VALUES = 200
_CURRENCY = (
    r"(?:[$€£¥₹₩₽₺₴฿]|R\$|[A-Z]{2}\$|kr\.?|zł|Kč|Ft|Fr\.?|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN"
    r"|CZK|HUF|BRL|MXN|ZAR|TRY|RUB|KRW)"
)
#: Multiples after an amount of money.
_MULTIPLES = read_values(
    "k=1e3 m=1e6 mn=1e6 mio=1e6 mio.=1e6 million=1e6 b=1e9 bn=1e9 mrd=1e9 mrd.=1e9 billion=1e9"
)
_MULTIPLE = "|".join(sorted(map(re.escape, _MULTIPLES), key=len, reverse=True))
#: The text around an amount, with a space between the parts before and after it.
_AMOUNT = re.compile(
    rf"(?P<before>{_CURRENCY})? ?(?P<multiple>(?i:{_MULTIPLE}))?\s?(?P<after>{_CURRENCY})?\s?"
    r"(?P<per>(?:/|per |p\.).+)?"
)
#: Units that can be converted into each other, as multiples of the first; those of time are durations.
_UNIT_FAMILIES = (
    read_values("m=1 mm=1e-3 cm=1e-2 dm=0.1 km=1e3 in=0.0254 ft=0.3048 yd=0.9144 mi=1609.344"),
    read_values("kg=1 mg=1e-6 g=1e-3 t=1e3 lb=0.45359237 lbs=0.45359237 oz=0.028349523125"),
    read_values("B=1 kB=1e3 KB=1e3 MB=1e6 GB=1e9 TB=1e12 KiB=1024 MiB=1048576 GiB=1073741824"),
    read_values("=1 k=1e3 K=1e3 M=1e6 m=1e6 bn=1e9 B=1e9 Mio=1e6 Mrd=1e9"),
    read_values("l=1 L=1 ml=1e-3 mL=1e-3 cl=1e-2 dl=0.1 hl=100"),
    read_values("W=1 kW=1e3 MW=1e6"),
    read_values("Wh=1 kWh=1e3 MWh=1e6"),
)


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
        if (self.thousands, self.decimal) not in STYLES:
            raise ValueError(f"numbers have no separators {(self.thousands, self.decimal)}")

    @property
    def is_plain(self) -> bool:
        """Whether the numbers have no separators or units, so that they are converted at once."""
        return type(self) is NumberKind and not self.thousands

    @classmethod
    def _is_possible(cls, parts: NumberParts) -> bool:
        """Whether a value with these surroundings may be in a column of this kind."""
        return not parts.prefix and not parts.suffix

    @classmethod
    def _from_parts(cls, parts: list[NumberParts]) -> Self | None:
        """The kind for numbers with these surroundings; None if the surroundings are inconsistent."""
        return cls()

    def _factor(self, parts: NumberParts) -> float | None:
        """The number that the surroundings of a number stand for; None if they are not of this kind."""
        return 1.0 if self._is_possible(parts) else None

    def parse(self, text: str) -> float | None:
        parts = NumberParts.split(text)
        factor = None if parts is None else self._factor(parts)
        if parts is None or factor is None:
            return None
        number = _parse_number(parts.number, (self.thousands, self.decimal))
        return None if number is None else (-number if parts.is_negative else number) * factor

    @classmethod
    def recognize(cls, values: ColumnValues) -> Recognition | None:
        head = list(map(NumberParts.split, islice(values.counts, N_HEAD_VALUES)))
        numbers = [each for each in head if each is not None]
        n_possible = sum(map(cls._is_possible, numbers))
        if 2 * n_possible < len(head) or len(numbers) - n_possible > MAX_ODD_TEXTS:
            return None
        parts = [each for each in _split_all(values) if cls._is_possible(each)]
        # Values such as "<=50" and ">50" only differ in their marks, which therefore matter.
        marked = {each._replace(prefix="") for each in parts}
        marks_matter = len({each._replace(mark="") for each in marked}) < len(marked)
        kind = cls._from_parts(parts) if parts and not marks_matter else None
        style = _choose_style([each.number for each in parts], values, cls is MoneyKind)
        if kind is None or style is None:
            return None
        (thousands, decimal), doubt = style
        kind = replace(kind, thousands=thousands, decimal=decimal)
        marks = sorted({each.mark for each in parts} - {""})
        verb = "is" if len(marks) == 1 else "are"
        ignored = f"{' and '.join(map(repr, marks))} beside numbers {verb} ignored" if marks else ""
        return kind.accept(values, kind._describe(), doubt, kind._doubt(), ignored)

    def _describe(self) -> str:
        spelling = [f"{self.thousands!r} between thousands"] if self.thousands else []
        spelling += ["a decimal comma"] if self.decimal == "," else []
        return f"{self.description} with {' and '.join(spelling)}" if spelling else self.description

    def _doubt(self) -> str:
        return ""

    @classmethod
    def _candidates(cls, values: ColumnValues) -> Iterator[Self]:
        kind = cls._from_parts(list(_split_all(values))) or cls()
        return (replace(kind, thousands=thousands, decimal=decimal) for thousands, decimal in STYLES)


def _split_all(values: ColumnValues) -> Iterator[NumberParts]:
    return filter(None, map(NumberParts.split, values.counts))


@dataclass(frozen=True)
class PercentageKind(NumberKind):
    """Numbers with a percent sign."""

    name: ClassVar[str] = "percentage"
    description: ClassVar[str] = "percentages"

    @classmethod
    def _is_possible(cls, parts: NumberParts) -> bool:
        return parts.suffix == "%" and not parts.prefix

    def _factor(self, parts: NumberParts) -> float | None:
        return 1.0 if parts.suffix in ("%", "") and not parts.prefix else None


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

    @classmethod
    def _is_possible(cls, parts: NumberParts) -> bool:
        return _split_amount(parts) is not None

    @classmethod
    def _from_parts(cls, parts: list[NumberParts]) -> Self | None:
        amounts = list(filter(None, map(_split_amount, parts)))
        named = sorted({currency for currency, _, _ in amounts} - {""})
        has_one_period = len({per for _, _, per in amounts}) == 1
        return cls(currencies=tuple(named)) if named and has_one_period else None

    def _factor(self, parts: NumberParts) -> float | None:
        currency, factor, per = _split_amount(parts) or ("", None, "")
        return None if per and currency not in self.currencies else factor

    def _doubt(self) -> str:
        n_named = len(self.currencies)
        return f"amounts in {n_named} currencies are not converted" if n_named > 1 else ""

    def _describe(self) -> str:
        return f"{super()._describe()} ({', '.join(self.currencies)})"


def _split_amount(parts: NumberParts) -> tuple[str, float, str] | None:
    """The currency with its period, a factor and the period around a number; None if it is not money."""
    found = _AMOUNT.fullmatch(f"{parts.prefix} {parts.suffix}".strip())
    if found is None or (found["before"] and found["after"]):
        return None
    currency, per = found["before"] or found["after"] or "", found["per"] or ""
    is_bare = not currency and bool(per or found["multiple"])
    factor = _MULTIPLES[found["multiple"].lower()] if found["multiple"] else 1.0
    return None if is_bare else (currency + per, factor, per)


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
    def _is_possible(cls, parts: NumberParts) -> bool:
        return not parts.prefix

    def _factor(self, parts: NumberParts) -> float | None:
        if parts.prefix:
            return None
        if _is_one_unit({*self.units, parts.suffix}):
            return 1.0
        family = _unit_family(self.units)
        return None if family is None else family.get(parts.suffix)

    @classmethod
    def _from_parts(cls, parts: list[NumberParts]) -> Self | None:
        units = tuple(sorted({each.suffix for each in parts}))
        return cls(units=units) if any(units) and (_is_one_unit(set(units)) or _unit_family(units)) else None

    def _describe(self) -> str:
        return f"{super()._describe()} ({', '.join(unit or 'none' for unit in self.units)})"


def _is_one_unit(units: set[str]) -> bool:
    """Whether units are the singular and the plural of the same unit."""
    return len({unit.removesuffix("s") for unit in units}) == 1


def _unit_family(units: Iterable[str]) -> dict[str, float] | None:
    return next((family for family in _UNIT_FAMILIES if all(unit in family for unit in units)), None)
