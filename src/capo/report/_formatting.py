"""Names and numbers as they are written on the page."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from html import escape
from typing import Any

#: Names longer than this are cut in the middle.
LONGEST = 64
NOTHING = "n/a"


def plain(value: object) -> str:
    """A name in one line, without control characters and of a length that can be read; not escaped."""
    kept = (" " if unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") else each for each in str(value))
    line = " ".join("".join(kept).split())
    half = (LONGEST - 1) // 2
    return line if len(line) <= LONGEST else f"{line[:half]}…{line[-half:]}"


def name(value: object) -> str:
    """A name from outside, escaped, and apart from the text around it if it runs from right to left."""
    return f"<bdi>{breakable(plain(value))}</bdi>"


def breakable(text: str) -> str:
    """Text, escaped, that may go on in the next line after an underscore."""
    return escape(text).replace("_", "_<wbr>")


def said(value: object) -> str:
    """A sentence from outside, escaped."""
    kept = (" " if unicodedata.category(each) in ("Cc", "Cs") else each for each in str(value))
    return escape("".join(kept))


def quoted(label: Any) -> str:
    """A class label, in quotes if it is text; not escaped."""
    return f"“{plain(label)}”" if isinstance(label, str) else plain(label)


def positive_class(model: Any) -> str:
    """The label that the model finds, as HTML."""
    return f"<bdi>{escape(quoted(model.classes_.tolist()[1]))}</bdi>"


def figure(value: float, digits: int = 3) -> str:
    """A number with as many digits as can be read."""
    if not math.isfinite(value):
        return NOTHING
    size = abs(value)
    text = f"{value:,.0f}" if size >= 1000 else f"{value:.1f}" if size >= 10 else f"{value:.{digits}f}"
    return minus(text)


def signed(value: float) -> str:
    """A weight with its sign."""
    return minus(f"{value:+.3f}")


def minus(text: str) -> str:
    """The text with proper minus signs, and none before zero."""
    if text.startswith("-") and not text.strip("-0.,"):
        text = text[1:]
    return text.replace("-", "\N{MINUS SIGN}")


def compact(value: float) -> str:
    """A number to six digits, for the certificate."""
    return minus(f"{value:.6g}")


def digits_of(total: float, whole: bool) -> int:
    """Decimals of a weighted count: none for whole numbers, and enough to tell small ones apart."""
    return 0 if whole or total >= 10_000 else 1 if total >= 100 else 3


def count(mass: float, digits: int = 0) -> str:
    """A count, with the decimals given."""
    return f"{mass:,.{digits}f}"


def rate(part: float, whole: float) -> str:
    """A share from 0 to 1."""
    return f"{part / whole:.3f}" if whole > 0 else NOTHING


def percent(part: float, whole: float) -> str:
    """A share in percent."""
    return f"{part / whole:.1%}" if whole > 0 else NOTHING


def threshold(value: float) -> str:
    """A probability that is a threshold; one near 0 or 1 with as many digits as tell it from them."""
    edge = min(value, 1.0 - value)
    digits = 3 if edge >= 0.1 else 12 if edge <= 1e-10 else 2 + math.ceil(-math.log10(edge))
    text = f"{value:.{digits}f}"
    return text if digits == 3 else text.rstrip("0").rstrip(".")


def seconds(value: float) -> str:
    """A time."""
    if value >= 90:
        return f"{value / 60:.1f} min"
    return f"{value:.1f} s" if value >= 0.05 else "under 0.1 s"


def many(number: float, one: str, more: str | None = None) -> str:
    """A number with its noun."""
    return f"{number:,.0f} {one if number == 1 else more or one + 's'}"


def listed(parts: Iterable[str]) -> str:
    """Words as a list: a, b and c."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
