"""Reader of the first sheet of Excel files."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import polars as pl

from ...exceptions import MissingExtraError, TableError
from ._batch import Batch

#: How the library names the column at a position, counted from 0, if it has no name.
_UNNAMED = "__UNNAMED__{}"
#: Rows above the names of the columns, such as a title, at most.
MAX_TITLE_ROWS = 20


def read_excel(stream: io.BufferedReader, name: str) -> Iterator[Batch]:
    """Yield all rows of the first sheet, whose first row holds the names of the columns.

    A title and other rows above the names are left out: rows that are not filled to the last column.
    """
    content = stream.read()
    try:
        frame = _read_sheet(content)
        if _has_title(frame):
            frame = _read_sheet(content, {"header_row": _find_header(content)})
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{name} is an Excel file, which needs fastexcel: pip install 'capo-learn[excel]', or save the "
            "sheet as CSV."
        ) from error
    except Exception as error:  # the errors of the library have no common base
        raise TableError(f"{name} cannot be read as an Excel file: {error}.") from error
    if not frame.height:
        raise TableError(f"{name} has no rows in its first sheet.")
    names = {_UNNAMED.format(position): f"column_{position + 1}" for position in range(frame.width)}
    yield Batch(frame.rename(names, strict=False), 1)


def _read_sheet(content: bytes, options: dict[str, Any] | None = None, **params: Any) -> pl.DataFrame:
    return pl.read_excel(
        io.BytesIO(content), engine="calamine", infer_schema_length=None, read_options=options, **params
    )


def _has_title(frame: pl.DataFrame) -> bool:
    """Whether the first row cannot hold the names of the columns: half have none, and the last is one."""
    unnamed = [name == _UNNAMED.format(position) for position, name in enumerate(frame.columns)]
    return frame.width > 1 and unnamed[-1] and 2 * sum(unnamed) >= frame.width


def _find_header(content: bytes) -> int:
    """The position of the first row without an empty cell; 0 if there is none near the top."""
    top = _read_sheet(content, {"n_rows": MAX_TITLE_ROWS}, has_header=False, drop_empty_rows=False)
    is_complete = top.select(pl.all_horizontal(pl.all().is_not_null())).to_series()
    return int(is_complete.arg_max() or 0)
