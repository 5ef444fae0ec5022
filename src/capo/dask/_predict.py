"""Lazy predictions: a fitted classifier applied to each partition of a dask collection."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from numpy.typing import NDArray

from ..exceptions import InvalidInputError


def predict(model: Any, X: Any) -> Any:
    """Predict the labels of a dask collection lazily, by a classifier that is in memory.

    Parameters
    ----------
    model : classifier
        Any fitted classifier, such as a `CAPOClassifier`.
    X : dask.array.Array or dask.dataframe.DataFrame
        The rows.

    Returns
    -------
    dask.array.Array or dask.dataframe.Series
        One label per row; nothing is computed yet.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from capo import SVMPerfClassifier
    >>> from capo.dask import predict
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X /= X.max(axis=0)
    >>> model = SVMPerfClassifier("f1", C=100.0).fit(X, y)
    >>> labels = predict(model, da.from_array(X, chunks=(100, -1)))
    >>> bool((labels.compute() == model.predict(X)).all())
    True
    """
    return _apply(model, "predict", X, np.asarray(model.classes_).dtype, 1)


def predict_proba(model: Any, X: Any) -> Any:
    """Predict the probabilities of the classes lazily.

    Parameters
    ----------
    model : classifier
        A fitted classifier with `predict_proba`.
    X : dask.array.Array or dask.dataframe.DataFrame
        The rows.

    Returns
    -------
    dask.array.Array or dask.dataframe.DataFrame
        One column for each class.
    """
    return _apply(model, "predict_proba", X, np.dtype(np.float64), len(model.classes_))


def decision_function(model: Any, X: Any) -> Any:
    """The scores of a dask collection, lazily.

    Parameters
    ----------
    model : classifier
        A fitted classifier of two classes with `decision_function`.
    X : dask.array.Array or dask.dataframe.DataFrame
        The rows.

    Returns
    -------
    dask.array.Array or dask.dataframe.Series
        One number per row.
    """
    return _apply(model, "decision_function", X, np.dtype(np.float64), 1)


def is_collection(X: Any) -> bool:
    """Whether X is a dask array or data frame."""
    return isinstance(X, da.Array) or hasattr(X, "map_partitions")


def _apply(model: Any, method: str, X: Any, dtype: np.dtype[Any], n_columns: int) -> Any:
    if isinstance(X, da.Array):
        return _apply_to_array(model, method, X, dtype, n_columns)
    if not hasattr(X, "map_partitions"):
        raise InvalidInputError(
            f"X must be a dask array or data frame: got {type(X).__name__}. For rows in memory call "
            f"model.{method}(X)."
        )
    empty = np.empty((0, n_columns) if n_columns > 1 else 0, dtype=dtype)
    meta = _to_pandas(empty, X._meta.index, method, model.classes_)
    return X.map_partitions(_apply_to_frame, model, method, empty, meta=meta)


def _apply_to_array(model: Any, method: str, X: da.Array, dtype: np.dtype[Any], n_columns: int) -> da.Array:
    rows = X.rechunk({1: -1})
    if n_columns == 1:
        meta = np.empty(0, dtype=dtype)
        return da.map_blocks(_apply_to_block, rows, model, method, meta, drop_axis=1, meta=meta)
    meta = np.empty((0, n_columns), dtype=dtype)
    chunks = (rows.chunks[0], (n_columns,))
    return da.map_blocks(_apply_to_block, rows, model, method, meta, chunks=chunks, meta=meta)


def _apply_to_block(X: Any, model: Any, method: str, empty: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(getattr(model, method)(X)) if X.shape[0] else empty


def _apply_to_frame(X: Any, model: Any, method: str, empty: NDArray[Any]) -> Any:
    return _to_pandas(_apply_to_block(X, model, method, empty), X.index, method, model.classes_)


def _to_pandas(values: NDArray[Any], index: Any, name: str, classes: NDArray[Any]) -> Any:
    """A series, or a data frame with one column for each class."""
    import pandas as pd  # noqa: PLC0415 (installed with dask's data frames)

    if values.ndim == 1:
        return pd.Series(values, index=index, name=name)
    return pd.DataFrame(values, index=index, columns=np.asarray(classes))
