"""What the user gave as auxiliaries: names, seeds, sentences for what cannot be used."""

from __future__ import annotations

import warnings
from collections.abc import Container, Mapping, Sequence
from typing import Any

from numpy.random import RandomState
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from .._sklearn_compat import name_estimators
from ..exceptions import IgnoredWeightWarning, InvalidInputError
from ._cross_fit import Auxiliary

#: Seeds are drawn below this.
MAX_SEED = 2**31 - 1


def name_auxiliaries(auxiliaries: object, reserved: Container[str] = ()) -> list[tuple[str, Any]]:
    """Pairs of a name and an estimator, from pairs or from estimators alone."""
    if isinstance(auxiliaries, str | Mapping) or not isinstance(auxiliaries, Sequence) or not auxiliaries:
        raise InvalidInputError(
            "auxiliaries must be 'auto' or a list with at least one classifier, or (name, classifier) pair: "
            f"got {auxiliaries!r}."
        )
    pairs = [each if isinstance(each, tuple) else (None, each) for each in auxiliaries]
    for pair in pairs:
        _check(pair)
    made = name_estimators([estimator for _, estimator in pairs])
    names = [name or other for (name, _), (other, _) in zip(pairs, made, strict=True)]
    unfit = [name for name in names if name in reserved or "__" in name]
    if unfit:
        raise InvalidInputError(
            f"an auxiliary cannot be named {unfit[0]!r}: names must not hold '__' nor be those of parameters."
        )
    if len(set(names)) < len(names):
        raise InvalidInputError(f"the names of the auxiliaries must differ: got {', '.join(names)}.")
    return list(zip(names, [estimator for _, estimator in pairs], strict=True))


def _check(pair: tuple[Any, ...]) -> None:
    if len(pair) != 2 or not (pair[0] is None or isinstance(pair[0], str)):
        raise InvalidInputError(f"an auxiliary is a classifier or a (name, classifier) pair: got {pair!r}.")
    if isinstance(pair[1], type):
        raise InvalidInputError(
            f"an auxiliary must be an instance: got the class {pair[1].__name__}. Write {pair[1].__name__}()."
        )
    if not hasattr(pair[1], "predict"):
        raise InvalidInputError(f"an auxiliary must have a method predict: {pair[1]!r} has none.")


def set_random_states(estimator: Any, random: RandomState | None) -> Any:
    """The estimator with a seed wherever it has none; a frozen one is left alone."""
    if random is None or not hasattr(estimator, "get_params") or not hasattr(estimator, "fit"):
        return estimator
    open_seeds = {
        key: int(random.randint(MAX_SEED))
        for key, value in sorted(estimator.get_params(deep=True).items())
        if value is None and key.rpartition("__")[2] == "random_state"
    }
    return clone(estimator).set_params(**open_seeds) if open_seeds else estimator


def bind_sample_weight(name: str, estimator: Any, weight: Any) -> Auxiliary:
    """The auxiliary, its `fit` told of the rows' weights if it can use them."""
    key = _weight_key(estimator)
    if weight is not None and key is None and hasattr(estimator, "fit"):
        warnings.warn(
            f"the auxiliary {name!r} ({type(estimator).__name__}) takes no sample_weight and is trained "
            "without; the adaptation uses the weights all the same.",
            IgnoredWeightWarning,
            stacklevel=5,
        )
    return Auxiliary(name, estimator, {} if weight is None or key is None else {key: weight})


def _weight_key(estimator: Any) -> str | None:
    if isinstance(estimator, Pipeline):
        inner = _weight_key(estimator[-1])
        return None if inner is None else f"{estimator.steps[-1][0]}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
