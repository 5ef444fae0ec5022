"""The rows of a labeled table with a model's outputs: evaluated, sampled for a report, explained."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import vstack

from .. import inspection
from .._compat import FloatArray
from ..decisions import PRICE_NAMES, RowPrices
from ..estimators import CAPOClassifier
from ..exceptions import InvalidInputError
from ..io.formats import TableReader
from ..io.source import Batch, SparseRows
from ..io.table_schema import LabelMatrixSchema, Schema
from ..learning.folds import TimeFolds
from ..tables.targets import positive_mask
from .console import Console
from .inputs import LoadedModel, connect, divide, join_groups, read_batches, read_parts
from .rows import is_priced, read_prices, row_decision

#: Rows of the sample of a report, and rows of each class that it has besides if there are as many.
MAX_ROWS, MIN_CLASS_ROWS = 2000, 200
#: Errors that a report lists.
N_ERRORS = 10
#: What the page of a report says about the importance of columns, if rows have prices.
IMPORTANCE_NOTE = (
    "The importance of columns is computed with one threshold for all rows and the mean prices of training."
)


@dataclass(frozen=True)
class LabeledOutputs:
    """Labels of rows and the outputs of a model for them; for two classes, which rows are positive."""

    y: NDArray[Any]
    outputs: FloatArray
    weight: FloatArray | None
    groups: NDArray[Any] | None
    prices: RowPrices | None


def predict_labeled(
    loaded: LoadedModel,
    table: TableReader,
    console: Console,
    on_batch: Callable[[Batch, Any, LabeledOutputs], None] = lambda batch, features, rows: None,
    *,
    needs_prices: bool = True,
) -> LabeledOutputs:
    """Apply a model to a labeled table, batch by batch."""
    schema, model = loaded.schema, loaded.model
    methods = {"multiclass": "predict_proba", "multilabel": "decision_function"}
    predict = getattr(model, methods.get(model.target_type_, "positive_decision"))
    parts: list[LabeledOutputs] = []
    with console.step("predicting") as step:
        for batch in read_batches(table, step):
            features, y, prices = schema.features(batch), np.asarray(schema.labels(batch)), None
            if model.target_type_ == "binary":
                y = positive_mask(y, model.label_pair)
            if is_priced(model):
                prices = read_prices(loaded, batch, is_needed=needs_prices)
            part = LabeledOutputs(
                y, predict(features), schema.weights(batch), schema.known_groups(batch), prices
            )
            parts.append(part)
            on_batch(batch, features, part)
    prices = None
    if parts[0].prices is not None:
        columns = ([getattr(each.prices, name) for each in parts] for name in PRICE_NAMES)
        prices = RowPrices(*(np.concatenate(each) for each in columns))
    return LabeledOutputs(
        np.concatenate([each.y for each in parts]),
        np.concatenate([each.outputs for each in parts]),
        None if parts[0].weight is None else np.concatenate([each.weight for each in parts]),
        join_groups([each.groups for each in parts], loaded, console),
        prices,
    )


def evaluate_rows(
    model: CAPOClassifier, rows: LabeledOutputs, seed: int, console: Console
) -> inspection.Evaluation:
    """Evaluate the outputs of a model, with intervals by the bootstrap."""
    with console.step("bootstrap") as step:
        return inspection.evaluate(
            model,
            rows.y,
            rows.outputs,
            prices=rows.prices,
            sample_weight=rows.weight,
            groups=rows.groups,
            random_state=seed,
            on_progress=step.progress,
        )


def evaluate_on_cluster(
    loaded: LoadedModel,
    table: TableReader,
    address: str,
    partition_rows: int | None,
    seed: int,
    console: Console,
) -> tuple[int, inspection.Evaluation]:
    """The number of rows, and all measures; the decisions stay on the workers."""
    from ..dask import evaluate  # noqa: PLC0415 (an optional package)

    if loaded.model.target_type_ != "binary" or is_priced(loaded.model):
        raise InvalidInputError("--cluster is for models of two classes without prices: leave it out.")
    if getattr(loaded.schema, "weight", ""):
        raise InvalidInputError("--cluster is for models that were trained without --weight: leave it out.")
    if getattr(loaded.schema, "group", ""):
        console.note("The intervals treat the rows as independent: groups are not used with --cluster.")
    parts = divide(table, partition_rows, console)
    with connect(address, console) as client, console.step(f"evaluating on {address}"):
        X, y = read_parts(parts, loaded.schema)
        evaluation = evaluate(loaded.model, X, y, random_state=seed, client=client)
    assert evaluation.confusion is not None
    return int(sum(evaluation.confusion)), evaluation


class ReportRows:
    """The rows that a report explains: the worst errors, and a random sample, in constant memory.

    Every row gets a random number, and the rows with the smallest ones are kept: of all rows, and of each
    class.

    Parameters
    ----------
    model : CAPOClassifier
        The model.
    seed : int
        Seed of the sample and of the importance.
    """

    def __init__(self, model: CAPOClassifier, seed: int) -> None:
        self._model, self._seed, self._random = model, seed, np.random.default_rng(seed)
        #: The kept rows: their random numbers, features, labels, weights and groups.
        self.sample: dict[str, Any] = {}
        self._class_counts: Counter[Any] = Counter()
        self.n_rows = 0
        self.errors: list[inspection.WorstError] = []

    def observe(self, features: Any, rows: LabeledOutputs) -> None:
        """Take a batch into account."""
        labels, n_rows = rows.y, len(rows.y)
        if self._model.target_type_ == "binary":
            labels = self._model.label_pair[rows.y.astype(int)]
            self._keep_errors(features, rows)
        self.n_rows += n_rows
        self._class_counts.update(_class_names(labels))
        batch = {"key": self._random.random(n_rows), "X": features, "y": labels}
        batch["weight"] = np.ones(n_rows) if rows.weight is None else rows.weight
        if rows.groups is not None:
            batch["groups"] = rows.groups
        if self.sample:
            batch = {name: _join(kept, batch[name]) for name, kept in self.sample.items() if name in batch}
        order = np.argsort(batch["key"], kind="stable")
        codes = np.unique(np.array(_class_names(batch["y"]), dtype=str), return_inverse=True)[1]
        by_class = [order[codes[order] == code][:MIN_CLASS_ROWS] for code in range(codes.max() + 1)]
        kept_rows = np.unique(np.concatenate((order[:MAX_ROWS], *by_class)))
        self.sample = {name: values[kept_rows] for name, values in batch.items()}

    def _keep_errors(self, features: Any, rows: LabeledOutputs) -> None:
        losses = None
        if rows.prices is not None:
            predicted = row_decision(self._model, rows.outputs, rows.prices) > 0
            losses = rows.prices.losses(rows.y, predicted)
        found = inspection.worst_errors(
            self._model,
            rows.y,
            rows.outputs,
            features,
            n=N_ERRORS,
            first_row=self.n_rows + 1,
            losses=losses,
        )
        self.errors = sorted([*self.errors, *found], key=lambda each: -each.severity)[:N_ERRORS]

    @property
    def weights(self) -> FloatArray:
        """The sample weights of the kept rows, times the number of rows of its class that each stands for."""
        names = _class_names(self.sample["y"])
        n_kept = Counter(names)
        factor = np.array([self._class_counts[name] / n_kept[name] for name in names])
        return np.asarray(self.sample["weight"] * factor * len(names) / self.n_rows)

    def importance(self, console: Console) -> inspection.Importance | None:
        """The importance of the columns on the sample; None, with a note, if it cannot be computed."""
        try:
            with console.step("explaining") as step:
                found = inspection.importance(
                    self._model,
                    self.sample["X"],
                    self.sample["y"],
                    sample_weight=self.weights,
                    groups=self.sample.get("groups"),
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


def _join(first: Any, second: Any) -> Any:
    """Two parts of a table or of an array below each other."""
    if isinstance(first, pl.DataFrame):
        return pl.concat([first, second])
    if isinstance(first, np.ndarray):
        return np.concatenate((first, second))
    return vstack((first, second), format="csr")


def read_comparison(path: Path, loaded: LoadedModel) -> inspection.Comparison:
    """Read a stored comparison; raise an error if it is of another table, target, measure or auxiliaries."""
    try:
        comparison = inspection.Comparison.from_dict(json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidInputError(
            f"{path} is not a comparison written by 'capo compare --json': {reason}."
        ) from error
    training = loaded.manifest.training
    difference = comparison.difference(
        loaded.model,
        target=str(loaded.manifest.schema.get("target", "")),
        table=str(training.get("table", "")),
        sha256=str(training.get("sha256", "")),
    )
    if comparison.source is None:
        difference = "without a record of its table"
    if difference:
        raise InvalidInputError(
            f"{path} does not belong to this model: it is a comparison {difference}. Run 'capo compare "
            "--json' on the model's training table, with the options of its 'capo fit'."
        )
    return comparison


def has_labels(schema: Schema, batch: Batch) -> bool:
    """Whether a table has the columns of the labels; predictions of new rows can be explained without."""
    if isinstance(batch.rows, SparseRows):
        return True
    names = [getattr(schema, "target", "")]
    if isinstance(schema, LabelMatrixSchema) and not schema.separator:
        names = list(schema.label_names)
    return all(name in batch.frame.columns for name in names)


def explain_columns(
    loaded: LoadedModel,
    batch: Batch,
    X: Any,
    columns: list[str] | None,
    folds: int | None,
    max_rows: int,
    seed: int,
    console: Console,
) -> inspection.Importance:
    """Return the importance of the columns, of the model as it is or trained again on folds."""
    schema, model = loaded.schema, loaded.model
    if folds is not None and isinstance(model.cv, TimeFolds):
        raise InvalidInputError(
            "--folds cannot train a model in the order of time again: leave it out, and explain the model on "
            "rows that are later than its training rows."
        )
    if model.prices_ is not None:
        if folds is not None:
            raise InvalidInputError("--folds cannot train a model with prices again: leave it out.")
        console.note("The model has prices: their means and one threshold are used for all rows.")
    groups = schema.groups(batch) if folds else join_groups([schema.known_groups(batch)], loaded, console)
    with console.step("explaining") as step:
        return inspection.importance(
            model,
            X,
            np.asarray(schema.labels(batch)),
            sample_weight=schema.weights(batch),
            groups=groups,
            cv=folds,
            columns=columns,
            max_rows=max_rows,
            random_state=seed,
            on_progress=step.progress,
        )
