"""The inputs of an exported graph: one for each column of a data frame, or one for an array."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ...preprocessing import infer_column_kinds, is_dataframe, is_missing

#: Names of the graph's outputs, which no input may have.
OUTPUT_NAMES = ("label", "probability", "score")
#: The name of the input for an array.
ARRAY_INPUT = "X"


class InputColumn(NamedTuple):
    """The graph's input for one column of a data frame."""

    name: str
    is_text: bool


def onnx_inputs(X: Any) -> dict[str, NDArray[Any]]:
    """Convert a table to the inputs of an exported graph, as ONNX Runtime takes them.

    Parameters
    ----------
    X : data frame, array or sparse matrix
        The table, with the columns and data types of the training table.

    Returns
    -------
    dict of str to ndarray
        For a data frame, one array of shape (n_samples, 1) for each column: doubles with NaN for a missing
        value, or strings with "" for a missing value. For an array, "X" only.

    Examples
    --------
    >>> import polars as pl
    >>> from capo.export import onnx_inputs
    >>> inputs = onnx_inputs(pl.DataFrame({"age": [31, None], "town": ["Ulm", None]}))
    >>> inputs["age"].tolist(), inputs["town"].tolist()
    ([[31.0], [nan]], [['Ulm'], ['']])
    """
    if not is_dataframe(X):
        return {ARRAY_INPUT: np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)}
    columns = nw.from_native(X, eager_only=True).iter_columns()
    pairs = zip(list_inputs(X), columns, strict=True)
    return {spec.name: _input_array(column.to_list(), spec.is_text) for spec, column in pairs}


def _input_array(values: list[Any], is_text: bool) -> NDArray[Any]:
    if is_text:
        texts = ["" if is_missing(value) else str(value) for value in values]
        return np.array(texts, dtype=object)[:, None]
    return np.array([np.nan if is_missing(value) else float(value) for value in values])[:, None]


def list_inputs(X: Any) -> list[InputColumn]:
    """List the graph's input for each column of a data frame."""
    frame = nw.from_native(X, eager_only=True)
    numeric = infer_column_kinds(X).numeric
    has_names = all(isinstance(name, str) for name in frame.columns)
    inputs = []
    for position, name in enumerate(frame.columns):
        is_numeric = (name if has_names else position) in numeric
        is_text = not (is_numeric or _has_numeric_categories(frame[:, position]))
        inputs.append(InputColumn(_input_name(str(name), position), is_text))
    return inputs


def _has_numeric_categories(column: Any) -> bool:
    if column.dtype not in (nw.Categorical, nw.Enum):
        return False
    categories = column.cat.get_categories().to_list()
    return bool(categories) and all(
        isinstance(category, int | float) and not isinstance(category, bool) for category in categories
    )


def _input_name(name: str, position: int) -> str:
    return f"{name}_" if name in OUTPUT_NAMES else name or f"column{position}"
