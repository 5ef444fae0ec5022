"""Export of fitted models to ONNX, and the inputs of exported graphs.

Optional packages are imported only when a model is converted: ONNX Runtime alone is enough to use a graph.

A graph takes a table that `FeatureSchema.parse` returned. Its metadata hold the kinds of the columns, by
which `onnx_inputs` parses raw tables.
"""

from __future__ import annotations

import json
from os import PathLike
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse

from .._compat import NDArray
from ..exceptions import ExportError, InvalidInputError, MissingExtraError
from ..tables.dates import DateKind
from ..tables.kinds import CategoryKind, ColumnKind, is_dataframe, to_text
from ..tables.numbers import NumberKind
from ..tables.schema import kind_from_dict, parse_column, parse_series
from ..tables.vectors import read_vectors, recognize_vectors

if TYPE_CHECKING:
    from onnx import ModelProto

#: The key of the graph's metadata for the kinds of the columns of its inputs, in JSON.
COLUMN_KINDS = "column_kinds"
#: Names of the graph's outputs, which no input may have.
OUTPUT_NAMES = ("label", "probability", "score")
#: The name of the input for an array.
ARRAY_INPUT = "X"
#: The text that means a missing value.
MISSING_TEXT = ""


def to_onnx(model: Any, X: Any) -> ModelProto:
    """Convert a fitted model to an ONNX graph, from the parsed table to the label, in double precision.

    For a data frame the graph has one input of shape (n, 1) for each column, with the column's name: doubles
    with NaN for a missing value (dates: seconds since 1970), or strings with "" for a missing value. A column
    of vectors is an input of shape (n, d). For an array it has the single input "X". `onnx_inputs` makes the
    inputs from a table. The outputs are "label", "score" and, if the model has `predict_proba`,
    "probability", each of shape (n,). Both are about the positive class: "score" is `positive_decision`
    (`decision_function` of a model without `pos_label`), and positive above 0. With more than two classes,
    "probability" and "score" (the expected gain) have one column for each class; with several labels per row,
    all outputs have one column for each label. Auxiliaries with weight 0 are left out.

    Parameters
    ----------
    model : CAPOClassifier, SVMPerfClassifier or SVMPerfClassifierCV
        A fitted model.
    X : data frame, array or sparse matrix
        At least one row with the columns of the training table.

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

    return convert_model(model, X)


def onnx_inputs(X: Any, graph: Any) -> dict[str, NDArray[Any]]:
    """Convert a table to the inputs of an exported graph, as ONNX Runtime takes them.

    Parameters
    ----------
    X : data frame, array or sparse matrix
        The table, with the columns of the training table in any order, as text or as pandas or polars read
        them from a file. Columns are parsed as ``predict`` and ``capo predict`` do.
    graph : onnx.ModelProto, bytes, path-like or onnxruntime.InferenceSession
        The graph.

    Returns
    -------
    dict of str to ndarray
        For a data frame, one array of shape (n_samples, 1) for each column: doubles with NaN for a missing
        value, or strings with "" for a missing value; of shape (n_samples, d) for vectors of length d. For an
        array, "X" only.

    Raises
    ------
    InvalidInputError
        If a column is missing, or its values cannot be converted unambiguously. The message names the column.

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
    is_text, kinds = _read_signature(graph)
    if not is_dataframe(X):
        if list(is_text) != [ARRAY_INPUT]:
            shown = ", ".join(map(repr, list(is_text)[:10]))
            raise InvalidInputError(f"the graph takes a data frame with the columns {shown}: got an array.")
        return parsed_inputs(X)
    columns = input_columns(X)
    missing = [name for name in is_text if name not in columns]
    if missing:
        raise InvalidInputError(
            f"the table lacks columns that the graph needs: {', '.join(map(repr, missing[:10]))}. It has "
            f"{', '.join(repr(str(column.name)) for column in list(columns.values())[:10])}."
        )
    return {name: _to_array(parse_series(kinds[name], columns[name]), is_text[name]) for name in is_text}


def _read_signature(graph: Any) -> tuple[dict[str, bool], dict[str, ColumnKind]]:
    """The inputs of a graph that are text, and the kind of each."""
    if hasattr(graph, "get_inputs"):  # an onnxruntime.InferenceSession
        is_text = {each.name: each.type == "tensor(string)" for each in graph.get_inputs()}
        metadata = graph.get_modelmeta().custom_metadata_map
    else:
        model, text_type = _load(graph)
        is_text = {each.name: each.type.tensor_type.elem_type == text_type for each in model.graph.input}
        metadata = {entry.key: entry.value for entry in model.metadata_props}
    if COLUMN_KINDS not in metadata:
        raise InvalidInputError(
            "the graph was not exported by this version of capo: its metadata lack the entry "
            f"{COLUMN_KINDS!r}. Export it again."
        )
    kinds: dict[str, ColumnKind] = {
        name: CategoryKind() if is_text[name] else NumberKind() for name in is_text
    }
    known = json.loads(metadata[COLUMN_KINDS])
    return is_text, kinds | {name: kind_from_dict(kind) for name, kind in known.items()}


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
    """Whether a parsed column is an input of strings: not numbers, Booleans or dates."""
    dtype = column.dtype
    return not (dtype.is_numeric() or dtype in (nw.Boolean, nw.Duration, nw.Datetime, nw.Date))


def find_vectors(column: Any) -> NDArray[np.float64] | None:
    """The vectors of a parsed column, with NaN for missing ones; None if it has another kind."""
    is_nested = column.dtype.is_nested() or column.dtype == nw.Object
    found = recognize_vectors(column) if is_nested else None
    return None if found is None else read_vectors(found.kind, column).astype(np.float64)


def parsed_inputs(X: Any) -> dict[str, NDArray[Any]]:
    """Convert a parsed table to the inputs of its graph."""
    if not is_dataframe(X):
        return {ARRAY_INPUT: np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)}
    return {name: _to_array(column, is_text_input(column)) for name, column in input_columns(X).items()}


def category_key(value: Any) -> str:
    """The text in the graph for a value of a text column; None is a missing one."""
    return MISSING_TEXT if value is None else str(value)


def _to_array(column: Any, is_text: bool) -> NDArray[Any]:
    """A parsed column as an input: vectors, texts, or numbers and seconds since 1970."""
    if (vectors := find_vectors(column)) is not None:
        return vectors
    if not is_text:
        return parse_column(DateKind(), column)[:, None]
    texts = [category_key(to_text(value)) for value in column.to_list()]
    if any("\0" in text for text in texts):
        raise InvalidInputError(
            f"the column {str(column.name)!r} contains a null character, at which ONNX Runtime would cut its "
            "text: remove it."
        )
    return np.array(texts, dtype=object)[:, None]
