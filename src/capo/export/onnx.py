"""Export of fitted models to ONNX, and the inputs of exported graphs.

Optional packages are imported only when a model is converted: ONNX Runtime alone is enough to use a graph.

A model of ``capo fit`` was trained on canonical values, and its graph takes canonical values
(`capo.tables.canonical_values`). Any other model was trained on the values of a data frame as they
are, and its graph takes them as they are: a value that is not text is written as by `str`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..exceptions import ExportError, InvalidInputError, MissingExtraError
from ..tables.dates import DateKind
from ..tables.kinds import CategoryKind, ColumnKind, is_dataframe, is_missing, is_number
from ..tables.numbers import NumberKind
from ..tables.schema import check_not_misread, kind_from_dict, parse_column

if TYPE_CHECKING:
    from onnx import ModelProto

#: The key of the graph's metadata for the spelling of its texts, and its two values.
TEXT_VALUES = "text_values"
CANONICAL, UNCHANGED = "canonical", "unchanged"
#: The key of the graph's metadata for the kinds of columns that are parsed before the graph, in JSON.
COLUMN_KINDS = "column_kinds"
#: Names of the graph's outputs, which no input may have.
OUTPUT_NAMES = ("label", "probability", "score")
#: The name of the input for an array.
ARRAY_INPUT = "X"
#: The text that means a missing value.
MISSING_TEXT = ""
#: The text for an empty text that is not a missing value: the ASCII character "substitute".
EMPTY_TEXT = "\x1a"


def to_onnx(
    model: Any,
    X: Any,
    *,
    canonical_values: bool = False,
    column_kinds: Mapping[str, ColumnKind] | None = None,
) -> ModelProto:
    """Convert a fitted model to an ONNX graph, from the raw table to the label, in double precision.

    For a data frame the graph has one input of shape (n, 1) for each column, with the column's name: doubles
    with NaN for a missing value (dates: seconds since 1970), or strings with "" for a missing value. For an
    array it has the single input "X". `onnx_inputs` makes the inputs from a table. The outputs are "label",
    "score" and, if the model has `predict_proba`, "probability", each of shape (n,). Both are about the
    positive class: "score" is `positive_decision` (`decision_function` of a model without `pos_label`), and
    positive above 0. With more than two classes, "probability" and "score" (the expected gain) have one
    column for each class; with several labels per row, all outputs have one column for each label.
    Auxiliaries with weight 0 are left out.

    Parameters
    ----------
    model : CAPOClassifier, SVMPerfClassifier or SVMPerfClassifierCV
        A fitted model.
    X : data frame, array or sparse matrix
        At least one row with the columns and data types of the training table.
    canonical_values : bool, default=False
        Whether the model was trained on canonical values, as ``capo fit`` reads them from a file: "true"
        for True, "1" for 1.0. `onnx_inputs` then converts the rows of a table in the same way. ``capo
        export`` sets it.
    column_kinds : mapping of str to ColumnKind, optional
        The kinds of columns of canonical values, so that `onnx_inputs` can parse dates, amounts of money and
        the like from text. ``capo export`` sets it.

    Returns
    -------
    onnx.ModelProto
        The graph; ``.SerializeToString()`` gives the content of an .onnx file.

    Raises
    ------
    ExportError
        If an auxiliary or the delta transformer cannot be exported to ONNX.

    Examples
    --------
    >>> import numpy as np
    >>> from onnxruntime import InferenceSession
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from capo import CAPOClassifier
    >>> from capo.export.onnx import onnx_inputs, to_onnx
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CAPOClassifier(auxiliaries=[DecisionTreeClassifier(max_depth=3)], random_state=0).fit(X, y)
    >>> session = InferenceSession(to_onnx(model, X).SerializeToString())
    >>> label, probability = session.run(["label", "probability"], onnx_inputs(X, session))
    >>> bool(np.all(label == model.predict(X)))
    True
    >>> bool(np.allclose(probability, model.predict_proba(X)[:, 1]))
    True
    """
    try:
        import onnx  # noqa: F401, PLC0415 (an extra)
        import skl2onnx  # noqa: F401, PLC0415 (an extra)
    except ImportError as error:
        raise MissingExtraError("ONNX export needs skl2onnx: pip install 'capo-learn[onnx]'.") from error
    from ._model import convert_model  # noqa: PLC0415 (needs the extra)

    kinds = {name: kind.to_dict() for name, kind in (column_kinds or {}).items()}
    spelling = CANONICAL if canonical_values else UNCHANGED
    return convert_model(model, X, {TEXT_VALUES: spelling, COLUMN_KINDS: json.dumps(kinds)})


def onnx_inputs(X: Any, graph: Any) -> dict[str, NDArray[Any]]:
    """Convert a table to the inputs of an exported graph, as ONNX Runtime takes them.

    Parameters
    ----------
    X : data frame, array or sparse matrix
        The table. For a graph of ``capo export`` it has the columns of the training table, in any order, as
        text or as pandas or polars read them from a CSV file by default. For a graph of `to_onnx` it has the
        columns and data types of the training table.
    graph : onnx.ModelProto, bytes, path-like or onnxruntime.InferenceSession
        The graph.

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
    >>> import pandas as pd
    >>> from capo import SVMPerfClassifier
    >>> from capo.export.onnx import onnx_inputs, to_onnx
    >>> table = pd.DataFrame({"age": [31, 45, 27, 60], "visits": [2, 0, 1, 5]})
    >>> graph = to_onnx(SVMPerfClassifier().fit(table, [0, 1, 0, 1]), table)
    >>> onnx_inputs(pd.DataFrame({"visits": [None, 3], "age": [50, 20]}), graph)["visits"].tolist()
    [[nan], [3.0]]
    """
    is_text, is_canonical, kinds = _read_signature(graph)
    if not is_dataframe(X):
        if list(is_text) != [ARRAY_INPUT]:
            shown = ", ".join(map(repr, list(is_text)[:10]))
            raise InvalidInputError(f"the graph takes a data frame with the columns {shown}: got an array.")
        return raw_inputs(X)
    columns = input_columns(X)
    missing = [name for name in is_text if name not in columns]
    if missing:
        raise InvalidInputError(
            f"the table lacks columns that the graph takes: {', '.join(map(repr, missing[:10]))}. It has "
            f"{', '.join(repr(str(column.name)) for column in list(columns.values())[:10])}."
        )
    columns = {name: columns[name] for name in is_text}
    return _canonical_inputs(columns, is_text, kinds) if is_canonical else _raw_inputs(columns, is_text)


@runtime_checkable
class _Session(Protocol):
    """What is used of an ``onnxruntime.InferenceSession``."""

    def get_inputs(self) -> Any: ...

    def get_modelmeta(self) -> Any: ...


def _read_signature(graph: Any) -> tuple[dict[str, bool], bool, dict[str, ColumnKind]]:
    """Which inputs of a graph are text, whether it takes canonical values, and the kinds of its columns."""
    if isinstance(graph, _Session):
        is_text = {each.name: each.type == "tensor(string)" for each in graph.get_inputs()}
        metadata = graph.get_modelmeta().custom_metadata_map
    else:
        model, text_type = _load(graph)
        is_text = {each.name: each.type.tensor_type.elem_type == text_type for each in model.graph.input}
        metadata = {entry.key: entry.value for entry in model.metadata_props}
    if TEXT_VALUES not in metadata:
        raise InvalidInputError(
            "the graph was not exported by this version of capo: its metadata lack the entry "
            f"{TEXT_VALUES!r}. Export it again."
        )
    kinds = json.loads(metadata.get(COLUMN_KINDS, "{}"))
    is_canonical = metadata[TEXT_VALUES] == CANONICAL
    return is_text, is_canonical, {name: kind_from_dict(kind) for name, kind in kinds.items()}


def _load(graph: Any) -> tuple[ModelProto, int]:
    """The graph as a model, and the number of the data type of strings."""
    try:
        import onnx  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise MissingExtraError("reading a graph needs onnx: pip install 'capo-learn[onnx]'.") from error
    if isinstance(graph, bytes):
        graph = onnx.load_from_string(graph)
    elif isinstance(graph, str | PathLike):
        graph = onnx.load(graph)
    if not isinstance(graph, onnx.ModelProto):
        raise InvalidInputError(
            "the graph must be an onnx.ModelProto, the bytes or the path of an .onnx file, or an "
            f"onnxruntime.InferenceSession: got {type(graph).__name__}."
        )
    return graph, onnx.TensorProto.STRING


def input_columns(X: Any) -> dict[str, Any]:
    """The columns of a data frame as narwhals series, by the names of their inputs."""
    columns: dict[str, Any] = {}
    for position, column in enumerate(nw.from_native(X, eager_only=True).iter_columns()):
        name = str(column.name)
        input_name = f"{name}_" if name in OUTPUT_NAMES else name or f"column{position}"
        if input_name in columns:
            raise ExportError(
                f"the columns {str(columns[input_name].name)!r} and {name!r} would both be the graph's input "
                f"{input_name!r}: rename one of them."
            )
        columns[input_name] = column
    return columns


def is_text_input(column: Any) -> bool:
    """Whether a column is an input of strings: not numbers, Booleans, dates or categories of numbers."""
    dtype = column.dtype
    if dtype in (nw.Categorical, nw.Enum):
        categories = column.cat.get_categories().to_list()
        are_numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in categories)
        return not (categories and are_numbers)
    return not (dtype.is_numeric() or dtype in (nw.Boolean, nw.Duration, nw.Datetime, nw.Date))


def raw_inputs(X: Any) -> dict[str, NDArray[Any]]:
    """Convert a table with the data types of the training table; text is taken as it is."""
    if not is_dataframe(X):
        return {ARRAY_INPUT: np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)}
    columns = input_columns(X)
    return _raw_inputs(columns, {name: is_text_input(column) for name, column in columns.items()})


def category_key(value: Any) -> str:
    """The text in the graph for a value of a text column; None is a missing one."""
    return MISSING_TEXT if value is None else str(value) or EMPTY_TEXT


def _raw_inputs(columns: dict[str, Any], is_text: Mapping[str, bool]) -> dict[str, NDArray[Any]]:
    return {
        name: _text_array(column, list(map(category_key, _values(column))))
        if is_text[name]
        else _raw_numbers(column)
        for name, column in columns.items()
    }


def _values(column: Any) -> list[Any]:
    """The values of a series, with None for a missing one."""
    return [None if is_missing(value) else value for value in column.to_list()]


def _raw_numbers(column: Any) -> NDArray[Any]:
    if column.dtype in (nw.Datetime, nw.Date, nw.Duration):
        return parse_column(DateKind(), column)[:, None]
    values = _values(column)
    text = next((value for value in values if isinstance(value, str)), None)
    if text is not None:
        raise InvalidInputError(
            f"the column {str(column.name)!r} was numeric in training, but contains the text {text!r}: "
            "convert it to numbers."
        )
    return np.array([np.nan if value is None else float(value) for value in values])[:, None]


def _text_array(column: Any, texts: list[str]) -> NDArray[Any]:
    if any("\0" in text for text in texts):
        raise InvalidInputError(
            f"the column {str(column.name)!r} contains a null character, at which ONNX Runtime would cut its "
            "text: remove it."
        )
    return np.array(texts, dtype=object)[:, None]


def _canonical_inputs(
    columns: dict[str, Any], is_text: Mapping[str, bool], kinds: Mapping[str, ColumnKind]
) -> dict[str, NDArray[Any]]:
    """The values as ``capo predict`` reads them from a file."""
    try:
        import polars as pl  # noqa: PLC0415 (an extra)

        from ..tables.canonical_values import canonical_features  # noqa: PLC0415 (needs the extra)
    except ImportError as error:
        raise MissingExtraError(
            "onnx_inputs needs polars for the graph of a model of 'capo fit': pip install 'capo-learn[cli]'."
        ) from error
    series, used_kinds = [], {}
    for name, column in columns.items():
        kind = kinds.get(str(column.name))
        series.append(_lossless_series(column, is_text[name], kind))
        used_kinds[str(column.name)] = kind or (CategoryKind() if is_text[name] else NumberKind())
    features = canonical_features(pl.DataFrame(series), used_kinds)
    return {
        name: _text_array(column, column.cast(pl.String).fill_null(MISSING_TEXT).to_list())
        if is_text[name]
        else parse_column(DateKind(), nw.from_native(column, series_only=True))[:, None]
        for name, column in zip(columns, features.get_columns(), strict=True)
    }


def _lossless_series(column: Any, is_text: bool, kind: ColumnKind | None) -> Any:
    """The column with all that its file had; an error if numbers or dates may have lost their spelling."""
    import polars as pl  # noqa: PLC0415 (an extra)

    name = str(column.name)
    if not is_text and column.dtype.is_numeric():
        numbers = column.cast(nw.Float64).to_numpy()
        if column.dtype.is_float():
            check_not_misread(kind, numbers, name)
        return pl.Series(name, numbers, nan_to_null=True)
    values = _values(column)
    number = next((value for value in values if is_number(value)), None)
    if isinstance(kind, NumberKind) and not kind.is_plain and number is not None:
        # Values that are numbers already stay numbers: their text may be read in another spelling.
        text = next((value for value in values if isinstance(value, str)), None)
        if text is not None:
            raise InvalidInputError(
                f"the column {name!r} contains both numbers, such as {number!r}, and text, such as {text!r}: "
                "convert all of them to numbers, or all to text as in the training table."
            )
        return pl.Series(name, [None if value is None else float(value) for value in values], pl.Float64)
    other = next((value for value in values if not isinstance(value, str | bool | np.bool | None)), None)
    if is_text and other is not None:
        raise InvalidInputError(
            f"the column {name!r} was text in training, but contains {other!r}, a value of type "
            f"{type(other).__name__}, whose spelling in the file is lost (07 and 7.0 are different from 7): "
            "read this column as text."
        )
    return pl.Series(name, [None if value is None else str(value) for value in values], pl.String)
