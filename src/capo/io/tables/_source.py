"""Bytes from a file or from the standard input, decompressed, with sentences for what goes wrong."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ...exceptions import TableError

#: How compressed files begin, and what reads them.
_PACKED: list[tuple[bytes, Any]] = [
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
]
#: How files begin that are no tables, and what to do with them.
_FOREIGN: list[tuple[bytes, str]] = [
    (b"PK\x03\x04", "a zip archive or a spreadsheet: unpack it, or save the sheet as CSV"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet or document: save the sheet as CSV"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd: decompress it first"),
    (b"%PDF", "a PDF document: a table is needed"),
    (b"\x89HDF", "an HDF5 file: write the table as Parquet or CSV"),
]
#: Bytes by which a file is known.
HEAD = 2**16


class Source:
    """A file's bytes in one pass, decompressed.

    Attributes
    ----------
    name : str
        What to call it in sentences.
    stem : str
        The name without the ending of a compressed file.
    """

    def __init__(self, path: str) -> None:
        self.name = "the standard input" if path == "-" else path
        self.stem = path.removesuffix(".gz").removesuffix(".bz2").removesuffix(".xz")
        self.path = None if path == "-" else Path(path)

    @contextmanager
    def open(self) -> Iterator[io.BufferedReader]:
        """The bytes, with everything that goes wrong as a `TableError`."""
        try:
            with self._raw() as raw:
                yield self._unpacked(raw)
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise TableError(
                f"{self.name} is compressed, but damaged or cut off: {error}. Get the file again."
            ) from error
        except OSError as error:
            raise TableError(self._why(error)) from error

    def _raw(self) -> BinaryIO:
        return sys.stdin.buffer if self.path is None else self.path.open("rb")

    def _unpacked(self, raw: BinaryIO) -> io.BufferedReader:
        head, reader = peek(raw)
        for start, what in _FOREIGN:
            if head.startswith(start):
                raise TableError(f"{self.name} is {what}.")
        for start, opened in _PACKED:
            if head.startswith(start):
                return io.BufferedReader(opened(reader))
        return reader

    def _why(self, error: OSError) -> str:
        if isinstance(error, FileNotFoundError):
            return f"there is no file {self.name}."
        if isinstance(error, IsADirectoryError):
            return f"{self.name} is a folder: give a file."
        if isinstance(error, PermissionError):
            return f"{self.name} may not be read: permission denied."
        return f"{self.name} cannot be read: {error.strerror or error}."


def peek(stream: BinaryIO | io.BufferedReader) -> tuple[bytes, io.BufferedReader]:
    """The beginning of a stream, and the stream from its beginning."""
    head = stream.read(HEAD)
    return head, io.BufferedReader(_Joined(head, stream))


class _Joined(io.RawIOBase):
    """Bytes that were read already, and what follows them."""

    def __init__(self, head: bytes, rest: BinaryIO | io.BufferedReader) -> None:
        self.head, self.rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.head[: len(buffer)] or self.rest.read(len(buffer))
        self.head = self.head[len(data) :]
        buffer[: len(data)] = data
        return len(data)
