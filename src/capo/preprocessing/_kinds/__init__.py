"""The kinds of columns, in the order in which a column of texts is tried."""

from typing import Any

from ._base import MISSING_MARKERS, ColumnKind, ColumnValues, ParsedKind, Recognition, Role, to_text
from ._booleans import BooleanKind, find_yes_label
from ._dates import DateKind, is_time_name
from ._durations import DurationKind
from ._number_styles import has_pointed_thousands, may_have_pointed_thousands
from ._numbers import MoneyKind, NumberKind, PercentageKind, QuantityKind
from ._texts import CategoryKind, CodeKind, IdentifierKind, TagsKind, TextKind

__all__ = [
    "KINDS",
    "MISSING_MARKERS",
    "BooleanKind",
    "CategoryKind",
    "CodeKind",
    "ColumnKind",
    "ColumnValues",
    "DateKind",
    "DurationKind",
    "IdentifierKind",
    "MoneyKind",
    "NumberKind",
    "ParsedKind",
    "PercentageKind",
    "QuantityKind",
    "Recognition",
    "Role",
    "TagsKind",
    "TextKind",
    "find_yes_label",
    "has_pointed_thousands",
    "is_time_name",
    "kind_from_dict",
    "may_have_pointed_thousands",
    "recognize",
    "to_text",
]

#: All kinds by name; a column is of the first that recognizes it.
KINDS: dict[str, type[ColumnKind]] = {
    kind.name: kind
    for kind in (
        BooleanKind,
        CodeKind,
        DateKind,
        NumberKind,
        PercentageKind,
        MoneyKind,
        QuantityKind,
        DurationKind,
        TagsKind,
        TextKind,
        IdentifierKind,
        CategoryKind,
    )
}


def recognize(values: ColumnValues) -> Recognition:
    """Return the kind of a column of texts."""
    found = (kind.recognize(values) for kind in KINDS.values())
    return next(each for each in found if each is not None)


def kind_from_dict(values: dict[str, Any]) -> ColumnKind:
    """Restore a kind from the values of `ColumnKind.to_dict`; a ValueError if they are not valid."""
    state = dict(values)
    name = state.pop("kind", None)
    if name not in KINDS:
        raise ValueError(f"there is no column kind {name!r}")
    return KINDS[name].from_state(state)
