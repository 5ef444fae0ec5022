"""The inputs of an exported graph: one for each column of a data frame, or one for an array.

A model of ``capo fit`` was trained on canonical values, and its graph takes canonical values
(`capo.preprocessing.canonical_values`). Any other model was trained on the values of a data frame as they
are, and its graph takes them as they are: a value that is not text is written as by `str`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ...exceptions import ExportError, InvalidInputError, MissingExtraError
from ...preprocessing import (
    CategoryKind,
    ColumnKind,
    DateKind,
    NumberKind,
    check_not_misread,
    is_dataframe,
    is_missing,
    is_number,
    parse_column,
)
from ._signature import GraphSignature, InputColumn, read_signature

if TYPE_CHECKING:
    import polars as pl

#: Names of the graph's outputs, which no input may have.
OUTPUT_NAMES = ("label", "probability", "score")
#: The name of the input for an array.
ARRAY_INPUT = "X"
#: The text that means a missing value.
MISSING_TEXT = ""
#: The text for an empty text that is not a missing value: the ASCII character "substitute".
EMPTY_TEXT = "\x1a"


class TableColumn(NamedTuple):
    """A column of a data frame, under its own name."""

    name: str
    column: Any

    def values(self) -> list[Any]:
        """The values, with None for a missing one."""
        return [None if is_missing(value) else value for value in self.column.to_list()]


def onnx_inputs(X: Any, graph: Any = None) -> dict[str, NDArray[Any]]:
    """Convert a table to the inputs of an exported graph, as ONNX Runtime takes them.

    Parameters
    ----------
    X : data frame, array or sparse matrix
        The table. For a graph of ``capo export`` it has the columns of the training table, in any order, as
        text or as pandas or polars read them from a CSV file by default. For a graph of `to_onnx` it has the
        columns and data types of the training table.
    graph : onnx.ModelProto, bytes, path-like or onnxruntime.InferenceSession, optional
        The graph. Without it, a data frame with text that depends on the graph is an error.

    Returns
    -------
    dict of str to ndarray
        For a data frame, one array of shape (n_samples, 1) for each column: doubles with NaN for a missing
        value, or strings with "" for a missing value. For an array, "X" only.

    Raises
    ------
    InvalidInputError
        If a column is missing, or its values cannot be converted without a doubt. The message names it.

    Examples
    --------
    >>> import polars as pl
    >>> from capo.export import onnx_inputs
    >>> inputs = onnx_inputs(pl.DataFrame({"age": [31, None], "town": ["Ulm", None]}))
    >>> inputs["age"].tolist(), inputs["town"].tolist()
    ([[31.0], [nan]], [['Ulm'], ['']])
    """
    signature = None if graph is None else read_signature(graph)
    if not is_dataframe(X):
        _check_takes_array(signature)
        return _array_inputs(X)
    if signature is None:
        return _unambiguous_inputs(X)
    columns = _columns_for(X, signature)
    if signature.is_canonical:
        return _canonical_inputs(columns, signature.inputs, signature.kinds)
    return _raw_inputs(columns, signature.inputs)


def raw_inputs(X: Any) -> dict[str, NDArray[Any]]:
    """Convert a table with the data types of the training table; text is taken as it is."""
    return _raw_inputs(_table_columns(X), list_inputs(X)) if is_dataframe(X) else _array_inputs(X)


def list_inputs(X: Any) -> list[InputColumn]:
    """List the graph's input for each column of a data frame."""
    columns = _table_columns(X)
    return [InputColumn(name, not _is_number_input(column)) for name, (_, column) in columns.items()]


def _is_number_input(column: Any) -> bool:
    """Whether a column is an input of doubles: numbers, Booleans, dates and categories that are numbers."""
    dtype = column.dtype
    is_number = dtype.is_numeric() or dtype in (nw.Boolean, nw.Duration, nw.Datetime, nw.Date)
    return is_number or _has_numeric_categories(column)


def _table_columns(X: Any) -> dict[str, TableColumn]:
    """The columns of a data frame by the names of their inputs."""
    columns: dict[str, TableColumn] = {}
    for position, column in enumerate(nw.from_native(X, eager_only=True).iter_columns()):
        input_name = _input_name(str(column.name), position)
        if input_name in columns:
            raise ExportError(
                f"the columns {columns[input_name].name!r} and {str(column.name)!r} would both be the "
                f"graph's input {input_name!r}: rename one of them."
            )
        columns[input_name] = TableColumn(str(column.name), column)
    return columns


def _input_name(name: str, position: int) -> str:
    return f"{name}_" if name in OUTPUT_NAMES else name or f"column{position}"


def _has_numeric_categories(column: Any) -> bool:
    if column.dtype not in (nw.Categorical, nw.Enum):
        return False
    categories = column.cat.get_categories().to_list()
    return bool(categories) and all(
        isinstance(category, int | float) and not isinstance(category, bool) for category in categories
    )


def _columns_for(X: Any, signature: GraphSignature) -> dict[str, TableColumn]:
    """The columns that a graph takes, by the names of its inputs."""
    columns = _table_columns(X)
    missing = [spec.name for spec in signature.inputs if spec.name not in columns]
    if missing:
        raise InvalidInputError(
            f"the table lacks columns that the graph takes: {', '.join(map(repr, missing[:10]))}. It has "
            f"{', '.join(repr(column.name) for column in list(columns.values())[:10])}."
        )
    return {spec.name: columns[spec.name] for spec in signature.inputs}


def _check_takes_array(signature: GraphSignature | None) -> None:
    if signature is not None and [spec.name for spec in signature.inputs] != [ARRAY_INPUT]:
        shown = ", ".join(repr(spec.name) for spec in signature.inputs[:10])
        raise InvalidInputError(f"the graph takes a data frame with the columns {shown}: got an array.")


def _array_inputs(X: Any) -> dict[str, NDArray[Any]]:
    return {ARRAY_INPUT: np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)}


def _raw_inputs(columns: dict[str, TableColumn], specs: Sequence[InputColumn]) -> dict[str, NDArray[Any]]:
    return {
        spec.name: _raw_text(columns[spec.name]) if spec.is_text else _raw_numbers(columns[spec.name])
        for spec in specs
    }


def _raw_text(column: TableColumn) -> NDArray[Any]:
    texts = [MISSING_TEXT if value is None else category_key(value) for value in column.values()]
    return _text_array(column.name, texts)


def category_key(value: Any) -> str:
    """The text in the graph for a value of a text column that is not missing."""
    return str(value) or EMPTY_TEXT


def _raw_numbers(column: TableColumn) -> NDArray[Any]:
    if column.column.dtype in (nw.Datetime, nw.Date, nw.Duration):
        return parse_column(DateKind(), column.column)[:, None]
    values = column.values()
    text = next((value for value in values if isinstance(value, str)), None)
    if text is not None:
        raise InvalidInputError(
            f"the column {column.name!r} was numeric in training, but contains the text {text!r}: convert it "
            "to numbers."
        )
    return np.array([np.nan if value is None else float(value) for value in values])[:, None]


def _text_array(name: str, texts: list[str]) -> NDArray[Any]:
    if any("\0" in text for text in texts):
        raise InvalidInputError(
            f"the column {name!r} contains a null character, at which ONNX Runtime would cut its text: "
            "remove it."
        )
    return np.array(texts, dtype=object)[:, None]


def _canonical_inputs(
    columns: dict[str, TableColumn], specs: Sequence[InputColumn], kinds: Mapping[str, ColumnKind]
) -> dict[str, NDArray[Any]]:
    """The values as ``capo predict`` reads them from a file."""
    if not _has_polars():
        raise MissingExtraError(
            "onnx_inputs needs polars for the graph of a model of 'capo fit': pip install 'capo-learn[cli]'."
        )
    import polars as pl  # noqa: PLC0415 (an extra)

    from ...preprocessing.canonical_values import canonical_features  # noqa: PLC0415 (needs the extra)

    given = {spec.name: kinds.get(columns[spec.name].name) for spec in specs}
    frame = pl.DataFrame(
        [_lossless_series(columns[spec.name], spec.is_text, given[spec.name]) for spec in specs]
    )
    default = {columns[spec.name].name: CategoryKind() if spec.is_text else NumberKind() for spec in specs}
    features = canonical_features(frame, {name: kinds.get(name, kind) for name, kind in default.items()})
    return {
        spec.name: _text_array(column.name, column.cast(pl.String).fill_null(MISSING_TEXT).to_list())
        if spec.is_text
        else parse_column(DateKind(), nw.from_native(column, series_only=True))[:, None]
        for spec, column in zip(specs, features.get_columns(), strict=True)
    }


def _has_polars() -> bool:
    try:
        import_module("polars")
    except ImportError:
        return False
    return True


def _lossless_series(column: TableColumn, is_text: bool, kind: ColumnKind | None) -> pl.Series:
    """The column with all that its file had; an error if numbers or dates may have lost their spelling."""
    import polars as pl  # noqa: PLC0415 (an extra)

    from ...preprocessing.canonical_values import is_plain_number  # noqa: PLC0415 (needs the extra)

    if not is_text and column.column.dtype.is_numeric():
        numbers = column.column.cast(nw.Float64).to_numpy()
        if column.column.dtype.is_float():
            check_not_misread(kind, numbers, column.name)
        return pl.Series(column.name, numbers, nan_to_null=True)
    values = column.values()
    is_spelled = isinstance(kind, NumberKind) and not is_plain_number(kind)
    if is_spelled and any(map(is_number, values)):
        return _numeric_series(column.name, values)
    other = next((value for value in values if not isinstance(value, str | bool | np.bool | None)), None)
    if is_text and other is not None:
        raise InvalidInputError(
            f"the column {column.name!r} was text in training, but contains {other!r}, a value of type "
            f"{type(other).__name__}, whose spelling in the file is lost (07 and 7.0 are different from 7): "
            "read this column as text."
        )
    return pl.Series(column.name, [None if value is None else str(value) for value in values], pl.String)


def _numeric_series(name: str, values: list[Any]) -> pl.Series:
    """Values that are numbers already, as such: their text may be read in another spelling."""
    import polars as pl  # noqa: PLC0415 (an extra)

    text = next((value for value in values if isinstance(value, str)), None)
    if text is not None:
        number = next(value for value in values if is_number(value))
        raise InvalidInputError(
            f"the column {name!r} contains both numbers, such as {number!r}, and text, such as {text!r}: "
            "convert all of them to numbers, or all to text as in the training table."
        )
    return pl.Series(name, [None if value is None else float(value) for value in values], pl.Float64)


def _unambiguous_inputs(X: Any) -> dict[str, NDArray[Any]]:
    """The inputs by the data types of X, if its text means the same to every graph."""
    columns, specs = _table_columns(X), list_inputs(X)
    inputs = _raw_inputs(columns, specs)
    for spec in (spec for spec in specs if spec.is_text):
        value = _first_ambiguous(columns[spec.name], inputs[spec.name])
        if value is not None:
            raise InvalidInputError(
                f"the column {spec.name!r} contains {value!r}, which a graph of 'capo export' takes in "
                "another spelling than a graph of to_onnx: pass the graph as the second argument."
            )
    return inputs


def _first_ambiguous(column: TableColumn, raw: NDArray[Any]) -> Any:
    """The first value whose canonical text is another, or None; without polars, the first value."""
    values = column.values()
    different = [not isinstance(value, str | None) for value in values]
    if not any(different) and _has_polars():
        canonical = _canonical_inputs({"": column}, [InputColumn("", True)], {})[""]
        different = (canonical != raw).ravel().tolist()
    elif not any(different):
        different = [value is not None for value in values]
    return next((value for value, differs in zip(values, different, strict=True) if differs), None)
