"""A fitted model beside models that are trained on a few rows from where it is to be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.frozen import FrozenEstimator

from ..auxiliary import is_frozen
from ..exceptions import InvalidInputError

if TYPE_CHECKING:
    from ._prices import PricedClassifier

ClassifierT = TypeVar("ClassifierT", bound="PricedClassifier")

#: The name of the old model among the auxiliaries.
OLD_MODEL = "old"


def make_refit(model: ClassifierT) -> ClassifierT:
    """Return an unfitted classifier with the model's parameters, and the model as a frozen auxiliary."""
    params = {**model.get_params(deep=False), "pos_label": model.pos_label_}
    # What was frozen in the old model is a part of it: it is not used twice.
    trained = [
        pair for pair in model._auxiliaries_for(None) if isinstance(pair[1], str) or not is_frozen(pair[1])
    ]
    names = {name for name, _ in trained}
    name = next(each for each in (OLD_MODEL, *(f"{OLD_MODEL}{i}" for i in range(2, 99))) if each not in names)
    auxiliaries = [each if isinstance(each, str) else (key, each) for key, each in trained] or ["auto"]
    params["auxiliaries"] = [(name, FrozenEstimator(model)), *auxiliaries]
    return type(model)(**params)


def check_new_rows(model: PricedClassifier, X: Any, y: ArrayLike) -> None:
    """Raise an error unless the rows have the model's columns and both of its labels."""
    labels = model._check_y(model._check_X(X, reset=False), y)
    known, found = model.label_pair.tolist(), np.unique(labels).tolist()
    unknown = [label for label in found if label not in known]
    if unknown:
        raise InvalidInputError(
            f"y has the label {unknown[0]!r}, but the model was trained on {known[0]!r} and {known[1]!r}."
        )
    if len(found) < 2:
        raise InvalidInputError(
            f"all {len(labels):,} new rows are {found[0]!r}: at least 2 rows of each class are needed."
        )
