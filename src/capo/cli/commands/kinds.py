"""What commands do for each kind of target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import vstack

from ..._compat import BoolArray, FloatArray, IntArray
from ...decisions import RowPrices, Savings, estimate_savings, format_money
from ...estimators import CAPOClassifier
from ...exceptions import InvalidInputError, ModelFileError
from ...inspection import (
    Comparison,
    Evaluation,
    Importance,
    MulticlassEvaluation,
    MultilabelEvaluation,
    WorstError,
    evaluate,
    evaluate_multiclass,
    evaluate_multilabel,
    importance,
    worst_errors,
)
from ...io.formats import TableReader
from ...io.source import Batch
from ...io.table_schema import LabelMatrixSchema, PriceColumns, TableSchema
from ...measures import Measure
from ...tables.targets import positive_mask
from ..console import Console
from .models import LoadedModel, join_groups, read_batches


class PrintableEvaluation(Protocol):
    """An evaluation that prints as tables."""

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as values that JSON can hold."""


@dataclass(frozen=True)
class ReportOptions:
    """What a report shows beside the model and the table.

    Attributes
    ----------
    comparison : Comparison, optional
        A comparison with simpler methods.
    notes : sequence of str
        Cautions at the top.
    seed : int
        Seed of the bootstrap and of the sample of rows.
    explain : bool
        Whether the page has the importance of columns.
    """

    comparison: Comparison | None
    notes: Sequence[str]
    seed: int
    explain: bool


class ModelKind(ABC):
    """One kind of model."""

    @abstractmethod
    def prediction_columns(self, loaded: LoadedModel) -> list[str]:
        """The names of the columns of the predictions, without identifiers."""

    @abstractmethod
    def outputs(self, model: CAPOClassifier, features: Any) -> Any:
        """What the model computes for rows, from which the predictions follow."""

    def batch_outputs(self, loaded: LoadedModel, batch: Batch, features: Any) -> Any:
        """The outputs for a batch, whose features are given."""
        return self.outputs(loaded.model, features)

    def notes(self, loaded: LoadedModel, batch: Batch) -> list[str]:
        """What a user should know about the predictions for a table, from its first batch."""
        return []

    @abstractmethod
    def prediction_series(self, loaded: LoadedModel, outputs: Any) -> list[pl.Series]:
        """The columns of the predictions."""

    def drift_scores(self, outputs: Any) -> FloatArray | None:
        """The decisions whose distribution is compared with that in training; None if there are none."""
        return None

    @abstractmethod
    def fit_results(self, model: CAPOClassifier) -> dict[str, Any]:
        """The results of a fit for ``--json``, beside those of all kinds."""

    @abstractmethod
    def evaluate(
        self, loaded: LoadedModel, table: TableReader, seed: int, console: Console
    ) -> tuple[int, PrintableEvaluation]:
        """The number of rows of a labeled table, and all measures on them."""

    @abstractmethod
    def render_report(
        self, loaded: LoadedModel, table: TableReader, options: ReportOptions, console: Console
    ) -> str:
        """The page on the model and a labeled table."""


#: Rows of the sample, and rows of each class that it has besides if there are as many.
MAX_ROWS, MIN_CLASS_ROWS = 2000, 200
#: Errors that are kept.
N_ERRORS = 10


class RowSample:
    """A random sample of the rows of a table, in constant memory.

    Every row gets a random number, and the rows with the smallest ones are kept: of all rows, and of each
    class.

    Parameters
    ----------
    seed : int
        Seed of the sample and of the importance.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random = np.random.default_rng(seed)
        self._kept: dict[str, Any] = {}
        self._class_counts: Counter[Any] = Counter()
        self.n_rows = 0

    def observe(
        self, features: Any, y: NDArray[Any], weight: FloatArray | None, groups: NDArray[Any] | None
    ) -> None:
        """Take a batch into account: its features, labels, sample weights and groups."""
        n_rows = len(y)
        self.n_rows += n_rows
        self._class_counts.update(_class_names(y))
        batch = {"key": self._random.random(n_rows), "X": features, "y": y}
        batch["weight"] = np.ones(n_rows) if weight is None else weight
        if groups is not None:
            batch["groups"] = groups
        known = [name for name in batch if not self._kept or name in self._kept]
        joined = {name: _join(self._kept[name], batch[name]) if self._kept else batch[name] for name in known}
        rows = _smallest_keys(joined["key"], _class_names(joined["y"]))
        self._kept = {name: values[rows] for name, values in joined.items()}

    @property
    def _weights(self) -> FloatArray:
        """The sample weights of the kept rows, times the number of rows of its class that each stands for."""
        names = _class_names(self._kept["y"])
        n_kept = Counter(names)
        factor = np.array([self._class_counts[name] / n_kept[name] for name in names])
        return np.asarray(self._kept["weight"] * factor * len(names) / self.n_rows)

    def importance(self, model: CAPOClassifier, console: Console) -> Importance | None:
        """The importance of the columns on the sample; None, with a note, if it cannot be computed."""
        try:
            with console.step("explaining") as step:
                found = importance(
                    model,
                    self._kept["X"],
                    self._kept["y"],
                    sample_weight=self._weights,
                    groups=self._kept.get("groups"),
                    max_rows=MAX_ROWS,
                    random_state=self._seed,
                    on_progress=step.progress,
                )
        except InvalidInputError as error:
            console.note(f"The report has no importance of columns: {error}")
            return None
        return replace(found, n_total_rows=self.n_rows)


def _class_names(y: NDArray[Any]) -> list[Any]:
    """The class of each row; a label matrix has none."""
    return y.tolist() if y.ndim == 1 else [None] * len(y)


def _smallest_keys(keys: FloatArray, classes: Sequence[Any]) -> IntArray:
    """The rows with the smallest keys of all, and those with the smallest ones of each class."""
    order = np.argsort(keys, kind="stable")
    _, codes = np.unique(np.array(classes, dtype=str), return_inverse=True)
    by_class = [order[codes[order] == code][:MIN_CLASS_ROWS] for code in range(codes.max() + 1)]
    return np.unique(np.concatenate((order[:MAX_ROWS], *by_class)))


def _join(first: Any, second: Any) -> Any:
    """Two parts of a table or of an array below each other."""
    if isinstance(first, pl.DataFrame):
        return pl.concat([first, second])
    if isinstance(first, np.ndarray):
        return np.concatenate((first, second))
    return vstack((first, second), format="csr")


class KeptRows:
    """The rows of a model of two classes that a report explains.

    Parameters
    ----------
    model : CAPOClassifier
        The model.
    seed : int
        Seed of the sample and of the importance.
    """

    def __init__(self, model: CAPOClassifier, seed: int) -> None:
        self._model = model
        self.sample = RowSample(seed)
        self.errors: list[WorstError] = []

    def observe(self, features: Any, rows: LabeledPredictions, losses: FloatArray | None = None) -> None:
        """Take a batch into account; `losses` are what its errors cost, if rows have prices."""
        found = worst_errors(
            self._model,
            rows.positive,
            rows.decision,
            features,
            n=N_ERRORS,
            first_row=self.sample.n_rows + 1,
            losses=losses,
        )
        self.errors = sorted([*self.errors, *found], key=lambda each: -each.severity)[:N_ERRORS]
        labels = self._model.label_pair[rows.positive.astype(int)]
        self.sample.observe(features, labels, rows.sample_weight, rows.groups)


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
                model.measure_,
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
                loaded.model.measure_,
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
    return outputs.decision + model.decision_.log_odds - outputs.prices.log_odds


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


_KINDS: dict[str, ModelKind] = {"multiclass": MulticlassKind(), "multilabel": MultilabelKind()}


def model_kind(model: CAPOClassifier) -> ModelKind:
    """The kind of a fitted model."""
    # A guarantee is about one threshold: the prices of the rows are not used then.
    is_priced = model.prices_ is not None and model.prices_.per_row and model.guarantee_ is None
    binary = PricedKind() if is_priced else BinaryKind()
    return _KINDS.get(model.target_type_, binary)
