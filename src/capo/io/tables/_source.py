"""The bytes of a file or of standard input, decompressed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ...exceptions import TableError

#: The first bytes of compressed files, and the functions that open them.
_DECOMPRESSORS: list[tuple[bytes, Any]] = [
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
]
#: The first bytes of files that are not supported, and a description with a remedy.
_UNSUPPORTED_FORMATS: list[tuple[bytes, str]] = [
    (b"\x28\xb5\x2f\xfd", "compressed with zstd: decompress it first"),
    (b"%PDF", "a PDF document: convert it to a table first"),
    (b"\x89HDF", "an HDF5 file: save the table as Parquet or CSV"),
]
#: The first bytes of zip archives, which Excel files are, too, and of older Excel files.
_ZIP_SIGNATURE = b"PK\x03\x04"
EXCEL_SIGNATURES = (_ZIP_SIGNATURE, b"\xd0\xcf\x11\xe0")
#: The entry of a zip archive by which Excel files are recognized.
_EXCEL_ENTRY = "[Content_Types].xml"
#: Bytes that are inspected to detect the format of a file.
HEAD_SIZE = 2**16


class ByteSource:
    """A file or standard input, to be read once and decompressed.

    Attributes
    ----------
    name : str
        The name of the source in messages.
    stem : str
        The path without the suffix of a compressed file.
    path : pathlib.Path, optional
        The path of the file; None for standard input.
    """

    def __init__(self, path: str) -> None:
        self.name = "standard input" if path == "-" else path
        self.stem = path
        for suffix in (".gz", ".bz2", ".xz", ".zip"):
            self.stem = self.stem.removesuffix(suffix)
        self.path = None if path == "-" else Path(path)

    @contextmanager
    def open(self) -> Iterator[io.BufferedReader]:
        """Open the decompressed stream; every failure becomes a `TableError`."""
        try:
            with self._open_raw() as raw:
                yield self._decompress(raw)
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile) as error:
            raise TableError(
                f"{self.name} is compressed, but damaged or truncated: {error}. Copy or download it again."
            ) from error
        except OSError as error:
            raise TableError(self._error_message(error)) from error

    def _open_raw(self) -> BinaryIO:
        return sys.stdin.buffer if self.path is None else self.path.open("rb")

    def _decompress(self, raw: BinaryIO) -> io.BufferedReader:
        head, stream = read_head(raw)
        for signature, description in _UNSUPPORTED_FORMATS:
            if head.startswith(signature):
                raise TableError(f"{self.name} is {description}.")
        for signature, open_compressed in _DECOMPRESSORS:
            if head.startswith(signature):
                return io.BufferedReader(open_compressed(stream))
        return self._unzip(stream) if head.startswith(_ZIP_SIGNATURE) else stream

    def _unzip(self, stream: io.BufferedReader) -> io.BufferedReader:
        """The only file of a zip archive; an Excel file is returned as it is."""
        data = io.BytesIO(stream.read())
        try:
            archive = zipfile.ZipFile(data)
            names = [name for name in archive.namelist() if not name.endswith("/") and "__MACOSX" not in name]
        except zipfile.BadZipFile as error:
            raise TableError(
                f"{self.name} is a zip archive or an Excel file, but damaged or truncated: {error}. Copy or "
                "download it again."
            ) from error
        if _EXCEL_ENTRY in names:
            data.seek(0)
            return io.BufferedReader(data)
        if len(names) != 1:
            raise TableError(f"{self.name} is a zip archive of {len(names)} files: it must hold one.")
        return io.BufferedReader(archive.open(names[0]))  # type: ignore[arg-type]

    def _error_message(self, error: OSError) -> str:
        if isinstance(error, FileNotFoundError):
            return f"there is no file {self.name}."
        if isinstance(error, IsADirectoryError):
            return f"{self.name} is a folder without tables, such as .parquet or .csv files: give a file."
        if isinstance(error, PermissionError):
            return f"{self.name} cannot be read: permission denied."
        return f"{self.name} cannot be read: {error.strerror or error}."


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
