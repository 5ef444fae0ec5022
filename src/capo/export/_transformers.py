"""Conversion of fitted transformers."""

import warnings
from collections.abc import Callable, Container
from dataclasses import replace
from functools import partial, reduce
from itertools import compress
from typing import Any

import numpy as np
from onnx import TensorProto
from onnx.shape_inference import infer_shapes
from scipy.sparse import issparse
from skl2onnx import get_model_alias, to_onnx
from skl2onnx.common._registration import get_converter
from skl2onnx.common.data_types import DoubleTensorType
from sklearn import preprocessing
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import FeatureUnion, Pipeline

from .._compat import FloatArray, NDArray
from ..exceptions import ExportError
from ..learning.auxiliaries import to_dense
from ..tables import features
from ..tables.kinds import is_missing
from ..tables.vectors import VectorFeatures
from . import _graph, _trees
from ._graph import ML_DOMAIN, OPSETS, GraphBuilder, GraphNumber, GraphTable, NumericColumns, TextColumn
from .onnx import MISSING_TEXT, category_key

#: Names of kernels with a formula in the graph.
KERNELS = ("linear", "rbf", "laplacian", "inverse_distance", "inverse_squared_distance", "poly", "sigmoid")


def emit_kernel(
    graph: GraphBuilder,
    name: Any,
    rows: str,
    vectors: Any,
    *,
    gamma: float,
    coef0: float = 0.0,
    degree: float = 1.0,
) -> str:
    """Add the kernel values of each row with each vector."""
    op, vectors = graph.op, as_dense_array(vectors)
    if not isinstance(name, str) or name not in KERNELS:
        raise ExportError(f"its kernel is not one of {', '.join(KERNELS)}")
    if name == "linear":
        return op("MatMul", rows, vectors.T.copy())
    if name in ("poly", "sigmoid"):
        values = op("Add", op("MatMul", rows, gamma * vectors.T), coef0)
        return op("Pow", values, degree) if name == "poly" else op("Tanh", values)
    # Squared distances times gamma, with one vector as the origin for numerical accuracy.
    rows, vectors = op("Sub", rows, vectors[:1]), vectors - vectors[:1]
    squared_norms = op("ReduceSum", op("Mul", rows, rows), np.array([1]), keepdims=1)
    cross_terms = op("MatMul", rows, -2.0 * vectors.T)
    squares = op("Add", op("Add", cross_terms, squared_norms), (vectors**2).sum(axis=1)[None, :])
    distance = op("Mul", op("Max", squares, 0.0), gamma)
    if name in ("laplacian", "inverse_distance"):
        distance = op("Sqrt", distance)
    if name in ("rbf", "laplacian"):
        return op("Exp", op("Neg", distance))
    return op("Reciprocal", op("Add", distance, 1.0))


def as_dense_array(matrix: Any) -> FloatArray:
    """Convert a matrix, sparse or not, to an array of doubles."""
    return np.asarray(matrix.toarray() if issparse(matrix) else matrix, dtype=np.float64)


#: The version of the ``ai.onnx.ml`` operators that skl2onnx writes.
SKL2ONNX_ML_OPSET = 3
#: Operators of that version that the version used here no longer has.
REMOVED_OPERATORS = frozenset({"TreeEnsembleClassifier", "TreeEnsembleRegressor"})


def emit_skl2onnx(estimator: Any, table: GraphTable, **options: Any) -> list[str]:
    """Add an estimator of numeric tables by its converter in skl2onnx, and return the outputs."""
    try:
        with warnings.catch_warnings():
            # Warnings of the libraries that skl2onnx uses, about each other.
            warnings.simplefilter("ignore")
            model = to_onnx(
                estimator,
                initial_types=[("X", DoubleTensorType([None, table.width]))],
                options={id(estimator): options} if options else None,
                target_opset={"": OPSETS[""], ML_DOMAIN: SKL2ONNX_ML_OPSET},
            )
            infer_shapes(model, check_type=True, strict_mode=True)
    except Exception as error:
        raise ExportError(
            f"skl2onnx cannot convert {type(estimator).__name__} in double precision"
        ) from error
    for node in model.graph.node:
        if node.domain not in OPSETS or node.op_type in REMOVED_OPERATORS:
            raise ExportError(
                f"skl2onnx converts {type(estimator).__name__} with {node.op_type}, which is not in double "
                "precision or not a standard ONNX operator"
            )
    return table.graph.inline_model(model, table.to_matrix())


def converter_options(estimator: Any) -> Container[str]:
    """The options that the estimator's converter supports."""
    try:
        return get_converter(get_model_alias(type(estimator))).get_allowed_options() or ()
    except Exception as error:
        raise ExportError(f"skl2onnx has no converter for {type(estimator).__name__}") from error


def _convert_with_skl2onnx(estimator: Any, table: GraphTable) -> GraphTable:
    value = table.graph.cast(emit_skl2onnx(estimator, table)[0])
    return table.numeric(value, len(estimator.get_feature_names_out()))


def convert_transformer(estimator: Any, table: GraphTable) -> GraphTable:
    """Convert a fitted transformer; the result is the transformed table."""
    if isinstance(estimator, SelectorMixin):
        return table.take(np.flatnonzero(estimator.get_support()).tolist())
    return _CONVERTERS.get(type(estimator), _convert_with_skl2onnx)(estimator, table)


def _convert_pipeline(pipeline: Any, table: GraphTable) -> GraphTable:
    for _, step in pipeline.steps:
        if step not in (None, "passthrough"):
            table = convert_transformer(step, table)
    return table


def _convert_column_transformer(transformer: Any, table: GraphTable) -> GraphTable:
    positions = transformer._transformer_to_input_indices
    parts = [(name, part, table.take(positions[name])) for name, part, _ in transformer.transformers_]
    return _join_parts(transformer, [each for each in parts if each[2].width])


def _join_parts(transformer: Any, parts: list[tuple[str, Any, GraphTable]]) -> GraphTable:
    """The outputs of transformers side by side, each for its own columns and with its own weight."""
    outputs = []
    for name, part, columns in parts:
        if isinstance(part, str) and part == "drop":
            continue
        output = columns if isinstance(part, str) else convert_transformer(part, columns)
        weight = (transformer.transformer_weights or {}).get(name)
        if weight is not None:
            factors = np.full((1, output.width), float(weight))
            output = output.numeric(output.graph.op("Mul", output.to_matrix(), factors))
        outputs.append(output)
    return GraphTable(parts[0][2].graph, ()).hstack(*outputs)


def _convert_scaler(scaler: Any, table: GraphTable) -> GraphTable:
    """A scaler by the center and the scale of each column, or by its scale only."""
    value = table.to_matrix()
    if getattr(scaler, "clip", False):
        return _convert_with_skl2onnx(scaler, table)
    center = getattr(scaler, "mean_", getattr(scaler, "center_", None))
    if center is not None and getattr(scaler, "with_mean", True):
        value = table.graph.op("Sub", value, center[None, :].astype(np.float64))
    if scaler.scale_ is not None:
        value = table.graph.op("Div", value, scaler.scale_[None, :].astype(np.float64))
    return table.numeric(value)


def _convert_function(transformer: Any, table: GraphTable) -> GraphTable:
    if transformer.func is None or transformer.func is to_dense:
        return table
    if transformer.func is not features.clip_standardized:
        raise ExportError(
            f"its FunctionTransformer applies {getattr(transformer.func, '__name__', 'a function')}, "
            "which has no ONNX equivalent"
        )
    limit = features.MAX_STANDARDIZED
    return table.numeric(table.graph.op("Clip", table.to_matrix(), -limit, limit))


def _convert_score_scaler(scaler: Any, table: GraphTable) -> GraphTable:
    """Sums of the parts of each value between neighboring knots, times the slopes there."""
    graph, matrix, columns = table.graph, table.to_matrix(), []
    for position, (values, quantiles) in enumerate(scaler.knots_):
        column = graph.take_columns(matrix, [position])
        first, last, widths = values[0], values[-1], np.diff(values)
        inside = graph.op("Min", graph.op("Max", column, first), last)
        beyond = graph.op("Div", graph.op("Sub", column, inside), float(last - first) or 1.0)
        tail = graph.op("Log", graph.op("Add", graph.op("Abs", beyond), 1.0))
        found = graph.op("Add", graph.op("Mul", graph.op("Sign", beyond), tail), quantiles[0])
        if len(widths):
            parts = graph.op("Max", graph.op("Sub", inside, values[None, :-1]), 0.0)
            parts = graph.op("Div", graph.op("Min", parts, widths[None, :]), widths[None, :])
            steps = graph.op("Mul", parts, np.diff(quantiles)[None, :])
            found = graph.op("Add", found, graph.op("ReduceSum", steps, np.array([1]), keepdims=1))
        columns.append(graph.op("Where", graph.op("IsNaN", column), np.nan, found))
    for position, values in enumerate(scaler.frequent_):
        if len(values):
            column = graph.take_columns(matrix, [position])
            columns.append(graph.cast(graph.op("Equal", column, values[None, :])))
    width = len(scaler.knots_) + sum(map(len, scaler.frequent_))
    return table.numeric(graph.op("Concat", *columns, axis=1), width)


def _encode_columns(encoder: Any, table: GraphTable) -> GraphTable:
    """Replace each category by the encoder's own output for it: one column, or several if it is one-hot."""
    if getattr(encoder, "target_type_", None) == "multiclass":
        raise ExportError("its TargetEncoder was fitted to more than two classes")
    start, blocks = 0, []
    is_one_hot = isinstance(encoder, preprocessing.OneHotEncoder)
    widths = encoder._n_features_outs if is_one_hot else [1] * table.width
    for position, (block, width) in enumerate(zip(table.iter_columns(), widths, strict=True)):
        column = _graph.encode_categories(table, block, encoder.categories_[position])
        rows = _transform_categories(encoder, position, column.categories)[:, start : start + width]
        blocks.append(NumericColumns(_graph.gather_by_code(table.graph, column, rows), width))
        start += width
    return GraphTable(table.graph, tuple(blocks))


def _transform_categories(encoder: Any, position: int, values: tuple[Any, ...]) -> NDArray[Any]:
    """The encoder's output for rows with these values in one column; NaN where it raises an error."""
    rows = np.empty((len(values), len(encoder.categories_)), dtype=object)
    rows[:] = [known[0] if len(known) else np.nan for known in encoder.categories_]
    rows[:, position] = values
    if all(known.dtype.kind in "fiub" for known in encoder.categories_):
        rows = rows.astype(np.float64)
    try:
        return _transform_rows(encoder, rows)
    except ValueError:
        return np.vstack([_transform_row_or_nan(encoder, row[None, :]) for row in rows])


def _transform_rows(estimator: Any, rows: NDArray[Any]) -> Any:
    with warnings.catch_warnings():
        # Warnings about missing column names and about unknown categories.
        warnings.simplefilter("ignore", UserWarning)
        output = estimator.transform(rows)
    return output.toarray() if issparse(output) else np.asarray(output)


def _transform_row_or_nan(encoder: Any, row: NDArray[Any]) -> Any:
    try:
        return _transform_rows(encoder, row)
    except ValueError:
        return np.full((1, len(encoder.get_feature_names_out())), np.nan)


def _convert_imputer(imputer: Any, table: GraphTable) -> GraphTable:
    if not is_missing(imputer.missing_values):
        raise ExportError(f"its SimpleImputer has missing_values={imputer.missing_values!r} instead of NaN")
    if any(isinstance(block, TextColumn) for block in table.blocks):
        return _impute_text(imputer, table)
    graph, matrix = table.graph, table.to_matrix()
    fill = np.asarray(imputer.statistics_, dtype=np.float64)
    filled = graph.op("Where", graph.op("IsNaN", matrix), fill[None, :], matrix)
    # A column without a statistic had no values in training, and the imputer drops it.
    imputed = table.numeric(filled).take(np.flatnonzero(~np.isnan(fill)).tolist())
    if not imputer.add_indicator or not len(imputer.indicator_.features_):
        return imputed
    columns = imputer.indicator_.features_
    indicators = graph.cast(graph.op("IsNaN", graph.take_columns(matrix, columns)))
    return imputed.hstack(table.numeric(indicators, len(columns)))


def _impute_text(imputer: Any, table: GraphTable) -> GraphTable:
    columns = [block for block in table.blocks if isinstance(block, TextColumn)]
    if imputer.add_indicator or len(columns) < len(table.blocks):
        raise ExportError(
            "its SimpleImputer has add_indicator=True for text columns, or takes text and numeric columns "
            "together"
        )
    # A SimpleImputer treats None and NaN differently, so it gets the data frame's own missing value.
    row = np.empty((1, len(columns)), dtype=object)
    row[0] = [column.missing for column in columns]
    for number, fill in enumerate(_transform_rows(imputer, row)[0]):
        if not is_missing(fill):
            graph, value = table.graph, columns[number].value
            missing = graph.op("Equal", value, np.array([MISSING_TEXT], dtype=object))
            filled = graph.op("Where", missing, np.array([category_key(fill)], dtype=object), value)
            columns[number] = replace(columns[number], value=filled)
    return GraphTable(table.graph, tuple(columns))


def _convert_nystroem(basis: Any, table: GraphTable) -> GraphTable:
    gamma = 1.0 / table.width if basis.gamma is None else basis.gamma
    if basis.kernel_params or basis.kernel not in ("rbf", "linear"):
        raise ExportError(
            f"its Nystroem has the kernel {basis.kernel!r} or kernel_params: use 'rbf' or 'linear' without "
            "kernel_params"
        )
    matrix = emit_kernel(table.graph, basis.kernel, table.to_matrix(), basis.components_, gamma=gamma)
    return _project(table, matrix, basis.normalization_)


def _project(table: GraphTable, matrix: str, components: FloatArray) -> GraphTable:
    return table.numeric(table.graph.op("MatMul", matrix, components.T.copy()), len(components))


def _convert_vectors(transformer: Any, table: GraphTable) -> GraphTable:
    """Center and scale each matrix, or project it, with 0 for missing vectors and their indicators."""
    op, parts, width = table.graph.op, [], 0
    fitted = (transformer.means_, transformer.factors_, transformer.components_, transformer.has_missing_)
    for block, mean, factor, components, has_missing in zip(table.blocks, *fitted, strict=True):
        centered = op("Sub", block.value, mean[None])
        if components is None:  # in single precision, as the transformer
            centered = _trees.round_to_float32(table.graph, centered)
        is_missing = op("IsNaN", table.graph.take_columns(block.value, [0]))
        present = op("Where", is_missing, 0.0, centered)
        is_projected = components is not None
        factors = (
            factor * components.T if is_projected else np.full((1, len(mean)), np.float32(factor), float)
        )
        scaled = op("MatMul" if is_projected else "Mul", present, factors)
        parts.append(table.graph.cast(table.graph.cast(scaled, TensorProto.FLOAT)))
        width += factors.shape[1] + has_missing
        parts += [table.graph.cast(is_missing)] if has_missing else []
    return table.numeric(op("Concat", *parts, axis=1), width)


def _refuse_texts(transformer: Any, table: GraphTable) -> GraphTable:
    """Raise for columns whose texts are split, since the runtime's rules for that are others."""
    names = ", ".join(repr(block.name) for block in table.blocks if isinstance(block, TextColumn))
    what = "lists of tags" if isinstance(transformer, features.TagIndicators) else "free text"
    raise ExportError(f"it splits {what} of the columns {names}, which has no ONNX equivalent")


def _convert_date_parts(transformer: Any, table: GraphTable) -> GraphTable:
    graph = table.graph
    parts: list[str] = []
    limits = (transformer.origin_.tolist(), transformer.last_.tolist())
    for block, origin, last, is_kept in zip(table.iter_columns(), *limits, transformer.is_kept_, strict=True):
        found = features.compute_date_parts(GraphNumber(graph, block.value), origin, last)
        parts += [each.name for each in compress(found, is_kept.tolist())]
    return GraphTable(graph, (NumericColumns(graph.op("Concat", *parts, axis=1), len(parts)),))


def _convert_polynomial_features(transformer: Any, table: GraphTable) -> GraphTable:
    """Each monomial as a product of columns, padded with a column of ones."""
    graph, powers = table.graph, transformer.powers_
    padded = graph.op("Concat", table.to_matrix(), table.constant(1.0), axis=1)
    factors = np.full((len(powers), max(1, int(powers.sum(axis=1).max()))), powers.shape[1])
    for factor_row, exponents in zip(factors, powers, strict=True):
        columns = np.repeat(np.arange(len(exponents)), exponents)
        factor_row[: len(columns)] = columns
    parts = [graph.take_columns(padded, positions) for positions in factors.T.tolist()]
    return table.numeric(reduce(partial(graph.op, "Mul"), parts), len(powers))


_CONVERTERS: dict[type, Callable[[Any, GraphTable], GraphTable]] = {
    Pipeline: _convert_pipeline,
    FrozenEstimator: lambda frozen, table: convert_transformer(frozen.estimator, table),
    ColumnTransformer: _convert_column_transformer,
    FeatureUnion: lambda union, table: _join_parts(
        union, [(*each, table) for each in union.transformer_list]
    ),
    **dict.fromkeys(
        (preprocessing.MaxAbsScaler, preprocessing.RobustScaler, preprocessing.StandardScaler),
        _convert_scaler,
    ),
    preprocessing.FunctionTransformer: _convert_function,
    preprocessing.PolynomialFeatures: _convert_polynomial_features,
    features.ScoreScaler: _convert_score_scaler,
    features.KnownCategoryFilter: lambda known, table: GraphTable(
        table.graph,
        tuple(map(partial(_graph.encode_known_categories, table), table.iter_columns(), known.categories_)),
    ),
    **dict.fromkeys((preprocessing.OrdinalEncoder, preprocessing.OneHotEncoder), _encode_columns),
    **dict.fromkeys((preprocessing.TargetEncoder, features.CategoryOneHotEncoder), _encode_columns),
    SimpleImputer: _convert_imputer,
    Nystroem: _convert_nystroem,
    TruncatedSVD: lambda model, table: _project(table, table.to_matrix(), model.components_),
    features.DateParts: _convert_date_parts,
    VectorFeatures: _convert_vectors,
    **dict.fromkeys((features.TagIndicators, features.WordFeatures), _refuse_texts),
}
