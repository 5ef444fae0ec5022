"""Yes and no in all spellings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..._typing import FloatArray
from ._base import MISSING_MARKERS, ColumnValues, ParsedKind, Recognition

_PAIRS = (
    ("true", "false"),
    ("t", "f"),
    ("yes", "no"),
    ("y", "n"),
    ("on", "off"),
    ("1", "0"),
    ("1.0", "0.0"),
    ("wahr", "falsch"),
    ("ja", "nein"),
    ("j", "n"),
    ("oui", "non"),
    ("vrai", "faux"),
    ("sí", "no"),
    ("si", "no"),
    ("sim", "não"),
    ("tak", "nie"),
    ("ja", "nej"),
    ("ja", "nee"),
)
_VALUES = {text: float(index == 0) for pair in _PAIRS for index, text in enumerate(pair)}


def find_yes_label(labels: list[Any]) -> Any | None:
    """Return the one of two labels that means yes if the other means no, in any language; otherwise None."""
    meanings = [_VALUES.get(label.lower()) if isinstance(label, str) else None for label in labels]
    return labels[meanings.index(1.0)] if sorted(map(str, meanings)) == ["0.0", "1.0"] else None


def _zero_or_one(text: str) -> float:
    """Return the number 0 or 1 in any spelling, such as 01; NaN for another text."""
    try:
        number = float("nan") if "_" in text else float(text)
    except ValueError:
        return float("nan")
    return number if number in (0.0, 1.0) else float("nan")


@dataclass(frozen=True)
class BooleanKind(ParsedKind):
    """Yes and no, true and false, on and off, and other pairs, in upper or lower case."""

    name: ClassVar[str] = "boolean"
    role: ClassVar = "numeric"
    description: ClassVar[str] = "yes or no"

    def parse(self, text: str) -> float | None:
        # Any other text is like a category that was not in training: missing.
        return _VALUES.get(text.lower(), _zero_or_one(text))

    def convert_numbers(self, values: FloatArray) -> FloatArray:
        return np.where(np.isin(values, (0.0, 1.0)), values, np.nan)

    @classmethod
    def recognize(cls, values: ColumnValues) -> Recognition | None:
        texts = {text.lower() for text in values.counts} - MISSING_MARKERS
        if texts <= {"0", "1", "0.0", "1.0"} or any(text not in _VALUES for text in texts):
            return None
        if len({_VALUES[text] for text in texts}) < 2:
            return None
        return Recognition(cls(), f"its values are {', '.join(map(repr, list(values.counts)[:6]))}")
