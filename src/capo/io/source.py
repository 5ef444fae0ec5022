"""A file as bytes, lines and batches of rows."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from scipy.sparse import vstack

from .._compat import BoolArray, FloatArray, NDArray
from ..exceptions import TableError

#: The first bytes of compressed files, and the functions that open them.
_DECOMPRESSORS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
#: The first bytes of files that are not supported, and a description with a remedy.
_UNSUPPORTED_FORMATS = {
    b"\x28\xb5\x2f\xfd": "compressed with zstd: decompress it first",
    b"%PDF": "a PDF document: convert it to a table first",
    b"\x89HDF": "an HDF5 file: save the table as Parquet or CSV",
}
#: The first bytes of zip archives, which Excel files are, too, and of older Excel files.
_ZIP_SIGNATURE = b"PK\x03\x04"
EXCEL_SIGNATURES = (_ZIP_SIGNATURE, b"\xd0\xcf\x11\xe0")
#: The entry of a zip archive by which Excel files are recognized.
_EXCEL_ENTRY = "[Content_Types].xml"
#: Bytes that are inspected to detect the format of a file.
HEAD_SIZE = 2**16


@contextmanager
def open_decompressed(path: str, name: str) -> Iterator[io.BufferedReader]:
    """Open a file or standard input to be read once; every failure becomes a `TableError` with the name."""
    try:
        with sys.stdin.buffer if path == "-" else Path(path).open("rb") as raw:
            head, stream = read_head(raw)
            for signature, description in _UNSUPPORTED_FORMATS.items():
                if head.startswith(signature):
                    raise TableError(f"{name} is {description}.")
            if head.startswith(_ZIP_SIGNATURE):
                stream = _unzip(stream, name)
            for signature, open_compressed in _DECOMPRESSORS.items():
                if head.startswith(signature):
                    stream = io.BufferedReader(open_compressed(stream))
            yield stream
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile) as error:
        raise TableError(
            f"{name} is compressed, but damaged or truncated: {error}. Copy or download it again."
        ) from error
    except FileNotFoundError as error:
        raise TableError(f"there is no file {name}.") from error
    except IsADirectoryError as error:
        raise TableError(
            f"{name} is a folder without tables, such as .parquet or .csv files: name a file."
        ) from error
    except OSError as error:
        reason = "permission denied" if isinstance(error, PermissionError) else error.strerror or error
        raise TableError(f"{name} cannot be read: {reason}.") from error


def _unzip(stream: io.BufferedReader, name: str) -> io.BufferedReader:
    """The only file of a zip archive; an Excel file is returned as it is."""
    data = io.BytesIO(stream.read())
    try:
        archive = zipfile.ZipFile(data)
        names = [each for each in archive.namelist() if not each.endswith("/") and "__MACOSX" not in each]
    except zipfile.BadZipFile as error:
        raise TableError(
            f"{name} is a zip archive or an Excel file, but damaged or truncated: {error}. Copy or download "
            "it again."
        ) from error
    if _EXCEL_ENTRY in names:
        data.seek(0)
        return io.BufferedReader(data)
    if len(names) != 1:
        raise TableError(f"{name} is a zip archive of {len(names)} files: it must contain exactly one.")
    return io.BufferedReader(archive.open(names[0]))  # type: ignore[arg-type]


def read_head(stream: BinaryIO | io.BufferedReader) -> tuple[bytes, io.BufferedReader]:
    """Read the first bytes, and return them with a stream that still begins with them."""
    head = stream.read(HEAD_SIZE)
    return head, io.BufferedReader(_PrependedStream(head, stream))


class _PrependedStream(io.RawIOBase):
    """Bytes that were already read, followed by the rest of the stream."""

    def __init__(self, head: bytes, rest: BinaryIO | io.BufferedReader) -> None:
        self.head, self.rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.head[: len(buffer)] or self.rest.read(len(buffer))
        self.head = self.head[len(data) :]
        buffer[: len(data)] = data
        return len(data)


class NoRowsError(TableError):
    """Raised if a file has no rows; such a file among several is skipped."""


@dataclass(frozen=True)
class SparseRows:
    """Rows of a file in svmlight format: a sparse matrix of features, and the label of each row."""

    X: Any
    labels: FloatArray

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: slice) -> SparseRows:
        return SparseRows(self.X[index], self.labels[index])

    def resize_features(self, n_features: int) -> Any:
        """Return the features with exactly this many columns: further ones are cut, missing ones are zero."""
        if self.X.shape[1] > n_features:
            return self.X[:, :n_features]
        X = self.X.copy()
        X.resize((X.shape[0], n_features))
        return X

    @classmethod
    def concat(cls, parts: Sequence[SparseRows]) -> SparseRows:
        """Concatenate rows."""
        n_features = max(part.X.shape[1] for part in parts)
        X = vstack([part.resize_features(n_features) for part in parts], format="csr")
        return cls(X, np.concatenate([part.labels for part in parts]))


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of a file.

    Attributes
    ----------
    rows : polars.DataFrame or SparseRows
        The rows; all columns of a data frame are text if the file is a text file.
    first_row : int
        The number of the first row in the file, counted from 1.
    decimal_comma : bool
        Whether numbers may have a decimal comma, because the delimiter is another character.
    """

    rows: pl.DataFrame | SparseRows
    first_row: int
    decimal_comma: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def frame(self) -> pl.DataFrame:
        """The rows of a table with named columns; an error for svmlight format."""
        if isinstance(self.rows, SparseRows):
            raise TableError("a table with named columns is needed, but the file is in svmlight format.")
        return self.rows

    @property
    def sparse_rows(self) -> SparseRows:
        """The rows of a file in svmlight format; an error for a table with named columns."""
        if not isinstance(self.rows, SparseRows):
            raise TableError("a file in svmlight format is needed, but the file has named columns.")
        return self.rows

    def split(self, max_rows: int) -> Iterator[Batch]:
        """Split the rows into smaller batches."""
        for start in range(0, len(self), max_rows):
            part = self.rows[start : start + max_rows]
            yield Batch(part, self.first_row + start, self.decimal_comma)


def concat_batches(parts: Iterable[Batch]) -> Batch:
    """One batch of the rows of consecutive batches; a column that some of them lack is missing there."""
    first = (batches := list(parts))[0]
    if isinstance(first.rows, SparseRows):
        return Batch(SparseRows.concat([batch.sparse_rows for batch in batches]), first.first_row)
    rows = pl.concat([batch.frame for batch in batches], how="diagonal_relaxed")
    return Batch(rows, first.first_row, first.decimal_comma)


#: Bytes per read.
BLOCK_SIZE = 2**22
#: A file with a longer line is rejected.
MAX_LINE_SIZE = 2**28
_NEWLINE, _QUOTE = ord("\n"), ord('"')
#: Byte order marks and their encodings.
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}


def detect_encoding(head: bytes, encoding: str | None) -> str | None:
    """The encoding of a byte order mark, or else the one given."""
    return next((known for mark, known in _BYTE_ORDER_MARKS.items() if head.startswith(mark)), encoding)


def complete_lines(chunks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yield blocks of complete lines, each ending in a newline; quoted newlines end no line."""
    rest = b""
    for data in chunks:
        rest += data
        end = rest.rfind(b"\n") + 1
        if _QUOTE in rest:
            ends = find_line_ends(np.frombuffer(rest, dtype=np.uint8))
            end = int(ends[-1]) + 1 if ends.size else 0
        if end:
            yield rest[:end]
            rest = rest[end:]
        elif len(rest) > MAX_LINE_SIZE:
            raise TableError(
                f"{name} has a line of more than {MAX_LINE_SIZE:,} bytes: it does not look like a table."
            )
    if rest:
        yield rest if rest.endswith(b"\n") else rest + b"\n"


def read_text(
    stream: io.BufferedReader, head: bytes, name: str, encoding: str | None = None
) -> Iterator[bytes]:
    """Yield blocks of bytes in UTF-8 with LF as line ends; without an encoding, the bytes are not decoded.

    A byte order mark in the first bytes of the stream takes precedence over `encoding`.
    """
    encoding, decoder = detect_encoding(head, encoding), None
    if encoding is not None:
        try:
            "".encode(encoding)  # raises if this is not an encoding of text
            decoder = codecs.getincrementaldecoder(encoding)()
        except (LookupError, UnicodeError) as error:
            raise TableError(
                f"unknown encoding {encoding!r}. Common encodings are utf-8, latin-1, cp1252 and utf-16."
            ) from error
    rest, at_end = b"", False
    while not at_end:
        data = stream.read(BLOCK_SIZE)
        at_end = not data
        if decoder is not None:
            try:
                data = decoder.decode(data, final=at_end).encode()
            except UnicodeError as error:
                raise TableError(
                    f"{name} cannot be decoded as {encoding}: {error}. Set another encoding with --encoding."
                ) from error
        if b"\0" in data:
            raise TableError(
                f"{name} is not a text table: it contains binary data. If it is UTF-16 text, use --encoding "
                "utf-16."
            )
        data = rest + data
        rest = b"\r" if data.endswith(b"\r") and not at_end else b""  # a newline may follow
        data = data.removesuffix(rest)
        yield data.replace(b"\r\n", b"\n") if b"\n" in data else data.replace(b"\r", b"\n")


def is_outside_quotes(text: NDArray[np.uint8], byte: int) -> BoolArray:
    """A mask of the positions of a byte outside quotes."""
    found, quotes = text == byte, text == _QUOTE
    return found & (np.cumsum(quotes, dtype=np.uint8) % 2 == 0) if quotes.any() else found


def find_line_ends(text: NDArray[np.uint8]) -> NDArray[np.intp]:
    """The positions of newlines outside quotes."""
    return np.flatnonzero(is_outside_quotes(text, _NEWLINE))
