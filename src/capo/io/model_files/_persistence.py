"""Write a fitted model to a file, and open it again.

    manifest.json         a description of the model (`Manifest`), readable without opening the model
    state.json            the model as plain values, under names that do not depend on capo's modules
    arrays/0.npy ...      its arrays
    boosters/0.txt ...    boosters of LightGBM (.txt) and XGBoost (.json), in the formats of these libraries
    estimators/0.skops    estimators of scikit-learn and of users, as skops writes them
    SHA256SUMS            checksums of all of them, as ``sha256sum`` writes them

`_encoder` documents state.json. capo rebuilds its own objects through a registry of names, so that its
classes can be renamed and moved; skops rebuilds the others, after `_skops_audit` has checked its documents.
No code in a file runs when it is opened, and no other file is opened.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import sklearn
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted

from ...exceptions import CapoError, CapoWarning, MissingExtraError, ModelFileError
from .._atomic import atomic_write
from ._archive import MANIFEST, STATE, Archive, write_archive
from ._decoder import Decoder, UntrustedTypesError
from ._encoder import Encoder
from ._manifest import Manifest, estimator_label, parse_json

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class ModelFile:
    """A model from a file, and the file's description of it."""

    model: Any
    manifest: Manifest


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
        The file; an existing one is replaced when the new one is complete.
    schema, training : dict, optional
        Descriptions of the columns and of the training table, for the manifest.

    See Also
    --------
    load : The reverse.

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
    members, packages = _encode(model)
    manifest = Manifest.from_model(model, packages, schema or {}, training or {})
    with atomic_write(path) as file:
        write_archive(file, {MANIFEST: manifest.to_json().encode(), **members})


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

    See Also
    --------
    save : The reverse, with an example.
    """
    return open_model(path, trusted=trusted).model


def open_model(path: PathLike, *, trusted: Collection[str] = ()) -> ModelFile:
    """Open a model file with its manifest."""
    name = os.fspath(path)
    archive = Archive(name)
    manifest = Manifest.from_json(archive.read(MANIFEST), name)
    model = _open(archive, name, manifest, frozenset(trusted))
    if estimator_label(model) != manifest.estimator:
        raise ModelFileError(f"{name} describes a {manifest.estimator}, but holds a {type(model).__name__}.")
    _warn_of_versions(name, manifest)
    return ModelFile(model, manifest)


def read_manifest(path: PathLike) -> Manifest:
    """Read a model file's description of its model; the model is not opened."""
    name = os.fspath(path)
    return Manifest.from_json(Archive(name).read(MANIFEST), name)


def _encode(model: Any) -> tuple[dict[str, bytes], set[str]]:
    """The members of the model, which are known to be readable again, and the packages that they need."""
    try:
        encoder = Encoder()
        state = {"model": encoder.encode(model), "objects": encoder.objects}
        members = {STATE: json.dumps(state, allow_nan=False).encode(), **encoder.members}
        _check_readable(members)
    except MissingExtraError:
        raise
    except Exception as error:
        raise ModelFileError(
            f"this {type(model).__name__} cannot be saved: {type(error).__name__}: {error}. A function or "
            "class of your own must be in a module that can be imported; a measure can be given as a "
            "formula, such as '10 * tp - 2 * fp'."
        ) from error
    return members, encoder.packages


def _check_readable(members: dict[str, bytes]) -> None:
    try:
        _decode(members[STATE], members, members.__getitem__, ())
    except UntrustedTypesError as error:
        _decode(members[STATE], members, members.__getitem__, str(error).split(", "))


def _decode(state: bytes, names: Collection[str], read_member: Any, trusted: Collection[str]) -> Any:
    document = parse_json(state)
    if not isinstance(document, dict) or set(document) != {"model", "objects"}:
        raise ValueError("state.json must hold a model and its objects")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        return Decoder(document["objects"], names, read_member, trusted).decode(document["model"])


def _open(archive: Archive, name: str, manifest: Manifest, trusted: frozenset[str]) -> Any:
    try:
        return _decode(archive.read(STATE), archive.check_names(), archive.read, trusted)
    except (ModelFileError, MissingExtraError):
        raise
    except UntrustedTypesError as error:
        raise ModelFileError(
            f"{name} holds types that are not known to be safe: {error}. If you trust the source of "
            "the file, list the types with trusted=[...] in Python, --trust TYPE on the command line."
        ) from None
    except MemoryError as error:
        raise ModelFileError(f"{name} cannot be opened: there is not enough memory.") from error
    except Exception as error:
        versions = ", ".join(f"{package} {number}" for package, number in manifest.versions.items())
        reason = str(error) if type(error) in (ValueError, CapoError) else f"{type(error).__name__}: {error}"
        raise ModelFileError(
            f"{name} cannot be opened here: {reason}. It was written with {versions}."
        ) from error


def _warn_of_versions(name: str, manifest: Manifest) -> None:
    """Warn if scikit-learn's estimators may behave differently here."""
    here = sklearn.__version__
    there = str(manifest.versions.get("scikit-learn", here))
    if there.split(".")[:2] != here.split(".")[:2]:
        warnings.warn(
            f"{name} was written with scikit-learn {there}, this is {here}: check its predictions, or train "
            "it again.",
            CapoWarning,
            stacklevel=4,
        )
