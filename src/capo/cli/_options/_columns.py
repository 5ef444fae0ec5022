"""Options about the columns of a training table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ...exceptions import InvalidInputError
from ._panels import COLUMNS

_option = partial(typer.Option, rich_help_panel=COLUMNS)


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """What the columns of a training table are used for."""

    targets: Annotated[
        list[str] | None,
        _option(
            "--target",
            "-t",
            metavar="COLUMN",
            help="Column with the labels of two or more classes; several columns of 0 and 1, by repeating "
            "the option or as a,b,c, if a row may have several labels.",
        ),
    ] = None
    label_separator: Annotated[
        str | None,
        _option(
            "--label-separator",
            metavar="TEXT",
            help="The target column has several labels per row, with this text between them.",
        ),
    ] = None
    positive: Annotated[
        str | None,
        _option(
            "--positive",
            metavar="LABEL",
            help="Label of the positive class; by default the one that means yes, or the larger.",
        ),
    ] = None
    weight: Annotated[
        str | None, _option("--weight", metavar="COLUMN", help="Column with the sample weights.")
    ] = None
    group: Annotated[
        str | None,
        _option(
            "--group",
            metavar="COLUMN",
            help="Column of groups, such as patients: the rows of a group are held out together. Not a "
            "feature.",
        ),
    ] = None
    time: Annotated[
        str | None,
        _option(
            "--time",
            metavar="COLUMN",
            help="Column with dates or numbers: folds predict later rows from earlier ones.",
        ),
    ] = None
    drop: Annotated[
        list[str] | None, _option("--drop", metavar="COLUMN", help="Ignore this column; repeatable.")
    ] = None
    ids: list[str] | None = None
    categories: Annotated[
        list[str] | None,
        _option(
            "--category",
            metavar="COLUMN",
            help="Treat this column of numbers as categories; repeatable.",
        ),
    ] = None
    types: Annotated[
        Path | None,
        _option(
            "--types",
            metavar="FILE",
            help="Kinds of columns in TOML, as 'capo inspect -o FILE' writes them.",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Refuse empty names, which an unset variable in a script gives."""
        single = {"--weight": self.weight, "--group": self.group, "--time": self.time}
        several = {
            "--target": self.targets,
            "--drop": self.drop,
            "--id": self.ids,
            "--category": self.categories,
        }
        for option, names in {**{key: [name] for key, name in single.items()}, **several}.items():
            if "" in (names or ()):
                raise InvalidInputError(f"{option} needs the name of a column: got an empty one.")
        if self.group and self.time:
            raise InvalidInputError("--group and --time cannot be combined: choose one.")
        if self.label_separator == "":
            raise InvalidInputError("--label-separator needs a text such as ';': got an empty one.")

    @property
    def target(self) -> str:
        """The target as it was typed; empty if none was."""
        return ",".join(self.targets or ())

    def label_columns(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The target columns if there are several, of which the table has `columns`; otherwise none."""
        names = tuple(dict.fromkeys(self.targets or ()))
        if len(names) == 1 and names[0] not in columns and "," in names[0]:
            names = tuple(dict.fromkeys(name.strip() for name in names[0].split(",") if name.strip()))
        return names if len(names) > 1 else ()

    @property
    def any_column_named(self) -> bool:
        """Whether an option names a column."""
        single = (self.target, self.label_separator, self.weight, self.group, self.time, self.types)
        return any((*single, self.drop, self.ids, self.categories))


@dataclass(frozen=True, kw_only=True)
class FitColumnOptions(ColumnOptions):
    """What the columns are used for in a model that is kept: its predictions can have identifiers."""

    ids: Annotated[
        list[str] | None,
        _option(
            "--id",
            metavar="COLUMN",
            help="Identifier: copied to the predictions, not used as a feature; repeatable.",
        ),
    ] = None
