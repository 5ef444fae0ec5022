"""Numbers and what surrounds them in a text: signs, currencies, units, marks such as "<"."""

from __future__ import annotations

import re
from typing import NamedTuple

_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'", "\u2212": "-"})
_PARTS = re.compile(
    r"(?P<open>\()?\s*(?P<mark>[~≈<>≤≥]=?|ca\.|approx\.)?\s*(?P<sign>[+-])?\s*"
    r"(?P<prefix>[^\d\s().,+'~≈<>≤≥-]{1,4}\.?)?\s*(?P<open2>\()?(?P<sign2>[+-])?\s*"
    r"(?P<number>\d[\d.,' ]*(?:[eE][+-]?\d+)?|[.,]\d+(?:[eE][+-]?\d+)?)"
    r"(?P<end>[-\u2013\u2014]{1,2}|\+)?\s*"
    r"(?P<suffix>[^\d\s(),:+-][^():]{0,24}?)?\s*(?P<close>\))?"
)
#: What stands for no cents after a decimal point: "CHF 20.-".
_NO_CENTS = re.compile(r"[.,]$")


class NumberParts(NamedTuple):
    """A text split into sign, number and what surrounds it.

    Attributes
    ----------
    number : str
        The number without its sign.
    prefix, suffix : str
        What stands before and after it.
    is_negative : bool
        Whether it has a minus sign, before or after it, or is in parentheses.
    mark : str
        What says that it is not exact, such as "<" or "+" after it.
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
        has_no_cents = bool(_NO_CENTS.search(number)) and end not in ("", "+")
        signs = f"{found['sign'] or ''}{found['sign2'] or ''}{'' if has_no_cents else end}"
        if "\u2013" in signs or "\u2014" in signs or signs.count("-") > 1:
            return None
        is_negative = "-" in signs or bool(found["close"])
        mark = (found["mark"] or "") + ("+" if end == "+" else "")
        number = number[:-1] if has_no_cents else number
        return cls(number, found["prefix"] or "", found["suffix"] or "", is_negative, mark)
