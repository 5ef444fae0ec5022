"""The manifest of a model file: a description of its model, readable without opening the model."""

import json
import os
import warnings
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from platform import python_version
from typing import Any, Self

import numpy as np
import sklearn
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted

from ..exceptions import CapoError, CapoWarning, MissingExtraError, ModelFileError
from .archive import MANIFEST, STATE, Archive, dump_json, write_archive
from .atomic import atomic_write
from .records import Decoder, Encoder, UntrustedTypesError, class_name

FORMAT, FORMAT_VERSION = "capo-model", 1
#: Releases of scikit-learn that read each other's models, with the same outputs, by `make test-files`.
TESTED_RELEASES = ("1.7", "1.8", "1.9")
#: Packages that every model needs.
BASE_PACKAGES = ("capo", "numpy", "scipy", "sklearn")
#: Names of distributions that differ from those of their packages.
DISTRIBUTIONS = {"capo": "capo-learn", "sklearn": "scikit-learn"}


_KINDS: dict[str, Any] = {
    **dict.fromkeys(("estimator", "measure", "summary", "created"), str),
    **dict.fromkeys(("schema", "training", "versions"), dict),
    "classes": list,
    "threshold": (float, int, type(None)),
}


@dataclass(frozen=True)
class Manifest:
    """A description of a model.

    Attributes
    ----------
    estimator, measure : str
        The model's class, and the measure that it was trained for.
    classes : list
        The labels; of two, the positive one last.
    threshold : float or None
        The probability above which a row is positive.
    schema : dict
        The columns of the table and their kinds, as `capo.io.table_schema` writes them; empty if not known.
    training : dict
        The name of the training table, its number of rows and the SHA-256 checksum of its file, as far as
        they are known.
    summary : str
        The text of the model's ``summary()``.
    versions : dict of str to str
        Versions of Python and of the packages that the model needs, as they were when the file was written.
    created : str
        The date and time of writing.
    """

    estimator: str
    measure: str = ""
    classes: list[Any] = field(default_factory=list)
    threshold: float | None = None
    schema: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    summary: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @classmethod
    def from_model(
        cls, model: Any, packages: Iterable[str], schema: dict[str, Any], training: dict[str, Any]
    ) -> Self:
        """The manifest of a fitted model that needs `packages` in addition to the base packages."""
        threshold = getattr(model, "threshold_", None)
        packages = (*BASE_PACKAGES, *sorted(packages))
        modules = {DISTRIBUTIONS.get(name, name): import_module(name) for name in packages}
        versions = {name: each.__version__ for name, each in modules.items() if hasattr(each, "__version__")}
        return cls(
            estimator=estimator_label(model),
            measure=model.measure_.label if hasattr(model, "measure_") else "",
            classes=np.asarray(getattr(model, "label_pair", getattr(model, "classes_", ()))).tolist(),
            threshold=None if threshold is None else float(threshold),
            schema=describe_table(model) | schema,
            training=training,
            summary=str(model.summary()) if hasattr(model, "summary") else "",
            versions={"python": python_version(), **versions},
        )

    def to_json(self) -> str:
        """The text of the manifest."""
        head = {"format": FORMAT, "format_version": FORMAT_VERSION}
        return dump_json({**head, **asdict(self)}).encode(errors="backslashreplace").decode()

    @classmethod
    def from_json(cls, text: bytes, path: str) -> Self:
        """Read the text of a manifest; reject those of other programs and of newer versions of capo."""
        try:
            values = parse_json(text)
            kind, number = values.pop("format"), values.pop("format_version")
        except (ValueError, KeyError, AttributeError, TypeError, OverflowError, RecursionError) as error:
            raise ModelFileError(f"{path} is not a capo model file.") from error
        if kind != FORMAT or type(number) is not int or number < FORMAT_VERSION:
            raise ModelFileError(f"{path} is not a capo model file.")
        if number > FORMAT_VERSION:
            raise ModelFileError(
                f"{path} was written by a newer version of capo, in format {number}; this version reads "
                f"format {FORMAT_VERSION}: upgrade capo-learn to open it."
            )
        wrong = [name for name, kinds in _KINDS.items() if not isinstance(values.get(name), kinds)]
        wrong += [name for name in values if name not in _KINDS]
        if wrong:
            raise ModelFileError(f"{path} has a malformed manifest: see {wrong[0]!r}.")
        return cls(**values)


def describe_table(model: Any) -> dict[str, Any]:
    """The schema of a model's tables, as far as it is known, as `capo.io.table_schema` reads it."""
    schema, names = getattr(model, "schema_", None), getattr(model, "feature_names_in_", None)
    if schema is None:
        return {} if names is None else {"columns": dict.fromkeys(map(str, names), "number")}
    if not schema.columns:
        return {"kind": "svmlight", "n_features": int(model.n_features_in_)}
    if not schema.names:
        return {}
    label_kind = {"b": "boolean", "i": "integer", "u": "integer"}.get(model.classes_.dtype.kind, "text")
    table = {"kind": "table", "target": model.target_name_, "label_kind": label_kind}
    table |= {"weight": "", "ids": [], "group": ""}
    if model.target_type_ == "multilabel":
        table |= {"kind": "label matrix", "label_names": list(map(str, model.classes_)), "separator": ""}
    return {**table, "columns": {column.key: column.kind.to_dict() for column in schema.columns}}


def estimator_label(model: Any) -> str:
    """The name of a model's class; those of capo without their modules."""
    kind = type(model)
    return class_name(kind) or f"{kind.__module__}.{kind.__qualname__}"


def parse_json(text: bytes) -> Any:
    """A JSON document; NaN and infinities, which are not JSON, are refused."""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not a number in JSON")

    return json.loads(text, parse_constant=refuse)


PathLike = str | os.PathLike[str]


def save(
    model: Any,
    path: PathLike,
    *,
    schema: dict[str, Any] | None = None,
    training: dict[str, Any] | None = None,
) -> None:
    """Write a fitted model to a file, completely or not at all.

    Parameters
    ----------
    model : estimator
        A fitted `CAPOClassifier`, or any estimator of capo or scikit-learn.
    path : path-like
        The file; an existing one is replaced when the new one is complete.
    schema, training : dict, optional
        Information for the manifest about the columns and the training table that is not in the model.

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
    encoder = Encoder()
    try:
        state = json.dumps(encoder.encode_model(model), allow_nan=False)
    except MissingExtraError:
        raise
    except Exception as error:
        raise ModelFileError(
            f"this {type(model).__name__} cannot be saved: {type(error).__name__}: {error}. Functions and "
            "classes must be defined in modules that can be imported; a measure can be a formula, such as "
            "'10 * tp - 2 * fp'."
        ) from error
    manifest = Manifest.from_model(model, encoder.packages, schema or {}, training or {})
    with atomic_write(path) as file:
        members = {MANIFEST: manifest.to_json().encode(), STATE: state.encode(), **encoder.members}
        write_archive(file, members)
    if encoder.untrusted:
        types = sorted(encoder.untrusted)
        warnings.warn(
            f"{os.fspath(path)} contains types that capo cannot check: open it with trusted={types} in "
            f"Python, {' '.join(f'--trust {each}' for each in types)} on the command line, and with the same "
            "releases of their packages.",
            CapoWarning,
            stacklevel=2,
        )


def load(path: PathLike, *, trusted: Collection[str] = ()) -> Any:
    """Open a model file.

    No code in the file runs. The types of its parts must be known to capo or named in `trusted`.

    Parameters
    ----------
    path : path-like
        The file.
    trusted : collection of str, default=()
        Further types that may be in the file, as the error that refuses them lists them. List only types
        whose code you would run.

    Returns
    -------
    estimator
        The model as it was saved.

    See Also
    --------
    save : The reverse, with an example.
    """
    return open_model(path, trusted=trusted)[0]


def open_model(path: PathLike, *, trusted: Collection[str] = ()) -> tuple[Any, Manifest]:
    """Open a model file with its manifest."""
    name = os.fspath(path)
    archive = Archive(name)
    manifest = Manifest.from_json(archive.read(MANIFEST), name)
    model = _open(archive, name, manifest, frozenset(trusted))
    if estimator_label(model) != manifest.estimator:
        raise ModelFileError(
            f"{name} describes a {manifest.estimator}, but contains a {type(model).__name__}."
        )
    there = _other_release(manifest)
    is_tested = there in TESTED_RELEASES and sklearn.__version__.startswith(TESTED_RELEASES)
    if there and (not is_tested or "skops" in manifest.versions):
        warnings.warn(
            f"{name} was written with scikit-learn {there}, this is {sklearn.__version__}: check its "
            "predictions, or train it again.",
            CapoWarning,
            stacklevel=3,
        )
    return model, manifest


def _other_release(manifest: Manifest) -> str:
    """The release of scikit-learn with which a file was written; "" if it is the installed one."""
    there, here = (
        ".".join(str(each).split(".")[:2])
        for each in (manifest.versions.get("scikit-learn", sklearn.__version__), sklearn.__version__)
    )
    return there if there != here else ""


def read_manifest(path: PathLike) -> Manifest:
    """Read a model file's description of its model; the model is not opened."""
    name = os.fspath(path)
    return Manifest.from_json(Archive(name).read(MANIFEST), name)


def _open(archive: Archive, name: str, manifest: Manifest, trusted: frozenset[str]) -> Any:
    try:
        archive.check_names()
        document = parse_json(archive.read(STATE))
        if not isinstance(document, dict) or set(document) != {"model", "objects"}:
            raise ValueError("state.json must contain a model and its objects")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            warnings.simplefilter("ignore", FutureWarning)  # parameters that this release will give up
            return Decoder(document["objects"], archive, trusted).decode_model(document["model"])
    except (ModelFileError, MissingExtraError):
        raise
    except UntrustedTypesError as error:
        there, types = _other_release(manifest), error.args
        own = [each for each in types if each.partition(".")[0] not in ("_loss", "numpy", "scipy", "sklearn")]
        if there and not own:
            raise ModelFileError(
                f"{name} was written with scikit-learn {there}, this is {sklearn.__version__}, and they "
                f"differ in {', '.join(types)}: open it with scikit-learn {there}, or train it again."
            ) from None
        raise ModelFileError(
            f"{name} contains types that are not known to be safe: {', '.join(own if there else types)}. If "
            "you trust the source of the file, list the types with trusted=[...] in Python, --trust TYPE on "
            "the command line."
        ) from None
    except MemoryError as error:
        raise ModelFileError(f"{name} cannot be opened: there is not enough memory.") from error
    except Exception as error:
        versions = ", ".join(f"{package} {number}" for package, number in manifest.versions.items())
        reason = str(error) if type(error) in (ValueError, CapoError) else f"{type(error).__name__}: {error}"
        raise ModelFileError(
            f"{name} cannot be opened here: {reason}. It was written with {versions}."
        ) from error
