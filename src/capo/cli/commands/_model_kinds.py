"""The choice of the kind of a model; the only place that does."""

from __future__ import annotations

from ...estimators import CAPOClassifier, MulticlassCAPOClassifier, MultilabelCAPOClassifier
from ._binary_kind import BinaryKind
from ._many_kinds import MulticlassKind, MultilabelKind
from ._model_kind import ModelKind
from ._priced_kind import PricedKind

_KINDS: dict[type, ModelKind] = {
    MulticlassCAPOClassifier: MulticlassKind(),
    MultilabelCAPOClassifier: MultilabelKind(),
}


def model_kind(model: CAPOClassifier) -> ModelKind:
    """The kind of a fitted model: that of the classifier that does its work."""
    # A guarantee is about one threshold: the prices of the rows are not used then.
    is_priced = model.prices_ is not None and model.prices_.per_row and model.guarantee_ is None
    binary = PricedKind() if is_priced else BinaryKind()
    return _KINDS.get(type(getattr(model, "delegate_", None)), binary)
