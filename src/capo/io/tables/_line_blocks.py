"""Whole lines of a text file, some megabytes at a time."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...exceptions import TableError

#: Bytes that are read at once.
BLOCK = 2**22
#: A line longer than this is none.
LONGEST_LINE = 2**28
NEWLINE, QUOTE = ord("\n"), ord('"')

_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16", codecs.BOM_UTF8: "utf-8-sig"}


def as_utf8(stream: io.BufferedReader, head: bytes, encoding: str | None, name: str) -> io.BufferedReader:
    """The same text in UTF-8, whatever it was in; a mark at its beginning says so, or the user does."""
    marked = next((known for mark, known in _MARKS.items() if head.startswith(mark)), None)
    encoding = marked or encoding
    if encoding is None:
        return stream
    try:
        "".encode(encoding)  # refuses what is no encoding of text
        return io.BufferedReader(_Recoded(stream, codecs.getincrementaldecoder(encoding)(), name))
    except (LookupError, UnicodeError) as error:
        raise TableError(
            f"there is no encoding {encoding!r}. Common ones are utf-8, latin-1, cp1252 and utf-16."
        ) from error


class _Recoded(io.RawIOBase):
    """Bytes of another encoding as UTF-8."""

    def __init__(self, stream: io.BufferedReader, decoder: codecs.IncrementalDecoder, name: str) -> None:
        self.stream, self.decoder, self.name, self.ready, self.over = stream, decoder, name, b"", False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        while not self.ready and not self.over:
            data = self.stream.read(len(buffer))  # type: ignore[arg-type]
            self.over = not data
            try:
                self.ready = self.decoder.decode(data, final=self.over).encode()
            except (UnicodeError, ValueError) as error:
                raise TableError(
                    f"{self.name} is not in the encoding it is said to be in: {error}. Give another with "
                    "--encoding."
                ) from error
        size = min(len(self.ready), len(buffer))  # type: ignore[arg-type]
        buffer[:size], self.ready = self.ready[:size], self.ready[size:]  # type: ignore[index]
        return size


def blocks(stream: io.BufferedReader, name: str) -> Iterator[bytes]:
    """Whole lines; a line does not end inside quotes, and the last one may lack its end."""
    rest = b""
    while data := stream.read(BLOCK):
        if b"\0" in data:
            raise TableError(
                f"{name} does not look like a table of text: it holds binary data. If it is "
                "text in UTF-16, say so with --encoding utf-16."
            )
        if data.endswith(b"\r"):
            data += stream.read(1)
        rest += _with_newlines(data)
        end = _last_end(rest)
        if end:
            yield rest[:end]
            rest = rest[end:]
        elif len(rest) > LONGEST_LINE:
            raise TableError(f"{name} has a line of more than {LONGEST_LINE:,} bytes: it is no table.")
    if rest:
        yield rest if rest.endswith(b"\n") else rest + b"\n"


def _with_newlines(data: bytes) -> bytes:
    """Lines that end as on Windows, or on a Mac of old, end in a newline."""
    if b"\r" not in data:
        return data
    return data.replace(b"\r\n", b"\n") if b"\n" in data else data.replace(b"\r", b"\n")


def _last_end(data: bytes) -> int:
    """The length of all whole lines."""
    if QUOTE not in data:
        return data.rfind(b"\n") + 1
    ends = line_ends(np.frombuffer(data, dtype=np.uint8))
    return int(ends[-1]) + 1 if ends.size else 0


def outside_quotes(text: NDArray[np.uint8]) -> NDArray[np.bool_] | None:
    """Which bytes are outside quotes; None if there are no quotes."""
    quotes = text == QUOTE
    return None if not quotes.any() else np.cumsum(quotes, dtype=np.uint8) % 2 == 0


def line_ends(text: NDArray[np.uint8]) -> NDArray[np.intp]:
    """Where lines end."""
    outside, ends = outside_quotes(text), text == NEWLINE
    return np.flatnonzero(ends if outside is None else ends & outside)
