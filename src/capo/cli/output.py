"""Output of the commands: complete files, or standard output."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from ..exceptions import InvalidInputError
from ..io.atomic import atomic_write, check_writable
from .console import Console, ignore_broken_pipe


def is_stdout(output: Path | None) -> bool:
    """Whether `output` means standard output."""
    return output is None or str(output) in ("-", "/dev/stdout", "/dev/fd/1")


@contextmanager
def open_output(output: Path | None) -> Iterator[BinaryIO]:
    """A binary file that replaces `output` once it is complete, or standard output."""
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


def check_file_ending(output: Path | None, endings: Sequence[str], content: str) -> None:
    """Raise if the name of a file has an ending of another format; a device or a pipe may have any name."""
    if output is None or not output.suffix or output.name.lower().endswith(tuple(endings)):
        return
    if not output.exists() or output.is_file():
        raise InvalidInputError(f"{content}: got {output.name}.")


def check_output(output: Path | None, *inputs: str | Path | None) -> None:
    """Raise before any work is done if `output` cannot be written or is one of the input files.

    So is standard output, to which every command writes. Open files are compared rather than paths: standard
    input may be a file under another name.
    """
    targets = {"standard output": _stat_stream(sys.stdout)}
    if output is not None and not is_stdout(output):
        check_writable(output)
        targets[str(output)] = _stat_path(output)
    for each in inputs:
        source = _stat_stream(sys.stdin) if str(each) == "-" else _stat_path(each)
        for name, target in targets.items():
            if target is not None and source is not None and os.path.samestat(target, source):
                raise InvalidInputError(
                    f"{name} is an input file and would be overwritten: name another output."
                )


def _stat_path(path: str | Path | None) -> os.stat_result | None:
    """The regular file at a path; None for anything else."""
    try:
        return None if path is None else _only_regular(os.stat(path))
    except OSError:
        return None


def _stat_stream(stream: TextIO | None) -> os.stat_result | None:
    """The regular file that a stream is redirected to or from; None for anything else."""
    try:
        return None if stream is None else _only_regular(os.fstat(stream.fileno()))
    except (OSError, ValueError):
        return None


def _only_regular(found: os.stat_result) -> os.stat_result | None:
    return found if stat.S_ISREG(found.st_mode) else None


def format_file_size(path: Path) -> str:
    """The size of a file in kB or MB."""
    n_bytes = path.stat().st_size
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.0f} kB"
