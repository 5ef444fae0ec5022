"""The container: a zip archive of a card, the model as skops writes it, and checksums of both.

    manifest.json   what the model is (`Manifest`): readable without opening the model, and by any program
    model.skops     the model, in a format that runs no code when it is opened
    SHA256SUMS      checksums of the two, as ``sha256sum`` writes them

Checksums tell damage and edits, not who wrote a file. What keeps a stranger's file from doing harm is that
its types are compared with those known here before anything is made of them.
"""

from __future__ import annotations

import hashlib
import io
import os
import warnings
import zipfile
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted

from ...exceptions import CapoWarning, MissingExtraError, ModelFileError
from .._atomic import atomic_write
from ._manifest import Manifest
from ._trusted_types import KNOWN

MANIFEST, MODEL, SUMS = "manifest.json", "model.skops", "SHA256SUMS"
#: A part may unpack to this many bytes, or to so many times its packed size.
LARGEST_SMALL, MOST_UNPACKED = 2**26, 200

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class ModelFile:
    """A model from a file, and what the file says of it."""

    model: Any
    card: Manifest


def save(
    model: Any,
    path: PathLike,
    *,
    schema: dict[str, Any] | None = None,
    training: dict[str, Any] | None = None,
) -> None:
    """Write a fitted model to a file, whole or not at all.

    Parameters
    ----------
    model : estimator
        A fitted `CAPOClassifier`, or any estimator of capo's or scikit-learn's.
    path : path-like
        Where to; a file that is there is replaced when the new one is complete.
    schema, training : dict, optional
        What else the file shall say of the columns, and of the training table.

    See Also
    --------
    load : The way back.

    Examples
    --------
    >>> import tempfile
    >>> import capo
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = capo.CAPOClassifier("f1", auxiliaries=[GaussianNB()], random_state=0).fit(X, y)
    >>> capo.save(model, tempfile.gettempdir() + "/cancer.capo")
    >>> again = capo.load(tempfile.gettempdir() + "/cancer.capo")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    check_is_fitted(model)
    body = _dumped(model)
    card = Manifest.of(model, schema or {}, training or {}).to_json().encode()
    sums = f"{_sum(card)}  {MANIFEST}\n{_sum(body)}  {MODEL}\n"
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, card)
        archive.writestr(MODEL, body)
        archive.writestr(SUMS, sums)


def load(path: PathLike, *, trusted: Collection[str] = ()) -> Any:
    """Open a model file.

    No code in the file runs. The types of its parts must be known to capo or named in `trusted`.

    Parameters
    ----------
    path : path-like
        The file.
    trusted : collection of str, default=()
        Further types that may be in the file, as the error that refuses them lists them. Name only types
        whose code you would run.

    Returns
    -------
    estimator
        The model as it was saved.
    """
    return open_model(path, trusted=trusted).model


def open_model(path: PathLike, *, trusted: Collection[str] = ()) -> ModelFile:
    """A model file with its card."""
    name = os.fspath(path)
    parts, card = _checked(name, (MANIFEST, MODEL))
    return ModelFile(_loaded(parts[MODEL], name, card, frozenset(trusted)), card)


def read_manifest(path: PathLike) -> Manifest:
    """What a model file says of its model; the model is not opened."""
    return _checked(os.fspath(path), (MANIFEST,))[1]


def _checked(name: str, wanted: tuple[str, ...]) -> tuple[dict[str, bytes], Manifest]:
    """Parts of a file as they were written."""
    parts = _parts(name, (*wanted, SUMS))
    card = Manifest.from_json(parts[MANIFEST], name)
    lines = parts[SUMS].decode(errors="replace").splitlines()
    stated = {line.rpartition("  ")[2]: line.partition("  ")[0] for line in lines}
    for part in wanted:
        if stated.get(part) != _sum(parts[part]):
            raise ModelFileError(f"{name} has been changed or damaged since it was written ({part}).")
    return parts, card


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _skops() -> ModuleType:
    try:
        import skops.io  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise MissingExtraError("model files need skops: pip install 'capo-learn[files]'.") from error
    return skops.io


def _dumped(model: Any) -> bytes:
    """The model as bytes, which are known to be readable again."""
    skops = _skops()
    try:
        data: bytes = skops.dumps(model)
        skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    except Exception as error:
        raise ModelFileError(
            f"this {type(model).__name__} cannot be saved: {type(error).__name__}: {error}. A function or "
            "class of your own must be in a module that can be imported; a measure can be given as a "
            "formula, such as '10 * tp - 2 * fp'."
        ) from error
    return data


def _parts(name: str, wanted: tuple[str, ...]) -> dict[str, bytes]:
    """Parts of the archive."""
    try:
        data = Path(name).read_bytes()
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        reason = "there is no such file" if missing else error.strerror or str(error)
        raise ModelFileError(f"{name} cannot be opened: {reason}.") from error
    if not data.startswith(b"PK"):
        raise ModelFileError(f"{name} is not a model file of capo's.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_sizes(archive, name)
            return {part: archive.read(part) for part in wanted}
    except KeyError as error:
        raise ModelFileError(
            f"{name} is an archive, but not a model file of capo's: {error.args[0]}"
        ) from error
    except ModelFileError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError) as error:
        raise ModelFileError(f"{name} is damaged or cut off: get the file again.") from error


def _check_sizes(archive: zipfile.ZipFile, name: str) -> None:
    """Refuse parts that would unpack to far more than a model does."""
    for part in archive.infolist():
        if part.file_size > max(LARGEST_SMALL, MOST_UNPACKED * part.compress_size):
            raise ModelFileError(
                f"{name} is no model: its part {part.filename!r} unpacks to {part.file_size / 1e6:,.0f} MB."
            )


def _loaded(data: bytes, name: str, card: Manifest, trusted: frozenset[str]) -> Any:
    skops = _skops()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as inner:
            _check_sizes(inner, name)
        unknown = sorted(set(skops.get_untrusted_types(data=data)) - KNOWN - trusted)
        if unknown:
            raise ModelFileError(
                f"{name} holds types that are not known to be safe: {', '.join(unknown)}. If you trust "
                "whoever wrote it, name them: trusted=[...] in Python, --trust TYPE on the command line."
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            model = skops.loads(data, trusted=[*KNOWN, *trusted])
    except (ModelFileError, MemoryError):
        raise
    except Exception as error:
        raise ModelFileError(
            f"{name} cannot be opened here: {type(error).__name__}: {error}. It was written with "
            f"{_with(card)}."
        ) from error
    if f"{type(model).__module__}.{type(model).__qualname__}" != card.estimator:
        raise ModelFileError(
            f"{name} says that it holds a {card.estimator}, and holds a {type(model).__name__}."
        )
    _warn_of_versions(name, card)
    return model


def _warn_of_versions(name: str, card: Manifest) -> None:
    """Say so if scikit-learn's parts may behave differently here."""
    here = Manifest("").versions.get("scikit-learn", "")
    there = str(card.versions.get("scikit-learn", here))
    if there.split(".")[:2] != here.split(".")[:2]:
        warnings.warn(
            f"{name} was written with scikit-learn {there}, this is {here}: check its predictions, or train "
            "it again.",
            CapoWarning,
            stacklevel=5,
        )


def _with(card: Manifest) -> str:
    return ", ".join(f"{package} {number}" for package, number in card.versions.items())
