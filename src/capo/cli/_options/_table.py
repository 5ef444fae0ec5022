"""The table that a command reads, and how to read it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from ._panels import READING

if TYPE_CHECKING:
    from ...io.tables import TableReader

_option = partial(typer.Option, rich_help_panel=READING)


@dataclass(frozen=True, kw_only=True)
class _ReadingOptions:
    format: Annotated[
        str | None,
        _option(
            "--format",
            metavar="NAME",
            help="csv, parquet, jsonl, excel or svmlight; by default detected from the file.",
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        _option(
            "--delimiter",
            metavar="CHARACTER",
            help="Separator of values: , ; | or tab; by default detected from the header.",
        ),
    ] = None
    encoding: Annotated[
        str | None,
        _option(
            "--encoding",
            metavar="NAME",
            help="Encoding of a text file that is not UTF-8, such as cp1252.",
        ),
    ] = None

    def _open(self, path: str) -> TableReader:
        from ...io.tables import open_table  # noqa: PLC0415 (slow to import)

        return open_table(path, format=self.format, delimiter=self.delimiter, encoding=self.encoding)


@dataclass(frozen=True, kw_only=True)
class TableOptions(_ReadingOptions):
    """A table."""

    path: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="CSV, TSV, Parquet, JSON lines, Excel or svmlight file, also .gz, .bz2, .xz or .zip; a "
            "pattern of several, such as 'part-*.csv', or a folder; - for standard input.",
        ),
    ]

    def open(self) -> TableReader:
        """A reader of the table."""
        return self._open(self.path)


@dataclass(frozen=True, kw_only=True)
class OptionalTableOptions(_ReadingOptions):
    """A table of new rows, or none."""

    path: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="Rows of the new population; labels are not needed."),
    ] = None

    def open(self) -> TableReader | None:
        """A reader of the table; None if no table was named."""
        return None if self.path is None else self._open(self.path)
