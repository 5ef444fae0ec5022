"""Models of two classes with prices of each row on the command line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from ..._typing import FloatArray
from ...estimators import CAPOClassifier
from ...exceptions import ModelFileError
from ...inspection import Evaluation
from ...io.tables import Batch, PriceColumns, TableReader
from ...prices import RowPrices, Savings, estimate_savings, format_money
from .._console import Console
from ._binary_kind import BinaryKind, LabeledPredictions, evaluate_predictions, predict_labeled
from ._loaded_model import LoadedModel
from ._model_kind import ModelKind, ReportOptions

#: Column of the predictions: what calling the row positive is worth in expectation.
EXPECTED_SAVING = "expected_saving"


@dataclass(frozen=True)
class PricedOutputs:
    """Decisions at the model's one threshold, and the prices of the rows if the table has them."""

    decision: FloatArray
    prices: RowPrices | None


@dataclass(frozen=True)
class PricedEvaluation:
    """Savings in money, and all measures of the decisions; prints as text."""

    savings: Savings
    evaluation: Evaluation

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as values that JSON can hold."""
        return {"savings": self.savings.to_dict(), **self.evaluation.to_dict()}

    def __str__(self) -> str:
        return f"{describe_savings(self.savings)}\n\n{self.evaluation}"


class PricedKind(ModelKind):
    """Two classes and prices: a threshold and an expected saving for each row."""

    binary = BinaryKind()

    def prediction_columns(self, loaded: LoadedModel) -> list[str]:
        return [*self.binary.prediction_columns(loaded), EXPECTED_SAVING]

    def outputs(self, model: CAPOClassifier, features: Any) -> FloatArray:
        return self.binary.outputs(model, features)

    def fit_results(self, model: CAPOClassifier) -> dict[str, Any]:
        return self.binary.fit_results(model)

    def batch_outputs(self, loaded: LoadedModel, batch: Batch, features: Any) -> PricedOutputs:
        decision = self.outputs(loaded.model, features)
        return PricedOutputs(decision, read_prices(loaded, batch))

    def drift_scores(self, outputs: PricedOutputs) -> FloatArray:
        return outputs.decision

    def notes(self, loaded: LoadedModel, batch: Batch) -> list[str]:
        missing = price_columns(loaded).missing_columns(batch)
        if not missing:
            return []
        return [
            f"The table has no column {missing[0]!r} with prices: one threshold, "
            f"{loaded.model.threshold_:.4g}, is used for all rows."
        ]

    def prediction_series(self, loaded: LoadedModel, outputs: PricedOutputs) -> list[pl.Series]:
        model, prices = loaded.model, outputs.prices
        if prices is None:
            saving = pl.Series(EXPECTED_SAVING, [None] * len(outputs.decision), dtype=pl.Float64)
            return [*self.binary.prediction_series(loaded, outputs.decision), saving]
        label, score, threshold = self.binary.prediction_series(loaded, row_decision(model, outputs))
        probability = model.as_probability(outputs.decision)
        return [
            label,
            pl.Series(score.name, probability),
            pl.Series(threshold.name, prices.thresholds),
            pl.Series(EXPECTED_SAVING, prices.expected_savings(probability)),
        ]

    def evaluate(
        self, loaded: LoadedModel, table: TableReader, seed: int, console: Console
    ) -> tuple[int, PricedEvaluation]:
        predictions, prices = _predict_priced(loaded, table, console)
        at_prices = replace(
            predictions,
            decision=row_decision(loaded.model, PricedOutputs(predictions.decision, prices)),
        )
        savings = estimate_savings(
            prices,
            at_prices.positive,
            at_prices.decision > 0,
            at_prices.sample_weight,
            groups=at_prices.groups,
            random_state=seed,
        )
        evaluation = evaluate_predictions(loaded, at_prices, seed, console, measure=prices.measure)
        return len(predictions.positive), PricedEvaluation(savings, evaluation)

    def render_report(
        self, loaded: LoadedModel, table: TableReader, options: ReportOptions, console: Console
    ) -> str:
        note = (
            "This page uses one threshold for all rows and the mean prices of training; 'capo evaluate' uses "
            "the prices of each row."
        )
        noted = replace(options, notes=[*options.notes, note])
        return self.binary.render_report(loaded, table, noted, console)


def describe_savings(savings: Savings) -> str:
    """The totals in money, one line each."""
    rows = {
        "total with the model": savings.total,
        "calling no row positive": savings.total_of_none,
        "calling every row positive": savings.total_of_all,
    }
    width = max(len(format_money(value)) for value in rows.values())
    lines = [f"{name:<28}{format_money(value):>{width}}" for name, value in rows.items()]
    return "\n".join([*lines, f"the model {savings}"])


def price_columns(loaded: LoadedModel) -> PriceColumns:
    """The columns of prices that the model was trained with."""
    try:
        return PriceColumns.from_dict(loaded.manifest.training.get("prices"))
    except ValueError as error:
        raise ModelFileError(f"the model file does not tell the columns of its prices: {error}.") from error


def read_prices(loaded: LoadedModel, batch: Batch) -> RowPrices | None:
    """The prices of a batch; None if the table does not have all columns of prices."""
    columns = price_columns(loaded)
    if columns.missing_columns(batch):
        return None
    return loaded.model.row_prices(len(batch), **columns.read(batch, loaded.schema))


def row_decision(model: CAPOClassifier, outputs: PricedOutputs) -> FloatArray:
    """Decisions at the thresholds of the rows, in place of those at the model's one threshold."""
    assert outputs.prices is not None
    return outputs.decision + model.combination_.threshold_log_odds - outputs.prices.log_odds


def _predict_priced(
    loaded: LoadedModel, table: TableReader, console: Console
) -> tuple[LabeledPredictions, RowPrices]:
    """Apply a model to a labeled table with prices, batch by batch."""
    found: list[dict[str, Any]] = []
    columns = price_columns(loaded)

    def read(batch: Batch) -> None:
        prices = columns.read(batch, loaded.schema)
        found.append({name: np.broadcast_to(value, len(batch)) for name, value in prices.items()})

    predictions = predict_labeled(loaded, table, console, on_batch=read)
    values = {name: np.concatenate([each[name] for each in found]) for name in found[0]}
    prices = loaded.model.row_prices(len(predictions.positive), **values)
    assert prices is not None
    return predictions, prices
