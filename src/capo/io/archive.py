"""The archive of a model file.

Checksums show damage and edits, not who wrote a file. Sizes are compared before anything is unpacked, and
only names of the format are accepted; nothing is ever unpacked to disk.
"""

import hashlib
import io
import json
import math
import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from ..exceptions import ModelFileError

MANIFEST, STATE, ARRAYS, SUMS = "manifest.json", "state.json", "arrays.bin", "SHA256SUMS"
#: Largest size of an unpacked archive in bytes ...
MAX_UNPACKED_BYTES = 2**26
#: ... or to this many times its own size.
MAX_UNPACKED_RATIO = 200

#: Higher levels take far longer for files that are hardly smaller.
COMPRESSION_LEVEL = 3

#: The first bytes of a zip archive.
_SIGNATURE = b"PK"
_NUMBERED = r"(boosters/\d{1,9}\.(txt|json)|estimators/\d{1,9}\.skops)"
_MEMBER = re.compile(rf"({'|'.join(map(re.escape, (MANIFEST, STATE, ARRAYS, SUMS)))}|{_NUMBERED})", re.ASCII)
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError, NotImplementedError, KeyError)


class Archive:
    """The members of a model file in memory, each unpacked when it is read."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            with Path(path).open("rb") as file:
                head = file.read(len(_SIGNATURE))
                # A file that is not an archive may be of any size.
                data = head + file.read() if head == _SIGNATURE else b""
        except OSError as error:
            missing = isinstance(error, FileNotFoundError)
            reason = "there is no such file" if missing else error.strerror or str(error)
            raise ModelFileError(f"{path} cannot be opened: {reason}.") from error
        except ValueError as error:  # a null character in the name
            raise ModelFileError(f"{path!r} cannot be opened: {error}.") from error
        if not data:
            raise ModelFileError(f"{path} is not a capo model file.")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            check_archive(self._zip, len(data))
            self.names = self._zip.namelist()
            if not {MANIFEST, SUMS} <= set(self.names):
                raise ModelFileError(f"{path} is an archive, but not a capo model file.")
            lines = self._zip.read(SUMS).decode(errors="replace").splitlines()
        except _DAMAGE as error:
            raise self._damage_error() from error
        except ValueError as error:
            raise ModelFileError(f"{path} cannot be opened: {error}.") from error
        self._sums = {line.rpartition("  ")[2]: line.partition("  ")[0] for line in lines}

    def read(self, name: str) -> bytes:
        """A member, compared with its checksum."""
        if name not in self.names:
            raise ModelFileError(f"{self._path} lacks its part {name!r}.")
        try:
            data = self._zip.read(name)
        except _DAMAGE as error:
            raise self._damage_error() from error
        if self._sums.get(name) != hashlib.sha256(data).hexdigest():
            raise ModelFileError(f"{self._path} has been changed or damaged since it was written ({name}).")
        return data

    def check_names(self) -> None:
        """Reject an archive with members that do not belong to the format."""
        unknown = next((name for name in self.names if not _MEMBER.fullmatch(name)), None)
        if unknown is not None:
            raise ModelFileError(f"{self._path} is not a capo model file: it contains {unknown!r}.")

    def _damage_error(self) -> ModelFileError:
        return ModelFileError(f"{self._path} is damaged or truncated: copy or download it again.")


def write_archive(file: IO[bytes], members: Mapping[str, bytes]) -> None:
    """Write the members and their checksums."""
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in members.items())
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION_LEVEL) as archive:
        for name, data in {**members, SUMS: sums.encode()}.items():
            archive.writestr(name, data)


def dump_json(data: Any) -> str:
    """Write plain values and arrays as JSON, which has neither NaN nor infinity: they become null."""

    def replace(value: Any) -> Any:
        if isinstance(value, dict):
            return {str(key): replace(each) for key, each in value.items()}
        if hasattr(value, "tolist"):  # an array, or one number of it
            value = value.tolist()
        if isinstance(value, list | tuple):
            return [replace(each) for each in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return json.dumps(replace(data), indent=1, ensure_ascii=False, allow_nan=False, default=str)


def check_archive(archive: zipfile.ZipFile, size: int) -> None:
    """Reject archives with duplicate names, or that would unpack to far more than a model."""
    infos = archive.infolist()
    if len({info.filename for info in infos}) < len(infos):
        raise ValueError("it contains two parts with the same name")
    if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in infos):
        raise ValueError("it is compressed in a way that model files are not")
    unpacked = sum(info.file_size for info in infos)
    if unpacked > max(MAX_UNPACKED_BYTES, MAX_UNPACKED_RATIO * size):
        raise ValueError(f"it would unpack from {size / 1e6:,.1f} MB to {unpacked / 1e6:,.0f} MB")
