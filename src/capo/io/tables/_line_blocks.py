"""Blocks of complete lines of a text file, in UTF-8."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..._typing import BoolArray
from ...exceptions import TableError

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


def recode_to_utf8(
    stream: io.BufferedReader, head: bytes, encoding: str | None, name: str
) -> io.BufferedReader:
    """Return the text in UTF-8; a byte order mark takes precedence over `encoding`."""
    encoding = detect_encoding(head, encoding)
    if encoding is None:
        return stream
    try:
        "".encode(encoding)  # raises if this is not an encoding of text
        decoder = codecs.getincrementaldecoder(encoding)()
    except (LookupError, UnicodeError) as error:
        raise TableError(
            f"unknown encoding {encoding!r}. Common encodings are utf-8, latin-1, cp1252 and utf-16."
        ) from error
    return io.BufferedReader(_Utf8Recoder(stream, decoder, name, encoding))


class _Utf8Recoder(io.RawIOBase):
    """A stream of text in another encoding, read as UTF-8."""

    def __init__(
        self, stream: io.BufferedReader, decoder: codecs.IncrementalDecoder, name: str, encoding: str
    ) -> None:
        self.stream, self.decoder, self.name, self.encoding = stream, decoder, name, encoding
        self.pending, self.at_end = b"", False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        while not self.pending and not self.at_end:
            data = self.stream.read(len(buffer))  # type: ignore[arg-type]
            self.at_end = not data
            try:
                self.pending = self.decoder.decode(data, final=self.at_end).encode()
            except (UnicodeError, ValueError) as error:
                raise TableError(
                    f"{self.name} cannot be decoded as {self.encoding}: {error}. Give another encoding with "
                    "--encoding."
                ) from error
        size = min(len(self.pending), len(buffer))  # type: ignore[arg-type]
        buffer[:size], self.pending = self.pending[:size], self.pending[size:]  # type: ignore[index]
        return size


def read_line_blocks(stream: io.BufferedReader, name: str) -> Iterator[bytes]:
    """Yield blocks of complete lines, which may contain newlines inside quotes, each ending in a newline."""
    return _complete_lines(_read_text(stream, name), name)


def read_byte_blocks(stream: io.BufferedReader, name: str) -> Iterator[bytes]:
    """Yield blocks of complete lines as they are in the file, in an encoding that extends ASCII."""
    return _complete_lines(iter(partial(stream.read, BLOCK_SIZE), b""), name)


def _complete_lines(chunks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Divide the bytes after line ends; a newline is added to a last line that lacks it."""
    rest = b""
    for data in chunks:
        rest += data
        end = _complete_lines_size(rest)
        if end:
            yield rest[:end]
            rest = rest[end:]
        elif len(rest) > MAX_LINE_SIZE:
            raise TableError(
                f"{name} has a line of more than {MAX_LINE_SIZE:,} bytes: it does not look like a table."
            )
    if rest:
        yield rest if rest.endswith(b"\n") else rest + b"\n"


def _read_text(stream: io.BufferedReader, name: str) -> Iterator[bytes]:
    while data := stream.read(BLOCK_SIZE):
        if b"\0" in data:
            raise TableError(
                f"{name} is not a text table: it contains binary data. If it is UTF-16 text, give "
                "--encoding utf-16."
            )
        if data.endswith(b"\r"):
            data += stream.read(1)
        yield _normalize_newlines(data)


def _normalize_newlines(data: bytes) -> bytes:
    """Convert CR LF and CR line ends to LF."""
    if b"\r" not in data:
        return data
    return data.replace(b"\r\n", b"\n") if b"\n" in data else data.replace(b"\r", b"\n")


def _complete_lines_size(data: bytes) -> int:
    if _QUOTE not in data:
        return data.rfind(b"\n") + 1
    ends = find_line_ends(np.frombuffer(data, dtype=np.uint8))
    return int(ends[-1]) + 1 if ends.size else 0


def unquoted_mask(text: NDArray[np.uint8]) -> BoolArray | None:
    """Which bytes are outside quotes; None if there are no quotes."""
    quotes = text == _QUOTE
    return None if not quotes.any() else np.cumsum(quotes, dtype=np.uint8) % 2 == 0


def find_line_ends(text: NDArray[np.uint8]) -> NDArray[np.intp]:
    """The positions of newlines outside quotes."""
    unquoted, newlines = unquoted_mask(text), text == _NEWLINE
    return np.flatnonzero(newlines if unquoted is None else newlines & unquoted)
