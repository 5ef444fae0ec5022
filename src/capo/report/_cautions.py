"""Cautions at the top of a page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from . import _formatting as formatting

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier


def collect_cautions(model: CAPOClassifier, about_rows: str, notes: Iterable[str]) -> list[str]:
    """The notes, the caution about the rows, and what limits the trust in the model's own values."""
    sentences = [each for each in (about_rows, model.summary().notes.get("caution", "")) if each]
    found = [f"{each[0].upper()}{each[1:]}." for each in sentences]
    return [formatting.clean_text(each) for each in (*notes, *found)]
