"""What goes into an exported graph: one input a column, or one for an array."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ...preprocessing import infer_column_kinds, is_dataframe, is_missing

#: Names of the outputs, which no input may have.
OUTPUTS = ("label", "probability", "score")
#: The one input for an array.
ARRAY = "X"


def onnx_inputs(X: Any) -> dict[str, NDArray[Any]]:
    """The inputs of an exported graph for the rows of X, as ONNX Runtime takes them.

    Parameters
    ----------
    X : data frame, array or sparse matrix
        The table, with the columns and types of the training table.

    Returns
    -------
    dict of str to ndarray
        Doubles with NaN and strings with "" for what is missing, in columns of shape (n_samples, 1);
        for an array "X" alone.

    Examples
    --------
    >>> import polars as pl
    >>> from capo.export import onnx_inputs
    >>> found = onnx_inputs(pl.DataFrame({"age": [31, None], "town": ["Ulm", None]}))
    >>> found["age"].tolist(), found["town"].tolist()
    ([[31.0], [nan]], [['Ulm'], ['']])
    """
    if not is_dataframe(X):
        return {ARRAY: np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)}
    frame = nw.from_native(X, eager_only=True)
    pairs = zip(input_kinds(X), frame.iter_columns(), strict=True)
    return {name: _as_input(column.to_list(), words) for (name, words), column in pairs}


def _as_input(values: list[Any], words: bool) -> NDArray[Any]:
    missing = [is_missing(each) for each in values]
    if words:
        found = ["" if gone else str(each) for each, gone in zip(values, missing, strict=True)]
        return np.array(found, dtype=object)[:, None]
    return np.array([np.nan if gone else float(v) for v, gone in zip(values, missing, strict=True)])[:, None]


def input_kinds(X: Any) -> list[tuple[str, bool]]:
    """The input of each column of a frame, and whether it takes words."""
    frame = nw.from_native(X, eager_only=True)
    numbers = infer_column_kinds(X).numeric
    by_name = all(isinstance(each, str) for each in frame.columns)
    found = []
    for position, name in enumerate(frame.columns):
        column = frame[:, position]
        number = (name if by_name else position) in numbers or _of_numbers(column)
        found.append((_input_name(str(name), position), not number))
    return found


def _of_numbers(column: Any) -> bool:
    """Whether a column has categories that are numbers."""
    if column.dtype not in (nw.Categorical, nw.Enum):
        return False
    categories = column.cat.get_categories().to_list()
    return bool(categories) and all(
        isinstance(each, int | float) and not isinstance(each, bool) for each in categories
    )


def _input_name(name: str, position: int) -> str:
    return f"{name}_" if name in OUTPUTS else name or f"column{position}"
