"""What a column held in training, to compare new tables with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

#: Columns with more categories are not compared.
MAX_PROFILE_CATEGORIES = 1000


@dataclass(frozen=True)
class ColumnProfile:
    """The categories of a column, and whether it had missing values.

    Attributes
    ----------
    name : str
        The column.
    categories : frozenset of str or None
        The values of a column of categories; None for other columns and for very many values.
    has_missing : bool
        Whether values were missing.
    """

    name: str
    categories: frozenset[str] | None
    has_missing: bool

    def count_unseen(self, values: pl.Series) -> int:
        """How many values are categories that were not in training."""
        if self.categories is None:
            return 0
        return int((~values.drop_nulls().cast(pl.String).is_in(sorted(self.categories))).sum())

    def count_newly_missing(self, values: pl.Series) -> int:
        """How many values are missing, if none was in training."""
        return 0 if self.has_missing else int(_is_missing(values).sum())


def profile_columns(features: Any) -> dict[str, dict[str, Any]]:
    """Describe the columns of a training table as JSON values; empty for a sparse matrix."""
    if not isinstance(features, pl.DataFrame):
        return {}
    return {
        values.name: {"categories": _categories(values), "missing": bool(_is_missing(values).any())}
        for values in features
    }


def read_profiles(described: Any) -> Iterator[ColumnProfile]:
    """Read what `profile_columns` described; entries that are not valid are left out."""
    for name, entry in described.items() if isinstance(described, dict) else ():
        match entry:
            case {"categories": None, "missing": bool() as missing}:
                yield ColumnProfile(name, None, missing)
            case {"categories": list() as categories, "missing": bool() as missing}:
                yield ColumnProfile(name, frozenset(map(str, categories)), missing)


def _categories(values: pl.Series) -> list[str] | None:
    if values.dtype != pl.Categorical or values.n_unique() > MAX_PROFILE_CATEGORIES:
        return None
    return sorted(values.drop_nulls().unique().cast(pl.String).to_list())


def _is_missing(values: pl.Series) -> pl.Series:
    return values.is_null() | values.is_nan().fill_null(True) if values.dtype.is_float() else values.is_null()
