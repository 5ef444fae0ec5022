"""Faster training of classifiers, with the same result.

Of random trees, only the first one is fitted by scikit-learn, which checks its data and parameters and finds
the classes; the others are grown from it by scikit-learn's builder, in threads.

The first transformer of a pipeline may be fitted by a function that knows the features of other pipelines.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.pipeline import Pipeline

from .._sklearn_compat import CAN_GROW_TREES, grow_tree
from .._threads import map_in_threads
from ._pipelines import is_passthrough

#: Parameters that may differ from scikit-learn's defaults where all trees but the first are grown here.
TREE_PARAMS = {
    "n_estimators",
    "criterion",
    "min_samples_leaf",
    "max_features",
    "random_state",
    "bootstrap",
    "max_samples",
}

#: From an unfitted transformer to a fitted one, and its features of the training rows.
FirstFit = Callable[[Any], tuple[Any, Any]]


def fit_classifier(
    model: Any, X: Any, y: NDArray[Any], params: dict[str, Any], fit_first: FirstFit | None = None
) -> Any:
    """Fit a classifier as its `fit` does, and return it; `fit_first` fits the first step of a pipeline."""
    if params or type(model) is not Pipeline or model.memory is not None or is_passthrough(model[-1]):
        return model.fit(X, y, **params)
    features = _fit_steps(model, len(model.steps) - 1, X, y, fit_first)
    fit = _fit_trees if _has_usual_trees(model[-1], features, y) else _fit_plainly
    fit(model[-1], features, y)
    return model


def fit_transform(transformer: Any, X: Any, y: NDArray[Any]) -> Any:
    """Fit a transformer, and return the features of the training rows."""
    if hasattr(transformer, "fit_transform"):
        return transformer.fit_transform(X, y)
    return transformer.fit(X, y).transform(X)


def _fit_steps(pipeline: Pipeline, n_steps: int, X: Any, y: NDArray[Any], fit_first: FirstFit | None) -> Any:
    """Fit the first steps of a pipeline, and those of pipelines inside it; return the features."""
    for position, (name, step) in enumerate(pipeline.steps[:n_steps]):
        if is_passthrough(step):
            continue
        if type(step) is Pipeline:
            X = _fit_steps(step, len(step.steps), X, y, fit_first)
        elif fit_first is None:
            X = fit_transform(step, X, y)
        else:
            fitted, X = fit_first(step)
            pipeline.steps[position] = (name, fitted)
        fit_first = None
    return X


def _fit_plainly(classifier: Any, X: Any, y: NDArray[Any]) -> None:
    classifier.fit(X, y)


def _has_usual_trees(classifier: Any, X: Any, y: NDArray[Any]) -> bool:
    """Whether a classifier consists of random trees of an array, with no other parameters than usual ones."""
    if not CAN_GROW_TREES or type(classifier) is not ExtraTreesClassifier or type(X) is not np.ndarray:
        return False
    if y.ndim > 1 or X.dtype.kind not in "fiub" or len(X) != len(y):
        return False
    params, defaults = classifier.get_params(), ExtraTreesClassifier().get_params()
    others = {
        name for name, value in params.items() if name not in TREE_PARAMS and value is not defaults[name]
    }
    integers = [params[name] for name in ("n_estimators", "min_samples_leaf", "random_state")]
    is_usual = all(isinstance(each, Integral) and not isinstance(each, bool) for each in integers)
    return (
        is_usual
        and params["n_estimators"] > 0
        and all(np.isscalar(params[name]) and params[name] == defaults[name] for name in others)
    )


def _fit_trees(forest: ExtraTreesClassifier, X: NDArray[Any], y: NDArray[Any]) -> None:
    """Fit random trees: the first one by scikit-learn, the others from it."""
    n_trees, X = forest.n_estimators, np.ascontiguousarray(X, dtype=np.float32)
    try:
        forest.set_params(n_estimators=1).fit(X, y)
    finally:
        forest.set_params(n_estimators=n_trees)
    first = forest.estimators_[0]
    targets = np.searchsorted(forest.classes_, y).astype(np.float64)[:, None]
    seeds = np.random.RandomState(forest.random_state).randint(np.iinfo(np.int32).max, size=n_trees)
    forest.estimators_ += [_with_seed(first, int(seed)) for seed in seeds[1:]]
    samples = forest.estimators_samples_ if forest.bootstrap else None

    def grow(number: int) -> Any:
        counts = None if samples is None else np.bincount(samples[number], minlength=len(X)).astype(float)
        return grow_tree(first, X, targets, int(seeds[number]), counts)

    forest.estimators_[1:] = map_in_threads(grow, range(1, n_trees))


def _with_seed(tree: Any, seed: int) -> Any:
    """A copy of a tree that stands for the one to be grown with this seed."""
    tree = copy(tree)
    tree.random_state = seed
    return tree
