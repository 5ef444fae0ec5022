"""Parameters of measures on the command line: numbers, labels, and matrices of costs or gains in files."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ...exceptions import InvalidInputError

#: Larger parameters of measures are refused as typing errors.
MAX_MEASURE_ARG = 1e50
#: Parameters that are lists of labels, such as classes=a,b.
LABEL_ARGS = ("classes", "order")
#: Parameters that are a word.
TEXT_ARGS = ("weights",)
#: The parameter that is the name of a file.
MATRIX_ARG = "matrix"


def parse_measure_args(texts: Iterable[str]) -> dict[str, Any]:
    """Return the parameters of a measure; labels are text."""
    args = [each for text in texts for each in _parse(text)]
    repeated = [name for name, count in Counter(name for name, _ in args).items() if count > 1]
    if repeated:
        raise InvalidInputError(f"--measure-arg gives {repeated[0]!r} more than once: choose one value.")
    return dict(args)


def use_labels_of(params: dict[str, Any], y: NDArray[Any]) -> dict[str, Any]:
    """Return the parameters with the labels of a target, which may be numbers, in place of their text."""
    labels = {str(label): label for label in np.unique(y).tolist()}
    return {
        name: [labels.get(label, label) for label in value] if name in LABEL_ARGS else value
        for name, value in params.items()
    }


def _parse(text: str) -> Sequence[tuple[str, Any]]:
    """Split ``beta=2`` into a name and a value; a matrix comes with the names of its classes."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if equals and name in LABEL_ARGS:
        return [(name, [label.strip() for label in value.split(",")])]
    if equals and name in TEXT_ARGS:
        return [(name, value)]
    if equals and name == MATRIX_ARG:
        classes, matrix = _read_matrix(Path(value))
        return [(MATRIX_ARG, matrix), ("classes", classes)]
    return [(name, _parse_number(text, value if equals else ""))]


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
