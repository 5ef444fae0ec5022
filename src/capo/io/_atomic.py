"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ..exceptions import OutputError


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which takes its place at `path` when all is written; else nothing changes.

    What is no ordinary file, such as a pipe or a device, is written to as it is.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from capo.io import atomic_write
    >>> place = Path(tempfile.mkdtemp()) / "numbers.txt"
    >>> with atomic_write(place) as file:
    ...     _ = file.write(b"1 2 3")
    >>> place.read_text()
    '1 2 3'
    """
    given = Path(path)
    try:
        if given.exists() and not given.is_file():
            with given.open("wb") as file:
                yield file
        else:
            yield from _in_place(Path(os.path.realpath(path)))
    except OSError as error:
        raise OutputError(_why(os.fspath(path), error)) from error


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse, before any work is done, a place that cannot be written to."""
    place = Path(os.path.realpath(path))
    try:
        if place.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if not Path(path).exists() or place.is_file():
            tempfile.TemporaryFile(dir=place.parent).close()
    except OSError as error:
        raise OutputError(_why(os.fspath(path), error)) from error


def _in_place(place: Path) -> Iterator[BinaryIO]:
    handle, temporary = tempfile.mkstemp(prefix=".capo-", suffix=".part", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(_mode(place))
        Path(temporary).replace(place)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise


def _mode(place: Path) -> int:
    """The rights of the file that is replaced, or those of a new one."""
    if place.exists():
        return place.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _why(path: str, error: OSError) -> str:
    reasons = {
        errno.ENOENT: "its folder does not exist",
        errno.EISDIR: "it is a folder",
        errno.ENOTDIR: "its folder is a file",
        errno.EACCES: "permission denied",
        errno.EROFS: "the file system is read-only",
        errno.ENOSPC: "the disk is full",
        errno.EDQUOT: "the quota on the disk is used up",
        errno.EFBIG: "it would be larger than files may be",
    }
    reason = reasons.get(error.errno or 0, error.strerror or str(error))
    return f"{path} cannot be written: {reason}. Nothing was changed."
