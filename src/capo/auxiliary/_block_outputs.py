"""Outputs of several fitted auxiliaries for the same rows, without computing anything twice.

Pipelines whose first steps are equal share the features of each block of rows. Random trees are applied to
larger blocks than the others, because each tree is loaded into the cache of the processor once per block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from .._sklearn_compat import safe_indexing
from .._threads import library_threads_for
from .._typing import FloatArray
from ._evaluation import is_binary_forest
from ._outputs import RawOutput
from ._pipelines import ContentKeys, SharedFeatures, split_pipeline

#: Rows whose features are computed at once: kernel features take some kilobytes per row.
FEATURE_BLOCK_ROWS = 20_000
#: Rows and numbers that random trees are applied to at once.
MAX_TREE_BLOCK_ROWS, MAX_TREE_BLOCK_SIZE = 100_000, 4_000_000
#: With fewer rows, finding out which transformers are equal costs more than it saves.
MIN_SHARED_ROWS = 1_000


def iter_row_blocks(X: Any, n_rows: int | None = None) -> Iterator[Any]:
    """Yield blocks of rows, by default as many as features are computed for; X itself if it is small."""
    n_rows = n_rows or FEATURE_BLOCK_ROWS
    if X.shape[0] <= n_rows:
        yield X
        return
    for start in range(0, X.shape[0], n_rows):
        yield safe_indexing(X, slice(start, start + n_rows))


def iter_tree_blocks(X: Any) -> Iterator[Any]:
    """Yield blocks of rows for `predict_block`, as large as random trees profit from."""
    fitting = MAX_TREE_BLOCK_SIZE // max(X.shape[1], 1)
    return iter_row_blocks(X, int(np.clip(fitting, FEATURE_BLOCK_ROWS, MAX_TREE_BLOCK_ROWS)))


def count_numbers(X: Any) -> int:
    """Return the number of values of a table; those that are not 0 of a sparse matrix."""
    return int(X.nnz if issparse(X) else X.shape[0] * X.shape[1])


def predict_block(
    models: Mapping[str, Any],
    X: Any,
    output: RawOutput,
    classes: NDArray[Any],
    guard: Callable[[str], AbstractContextManager[None]],
) -> dict[str, FloatArray]:
    """Return the raw outputs of fitted classifiers for a block of rows.

    Parameters
    ----------
    models : dict of str to estimator
        The classifiers.
    X : data frame, array or sparse matrix
        The rows.
    output : RawOutput
        Which output is taken.
    classes : ndarray
        The user's labels.
    guard : callable
        Returns, for a name, the context in which its classifier is used.
    """

    def predict(classifier: Any, features: Any) -> FloatArray:
        return output.predict(classifier, features, classes)

    predictions = {name: _BlockPrediction(*split_pipeline(each), predict) for name, each in models.items()}
    outputs = {}
    key = ContentKeys() if X.shape[0] >= MIN_SHARED_ROWS else id
    with library_threads_for(count_numbers(X)):
        for block in iter_row_blocks(X):
            shared = SharedFeatures(block, key)
            for name, prediction in predictions.items():
                with guard(name):
                    prediction.add(shared.transform(prediction.transformers))
        for name, prediction in predictions.items():
            with guard(name):
                outputs[name] = prediction.result()
    return outputs


@dataclass
class _BlockPrediction:
    """The outputs of one classifier, part after part; random trees wait for the features of all parts."""

    transformers: list[Any]
    classifier: Any
    predict: Callable[[Any, Any], FloatArray]
    outputs: list[FloatArray] = field(default_factory=list)
    tree_inputs: list[NDArray[np.float32]] = field(default_factory=list)

    def add(self, features: Any) -> None:
        """Predict a part, or keep its features."""
        if is_binary_forest(self.classifier) and type(features) is np.ndarray:
            numbers = check_array(features, dtype=np.float32, ensure_all_finite="allow-nan")
            self.tree_inputs.append(numbers)
        else:
            self.outputs.append(self.predict(self.classifier, features))

    def result(self) -> FloatArray:
        """Return the outputs of all parts."""
        if self.tree_inputs:
            return self.predict(self.classifier, np.concatenate(self.tree_inputs))
        return np.concatenate(self.outputs)
