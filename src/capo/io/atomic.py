"""Atomic writes: a file is either written completely or left as it was."""

from __future__ import annotations

import errno
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from ..exceptions import OutputError

#: A temporary file that is not locked is removed after this time, in which its process could lock it.
MIN_ABANDONED_SECONDS = 60
_PREFIX, _SUFFIX = ".capo-", ".part"
#: The open files of this process, by their handles.
_OPEN_FILES = Path("/proc/self/fd")


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` when the block ends without an error.

    If an error occurs, `path` is left as it was. A path that is not a regular file, such as a pipe or a
    device, is written to directly.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from capo.io.atomic import atomic_write
    >>> path = Path(tempfile.mkdtemp()) / "numbers.txt"
    >>> with atomic_write(path) as file:
    ...     _ = file.write(b"1 2 3")
    >>> path.read_text()
    '1 2 3'
    """
    destination = Path(path)
    try:
        if destination.exists() and not destination.is_file():
            with destination.open("wb") as file:
                yield file
        else:
            yield from _write_and_replace(Path(os.path.realpath(path)))
    except OSError as error:
        raise OutputError(_error_message(os.fspath(path), error)) from error


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise an `OutputError` if a file cannot be written, before any work is done."""
    destination = Path(os.path.realpath(path))
    try:
        if destination.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if not Path(path).exists() or destination.is_file():
            tempfile.TemporaryFile(dir=destination.parent).close()
    except OSError as error:
        raise OutputError(_error_message(os.fspath(path), error)) from error


def _write_and_replace(destination: Path) -> Iterator[BinaryIO]:
    unnamed = _open_unnamed(destination.parent)
    if unnamed is None:
        yield from _write_named(destination)
        return
    with unnamed:
        yield unnamed
        _flush_to_disk(unnamed)
        os.fchmod(unnamed.fileno(), _file_mode(destination))
        _link(unnamed.fileno(), destination)


def _open_unnamed(folder: Path) -> BinaryIO | None:
    """Open a file without a name, which vanishes if the process is killed; None if that is not supported."""
    if not hasattr(os, "O_TMPFILE") or not _OPEN_FILES.exists():
        return None
    try:
        handle = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except OSError:  # each file system refuses in its own way; a real obstacle is met again
        return None
    return os.fdopen(handle, "wb")


def _link(handle: int, destination: Path) -> None:
    """Give an open file without a name the name of the destination."""
    source = _OPEN_FILES / str(handle)
    try:
        # With src_dir_fd Python follows the symbolic link; on an absolute path it has no other effect.
        os.link(source, destination, src_dir_fd=handle)
    except FileExistsError:
        temporary = destination.with_name(f"{_PREFIX}{token_hex(8)}{_SUFFIX}")
        os.link(source, temporary, src_dir_fd=handle)
        with _removed_on_error(temporary):
            temporary.replace(destination)


def _write_named(destination: Path) -> Iterator[BinaryIO]:
    """Write a file with a temporary name."""
    _remove_abandoned(destination.parent)
    handle, name = tempfile.mkstemp(prefix=_PREFIX, suffix=_SUFFIX, dir=destination.parent)
    temporary = Path(name)
    with _removed_on_error(temporary):
        with os.fdopen(handle, "wb") as file:
            _lock(file.fileno())
            yield file
            _flush_to_disk(file)
        temporary.chmod(_file_mode(destination))
        temporary.replace(destination)


def _remove_abandoned(folder: Path) -> None:
    """Remove the temporary files of processes that were killed; those of running ones are locked."""
    for path in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
        with suppress(OSError), path.open("rb") as file:
            if time.time() - path.stat().st_mtime > MIN_ABANDONED_SECONDS and _lock(file.fileno()):
                path.unlink()


def _lock(handle: int) -> bool:
    """Lock an open file; False if another process has locked it, or if locks are not supported."""
    try:
        import fcntl  # noqa: PLC0415 (not on Windows)

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


@contextmanager
def _removed_on_error(temporary: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise


def _flush_to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _file_mode(destination: Path) -> int:
    """The permissions of the file that is replaced, or the default ones of a new file."""
    if destination.exists():
        return destination.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _error_message(path: str, error: OSError) -> str:
    reasons = {
        errno.ENOENT: "its folder does not exist",
        errno.EISDIR: "it is a folder",
        errno.ENOTDIR: "its folder is a file",
        errno.EACCES: "permission denied",
        errno.EROFS: "the file system is read-only",
        errno.ENOSPC: "the disk is full",
        errno.EDQUOT: "the disk quota is exceeded",
        errno.EFBIG: "it would exceed the maximum file size",
    }
    reason = reasons.get(error.errno or 0, error.strerror or str(error))
    return f"{path} cannot be written: {reason}. Nothing was changed."
