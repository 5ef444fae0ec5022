"""A model's decisions on labeled rows, and their evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._typing import BoolArray, FloatArray
from ...inspection import Evaluation, evaluate
from ...io.tables import TableReader
from ...preprocessing import positive_mask
from .._console import Console
from ._loaded_model import LoadedModel, read_batches


@dataclass(frozen=True)
class LabeledPredictions:
    """Which rows are positive, the model's decisions, and the sample weights."""

    positive: BoolArray
    decision: FloatArray
    sample_weight: FloatArray | None


def predict_labeled(loaded: LoadedModel, table: TableReader, console: Console) -> LabeledPredictions:
    """Apply a model to a labeled table, batch by batch."""
    positive: list[BoolArray] = []
    decisions: list[FloatArray] = []
    weights: list[Any] = []
    schema, model = loaded.schema, loaded.model
    with console.step("predicting") as step:
        for batch in read_batches(table, step):
            positive.append(positive_mask(schema.labels(batch), model.classes_))
            decisions.append(loaded.decision_function(batch))
            weights.append(schema.weights(batch))
    weight = None if weights[0] is None else np.concatenate(weights)
    return LabeledPredictions(np.concatenate(positive), np.concatenate(decisions), weight)


def evaluate_predictions(
    loaded: LoadedModel, predictions: LabeledPredictions, seed: int, console: Console
) -> Evaluation:
    """All measures with bootstrap intervals."""
    negative_name, positive_name = map(str, loaded.model.classes_.tolist())
    with console.step("bootstrap") as step:
        return evaluate(
            loaded.model.measure_,
            predictions.positive,
            predictions.decision,
            sample_weight=predictions.sample_weight,
            class_names=(negative_name, positive_name),
            random_state=seed,
            on_progress=step.progress,
        )
