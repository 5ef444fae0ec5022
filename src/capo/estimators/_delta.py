"""The delta function's transformer."""

from __future__ import annotations

from typing import Any

from numpy.random import RandomState
from sklearn.base import clone

from ..auxiliary import set_random_states
from ..exceptions import InvalidInputError
from ..preprocessing import FeatureSchema, check_features, make_delta_features


def fit_delta(
    delta: Any, X: Any, schema: FeatureSchema | None, random: RandomState | None
) -> tuple[Any, Any]:
    """Return the fitted transformer, and the features of the training rows; None twice without a delta."""
    if delta is None:
        return None, None
    own = not isinstance(delta, str)
    unfitted = clone(delta) if own else make_delta_features(delta, X, schema)
    transformer = set_random_states(unfitted, random)
    try:
        return transformer, check_features(transformer.fit_transform(X))
    except Exception as error:
        if not own:
            raise
        raise InvalidInputError(
            f"the delta transformer {type(transformer).__name__} failed on X, which it is given without y: "
            f"{type(error).__name__}: {error}"
        ) from error
