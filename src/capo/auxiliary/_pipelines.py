"""Pipelines in parts: transformers whose features several models share, and the classifier after them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from joblib import hash as content_hash
from sklearn.pipeline import Pipeline

from ._evaluation import KERNEL_MACHINE, is_kernel_machine


class SharedFeatures:
    """The features of some rows, computed once for each sequence of equal transformers.

    Parameters
    ----------
    X : data frame, array or sparse matrix
        The rows.
    key : callable
        Returns what is equal for equal transformers.
    """

    def __init__(self, X: Any, key: Callable[[Any], Any] = id) -> None:
        self._X, self._key = X, key
        # With the transformers: an id is unique only as long as its object lives.
        self._known: dict[tuple[Any, ...], tuple[Any, Any]] = {}

    def transform(self, transformers: Sequence[Any]) -> Any:
        """Return the rows after all transformers."""
        features = self._X
        path: tuple[Any, ...] = ()
        for transformer in transformers:
            path = (*path, self._key(transformer))
            if path not in self._known:
                self._known[path] = transformer, transformer.transform(features)
            features = self._known[path][1]
        return features


def content_key(transformer: Any) -> Any:
    """Return a hash of the content of a transformer, or its id if it cannot be pickled."""
    try:
        return content_hash(transformer)
    except Exception:  # a transformer of the user
        return id(transformer)


class ContentKeys:
    """The `content_key` of transformers that do not change meanwhile, each computed once."""

    def __init__(self) -> None:
        # With the transformers: an id is unique only as long as its object lives.
        self._known: dict[int, tuple[Any, Any]] = {}

    def __call__(self, transformer: Any) -> Any:
        """Return the key of a transformer."""
        if id(transformer) not in self._known:
            self._known[id(transformer)] = transformer, content_key(transformer)
        return self._known[id(transformer)][1]


def split_pipeline(model: Any) -> tuple[list[Any], Any]:
    """Return the transformers of a fitted pipeline, and the classifier after them."""
    if type(model) is not Pipeline:
        return [], model
    steps = list(iter_steps(model))
    if is_kernel_machine([step for _, step in steps[-len(KERNEL_MACHINE) :]]):
        n_last = len(KERNEL_MACHINE)
        return [step for _, step in steps[:-n_last]], Pipeline(steps[-n_last:])
    return [step for _, step in steps[:-1]], steps[-1][1]


def iter_steps(pipeline: Pipeline) -> Iterator[tuple[str, Any]]:
    """Yield the named steps of a pipeline and of those inside it, without those that change nothing."""
    for name, step in pipeline.steps:
        if type(step) is Pipeline:
            yield from iter_steps(step)
        elif not is_passthrough(step):
            yield name, step


def is_passthrough(step: Any) -> bool:
    """Whether a step of a pipeline changes nothing."""
    return step is None or (isinstance(step, str) and step == "passthrough")
