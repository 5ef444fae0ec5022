"""Models of many classes and of many labels on the command line."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..._typing import FloatArray
from ...estimators import CAPOClassifier
from ...inspection import (
    MulticlassEvaluation,
    MultilabelEvaluation,
    evaluate_multiclass,
    evaluate_multilabel,
)
from ...io.tables import LabelMatrixSchema, TableReader
from .._console import Console
from ._kept_rows import RowSample
from ._loaded_model import LoadedModel, join_groups, read_batches
from ._model_kind import ModelKind, ReportOptions

#: Comes before the name of a class or label in the columns of the predictions.
PROBABILITY = "probability_"
#: The column of the predicted label, and that of all labels of a row.
LABEL, LABELS = "label", "labels"


@dataclass(frozen=True)
class _LabeledOutputs:
    """Labels, an output of the model for each row, the sample weights and the groups."""

    y: NDArray[Any]
    outputs: FloatArray
    sample_weight: FloatArray | None
    groups: NDArray[Any] | None


def _predict_labeled(
    loaded: LoadedModel,
    table: TableReader,
    method: str,
    console: Console,
    sample: RowSample | None = None,
) -> _LabeledOutputs:
    """Apply a method of a model to a labeled table, batch by batch, and keep a sample of the rows."""
    labels: list[NDArray[Any]] = []
    outputs: list[FloatArray] = []
    weights: list[Any] = []
    groups: list[Any] = []
    schema = loaded.schema
    with console.step("predicting") as step:
        for batch in read_batches(table, step):
            features = schema.features(batch)
            labels.append(np.asarray(schema.labels(batch)))
            outputs.append(getattr(loaded.model, method)(features))
            weights.append(schema.weights(batch))
            groups.append(schema.known_groups(batch))
            if sample is not None:
                sample.observe(features, labels[-1], weights[-1], groups[-1])
    weight = None if weights[0] is None else np.concatenate(weights)
    group = join_groups(groups, loaded, console)
    return _LabeledOutputs(np.concatenate(labels), np.concatenate(outputs), weight, group)


def _probability_columns(model: CAPOClassifier, probabilities: FloatArray) -> list[pl.Series]:
    names = model.classes_.tolist()
    return [pl.Series(f"{PROBABILITY}{name}", probabilities[:, k]) for k, name in enumerate(names)]


def _common_results(model: CAPOClassifier) -> dict[str, Any]:
    return {"bound": model.bound_, "expected_value": model.value_}


class _ManyKind(ModelKind):
    """What models of many classes and of many labels have in common."""

    #: The method of the model that gives the outputs to evaluate.
    method: str

    @abstractmethod
    def evaluate_rows(self, loaded: LoadedModel, rows: _LabeledOutputs, seed: int, console: Console) -> Any:
        """All measures of rows that have been predicted."""

    def evaluate(
        self, loaded: LoadedModel, table: TableReader, seed: int, console: Console
    ) -> tuple[int, Any]:
        rows = _predict_labeled(loaded, table, self.method, console)
        return len(rows.y), self.evaluate_rows(loaded, rows, seed, console)

    def render_report(
        self, loaded: LoadedModel, table: TableReader, options: ReportOptions, console: Console
    ) -> str:
        from ...report import render_class_report  # noqa: PLC0415 (an extra)

        sample = RowSample(options.seed)
        rows = _predict_labeled(loaded, table, self.method, console, sample)
        evaluation = self.evaluate_rows(loaded, rows, options.seed, console)
        importance = sample.importance(loaded.model, console) if options.explain else None
        with console.step("drawing"):
            return render_class_report(
                loaded.model,
                evaluation,
                n_rows=len(rows.y),
                comparison=options.comparison,
                table_name=table.name,
                importance=importance,
                notes=options.notes,
            )


class MulticlassKind(_ManyKind):
    """Many classes: a label for each row, and the probability of each class."""

    method = "predict_proba"

    def prediction_columns(self, loaded: LoadedModel) -> list[str]:
        return [LABEL, *(f"{PROBABILITY}{name}" for name in loaded.model.classes_.tolist())]

    def outputs(self, model: CAPOClassifier, features: Any) -> FloatArray:
        return model.predict_proba(features)

    def prediction_series(self, loaded: LoadedModel, outputs: FloatArray) -> list[pl.Series]:
        model = loaded.model
        labels = model.classes_[model.rule_.predict(outputs)]
        return [pl.Series(LABEL, labels), *_probability_columns(model, outputs)]

    def fit_results(self, model: CAPOClassifier) -> dict[str, Any]:
        return {
            "rows": len(model.oof_labels_),
            "class_rows": model.class_counts_.tolist(),
            "uses_rule": model.uses_rule_,
            "gain_matrix": model.rule_.gain.tolist(),
            "log_loss": model.log_loss_,
            "calibration_error": model.calibration_error_,
            "weights": model.auxiliary_weights_,
            **_common_results(model),
        }

    def evaluate_rows(
        self, loaded: LoadedModel, rows: _LabeledOutputs, seed: int, console: Console
    ) -> MulticlassEvaluation:
        model = loaded.model
        with console.step("bootstrap") as step:
            return evaluate_multiclass(
                model.delegate_.measure_,
                rows.y,
                model.classes_[model.rule_.predict(rows.outputs)],
                rows.outputs,
                model.classes_,
                sample_weight=rows.sample_weight,
                groups=rows.groups,
                random_state=seed,
                on_progress=step.progress,
            )


class MultilabelKind(_ManyKind):
    """Many labels: 0 or 1 and a probability for each label; or the labels of each row in one column."""

    method = "decision_function"

    def prediction_columns(self, loaded: LoadedModel) -> list[str]:
        names = [str(name) for name in loaded.model.classes_.tolist()]
        decided = [LABELS] if _separator(loaded) else names
        return [*decided, *(f"{PROBABILITY}{name}" for name in names)]

    def outputs(self, model: CAPOClassifier, features: Any) -> tuple[NDArray[Any], FloatArray]:
        return model.predict(features), model.predict_proba(features)

    def prediction_series(
        self, loaded: LoadedModel, outputs: tuple[NDArray[Any], FloatArray]
    ) -> list[pl.Series]:
        predicted, probabilities = outputs
        model = loaded.model
        names = [str(name) for name in model.classes_.tolist()]
        if separator := _separator(loaded):
            texts = [separator.join(names[k] for k in np.flatnonzero(row)) for row in predicted]
            decided = [pl.Series(LABELS, texts)]
        else:
            decided = [pl.Series(name, predicted[:, k]) for k, name in enumerate(names)]
        return [*decided, *_probability_columns(model, probabilities)]

    def fit_results(self, model: CAPOClassifier) -> dict[str, Any]:
        weights = {name: each.tolist() for name, each in model.auxiliary_weights_.items()}
        return {
            "rows": len(model.oof_decision_),
            "label_rows": [each.n_positive for each in model.label_models_],
            "thresholds": model.thresholds_.tolist(),
            "weights": weights,
            **_common_results(model),
        }

    def evaluate_rows(
        self, loaded: LoadedModel, rows: _LabeledOutputs, seed: int, console: Console
    ) -> MultilabelEvaluation:
        with console.step("bootstrap") as step:
            return evaluate_multilabel(
                loaded.model.delegate_.measure_,
                rows.y,
                rows.outputs,
                loaded.model.classes_,
                sample_weight=rows.sample_weight,
                groups=rows.groups,
                random_state=seed,
                on_progress=step.progress,
            )


def _separator(loaded: LoadedModel) -> str:
    return loaded.schema.separator if isinstance(loaded.schema, LabelMatrixSchema) else ""
