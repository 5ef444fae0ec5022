"""Reader of the first sheet of Excel files."""

from __future__ import annotations

import io
from collections.abc import Iterator

import polars as pl

from ...exceptions import MissingExtraError, TableError
from ._batch import Batch


def read_excel(stream: io.BufferedReader, name: str) -> Iterator[Batch]:
    """Yield all rows of the first sheet, whose first row holds the names of the columns."""
    try:
        frame = pl.read_excel(io.BytesIO(stream.read()), engine="calamine", infer_schema_length=None)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{name} is an Excel file, which needs fastexcel: pip install 'capo-learn[excel]', or save the "
            "sheet as CSV."
        ) from error
    except Exception as error:  # the errors of the library have no common base
        raise TableError(f"{name} cannot be read as an Excel file: {error}.") from error
    if not frame.height:
        raise TableError(f"{name} has no rows in its first sheet.")
    yield Batch(frame, 1)
