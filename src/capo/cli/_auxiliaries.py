"""Auxiliaries by name, made for a table: for those who would rather type than program."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import Any

from scipy.sparse import issparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from ..auxiliary import MIN_SAMPLES_LEAF, default_auxiliaries
from ..baselines import C45Classifier, CoreVectorMachine, RBFNetworkClassifier
from ..exceptions import InvalidInputError, MissingExtraError
from ..preprocessing import make_linear_features, make_tree_features

#: Trees of a random forest, and the place of missing values in a tree that has none for them.
TREES, FAR_BELOW = 200, -1e9


def _light() -> Any:
    try:
        from lightgbm import LGBMClassifier  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise MissingExtraError("the auxiliary 'lgbm' needs LightGBM: pip install lightgbm.") from error
    return LGBMClassifier(verbose=-1)


def _extreme() -> Any:
    try:
        from xgboost import XGBClassifier  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise MissingExtraError("the auxiliary 'xgb' needs XGBoost: pip install xgboost.") from error
    return XGBClassifier()


def _filled_features(X: Any) -> Any:
    """Features for trees that take no missing values: they are far below all others."""
    return make_pipeline(make_tree_features(X), SimpleImputer(strategy="constant", fill_value=FAR_BELOW))


#: Names beyond those of the default set: what prepares the table, and what learns.
_MORE: dict[str, tuple[Callable[[Any], Any], Callable[[], Any]]] = {
    "lgbm": (make_tree_features, _light),
    "xgb": (make_tree_features, _extreme),
    "rf": (make_tree_features, lambda: RandomForestClassifier(TREES, min_samples_leaf=MIN_SAMPLES_LEAF)),
    "knn": (make_linear_features, lambda: KNeighborsClassifier(25, algorithm="brute")),
    "nb": (make_linear_features, BernoulliNB),
    "cvm": (make_linear_features, lambda: CoreVectorMachine(C=10.0)),
    "c45": (_filled_features, C45Classifier),
    "rbfnet": (make_linear_features, RBFNetworkClassifier),
}
DEFAULT = ("boosting", "trees", "linear", "kernel", "svm", "latent")


def auxiliary_names() -> list[str]:
    """All names that `auxiliaries_by_name` knows.

    Examples
    --------
    >>> from capo.cli._auxiliaries import auxiliary_names
    >>> "lgbm" in auxiliary_names()
    True
    """
    return ["auto", *DEFAULT, *_MORE]


def auxiliaries_by_name(names: Sequence[str], X: Any) -> list[tuple[str, Any]]:
    """The auxiliaries of these names for tables like X; "auto" stands for the default set."""
    known = auxiliary_names()
    found: dict[str, Any] = {}
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Choose from {', '.join(known)}."
            raise InvalidInputError(f"there is no auxiliary {name!r}. {hint}")
        found.update(_made(name, X))
    if not found:
        raise InvalidInputError(f"name at least one auxiliary: choose from {', '.join(known)}.")
    return list(found.items())


def _made(name: str, X: Any) -> dict[str, Any]:
    if name in _MORE:
        features, model = _MORE[name]
        # A sparse matrix is what trees take as it is.
        as_it_is = issparse(X) and features is not make_linear_features
        return {name: model() if as_it_is else make_pipeline(features(X), model())}
    default = dict(default_auxiliaries(X, svm=name == "svm"))
    if name == "auto":
        return default
    if name not in default:
        kind = "a sparse matrix" if issparse(X) else "a table"
        raise InvalidInputError(f"the auxiliary {name!r} is not made for {kind}: leave it out.")
    return {name: default[name]}
