"""Model files taken apart, changed and put together again."""

import hashlib
import io
import json
import zipfile


def read_parts(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(parts):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return file.getvalue()


def with_sums(parts):
    """The parts with checksums that agree with them."""
    parts = {name: data for name, data in parts.items() if name != "SHA256SUMS"}
    lines = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in parts.items()]
    return {**parts, "SHA256SUMS": "".join(lines).encode()}


def rewrite(source, target, changes, *, sums=True):
    """A copy of a model file with some parts replaced; None removes a part."""
    parts = {**read_parts(source), **changes}
    parts = {name: data for name, data in parts.items() if data is not None}
    target.write_bytes(pack(with_sums(parts) if sums else parts))
    return target


def edit_json(source, target, name, edit):
    """A copy of a model file with one of its JSON parts passed through a function."""
    document = json.loads(read_parts(source)[name])
    edited = edit(document)
    return rewrite(source, target, {name: json.dumps(edited).encode()})
