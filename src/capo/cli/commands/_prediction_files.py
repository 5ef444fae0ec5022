"""Files of predictions: CSV, TSV and JSON lines batch by batch, Parquet at the end."""

from __future__ import annotations

import gzip
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, cast

import polars as pl

#: Rows of a Parquet file that are kept in memory.
MAX_KEPT_ROWS = 500_000


class PredictionWriter(ABC):
    """Writes batches of predictions to a binary file."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    @abstractmethod
    def write(self, batch: pl.DataFrame) -> None:
        """Write a batch."""


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
    """Keeps the predictions, since the types of a file must be known before its first row.

    Many rows are kept in temporary files.
    """

    def __init__(self, file: BinaryIO, folder: Path) -> None:
        super().__init__(file)
        self.folder, self.n_kept = folder, 0
        self.batches: list[pl.DataFrame] = []
        self.files: list[Path] = []

    def write(self, batch: pl.DataFrame) -> None:
        self.batches.append(batch)
        self.n_kept += batch.height
        if self.n_kept >= MAX_KEPT_ROWS:
            self.files.append(self.folder / f"{len(self.files)}.arrow")
            pl.concat(self.batches, how="vertical_relaxed").write_ipc(self.files[-1])
            self.batches, self.n_kept = [], 0

    def close(self) -> None:
        frames = [pl.scan_ipc(path) for path in self.files] + [batch.lazy() for batch in self.batches]
        pl.concat(frames, how="vertical_relaxed").sink_parquet(self.file)


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
        with TemporaryDirectory(prefix="capo-") as folder:
            writer = _ParquetWriter(file, Path(folder))
            yield writer
            writer.close()
        return
    kind = _WRITERS.get(Path(name.removesuffix(".gz")).suffix, _DelimitedWriter)
    if not name.endswith(".gz"):
        yield kind(file)
        return
    with gzip.GzipFile(fileobj=file, mode="wb", filename="") as compressed:
        yield kind(cast(BinaryIO, compressed))
