"""Auxiliaries as a user gives them: names, seeds, and clear errors for what cannot be used."""

from __future__ import annotations

import warnings
from collections.abc import Container, Mapping, Sequence
from typing import Any

from numpy.random import RandomState
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from .._sklearn_compat import name_estimators
from ..exceptions import IgnoredWeightWarning, InvalidInputError
from ..preprocessing import FeatureSchema, infer_schema
from ._cross_fit import Auxiliary
from ._registry import check_auxiliary_name, make_auxiliaries
from ._sets import AUXILIARY_SETS

#: Seeds are drawn below this.
MAX_SEED = 2**31 - 1


def name_auxiliaries(auxiliaries: object, reserved: Container[str] = ()) -> list[tuple[str, Any]]:
    """Return (name, estimator) pairs; a registered name is returned in place of its estimator.

    `auxiliaries` is a list of estimators, registered names, and (name, estimator) pairs.
    """
    if isinstance(auxiliaries, str | Mapping) or not isinstance(auxiliaries, Sequence) or not auxiliaries:
        raise InvalidInputError(
            "auxiliaries must be 'auto', 'fast', 'best' or a list with at least one classifier, name of an "
            f"auxiliary or (name, classifier) pair: got {auxiliaries!r}."
        )
    pairs = [_as_pair(each) for each in auxiliaries]
    names = _fill_names(pairs)
    invalid = [name for name in names if name in reserved or "__" in name]
    if invalid:
        raise InvalidInputError(
            f"an auxiliary cannot be named {invalid[0]!r}: names must not contain '__' or equal a "
            "parameter name."
        )
    if len(set(names)) < len(names):
        raise InvalidInputError(f"the names of the auxiliaries must differ: got {', '.join(names)}.")
    return list(zip(names, [estimator for _, estimator in pairs], strict=True))


def resolve_auxiliaries(
    pairs: Sequence[tuple[str, Any]], X: Any, schema: FeatureSchema | None = None
) -> list[tuple[str, Any]]:
    """Return the pairs with each registered name replaced by its estimator for data like X.

    The name of a set is replaced by all of its auxiliaries; a registered name beside it that belongs to the
    set is made once.
    """
    schema = infer_schema(X) if schema is None else schema
    reserved = {name for name, estimator in pairs if not _is_bare(name, estimator)}
    resolved: dict[str, Any] = {}
    for name, estimator in pairs:
        if isinstance(estimator, str) and estimator in AUXILIARY_SETS:
            default = make_auxiliaries(estimator, X, schema)
            if clash := sorted(reserved & dict(default).keys()):
                raise InvalidInputError(
                    f"the name {clash[0]!r} is that of an auxiliary of the set {estimator!r}: give yours "
                    "another name."
                )
            resolved.update(default)
        else:
            is_name = isinstance(estimator, str)
            resolved[name] = make_auxiliaries(estimator, X, schema)[0][1] if is_name else estimator
    return list(resolved.items())


def _is_bare(name: str, estimator: Any) -> bool:
    """Whether an auxiliary was given by its registered name alone."""
    return isinstance(estimator, str) and name == estimator


def set_random_states(estimator: Any, random: RandomState | None) -> Any:
    """Return the estimator with a seed wherever it has none; a frozen one is returned unchanged."""
    if random is None or not hasattr(estimator, "get_params") or not hasattr(estimator, "fit"):
        return estimator
    seeds = {
        key: int(random.randint(MAX_SEED))
        for key, value in sorted(estimator.get_params(deep=True).items())
        if value is None and key.rpartition("__")[2] == "random_state"
    }
    return clone(estimator).set_params(**seeds) if seeds else estimator


def bind_sample_weight(name: str, estimator: Any, weight: Any) -> Auxiliary:
    """Return the auxiliary with the rows' weights as a parameter of its `fit`, if it takes them."""
    key = _weight_parameter(estimator)
    if weight is not None and key is None and hasattr(estimator, "fit"):
        warnings.warn(
            f"the auxiliary {name!r} ({type(estimator).__name__}) does not take sample_weight and is trained "
            "without it; the adaptation uses the weights.",
            IgnoredWeightWarning,
            stacklevel=5,
        )
    return Auxiliary(name, estimator, {} if weight is None or key is None else {key: weight})


def _as_pair(entry: Any) -> tuple[str | None, Any]:
    pair = entry if isinstance(entry, tuple) else (entry if isinstance(entry, str) else None, entry)
    if len(pair) != 2 or not (pair[0] is None or isinstance(pair[0], str)):
        raise InvalidInputError(
            "an auxiliary is a classifier, a (name, classifier) pair or the name of a built-in auxiliary: "
            f"got {pair!r}."
        )
    name, estimator = pair
    if name == "":
        raise InvalidInputError("the name of an auxiliary must not be empty.")
    if isinstance(estimator, str) and estimator in AUXILIARY_SETS and name != estimator:
        raise InvalidInputError(
            f"{estimator!r} stands for a set of auxiliaries and cannot be given a name of its own."
        )
    if isinstance(estimator, str):
        check_auxiliary_name(estimator)
    elif isinstance(estimator, type):
        raise InvalidInputError(
            f"an auxiliary must be an instance: got the class {estimator.__name__}. "
            f"Write {estimator.__name__}()."
        )
    elif isinstance(estimator, BaseEstimator) and is_regressor(estimator):
        raise InvalidInputError(
            f"auxiliaries must be classifiers: {type(estimator).__name__} is a regressor."
        )
    elif not hasattr(estimator, "predict"):
        raise InvalidInputError(f"an auxiliary must have a predict method: got {estimator!r}.")
    return name, estimator


def _fill_names(pairs: Sequence[tuple[str | None, Any]]) -> list[str]:
    """Return the names given, and scikit-learn's names of the classifiers without one."""
    unnamed = [(estimator if name is None else None) for name, estimator in pairs]
    default_names = (name for name, _ in name_estimators([each for each in unnamed if each is not None]))
    return [next(default_names) if name is None else name for name, _ in pairs]


def _weight_parameter(estimator: Any) -> str | None:
    if isinstance(estimator, Pipeline):
        inner = _weight_parameter(estimator[-1])
        return None if inner is None else f"{estimator.steps[-1][0]}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
