"""The archive: a zip file of named members with their checksums.

Checksums show damage and edits, not who wrote a file. Sizes are compared before anything is unpacked, and
only names of the format are accepted; nothing is ever unpacked to disk.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from ...exceptions import ModelFileError

MANIFEST, STATE, SUMS = "manifest.json", "state.json", "SHA256SUMS"
#: An archive may unpack to this many bytes ...
MAX_UNPACKED_BYTES = 2**26
#: ... or to this many times its own size.
MAX_UNPACKED_RATIO = 200

#: The first bytes of a zip archive.
_SIGNATURE = b"PK"
_NUMBERED = r"(arrays/\d{1,9}\.npy|boosters/\d{1,9}\.(txt|json)|estimators/\d{1,9}\.skops)"
_MEMBER = re.compile(rf"({re.escape(MANIFEST)}|{re.escape(STATE)}|{SUMS}|{_NUMBERED})", re.ASCII)


class Archive:
    """The members of a model file in memory, each unpacked when it is read."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._zip, self._sums = self._open(_read_file(path))

    def _open(self, data: bytes) -> tuple[zipfile.ZipFile, dict[str, str]]:
        if not data.startswith(_SIGNATURE):
            raise ModelFileError(f"{self._path} is not a capo model file.")
        try:
            archive = zipfile.ZipFile(io.BytesIO(data))
            check_archive(archive, len(data))
            if not {MANIFEST, SUMS} <= set(archive.namelist()):
                raise ModelFileError(f"{self._path} is an archive, but not a capo model file.")
            lines = archive.read(SUMS).decode(errors="replace").splitlines()
        except ModelFileError:
            raise
        except _DAMAGE as error:
            raise ModelFileError(
                f"{self._path} is damaged or truncated: copy or download it again."
            ) from error
        except ValueError as error:
            raise ModelFileError(f"{self._path} cannot be opened: {error}.") from error
        return archive, {line.rpartition("  ")[2]: line.partition("  ")[0] for line in lines}

    def check_names(self) -> list[str]:
        """The names of all members; a name that is not of the format is refused."""
        names = self._zip.namelist()
        unknown = next((name for name in names if not _MEMBER.fullmatch(name)), None)
        if unknown is not None:
            raise ModelFileError(f"{self._path} is not a capo model file: it holds {unknown!r}.")
        return names

    def read(self, name: str) -> bytes:
        """A member, compared with its checksum."""
        try:
            data = self._zip.read(name)
        except KeyError:
            raise ModelFileError(f"{self._path} lacks its part {name!r}.") from None
        except _DAMAGE as error:
            raise ModelFileError(
                f"{self._path} is damaged or truncated: copy or download it again."
            ) from error
        if self._sums.get(name) != hashlib.sha256(data).hexdigest():
            raise ModelFileError(f"{self._path} has been changed or damaged since it was written ({name}).")
        return data


_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError, NotImplementedError, KeyError)


def write_archive(file: IO[bytes], members: Mapping[str, bytes]) -> None:
    """Write the members and their checksums."""
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in members.items())
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**members, SUMS: sums.encode()}.items():
            archive.writestr(name, data)


def check_archive(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse archives that hold a name twice, or that would unpack to far more than a model."""
    infos = archive.infolist()
    if len({info.filename for info in infos}) < len(infos):
        raise ValueError("it contains two parts with the same name")
    if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in infos):
        raise ValueError("it is compressed in a way that model files are not")
    unpacked = sum(info.file_size for info in infos)
    if unpacked > max(MAX_UNPACKED_BYTES, MAX_UNPACKED_RATIO * size):
        raise ValueError(f"it would unpack from {size / 1e6:,.1f} MB to {unpacked / 1e6:,.0f} MB")


def _read_file(path: str) -> bytes:
    """The bytes of a file; of one that is no archive only the first, since it may be of any size."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(len(_SIGNATURE))
            return head + file.read() if head == _SIGNATURE else head
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        reason = "there is no such file" if missing else error.strerror or str(error)
        raise ModelFileError(f"{path} cannot be opened: {reason}.") from error
    except ValueError as error:  # a null character in the name
        raise ModelFileError(f"{path!r} cannot be opened: {error}.") from error
