"""Standard streams that are safe to use: none is closed, and messages that cannot be written are dropped.

A command whose terminal is gone, or that runs as ``capo ... >&-`` or ``capo ... 2>&1 | head -1``, still does
its work. Errors of writing to standard output are raised, because they lose results.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any


def prepare_standard_streams() -> None:
    """Open closed streams, keep messages from failing, and escape characters that an encoding lacks."""
    _open_closed_streams()
    if sys.stderr is sys.__stderr__:
        sys.stderr = _message_stream(sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def discard_standard_output() -> None:
    """Redirect standard output to nowhere, so that the flush at exit does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_closed_streams() -> None:
    """Connect closed streams to the null device; otherwise the next file would take their number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(handle, True)
            stream = open(handle, mode, encoding="utf-8")  # noqa: SIM115 (open until exit)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


class _MessageFile(io.FileIO):
    """A file that ignores errors of writing."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _message_stream(stream: Any) -> io.TextIOWrapper:
    file = io.BufferedWriter(_MessageFile(stream.fileno(), "w", closefd=False))
    return io.TextIOWrapper(file, encoding=stream.encoding, line_buffering=True)
