"""Transformers in the graph: what each does to a table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
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

from ...auxiliary import to_dense
from ...exceptions import ExportError
from ...preprocessing import (
    MAX_STANDARDIZED,
    DropEmptyColumns,
    KnownCategoryFilter,
    clip_standardized,
    is_missing,
)
from ._graph import Graph
from ._kernels import kernel
from ._skl2onnx_fallback import foreign_transformer
from ._table import Numbers, Table, UnknownCategory, Words, coded, known, look_up

#: From an estimator of exactly this type and its table to the transformed table.
Transform = Callable[[Any, Table], Table]


def transform_table(estimator: Any, table: Table) -> Table:
    """What a fitted transformer makes of a table."""
    return _TRANSFORMS.get(type(estimator), foreign_transformer)(estimator, table)


def _numbers(table: Table, value: str, width: int) -> Table:
    return Table(table.graph, (Numbers(value, width),))


def _pipeline(pipeline: Any, table: Table) -> Table:
    for _, step in pipeline.steps:
        if step not in (None, "passthrough"):
            table = transform_table(step, table)
    return table


def _frozen(frozen: Any, table: Table) -> Table:
    return transform_table(frozen.estimator, table)


def _by_columns(transformer: Any, table: Table) -> Table:
    parts = []
    for name, part, _ in transformer.transformers_:
        taken = table.take(transformer._transformer_to_input_indices[name])
        if taken.width and not (isinstance(part, str) and part == "drop"):
            parts.append(_weighted(_part(part, taken), transformer.transformer_weights, name))
    return Table(table.graph, ()).beside(*parts)


def _union(union: Any, table: Table) -> Table:
    kept = [(name, part) for name, part in union.transformer_list if part != "drop"]
    parts = [_weighted(_part(part, table), union.transformer_weights, name) for name, part in kept]
    return Table(table.graph, ()).beside(*parts)


def _part(part: Any, table: Table) -> Table:
    return table if isinstance(part, str) else transform_table(part, table)


def _weighted(table: Table, weights: dict[str, float] | None, name: str) -> Table:
    if not weights or name not in weights:
        return table
    factors = np.full((1, table.width), float(weights[name]))
    return _numbers(table, table.graph.op("Mul", table.matrix(), factors), table.width)


def _scaler(table: Table, shift: NDArray[np.float64] | None, scale: NDArray[np.float64] | None) -> Table:
    value = table.matrix()
    if shift is not None:
        value = table.graph.op("Sub", value, np.asarray(shift, dtype=np.float64)[None, :])
    if scale is not None:
        value = table.graph.op("Div", value, np.asarray(scale, dtype=np.float64)[None, :])
    return _numbers(table, value, table.width)


def _standard(scaler: Any, table: Table) -> Table:
    return _scaler(table, scaler.mean_ if scaler.with_mean else None, scaler.scale_)


def _largest(scaler: Any, table: Table) -> Table:
    if getattr(scaler, "clip", False):
        return foreign_transformer(scaler, table)
    return _scaler(table, None, scaler.scale_)


def _robust(scaler: Any, table: Table) -> Table:
    centre = scaler.center_ if scaler.with_centering else None
    return _scaler(table, centre, scaler.scale_ if scaler.with_scaling else None)


def _range(scaler: Any, table: Table) -> Table:
    graph = table.graph
    value = graph.op("Add", graph.op("Mul", table.matrix(), scaler.scale_[None, :]), scaler.min_[None, :])
    if scaler.clip:
        value = graph.op("Clip", value, *scaler.feature_range)
    return _numbers(table, value, table.width)


def _function(transformer: Any, table: Table) -> Table:
    if transformer.func is None or transformer.func is to_dense:
        return table
    if transformer.func is not clip_standardized:
        raise ExportError(
            f"its FunctionTransformer applies {getattr(transformer.func, '__name__', 'a function')}, "
            "which ONNX does not know"
        )
    return _numbers(
        table, table.graph.op("Clip", table.matrix(), -MAX_STANDARDIZED, MAX_STANDARDIZED), table.width
    )


def _selector(selector: Any, table: Table) -> Table:
    return table.take(np.flatnonzero(selector.get_support()).tolist())


def _known_values(transformer: KnownCategoryFilter, table: Table) -> Table:
    pairs = zip(table.columns(), transformer.categories_, strict=True)
    return Table(table.graph, tuple(known(table, block, values) for block, values in pairs))


def _ordinal(encoder: Any, table: Table) -> Table:
    return _encoded(encoder, table, [1] * table.width)


def _target(encoder: Any, table: Table) -> Table:
    if encoder.target_type_ == "multiclass":
        raise ExportError("its TargetEncoder knows more than two classes")
    return _encoded(encoder, table, [1] * table.width)


def _one_hot(encoder: Any, table: Table) -> Table:
    return _encoded(encoder, table, encoder._n_features_outs)


def _encoded(encoder: Any, table: Table, widths: Iterable[int]) -> Table:
    """Each column by the encoder's own answer for each value that the column can have."""
    start, blocks = 0, []
    for position, (block, width) in enumerate(zip(table.columns(), widths, strict=True)):
        codes = coded(table, block, encoder.categories_[position])
        rows = _answers(encoder, position, codes.meanings)[:, start : start + width]
        blocks.append(Numbers(look_up(table.graph, codes, rows), width))
        start += width
    return Table(table.graph, tuple(blocks))


def _answers(encoder: Any, position: int, values: tuple[Any, ...]) -> NDArray[Any]:
    """What the encoder makes of rows with these values in one column; NaN where it refuses them."""
    rows = np.empty((len(values), len(encoder.categories_)), dtype=object)
    rows[:] = [each[0] if len(each) else np.nan for each in encoder.categories_]
    rows[:, position] = [str(each) if isinstance(each, UnknownCategory) else each for each in values]
    if all(each.dtype.kind in "fiub" for each in encoder.categories_):
        rows = rows.astype(np.float64)
    try:
        return _answer(encoder, rows)
    except ValueError:
        return np.vstack([_answer_or_nan(encoder, row[None, :]) for row in rows])


def _answer(estimator: Any, rows: NDArray[Any]) -> Any:
    with warnings.catch_warnings():
        # That columns have no names here, and that a value is not known.
        warnings.simplefilter("ignore", UserWarning)
        found = estimator.transform(rows)
    return found.toarray() if issparse(found) else np.asarray(found)


def _answer_or_nan(encoder: Any, row: NDArray[Any]) -> Any:
    try:
        return _answer(encoder, row)
    except ValueError:
        return np.full((1, len(encoder.get_feature_names_out())), np.nan)


def _imputer(imputer: Any, table: Table) -> Table:
    if not is_missing(imputer.missing_values):
        raise ExportError(f"its SimpleImputer takes {imputer.missing_values!r} as missing")
    if any(isinstance(each, Words) for each in table.blocks):
        return _filled_words(imputer, table)
    graph, matrix = table.graph, table.matrix()
    fill = np.asarray(imputer.statistics_, dtype=np.float64)
    filled = graph.op("Where", graph.op("IsNaN", matrix), fill[None, :], matrix)
    kept = np.flatnonzero(~np.isnan(fill))
    found = _numbers(table, filled, table.width).take(kept.tolist())
    if not imputer.add_indicator:
        return found
    columns = imputer.indicator_.features_
    marked = graph.cast(graph.op("IsNaN", graph.columns(matrix, columns)))
    return found.beside(_numbers(table, marked, len(columns))) if len(columns) else found


def _filled_words(imputer: Any, table: Table) -> Table:
    words = [each for each in table.blocks if isinstance(each, Words)]
    if imputer.add_indicator or len(words) < len(table.blocks):
        raise ExportError("its SimpleImputer marks missing words or takes words and numbers together")
    # To a SimpleImputer None is not NaN.
    row = np.empty((1, len(words)), dtype=object)
    row[0] = [each.missing for each in words]
    filled = _answer(imputer, row)[0]
    return Table(table.graph, tuple(map(partial(_filled, table.graph), words, filled)))


def _filled(graph: Graph, block: Words, fill: Any) -> Words:
    if is_missing(fill):
        return block
    missing = graph.op("Equal", block.value, np.array([""], dtype=object))
    return Words(graph.op("Where", missing, np.array([str(fill)], dtype=object), block.value), block.missing)


def _nystroem(basis: Any, table: Table) -> Table:
    given = basis.kernel_params or {}
    gamma = 1.0 / table.width if basis.gamma is None else basis.gamma
    if given or basis.kernel not in ("rbf", "linear"):
        raise ExportError(f"its Nystroem has the kernel {basis.kernel!r}, not 'rbf' or 'linear'")
    matrix = kernel(table.graph, basis.kernel, table.matrix(), basis.components_, gamma=gamma)
    value = table.graph.op("MatMul", matrix, basis.normalization_.T.copy())
    return _numbers(table, value, basis.normalization_.shape[0])


def _polynomials(transformer: Any, table: Table) -> Table:
    """Each monomial as a product of columns, filled up with a column of ones."""
    graph, powers = table.graph, transformer.powers_
    shape = graph.op("Concat", graph.rows(matrix := table.matrix()), np.array([1]), axis=0)
    padded = graph.op("Concat", matrix, graph.op("Expand", 1.0, shape), axis=1)
    factors = np.full((len(powers), max(1, int(powers.sum(axis=1).max()))), powers.shape[1])
    for monomial, exponents in zip(factors, powers, strict=True):
        chosen = np.repeat(np.arange(len(exponents)), exponents)
        monomial[: len(chosen)] = chosen
    parts = [graph.columns(padded, positions) for positions in factors.T.tolist()]
    return _numbers(table, reduce(partial(graph.op, "Mul"), parts), len(powers))


def _directions(decomposition: Any, table: Table) -> Table:
    value = table.graph.op("MatMul", table.matrix(), decomposition.components_.T.copy())
    return _numbers(table, value, decomposition.components_.shape[0])


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

_TRANSFORMS: dict[type, Transform] = {
    Pipeline: _pipeline,
    FrozenEstimator: _frozen,
    ColumnTransformer: _by_columns,
    FeatureUnion: _union,
    StandardScaler: _standard,
    MaxAbsScaler: _largest,
    RobustScaler: _robust,
    MinMaxScaler: _range,
    FunctionTransformer: _function,
    KnownCategoryFilter: _known_values,
    OrdinalEncoder: _ordinal,
    OneHotEncoder: _one_hot,
    TargetEncoder: _target,
    SimpleImputer: _imputer,
    Nystroem: _nystroem,
    PolynomialFeatures: _polynomials,
    TruncatedSVD: _directions,
    **dict.fromkeys(_SELECTORS, _selector),
}
