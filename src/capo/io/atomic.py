"""Atomic writes: a file is either written completely or left as it was."""

import errno
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ..exceptions import OutputError

#: Unlocked temporary files are removed after this time; until then their process may still lock them.
MIN_ABANDONED_SECONDS = 60
_PREFIX, _SUFFIX = ".capo-", ".part"


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
    _remove_abandoned(destination.parent)
    handle, name = tempfile.mkstemp(prefix=_PREFIX, suffix=_SUFFIX, dir=destination.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            _lock(handle)
            yield file
            file.flush()
            os.fsync(handle)
        temporary.chmod(_file_mode(destination))
        temporary.replace(destination)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise


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


def _file_mode(destination: Path) -> int:
    """The permissions of the replaced file, or the default permissions of a new one."""
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
