"""``capo predict``: write predictions for the rows of a table."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

from ...exceptions import InvalidInputError
from ...io.tables import Batch, Schema, TableReader, require_column
from .._console import Console
from .._output import check_file_ending, check_output, open_output
from ._loaded_model import PREDICTION_COLUMNS, load_model, read_batches

#: Endings of files with predictions, before .gz.
TAB_SEPARATED, COMMA_SEPARATED = (".tsv", ".tab"), (".csv", ".txt")


def run_predict(
    path: str,
    table: TableReader,
    output: Path | None,
    ids: Sequence[str] | None,
    trusted: Sequence[str] | None,
    console: Console,
) -> None:
    """Write predictions batch by batch."""
    endings = [ending + gz for ending in (*TAB_SEPARATED, *COMMA_SEPARATED) for gz in ("", ".gz")]
    check_file_ending(output, endings, "predictions are written to .csv or .tsv files, also with .gz")
    check_output(output, table.path, path)
    loaded = load_model(path, trusted, console)
    if ids is not None:
        loaded = replace(loaded, schema=loaded.schema.with_ids(ids))
    separator = "\t" if _uncompressed_name(output).endswith(TAB_SEPARATED) else ","
    with (
        console.step("predicting") as step,
        open_output(output) as raw,
        _gzip_if_asked(raw, output) as file,
    ):
        for number, batch in enumerate(read_batches(table, step)):
            if number == 0:
                _check_ids(loaded.schema, batch, ids or ())
            text = loaded.predict(batch).write_csv(separator=separator, include_header=number == 0)
            file.write(text.encode())


def _check_ids(schema: Schema, batch: Batch, requested: Sequence[str]) -> None:
    for name in requested:
        require_column(name, batch.frame.columns, "identifier")
    for name in schema.id_columns(batch).columns:
        if name in PREDICTION_COLUMNS:
            raise InvalidInputError(
                f"the identifier {name!r} has the name of a column of the predictions "
                f"({', '.join(PREDICTION_COLUMNS)}): rename it in the table."
            )


def _uncompressed_name(output: Path | None) -> str:
    return output.name.lower().removesuffix(".gz") if output else ""


@contextmanager
def _gzip_if_asked(file: BinaryIO, output: Path | None) -> Iterator[BinaryIO]:
    """The file itself, or a gzip stream into it if the output's name ends in .gz."""
    if output is None or output.suffix.lower() != ".gz":
        yield file
        return
    with gzip.GzipFile(fileobj=file, mode="wb", filename="") as compressed:
        yield cast(BinaryIO, compressed)
