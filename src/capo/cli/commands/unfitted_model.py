"""The model that the options describe.

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

from ... import measures
from ...estimators import CAPOClassifier
from ...exceptions import CapoError, InvalidInputError, UnknownMeasureError, suggest_names
from ...io.parts import TablePart
from ...io.table_schema import Schema, TableSchema
from ...learning.auxiliaries import auxiliary_names, check_auxiliary_name
from ...learning.folds import DEFAULT_N_FOLDS, TimeFolds
from ...measures import multiclass, multilabel
from ..console import Console
from ..options import ColumnOptions, ModelOptions
from .training_data import TableTrainingData, TargetKind, read_training_data

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


#: The built-in set of auxiliaries of each preset.
PRESETS = {"fast": "fast", "balanced": "auto"}
DELTAS = {"linear": "linear", "rbf": "rbf", "none": None}


def option_files(columns: ColumnOptions, options: ModelOptions) -> list[Path]:
    """The files that options name: the kinds of columns, and matrices of costs or gains."""
    return [*([] if columns.types is None else [columns.types]), *matrix_files(options.measure_args or [])]


def prepare_training(
    table: TablePart,
    columns: ColumnOptions,
    options: ModelOptions,
    console: Console,
) -> tuple[TableTrainingData, CAPOClassifier]:
    """Read the training data and make the unfitted model; options are checked before the table is read."""
    measure = RequestedMeasure.parse(options.measure_name, options.measure_args or [])
    many_classes = measure.check()
    delta, auxiliaries = _parse_delta(options.delta), parse_auxiliaries(options)
    data = read_training_data(table, columns, options.prices, console, many_classes=many_classes)
    kind = data.target.kind
    model = CAPOClassifier(
        measure.for_target(kind, data.y),
        auxiliaries=auxiliaries,
        pos_label=data.target.pos_label,
        cv=TimeFolds(options.folds or DEFAULT_N_FOLDS) if columns.time else options.folds,
        # Many classes have no delta function: there is none to leave out.
        delta="linear" if kind == "multiclass" and delta is None else delta,
        column_kinds=_text_kinds(data.schema),
        n_jobs=options.jobs or None,
        random_state=options.seed,
        verbose=2,  # the console decides how much of it is shown
    )
    return data, model


def _text_kinds(schema: Schema) -> dict[str, dict[str, Any]] | None:
    """The kinds of the columns whose data type does not tell them: free text and lists of tags."""
    if not isinstance(schema, TableSchema):
        return None
    kinds = {name: kind.to_dict() for name, kind in schema.columns.items() if kind.role in ("text", "tags")}
    return kinds or None


def parse_auxiliaries(options: ModelOptions) -> str | list[str]:
    """The value of `CAPOClassifier.auxiliaries`."""
    if options.preset is not None:
        return _parse_preset(options.preset, options.auxiliaries)
    if options.auxiliaries is None:
        return "auto"
    lists = [[name.strip() for name in each.split(",") if name.strip()] for each in options.auxiliaries]
    if not all(lists):
        raise InvalidInputError(f"--auxiliaries needs at least one of {', '.join(auxiliary_names())}.")
    names = [name for each in lists for name in each]
    for name in names:
        check_auxiliary_name(name)
    return "auto" if names == ["auto"] else names


def _parse_preset(preset: str, auxiliaries: list[str] | None) -> str:
    if preset not in PRESETS:
        raise InvalidInputError(f"--preset must be fast or balanced: got {preset!r}.")
    if auxiliaries is not None:
        raise InvalidInputError(
            "--preset and --auxiliaries both choose the classifiers: remove one, or add the set to "
            f"the list, as in -a {PRESETS[preset]},{auxiliaries[0]}."
        )
    return PRESETS[preset]


def _parse_delta(text: str) -> str | None:
    """The value of `CAPOClassifier.delta`."""
    name = text.lower()
    if name not in DELTAS:
        raise InvalidInputError(f"--delta must be linear, rbf or none: got {text!r}.")
    return DELTAS[name]
