"""Models of two classes on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..._typing import BoolArray, FloatArray
from ...estimators import CAPOClassifier
from ...inspection import Evaluation, evaluate
from ...io.tables import Batch, TableReader
from ...measures import Measure
from ...preprocessing import positive_mask
from .._console import Console
from ._kept_rows import KeptRows
from ._loaded_model import LoadedModel, join_groups, read_batches
from ._model_kind import ModelKind, ReportOptions

#: Columns of the predictions.
PREDICTION_COLUMNS = ("label", "score", "threshold")


@dataclass(frozen=True)
class LabeledPredictions:
    """Which rows are positive, the model's decisions, the sample weights and the groups."""

    positive: BoolArray
    decision: FloatArray
    sample_weight: FloatArray | None
    groups: NDArray[Any] | None = None


class BinaryKind(ModelKind):
    """Two classes: a label, a score and a threshold for each row."""

    def prediction_columns(self, loaded: LoadedModel) -> list[str]:
        return list(PREDICTION_COLUMNS)

    def outputs(self, model: CAPOClassifier, features: Any) -> FloatArray:
        return model.positive_decision(features)

    def drift_scores(self, outputs: FloatArray) -> FloatArray:
        return outputs

    def prediction_series(self, loaded: LoadedModel, outputs: FloatArray) -> list[pl.Series]:
        model = loaded.model
        labels = model.label_pair[(outputs > 0).astype(int)]
        threshold = np.full(len(outputs), model.threshold_)
        values = (labels, model.as_probability(outputs), threshold)
        return [pl.Series(name, each) for name, each in zip(PREDICTION_COLUMNS, values, strict=True)]

    def fit_results(self, model: CAPOClassifier) -> dict[str, Any]:
        return {
            "rows": len(model.oof_decision_),
            "pos_label": model.pos_label_,
            "positive": model.n_positive_,
            "threshold": model.threshold_,
            "C": model.C_,
            "weights": model.auxiliary_weights_,
            **({} if model.savings_ is None else {"savings": model.savings_.to_dict()}),
        }

    def evaluate(
        self, loaded: LoadedModel, table: TableReader, seed: int, console: Console
    ) -> tuple[int, Evaluation]:
        predictions = predict_labeled(loaded, table, console)
        return len(predictions.positive), evaluate_predictions(loaded, predictions, seed, console)

    def render_report(
        self, loaded: LoadedModel, table: TableReader, options: ReportOptions, console: Console
    ) -> str:
        kept = KeptRows(loaded.model, options.seed)
        predictions = predict_labeled(loaded, table, console, on_features=kept.observe)
        return render_predictions(loaded, table.name, predictions, kept, options, console)


def render_predictions(
    loaded: LoadedModel,
    table_name: str,
    predictions: LabeledPredictions,
    kept: KeptRows,
    options: ReportOptions,
    console: Console,
) -> str:
    """The page on a model with one threshold."""
    from ...report import render_report  # noqa: PLC0415 (an extra)

    evaluation = evaluate_predictions(loaded, predictions, options.seed, console)
    importance = kept.sample.importance(loaded.model, console) if options.explain else None
    with console.step("drawing"):
        return render_report(
            loaded.model,
            predictions.positive,
            predictions.decision,
            sample_weight=predictions.sample_weight,
            table_name=table_name,
            comparison=options.comparison,
            evaluation=evaluation,
            importance=importance,
            errors=kept.errors,
            notes=options.notes,
        )


def predict_labeled(
    loaded: LoadedModel,
    table: TableReader,
    console: Console,
    on_batch: Callable[[Batch], None] = lambda batch: None,
    on_features: Callable[[Any, LabeledPredictions], None] = lambda features, predictions: None,
) -> LabeledPredictions:
    """Apply a model to a labeled table, batch by batch."""
    positive: list[BoolArray] = []
    decisions: list[FloatArray] = []
    weights: list[Any] = []
    groups: list[Any] = []
    schema, model = loaded.schema, loaded.model
    with console.step("predicting") as step:
        for batch in read_batches(table, step):
            features = schema.features(batch)
            positive.append(positive_mask(schema.labels(batch), model.label_pair))
            decisions.append(model.positive_decision(features))
            weights.append(schema.weights(batch))
            groups.append(schema.known_groups(batch))
            on_batch(batch)
            on_features(features, LabeledPredictions(positive[-1], decisions[-1], weights[-1], groups[-1]))
    weight = None if weights[0] is None else np.concatenate(weights)
    group = join_groups(groups, loaded, console)
    return LabeledPredictions(np.concatenate(positive), np.concatenate(decisions), weight, group)


def evaluate_predictions(
    loaded: LoadedModel,
    predictions: LabeledPredictions,
    seed: int,
    console: Console,
    measure: Measure | None = None,
) -> Evaluation:
    """All measures with bootstrap intervals, the given one or that of the model first."""
    negative_name, positive_name = map(str, loaded.model.label_pair.tolist())
    with console.step("bootstrap") as step:
        return evaluate(
            loaded.model.measure_ if measure is None else measure,
            predictions.positive,
            predictions.decision,
            sample_weight=predictions.sample_weight,
            groups=predictions.groups,
            class_names=(negative_name, positive_name),
            random_state=seed,
            on_progress=step.progress,
        )
