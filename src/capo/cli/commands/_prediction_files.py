"""Files of predictions: CSV, TSV and JSON lines batch by batch, Parquet at the end."""

from __future__ import annotations

import gzip
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import polars as pl


class PredictionWriter(ABC):
    """Writes batches of predictions to a binary file."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    @abstractmethod
    def write(self, batch: pl.DataFrame) -> None:
        """Write a batch."""

    def close(self) -> None:  # noqa: B027 (most writers have nothing left)
        """Write what is left; the file stays open."""


class _DelimitedWriter(PredictionWriter):
    separator = ","
    has_header = False

    def write(self, batch: pl.DataFrame) -> None:
        text = batch.write_csv(separator=self.separator, include_header=not self.has_header)
        self.has_header = True
        self.file.write(text.encode())


class _TabWriter(_DelimitedWriter):
    separator = "\t"


class _JsonLinesWriter(PredictionWriter):
    def write(self, batch: pl.DataFrame) -> None:
        self.file.write(batch.write_ndjson().encode())


class _ParquetWriter(PredictionWriter):
    """Keeps the predictions, since the types of a file must be known before its first row."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self.batches: list[pl.DataFrame] = []

    def write(self, batch: pl.DataFrame) -> None:
        self.batches.append(batch)

    def close(self) -> None:
        pl.concat(self.batches, how="vertical_relaxed").write_parquet(self.file)


#: The writer for each ending of a file.
_WRITERS: dict[str, type[PredictionWriter]] = {
    **dict.fromkeys((".csv", ".txt"), _DelimitedWriter),
    **dict.fromkeys((".tsv", ".tab"), _TabWriter),
    **dict.fromkeys((".jsonl", ".ndjson"), _JsonLinesWriter),
}
_PARQUET = (".parquet", ".pq")
#: All endings of files with predictions.
ENDINGS = [*(ending + gz for ending in _WRITERS for gz in ("", ".gz")), *_PARQUET]


@contextmanager
def open_writer(file: BinaryIO, output: Path | None) -> Iterator[PredictionWriter]:
    """A writer in the format that the name of the output asks for, compressed if it ends in .gz."""
    name = output.name.lower() if output else ""
    if name.endswith(_PARQUET):
        writer: PredictionWriter = _ParquetWriter(file)
        yield writer
        writer.close()
        return
    kind = _WRITERS.get(Path(name.removesuffix(".gz")).suffix, _DelimitedWriter)
    if not name.endswith(".gz"):
        yield kind(file)
        return
    with gzip.GzipFile(fileobj=file, mode="wb", filename="") as compressed:
        yield kind(cast(BinaryIO, compressed))
