"""The roles of a training table's columns, and messages about columns that are not there."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...exceptions import InvalidInputError, TableError
from ...preprocessing import DemandedKind

#: Column names that a message lists.
MAX_LISTED_COLUMNS = 10


@dataclass(frozen=True)
class ColumnRoles:
    """The roles of a training table's columns; all columns without a role are features.

    Attributes
    ----------
    target : str
        The column of the labels.
    weight : str
        The column of the sample weights; empty if there is none.
    group : str
        The column of the groups, whose rows are held out together; empty if there is none.
    time : str
        The column of the times, in whose order rows are held out; empty if there is none.
    drop : tuple of str
        Columns that are ignored.
    ids : tuple of str
        Columns that are copied to predictions and are not features.
    categories : tuple of str
        Feature columns that are used as categories even if they are numeric.
    kinds : mapping of str to str or dict
        The kinds of feature columns, which overrule what would be inferred.
    label_columns : tuple of str
        The columns of a label matrix, in place of `target`.
    """

    target: str
    weight: str = ""
    group: str = ""
    time: str = ""
    drop: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    kinds: Mapping[str, DemandedKind] = field(default_factory=dict)
    label_columns: tuple[str, ...] = ()

    def check(self, columns: Sequence[str]) -> None:
        """Raise if a column does not exist or has two roles."""
        single = {"target": self.target, "weight": self.weight, "group": self.group, "time": self.time}
        roles = {
            **{role: (name,) if name else () for role, name in single.items()},
            **({"target": self.label_columns} if self.label_columns else {}),
            "drop": self.drop,
            "id": self.ids,
            "category": self.categories,
        }
        role_of: dict[str, str] = {}
        for role, names in roles.items():
            for name in names:
                require_column(name, columns)
                if role_of.setdefault(name, role) != role:
                    raise InvalidInputError(
                        f"the column {name!r} is given for both --{role_of[name]} and --{role}: choose one."
                    )

    @property
    def non_features(self) -> set[str]:
        """The columns that are not features."""
        single = {self.target, self.weight, self.group, self.time}
        return {*single, *self.label_columns, *self.drop, *self.ids}


def require_column(name: str, columns: Sequence[str], purpose: str = "") -> None:
    """Raise if a column does not exist, with the most similar name or a list of the columns."""
    if name in columns:
        return
    similar = difflib.get_close_matches(name, columns, n=1, cutoff=0.6)
    similar = similar or [column for column in columns if column.lower() == name.lower()]
    hint = f"Did you mean {similar[0]!r}?" if similar else f"The columns are {list_columns(columns)}."
    if all(_is_number(column) for column in columns):
        hint += " The first line must contain the column names, but seems to contain data."
    suffix = f" for {'' if purpose.startswith('--') else 'the '}{purpose}" if purpose else ""
    raise TableError(f"there is no column {name!r}{suffix}. {hint}")


def list_columns(names: Sequence[str]) -> str:
    """List the first names for a message."""
    shown = ", ".join(repr(name[:40]) for name in names[:MAX_LISTED_COLUMNS])
    n_more = len(names) - MAX_LISTED_COLUMNS
    return f"{shown} and {n_more:,} more" if n_more > 0 else shown


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
