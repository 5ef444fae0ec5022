"""What a model says of the rows of a table: columns of predictions, thresholds by prices."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from .._compat import FloatArray
from ..decisions import RowPrices
from ..estimators import CAPOClassifier
from ..exceptions import ModelFileError
from ..io.source import Batch
from ..io.table_schema import LabelMatrixSchema, PriceColumns, TableSchema
from .inputs import LoadedModel

#: Columns of the predictions of two classes; with prices, also what calling the row positive is worth.
PREDICTION_COLUMNS = ("label", "score", "threshold")
EXPECTED_SAVING = "expected_saving"
#: Comes before the name of a class or label in the columns of the predictions.
PROBABILITY = "probability_"
#: The column of the predicted label, and that of all labels of a row.
LABEL, LABELS = "label", "labels"


def is_priced(model: CAPOClassifier) -> bool:
    """Whether each row has its own threshold; a guarantee is about one threshold for all."""
    return model.target_type_ == "binary" and bool(
        model.prices_ is not None and model.prices_.per_row and model.guarantee_ is None
    )


def fit_results(model: CAPOClassifier) -> dict[str, Any]:
    """The results of a fit for ``--json`` that depend on the kind of target."""
    if model.target_type_ == "binary":
        return {
            "rows": len(model.oof_decision_),
            "pos_label": model.pos_label_,
            "positive": model.n_positive_,
            "threshold": model.threshold_,
            "C": model.C_,
            "weights": model.auxiliary_weights_,
            **({} if model.savings_ is None else {"savings": model.savings_.to_dict()}),
        }
    bounds = {"bound": model.bound_, "expected_value": model.value_}
    if model.target_type_ == "multilabel":
        return {
            "rows": len(model.oof_decision_),
            "label_rows": [each.n_positive for each in model.label_models_],
            "thresholds": model.thresholds_.tolist(),
            "weights": {name: np.asarray(each).tolist() for name, each in model.auxiliary_weights_.items()},
            **bounds,
        }
    return {
        "rows": len(model.oof_labels_),
        "class_rows": model.class_counts_.tolist(),
        "uses_rule": model.uses_rule_,
        "gain_matrix": model.rule_.gain.tolist(),
        "log_loss": model.log_loss_,
        "calibration_error": model.calibration_error_,
        "weights": model.auxiliary_weights_,
        **bounds,
    }


def prediction_columns(loaded: LoadedModel) -> list[str]:
    """The names of the columns of the predictions, without identifiers."""
    model = loaded.model
    if model.target_type_ == "binary":
        return [*PREDICTION_COLUMNS, *([EXPECTED_SAVING] if is_priced(model) else [])]
    names = [str(name) for name in model.classes_.tolist()]
    labels = [LABEL]
    if model.target_type_ == "multilabel":
        labels = [LABELS] if _separator(loaded) else names
    return [*labels, *(f"{PROBABILITY}{name}" for name in names)]


def predict_batch(
    loaded: LoadedModel, batch: Batch, features: Any
) -> tuple[list[pl.Series], FloatArray | None]:
    """The columns of the predictions, and decisions to compare with those in training, if there are any."""
    model = loaded.model
    if model.target_type_ == "binary":
        decision = model.positive_decision(features)
        return _binary_series(loaded, batch, decision), decision
    probabilities = model.predict_proba(features)
    names = [str(name) for name in model.classes_.tolist()]
    columns = [pl.Series(f"{PROBABILITY}{name}", probabilities[:, k]) for k, name in enumerate(names)]
    if model.target_type_ == "multiclass":
        return [pl.Series(LABEL, model.classes_[model.rule_.predict(probabilities)]), *columns], None
    predicted = model.predict(features)
    if separator := _separator(loaded):
        texts = [separator.join(names[k] for k in np.flatnonzero(row)) for row in predicted]
        return [pl.Series(LABELS, texts), *columns], None
    return [*(pl.Series(name, predicted[:, k]) for k, name in enumerate(names)), *columns], None


def _binary_series(loaded: LoadedModel, batch: Batch, decision: FloatArray) -> list[pl.Series]:
    model, prices = loaded.model, None
    probability, threshold = model.as_probability(decision), np.full(len(decision), model.threshold_)
    saving: list[pl.Series] = []
    if is_priced(model):
        prices = read_prices(loaded, batch)
        saving = [pl.Series(EXPECTED_SAVING, [None] * len(decision), dtype=pl.Float64)]
    if prices is not None:
        threshold, decision = prices.thresholds, row_decision(model, decision, prices)
        saving = [pl.Series(EXPECTED_SAVING, prices.expected_savings(probability))]
    labels = model.label_pair[(decision > 0).astype(int)]
    values = zip(PREDICTION_COLUMNS, (labels, probability, threshold), strict=True)
    return [*(pl.Series(name, each) for name, each in values), *saving]


def _separator(loaded: LoadedModel) -> str:
    return loaded.schema.separator if isinstance(loaded.schema, LabelMatrixSchema) else ""


def price_columns(loaded: LoadedModel) -> PriceColumns:
    """The columns of prices that the model was trained with."""
    try:
        return PriceColumns.from_dict(loaded.manifest.training.get("prices"))
    except ValueError as error:
        raise ModelFileError(f"the model file does not tell the columns of its prices: {error}.") from error


def read_prices(loaded: LoadedModel, batch: Batch, *, is_needed: bool = False) -> RowPrices | None:
    """The prices of a batch; None if they are not needed and the table does not have all of them."""
    columns = price_columns(loaded)
    if not is_needed and columns.missing_columns(batch):
        return None
    return loaded.model.row_prices(len(batch), **columns.read(batch, loaded.schema))


def row_decision(model: CAPOClassifier, decision: FloatArray, prices: RowPrices) -> FloatArray:
    """Decisions at the thresholds of the rows, in place of those at the model's one threshold."""
    return decision + model.decision_.log_odds - prices.log_odds


def missing_price_notes(loaded: LoadedModel, batch: Batch) -> list[str]:
    """A note if a table does not have the prices that a model was trained with."""
    if not is_priced(loaded.model):
        return []
    missing = price_columns(loaded).missing_columns(batch)
    features = loaded.schema.columns if isinstance(loaded.schema, TableSchema) else {}
    if not missing or missing[0] in features:  # a table without a feature is refused
        return []
    return [
        f"The table has no column {missing[0]!r} with prices: one threshold, "
        f"{loaded.model.threshold_:.4g}, is used for all rows."
    ]
