"""The built-in sets of auxiliaries: models that make different errors.

"auto" is the default, "fast" costs less, "best" costs more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from scipy.sparse import issparse

from ..model_selection import DEFAULT_N_FOLDS, MAX_ROWS_FOR_PAIRS, MIN_CLASS_ROWS_FOR_PARTS
from ..preprocessing import FeatureSchema
from ._defaults import (
    make_class_boosting,
    make_class_kernel_machine,
    make_class_trees,
    make_label_boosting,
)

#: The set that is used by default, the one that costs less, and the one that costs more.
AUTO, FAST, BEST = "auto", "fast", "best"
#: Names that stand for a set of auxiliaries.
AUXILIARY_SETS = (AUTO, FAST, BEST)
#: Up to this many rows a support vector machine with the exact kernel costs no more than the rest.
MAX_ROWS_FOR_SVM = 10_000
#: With at least this many columns the default set has the exact kernel, which a small basis is far from.
MIN_COLUMNS_FOR_SVM = 100
#: With more labels than this, the default set has no models that take seconds per label.
MAX_LABELS_FOR_SLOW_AUXILIARIES = 10
#: Folds of the set that costs less, on tables without models of pairs of folds.
N_FAST_FOLDS = 3


def default_auxiliary_names(X: Any, set_name: str = AUTO) -> list[str]:
    """Return the names of the auxiliaries of a built-in set for data like X."""
    if set_name == FAST:
        return ["quick", "linear"]
    if issparse(X):
        return ["boosting", "trees", "linear"] + (["latent"] if X.shape[1] > 2 else [])
    names = ["boosting", "trees", "full_trees", "linear", "kernel"]
    wants_svm = set_name == BEST or X.shape[1] >= MIN_COLUMNS_FOR_SVM
    return [*names, "svm"] if wants_svm and X.shape[0] <= MAX_ROWS_FOR_SVM else names


def default_n_folds(auxiliaries: Any, n_rows: int, n_rarer: int) -> int:
    """Return the number of folds that auxiliaries, as a user gives them, are trained in by default.

    Few folds need enough rows, or groups, of the rarer class for the parts that they are evaluated by.
    """
    can_be_divided = n_rarer >= N_FAST_FOLDS * MIN_CLASS_ROWS_FOR_PARTS
    has_few = is_fast_set(auxiliaries) and n_rows > MAX_ROWS_FOR_PAIRS and can_be_divided
    return N_FAST_FOLDS if has_few else DEFAULT_N_FOLDS


def is_fast_set(auxiliaries: Any) -> bool:
    """Whether auxiliaries, as a user gives them, are the set that costs less."""
    return isinstance(auxiliaries, str) and auxiliaries == FAST


def class_auxiliary_names(X: Any, set_name: str = AUTO) -> list[str]:
    """Return the names of the auxiliaries of a built-in set for many classes and data like X."""
    if set_name == FAST:
        return ["trees", "linear"]
    if issparse(X):
        return default_auxiliary_names(X)
    return ["boosting", "trees", "linear", "kernel"] + (["svm"] if X.shape[0] <= MAX_ROWS_FOR_SVM else [])


def label_auxiliary_names(X: Any, n_labels: int, set_name: str = AUTO) -> list[str]:
    """Return the names of the auxiliaries of a built-in set for a label matrix and data like X."""
    slow = n_labels > MAX_LABELS_FOR_SLOW_AUXILIARIES
    names = class_auxiliary_names(X, FAST if slow else set_name)
    return [name for name in names if name != "svm"]


def expand_sets(
    pairs: list[tuple[str, Any]], members: Callable[[str], list[str]], makers: Mapping[str, Callable[[], Any]]
) -> list[tuple[str, Any]]:
    """Return auxiliaries as a user gives them, with the members of a set in place of its name.

    `makers` make those auxiliaries that are not the same as for two classes.
    """
    given = {name for name, _ in pairs}
    auxiliaries: list[tuple[str, Any]] = []
    for name, estimator in pairs:
        if isinstance(estimator, str) and estimator in AUXILIARY_SETS:
            auxiliaries += [(each, each) for each in members(estimator) if each not in given]
        else:
            auxiliaries.append((name, estimator))
    return [
        (name, makers[each]() if isinstance(each, str) and each in makers else each)
        for name, each in auxiliaries
    ]


def use_class_defaults(pairs: list[tuple[str, Any]], X: Any, schema: FeatureSchema) -> list[tuple[str, Any]]:
    """Return auxiliaries as a user gives them, with those for many classes in place of binary ones."""
    makers = {
        "boosting": partial(make_class_boosting, X, schema),
        "trees": partial(make_class_trees, X, schema),
        "kernel": partial(make_class_kernel_machine, X, schema),
    }
    return expand_sets(pairs, partial(class_auxiliary_names, X), makers)


def use_label_defaults(
    pairs: list[tuple[str, Any]], X: Any, schema: FeatureSchema, n_labels: int
) -> list[tuple[str, Any]]:
    """Return auxiliaries as a user gives them, with those for a label matrix in place of binary ones."""
    makers = {
        "boosting": partial(make_label_boosting, X, schema),
        "trees": partial(make_class_trees, X, schema),
        "kernel": partial(make_class_kernel_machine, X, schema),
    }
    return expand_sets(pairs, partial(label_auxiliary_names, X, n_labels), makers)
