"""What a model file says of its model: plain values, to be read without opening the model."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import Any, Self

import numpy as np

from ...exceptions import ModelFileError

FORMAT, FORMAT_VERSION = "capo-model", 1
PACKAGES = ("capo-learn", "numpy", "scipy", "scikit-learn", "skops", "lightgbm", "xgboost")


def _versions() -> dict[str, str]:
    found = {"python": python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


_KINDS: dict[str, Any] = {
    **dict.fromkeys(("estimator", "measure", "summary", "created"), str),
    **dict.fromkeys(("schema", "training", "versions"), dict),
    "classes": list,
    "threshold": (float, int, type(None)),
}


@dataclass(frozen=True)
class Manifest:
    """A model in words and numbers.

    Attributes
    ----------
    estimator, measure : str
        The model's class, and what it was trained for.
    classes : list
        The two labels, the positive one last.
    threshold : float or None
        The probability above which a row is positive.
    schema : dict
        The columns of the table and their kinds, as `capo.io.tables` writes them; empty if not known.
    training : dict
        The table's name, its rows, positives and fingerprint, as far as they are known.
    summary : str
        What the fit found, as text.
    versions : dict of str to str
        Packages when the file was written.
    created : str
        When that was.
    """

    estimator: str
    measure: str = ""
    classes: list[Any] = field(default_factory=list)
    threshold: float | None = None
    schema: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    summary: str = ""
    versions: dict[str, str] = field(default_factory=_versions)
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @classmethod
    def of(cls, model: Any, schema: dict[str, Any], training: dict[str, Any]) -> Self:
        """The card of a fitted model."""
        threshold = getattr(model, "threshold_", None)
        return cls(
            estimator=f"{type(model).__module__}.{type(model).__qualname__}",
            measure=model.measure_.label if hasattr(model, "measure_") else "",
            classes=np.asarray(getattr(model, "classes_", ())).tolist(),
            threshold=None if threshold is None else float(threshold),
            schema=schema or _names(model),
            training=training,
            summary=str(model.summary()) if hasattr(model, "summary") else "",
        )

    def to_json(self) -> str:
        """As text for a file."""
        head = {"format": FORMAT, "format_version": FORMAT_VERSION}
        text = json.dumps({**head, **asdict(self)}, indent=1, ensure_ascii=False)
        return text.encode(errors="backslashreplace").decode()

    @classmethod
    def from_json(cls, text: bytes, path: str) -> Self:
        """From the text of a file; refuses what another program or a newer capo wrote."""
        try:
            found = json.loads(text)
            kind, number = found.pop("format"), int(found.pop("format_version"))
        except (ValueError, KeyError, AttributeError, TypeError, OverflowError, RecursionError) as error:
            raise ModelFileError(f"{path} is not a model file of capo's.") from error
        if kind != FORMAT:
            raise ModelFileError(f"{path} is not a model file of capo's.")
        if number > FORMAT_VERSION:
            raise ModelFileError(
                f"{path} was written by a newer capo, in format {number}, and this one reads format "
                f"{FORMAT_VERSION}: upgrade capo-learn to open it."
            )
        wrong = [name for name, kinds in _KINDS.items() if not isinstance(found.get(name), kinds)]
        wrong += [name for name in found if name not in _KINDS]
        if wrong:
            raise ModelFileError(f"{path} does not say what a model file must say: see {wrong[0]!r}.")
        return cls(**found)


def _names(model: Any) -> dict[str, Any]:
    """The columns' names, where the model knows no more of them."""
    names = getattr(model, "feature_names_in_", None)
    return {} if names is None else {"kind": "names", "columns": [str(name) for name in names]}
