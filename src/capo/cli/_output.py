"""Where results go: files that are whole or not there, or the standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..exceptions import InvalidInputError
from ..io import atomic_write, check_writable
from ._console import ignore_broken_pipe


@contextmanager
def sink(output: Path | None) -> Iterator[Any]:
    """A file to write bytes to; the standard output for none and for ``-``."""
    if to_stdout(output):
        with ignore_broken_pipe():
            yield sys.stdout.buffer
    else:
        assert output is not None
        with atomic_write(output) as file:
            yield file


def to_stdout(output: Path | None) -> bool:
    """Whether no file is meant."""
    return output is None or str(output) in ("-", "/dev/stdout", "/dev/fd/1")


def check_output(output: Path | None, *inputs: str | Path | None) -> None:
    """Refuse, before any work is done, what cannot be written or would overwrite what is read."""
    if to_stdout(output):
        return
    assert output is not None
    check_writable(output)
    for given in inputs:
        if (
            given is not None
            and output.exists()
            and os.path.exists(given)
            and os.path.samefile(output, given)
        ):
            raise InvalidInputError(
                f"{output} would be overwritten, and it is what is read: name another output."
            )


def size(output: Path) -> str:
    """The size of a file, for people."""
    count = output.stat().st_size
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"
