"""The measure that is named on the command line.

Its parameters are numbers, labels, or matrices of costs or gains in files.
"""

from __future__ import annotations

import ast
import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ... import measures, multiclass, multilabel
from ..._lookup import suggest_names
from ...exceptions import CapoError, InvalidInputError, UnknownMeasureError
from ._targets import TargetKind

#: The measures of each kind of target.
MEASURE_REGISTRIES: dict[TargetKind, Any] = {
    "binary": measures,
    "multiclass": multiclass,
    "multilabel": multilabel,
}
TARGET_DESCRIPTIONS: dict[TargetKind, str] = {
    "binary": "two classes",
    "multiclass": "classes",
    "multilabel": "several labels per row",
}

#: Larger parameters of measures are refused as typing errors.
MAX_MEASURE_ARG = 1e50
#: Parameters that are lists of labels, such as classes=a,b.
LABEL_ARGS = ("classes", "order")
#: Parameters that are a word.
TEXT_ARGS = ("weights",)
#: The parameter that is the name of a file, and the measures of classes that need it.
MATRIX_ARG = "matrix"
MATRIX_MEASURES = ("cost", "gain")


@dataclass(frozen=True)
class RequestedMeasure:
    """A measure by its name and parameters, before the kind of target is known; labels are text."""

    name: str
    params: dict[str, Any]

    @classmethod
    def parse(cls, name: str, args: Iterable[str]) -> RequestedMeasure:
        """Parse parameters such as ``beta=2``."""
        pairs = [each for text in args for each in _parse(text)]
        repeated = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
        if repeated:
            raise InvalidInputError(f"--measure-arg gives {repeated[0]!r} more than once: choose one value.")
        return cls(name, dict(pairs))

    def check(self) -> bool:
        """Raise if there is no such measure; return whether it is one of many classes and not of two."""
        errors: dict[TargetKind, CapoError] = {}
        for kind, registry in MEASURE_REGISTRIES.items():
            try:
                registry.get(self.name, **self.params)
            except CapoError as error:
                errors[kind] = error
        if len(errors) == len(MEASURE_REGISTRIES):
            known = (each for each in errors.values() if not isinstance(each, UnknownMeasureError))
            raise next(known, self._unknown_error())
        return "binary" in errors and "multiclass" not in errors

    def _unknown_error(self) -> UnknownMeasureError:
        names = dict.fromkeys(name for each in MEASURE_REGISTRIES.values() for name in each.names())
        hint = suggest_names(self.name.strip(), list(names), "See 'capo measures'.")
        return UnknownMeasureError(f"there is no measure {self.name.strip()!r}. {hint}")

    def for_target(self, kind: TargetKind, y: NDArray[Any]) -> Any:
        """The measure of a kind of target and its labels."""
        registry, name = MEASURE_REGISTRIES[kind], self.name.strip()
        if kind == "multiclass" and name in MATRIX_MEASURES and MATRIX_ARG not in self.params:
            raise InvalidInputError(
                f"the measure {name!r} of classes needs a CSV file with the {name} of each pair of classes, "
                "the true ones in its first column and the predicted ones in its header: "
                "--measure-arg matrix=FILE."
            )
        try:
            return registry.get(self.name, **_use_labels_of(self.params, y))
        except UnknownMeasureError as error:
            if name in registry.names():
                raise
            raise UnknownMeasureError(
                f"the measure {name!r} does not fit the target, which has {TARGET_DESCRIPTIONS[kind]}: "
                "choose another measure (see 'capo measures')."
            ) from error


def matrix_files(args: Iterable[str]) -> list[Path]:
    """The files with matrices that parameters name."""
    return [Path(value) for name, equals, value in map(_split, args) if equals and name == MATRIX_ARG]


def _use_labels_of(params: dict[str, Any], y: NDArray[Any]) -> dict[str, Any]:
    """Return the parameters with the labels of a target, which may be numbers, in place of their text."""
    labels = {str(label): label for label in np.unique(y).tolist()}
    return {
        name: [labels.get(label, label) for label in value] if name in LABEL_ARGS else value
        for name, value in params.items()
    }


def _parse(text: str) -> Sequence[tuple[str, Any]]:
    """Split ``beta=2`` into a name and a value; a matrix comes with the names of its classes."""
    name, equals, value = _split(text)
    if equals and name in LABEL_ARGS:
        # A label that contains a comma is in quotation marks, as in a CSV file.
        return [(name, [label.strip() for label in next(csv.reader([value], skipinitialspace=True))])]
    if equals and name in TEXT_ARGS:
        return [(name, value)]
    if equals and name == MATRIX_ARG:
        classes, matrix = _read_matrix(Path(value))
        return [(MATRIX_ARG, matrix), ("classes", classes)]
    return [(name, _parse_number(text, value if equals else ""))]


def _split(text: str) -> tuple[str, str, str]:
    name, equals, value = (part.strip() for part in text.partition("="))
    return name, equals, value


def _parse_number(text: str, value: str) -> int | float:
    try:
        number = ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        number = None
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    if not is_number or not abs(number) < MAX_MEASURE_ARG:
        raise InvalidInputError(f"--measure-arg must be a name and a number, such as beta=2: got {text!r}.")
    return number


def _read_matrix(path: Path) -> tuple[list[str], NDArray[np.float64]]:
    """Read a CSV file with the true classes in the first column and the predicted classes in the header."""
    try:
        table = pl.read_csv(path, infer_schema=False)
        rows = [str(label).strip() for label in table[:, 0].to_list()]
        columns = [name.strip() for name in table.columns[1:]]
        values = table[:, 1:].cast(pl.Float64).to_numpy()
    except (OSError, pl.exceptions.PolarsError, IndexError) as error:
        raise InvalidInputError(f"cannot read the matrix in {path}: {str(error).splitlines()[0]}.") from error
    if len(set(rows)) != len(rows) or sorted(rows) != sorted(columns) or np.isnan(values).any():
        raise InvalidInputError(
            f"the matrix in {path} must have a number for each pair of classes: the true classes in the "
            "first column, and the same classes, as predicted, in the header."
        )
    return columns, values[[rows.index(name) for name in columns]]
