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
from ...io.tables import Batch, PriceColumns, TableReader, TableSchema
from ...prices import RowPrices, Savings, estimate_savings, format_money
from .._console import Console
from ._binary_kind import (
    BinaryKind,
    LabeledPredictions,
    evaluate_predictions,
    predict_labeled,
    render_predictions,
)
from ._kept_rows import KeptRows
from ._loaded_model import LoadedModel
from ._model_kind import ModelKind, ReportOptions

#: Column of the predictions: what calling the row positive is worth in expectation.
EXPECTED_SAVING = "expected_saving"
#: What the page of a report says about the importance of columns.
IMPORTANCE_NOTE = (
    "The importance of columns is computed with one threshold for all rows and the mean prices of training."
)


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
        return _missing_price_notes(loaded, batch)

    def prediction_series(self, loaded: LoadedModel, outputs: PricedOutputs) -> list[pl.Series]:
        model, prices = loaded.model, outputs.prices
        if prices is None:
            expected_saving = pl.Series(EXPECTED_SAVING, [None] * len(outputs.decision), dtype=pl.Float64)
            return [*self.binary.prediction_series(loaded, outputs.decision), expected_saving]
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
        collector = PriceCollector(loaded, optional=False)
        predictions = predict_labeled(loaded, table, console, on_batch=collector.read)
        prices = collector.prices()
        assert prices is not None
        savings = estimate_savings(
            prices,
            predictions.positive,
            row_decision(loaded.model, PricedOutputs(predictions.decision, prices)) > 0,
            predictions.sample_weight,
            groups=predictions.groups,
            random_state=seed,
        )
        evaluation = _evaluate_at_prices(loaded, predictions, prices, seed, console)
        return len(predictions.positive), PricedEvaluation(savings, evaluation)

    def render_report(
        self, loaded: LoadedModel, table: TableReader, options: ReportOptions, console: Console
    ) -> str:
        from ...report import render_priced_report  # noqa: PLC0415 (an extra)

        collector, kept = PriceCollector(loaded, optional=True), KeptRows(loaded.model, options.seed)

        def observe(features: Any, rows: LabeledPredictions) -> None:
            kept.observe(features, rows, collector.losses(rows))

        predictions = predict_labeled(loaded, table, console, on_batch=collector.read, on_features=observe)
        prices = collector.prices()
        if prices is None:
            noted = replace(options, notes=[*options.notes, *collector.notes])
            return render_predictions(loaded, table.name, predictions, kept, noted, console)
        importance = kept.sample.importance(loaded.model, console) if options.explain else None
        evaluation = _evaluate_at_prices(loaded, predictions, prices, options.seed, console)
        with console.step("drawing"):
            return render_priced_report(
                loaded.model,
                predictions.positive,
                predictions.decision,
                prices,
                sample_weight=predictions.sample_weight,
                groups=predictions.groups,
                table_name=table.name,
                comparison=options.comparison,
                evaluation=evaluation,
                importance=importance,
                errors=kept.errors,
                notes=[*options.notes, *([] if importance is None else [IMPORTANCE_NOTE])],
                random_state=options.seed,
            )


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


class PriceCollector:
    """Reads the prices of a table batch by batch.

    Parameters
    ----------
    loaded : LoadedModel
        The model.
    optional : bool
        Whether a table without the columns of prices is accepted.
    """

    def __init__(self, loaded: LoadedModel, *, optional: bool) -> None:
        self._loaded, self._columns, self._optional = loaded, price_columns(loaded), optional
        self._parts: list[dict[str, FloatArray]] = []
        self.notes: list[str] = []

    def read(self, batch: Batch) -> None:
        """Take a batch into account."""
        self.notes = _missing_price_notes(self._loaded, batch)
        if self._optional and self._columns.missing_columns(batch):
            return
        prices = self._columns.read(batch, self._loaded.schema)
        self._parts.append({name: np.broadcast_to(value, len(batch)) for name, value in prices.items()})

    def losses(self, rows: LabeledPredictions) -> FloatArray | None:
        """What the errors of the last batch cost; None if it has no prices."""
        if not self._parts:
            return None
        prices = self._resolve(self._parts[-1])
        decision = row_decision(self._loaded.model, PricedOutputs(rows.decision, prices))
        return prices.losses(rows.positive, decision > 0)

    def prices(self) -> RowPrices | None:
        """The prices of all rows; None if the table does not have all columns of prices."""
        if not self._parts:
            return None
        names = self._parts[0]
        return self._resolve({name: np.concatenate([each[name] for each in self._parts]) for name in names})

    def _resolve(self, values: dict[str, FloatArray]) -> RowPrices:
        prices = self._loaded.model.row_prices(len(next(iter(values.values()))), **values)
        assert prices is not None
        return prices


def _missing_price_notes(loaded: LoadedModel, batch: Batch) -> list[str]:
    missing = price_columns(loaded).missing_columns(batch)
    features = loaded.schema.columns if isinstance(loaded.schema, TableSchema) else {}
    if not missing or missing[0] in features:  # a table without a feature is refused
        return []
    return [
        f"The table has no column {missing[0]!r} with prices: one threshold, "
        f"{loaded.model.threshold_:.4g}, is used for all rows."
    ]


def _evaluate_at_prices(
    loaded: LoadedModel, predictions: LabeledPredictions, prices: RowPrices, seed: int, console: Console
) -> Evaluation:
    """All measures of the decisions at the thresholds of the rows."""
    decision = row_decision(loaded.model, PricedOutputs(predictions.decision, prices))
    at_prices = replace(predictions, decision=decision)
    return evaluate_predictions(loaded, at_prices, seed, console, measure=prices.measure)
