"""Where results are written: complete files, or the standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..exceptions import InvalidInputError
from ..io import atomic_write, check_writable
from ._console import Console, ignore_broken_pipe


def is_stdout(output: Path | None) -> bool:
    """Whether `output` means the standard output."""
    return output is None or str(output) in ("-", "/dev/stdout", "/dev/fd/1")


@contextmanager
def open_output(output: Path | None) -> Iterator[BinaryIO]:
    """A binary file that replaces `output` once it is complete, or the standard output."""
    if output is None or is_stdout(output):
        with ignore_broken_pipe():
            yield sys.stdout.buffer
    else:
        with atomic_write(output) as file:
            yield file


def write_output(data: bytes, output: Path, console: Console) -> None:
    """Write a complete result, and log the file's size."""
    with open_output(output) as file:
        file.write(data)
    if not is_stdout(output):
        console.log(f"wrote {output} ({format_file_size(output)})")


def check_output(output: Path | None, *inputs: str | Path | None) -> None:
    """Raise before any work is done if `output` cannot be written or is one of the input files."""
    if output is None or is_stdout(output):
        return
    check_writable(output)
    if any(each is not None and _is_same_file(output, each) for each in inputs):
        raise InvalidInputError(f"{output} is an input file and would be overwritten: name another output.")


def _is_same_file(output: Path, other: str | Path) -> bool:
    return output.exists() and os.path.exists(other) and os.path.samefile(output, other)


def format_file_size(path: Path) -> str:
    """The size of a file in kB or MB."""
    n_bytes = path.stat().st_size
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.0f} kB"
