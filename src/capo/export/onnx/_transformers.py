"""Conversion of fitted transformers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_selection import (
    SelectFdr,
    SelectFpr,
    SelectFromModel,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from ..._compat import FloatArray
from ...exceptions import ExportError
from ...learning.auxiliaries import to_dense
from ...tables.features import (
    MAX_STANDARDIZED,
    CategoryOneHotEncoder,
    DateParts,
    DropEmptyColumns,
    KnownCategoryFilter,
    TagIndicators,
    WordFeatures,
    clip_standardized,
)
from ...tables.kinds import is_missing
from ...tables.schema import ColumnParser
from ._graph import (
    MISSING_TEXT,
    GraphBuilder,
    GraphTable,
    NumericColumns,
    TextColumn,
    UnknownCategory,
    category_key,
    convert_column_parser,
    convert_date_parts,
    encode_categories,
    encode_known_categories,
    gather_by_code,
    refuse_texts,
)
from ._skl2onnx_fallback import convert_transformer_with_skl2onnx


def emit_kernel(graph: GraphBuilder, name: Any, rows: str, vectors: Any, **params: float) -> str:
    """Add the kernel values of each row with each vector; `params` are gamma, coef0 and degree."""
    emit = _KERNELS.get(name) if isinstance(name, str) else None
    if emit is None:
        raise ExportError(f"its kernel is not one of {', '.join(_KERNELS)}")
    return emit(graph, rows, as_dense_array(vectors), **params)


def as_dense_array(matrix: Any) -> FloatArray:
    """Convert a matrix, sparse or not, to an array of doubles."""
    return np.asarray(matrix.toarray() if issparse(matrix) else matrix, dtype=np.float64)


def _inner_products(graph: GraphBuilder, rows: str, vectors: FloatArray) -> str:
    return graph.op("MatMul", rows, vectors.T.copy())


def _linear(graph: GraphBuilder, rows: str, vectors: FloatArray, **_: float) -> str:
    return _inner_products(graph, rows, vectors)


def _scaled_squared_distances(graph: GraphBuilder, rows: str, vectors: FloatArray, gamma: float) -> str:
    """Squared distances times gamma, with one vector as the origin for numerical accuracy."""
    rows, vectors = graph.op("Sub", rows, vectors[:1]), vectors - vectors[:1]
    squared_norms = graph.op("ReduceSum", graph.op("Mul", rows, rows), np.array([1]), keepdims=1)
    cross_terms = _inner_products(graph, rows, -2.0 * vectors)
    distance = graph.op("Add", graph.op("Add", cross_terms, squared_norms), (vectors**2).sum(axis=1)[None, :])
    return graph.op("Mul", graph.op("Max", distance, 0.0), gamma)


def _rbf(graph: GraphBuilder, rows: str, vectors: FloatArray, *, gamma: float, **_: float) -> str:
    return graph.op("Exp", graph.op("Neg", _scaled_squared_distances(graph, rows, vectors, gamma)))


def _laplacian(graph: GraphBuilder, rows: str, vectors: FloatArray, *, gamma: float, **_: float) -> str:
    return graph.op(
        "Exp", graph.op("Neg", graph.op("Sqrt", _scaled_squared_distances(graph, rows, vectors, gamma)))
    )


def _inverse_distance(
    graph: GraphBuilder, rows: str, vectors: FloatArray, *, gamma: float, **_: float
) -> str:
    distance = graph.op("Sqrt", _scaled_squared_distances(graph, rows, vectors, gamma))
    return graph.op("Reciprocal", graph.op("Add", distance, 1.0))


def _inverse_squared_distance(
    graph: GraphBuilder, rows: str, vectors: FloatArray, *, gamma: float, **_: float
) -> str:
    return graph.op(
        "Reciprocal", graph.op("Add", _scaled_squared_distances(graph, rows, vectors, gamma), 1.0)
    )


def _poly(
    graph: GraphBuilder, rows: str, vectors: FloatArray, *, gamma: float, coef0: float, degree: float
) -> str:
    products = _inner_products(graph, rows, gamma * vectors)
    return graph.op("Pow", graph.op("Add", products, coef0), degree)


def _sigmoid(
    graph: GraphBuilder, rows: str, vectors: FloatArray, *, gamma: float, coef0: float, **_: float
) -> str:
    products = _inner_products(graph, rows, gamma * vectors)
    return graph.op("Tanh", graph.op("Add", products, coef0))


_KERNELS: dict[str, Callable[..., str]] = {
    "linear": _linear,
    "rbf": _rbf,
    "laplacian": _laplacian,
    "inverse_distance": _inverse_distance,
    "inverse_squared_distance": _inverse_squared_distance,
    "poly": _poly,
    "sigmoid": _sigmoid,
}


#: From a transformer and its input table to the transformed table.
TransformerConverter = Callable[[Any, GraphTable], GraphTable]


def convert_transformer(estimator: Any, table: GraphTable) -> GraphTable:
    """Convert a fitted transformer; the result is the transformed table."""
    return _CONVERTERS.get(type(estimator), convert_transformer_with_skl2onnx)(estimator, table)


def _numeric_table(table: GraphTable, value: str, width: int) -> GraphTable:
    return GraphTable(table.graph, (NumericColumns(value, width),))


def _convert_pipeline(pipeline: Any, table: GraphTable) -> GraphTable:
    for _, step in pipeline.steps:
        if step not in (None, "passthrough"):
            table = convert_transformer(step, table)
    return table


def _convert_frozen(frozen: Any, table: GraphTable) -> GraphTable:
    return convert_transformer(frozen.estimator, table)


def _convert_column_transformer(transformer: Any, table: GraphTable) -> GraphTable:
    tables = []
    for name, part, _ in transformer.transformers_:
        columns = table.take(transformer._transformer_to_input_indices[name])
        if columns.width and not (isinstance(part, str) and part == "drop"):
            tables.append(_apply_weight(_convert_part(part, columns), transformer.transformer_weights, name))
    return GraphTable(table.graph, ()).hstack(*tables)


def _convert_feature_union(union: Any, table: GraphTable) -> GraphTable:
    used = [(name, part) for name, part in union.transformer_list if part != "drop"]
    parts = [
        _apply_weight(_convert_part(part, table), union.transformer_weights, name) for name, part in used
    ]
    return GraphTable(table.graph, ()).hstack(*parts)


def _convert_part(part: Any, table: GraphTable) -> GraphTable:
    return table if isinstance(part, str) else convert_transformer(part, table)


def _apply_weight(table: GraphTable, weights: dict[str, float] | None, name: str) -> GraphTable:
    if not weights or name not in weights:
        return table
    factors = np.full((1, table.width), float(weights[name]))
    return _numeric_table(table, table.graph.op("Mul", table.to_matrix(), factors), table.width)


def _shift_and_divide(table: GraphTable, shift: FloatArray | None, scale: FloatArray | None) -> GraphTable:
    value = table.to_matrix()
    if shift is not None:
        value = table.graph.op("Sub", value, np.asarray(shift, dtype=np.float64)[None, :])
    if scale is not None:
        value = table.graph.op("Div", value, np.asarray(scale, dtype=np.float64)[None, :])
    return _numeric_table(table, value, table.width)


def _convert_standard_scaler(scaler: Any, table: GraphTable) -> GraphTable:
    return _shift_and_divide(table, scaler.mean_ if scaler.with_mean else None, scaler.scale_)


def _convert_max_abs_scaler(scaler: Any, table: GraphTable) -> GraphTable:
    if getattr(scaler, "clip", False):
        return convert_transformer_with_skl2onnx(scaler, table)
    return _shift_and_divide(table, None, scaler.scale_)


def _convert_robust_scaler(scaler: Any, table: GraphTable) -> GraphTable:
    center = scaler.center_ if scaler.with_centering else None
    return _shift_and_divide(table, center, scaler.scale_ if scaler.with_scaling else None)


def _convert_min_max_scaler(scaler: Any, table: GraphTable) -> GraphTable:
    graph = table.graph
    value = graph.op("Add", graph.op("Mul", table.to_matrix(), scaler.scale_[None, :]), scaler.min_[None, :])
    if scaler.clip:
        value = graph.op("Clip", value, *scaler.feature_range)
    return _numeric_table(table, value, table.width)


def _convert_function(transformer: Any, table: GraphTable) -> GraphTable:
    if transformer.func is None or transformer.func is to_dense:
        return table
    if transformer.func is not clip_standardized:
        raise ExportError(
            f"its FunctionTransformer applies {getattr(transformer.func, '__name__', 'a function')}, "
            "which has no ONNX equivalent"
        )
    return _numeric_table(
        table, table.graph.op("Clip", table.to_matrix(), -MAX_STANDARDIZED, MAX_STANDARDIZED), table.width
    )


def _convert_selector(selector: Any, table: GraphTable) -> GraphTable:
    return table.take(np.flatnonzero(selector.get_support()).tolist())


def _convert_known_category_filter(transformer: KnownCategoryFilter, table: GraphTable) -> GraphTable:
    pairs = zip(table.iter_columns(), transformer.categories_, strict=True)
    return GraphTable(
        table.graph, tuple(encode_known_categories(table, block, values) for block, values in pairs)
    )


def _convert_ordinal_encoder(encoder: Any, table: GraphTable) -> GraphTable:
    return _encode_columns(encoder, table, [1] * table.width)


def _convert_target_encoder(encoder: Any, table: GraphTable) -> GraphTable:
    if encoder.target_type_ == "multiclass":
        raise ExportError("its TargetEncoder was fitted to more than two classes")
    return _encode_columns(encoder, table, [1] * table.width)


def _convert_one_hot_encoder(encoder: Any, table: GraphTable) -> GraphTable:
    return _encode_columns(encoder, table, encoder._n_features_outs)


def _encode_columns(encoder: Any, table: GraphTable, widths: Iterable[int]) -> GraphTable:
    """Replace each category by the encoder's own output for it."""
    start, blocks = 0, []
    for position, (block, width) in enumerate(zip(table.iter_columns(), widths, strict=True)):
        column = encode_categories(table, block, encoder.categories_[position])
        rows = _transform_categories(encoder, position, column.categories)[:, start : start + width]
        blocks.append(NumericColumns(gather_by_code(table.graph, column, rows), width))
        start += width
    return GraphTable(table.graph, tuple(blocks))


def _transform_categories(encoder: Any, position: int, values: tuple[Any, ...]) -> NDArray[Any]:
    """The encoder's output for rows with these values in one column; NaN where it raises an error."""
    rows = np.empty((len(values), len(encoder.categories_)), dtype=object)
    rows[:] = [known[0] if len(known) else np.nan for known in encoder.categories_]
    rows[:, position] = [str(value) if isinstance(value, UnknownCategory) else value for value in values]
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
    imputed = _numeric_table(table, filled, table.width).take(np.flatnonzero(~np.isnan(fill)).tolist())
    if not imputer.add_indicator or not len(imputer.indicator_.features_):
        return imputed
    columns = imputer.indicator_.features_
    indicators = graph.cast(graph.op("IsNaN", graph.take_columns(matrix, columns)))
    return imputed.hstack(_numeric_table(table, indicators, len(columns)))


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
    fills = _transform_rows(imputer, row)[0]
    return GraphTable(table.graph, tuple(map(partial(_fill_text, table.graph), columns, fills)))


def _fill_text(graph: GraphBuilder, column: TextColumn, fill: Any) -> TextColumn:
    if is_missing(fill):
        return column
    missing = graph.op("Equal", column.value, np.array([MISSING_TEXT], dtype=object))
    filled = graph.op("Where", missing, np.array([category_key(fill)], dtype=object), column.value)
    return replace(column, value=filled)


def _convert_nystroem(basis: Any, table: GraphTable) -> GraphTable:
    gamma = 1.0 / table.width if basis.gamma is None else basis.gamma
    if basis.kernel_params or basis.kernel not in ("rbf", "linear"):
        raise ExportError(
            f"its Nystroem has the kernel {basis.kernel!r} or kernel_params: use 'rbf' or 'linear' without "
            "kernel_params"
        )
    matrix = emit_kernel(table.graph, basis.kernel, table.to_matrix(), basis.components_, gamma=gamma)
    value = table.graph.op("MatMul", matrix, basis.normalization_.T.copy())
    return _numeric_table(table, value, basis.normalization_.shape[0])


def _convert_polynomial_features(transformer: Any, table: GraphTable) -> GraphTable:
    """Each monomial as a product of columns, padded with a column of ones."""
    graph, powers = table.graph, transformer.powers_
    shape = graph.op("Concat", graph.n_rows(matrix := table.to_matrix()), np.array([1]), axis=0)
    padded = graph.op("Concat", matrix, graph.op("Expand", 1.0, shape), axis=1)
    factors = np.full((len(powers), max(1, int(powers.sum(axis=1).max()))), powers.shape[1])
    for factor_row, exponents in zip(factors, powers, strict=True):
        columns = np.repeat(np.arange(len(exponents)), exponents)
        factor_row[: len(columns)] = columns
    parts = [graph.take_columns(padded, positions) for positions in factors.T.tolist()]
    return _numeric_table(table, reduce(partial(graph.op, "Mul"), parts), len(powers))


def _convert_truncated_svd(decomposition: Any, table: GraphTable) -> GraphTable:
    value = table.graph.op("MatMul", table.to_matrix(), decomposition.components_.T.copy())
    return _numeric_table(table, value, decomposition.components_.shape[0])


_SELECTORS = (
    DropEmptyColumns,
    SelectKBest,
    SelectPercentile,
    SelectFdr,
    SelectFpr,
    SelectFwe,
    SelectFromModel,
    VarianceThreshold,
)

_CONVERTERS: dict[type, TransformerConverter] = {
    Pipeline: _convert_pipeline,
    FrozenEstimator: _convert_frozen,
    ColumnTransformer: _convert_column_transformer,
    FeatureUnion: _convert_feature_union,
    StandardScaler: _convert_standard_scaler,
    MaxAbsScaler: _convert_max_abs_scaler,
    RobustScaler: _convert_robust_scaler,
    MinMaxScaler: _convert_min_max_scaler,
    FunctionTransformer: _convert_function,
    KnownCategoryFilter: _convert_known_category_filter,
    OrdinalEncoder: _convert_ordinal_encoder,
    OneHotEncoder: _convert_one_hot_encoder,
    CategoryOneHotEncoder: _convert_one_hot_encoder,
    TargetEncoder: _convert_target_encoder,
    SimpleImputer: _convert_imputer,
    Nystroem: _convert_nystroem,
    PolynomialFeatures: _convert_polynomial_features,
    TruncatedSVD: _convert_truncated_svd,
    ColumnParser: convert_column_parser,
    DateParts: convert_date_parts,
    TagIndicators: refuse_texts,
    WordFeatures: refuse_texts,
    **dict.fromkeys(_SELECTORS, _convert_selector),
}
