"""The rows of a table with a model's outputs: predicted and written, or labeled, evaluated and explained."""

from __future__ import annotations

import gzip
import json
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, NamedTuple, TypeVar

import numpy as np
import polars as pl
from joblib import cpu_count
from numpy.typing import NDArray
from scipy.sparse import vstack
from scipy.special import expit
from threadpoolctl import threadpool_limits

from .. import decisions, inspection
from .._compat import FloatArray
from ..decisions import PrevalenceEstimate, RowPrices
from ..estimators import CAPOClassifier, class_scores, current_shift
from ..exceptions import InvalidInputError, ModelFileError
from ..io.formats import TableReader
from ..io.parts import TablePart
from ..io.source import Batch, SparseRows
from ..io.table_schema import (
    LabelMatrixSchema,
    PriceColumns,
    Schema,
    TableSchema,
    count_unexpected,
    require_column,
)
from ..learning.folds import TimeFolds
from ..tables.targets import positive_mask
from . import inputs
from .console import Console, Step
from .inputs import LoadedModel

Item = TypeVar("Item")
Result = TypeVar("Result")

#: The column of what calling a row positive is worth, if rows have prices.
EXPECTED_SAVING = "expected_saving"
#: Comes before the name of a class or label in the columns of the predictions.
PROBABILITY = "probability_"
#: The column of the predicted label, and that of all labels of a row.
LABEL, LABELS = "label", "labels"
#: The separator of values for each ending of a text file; None for JSON lines.
SEPARATORS = {".csv": ",", ".txt": ",", ".tsv": "\t", ".tab": "\t", ".jsonl": None, ".ndjson": None}
PARQUET = (".parquet", ".pq")
PREDICTION_ENDINGS = (*SEPARATORS, *(f"{ending}.gz" for ending in SEPARATORS), *PARQUET)
#: Scores that are kept; of more rows, every second, fourth, ... is kept.
MAX_KEPT_SCORES = 100_000
#: Columns that a line about differences names.
MAX_NAMED_COLUMNS = 5
#: Columns that an error message lists at most.
MAX_LISTED_COLUMNS = 10
#: Parts under way for each thread of the workers, so that none of them waits for the next part.
N_PARTS_AHEAD = 2
#: Rows of the sample of a report, and rows of each class that it has besides if there are as many.
MAX_ROWS, MIN_CLASS_ROWS = 2000, 200
#: Errors that a report lists.
N_ERRORS = 10
#: What the page of a report says about the importance of columns, if rows have prices.
IMPORTANCE_NOTE = (
    "The importance of columns is computed with one threshold for all rows and the mean prices of training."
)


def is_priced(model: CAPOClassifier) -> bool:
    """Whether each row has its own threshold; a guarantee is about one threshold for all."""
    return model.target_type_ == "binary" and bool(
        model.prices_ is not None and model.prices_.per_row and model.guarantee_ is None
    )


def write_trained_model(
    model: CAPOClassifier,
    summary: inspection.Summary,
    output: Path,
    schema: dict[str, Any],
    training: dict[str, Any],
    console: Console,
) -> None:
    """Write a model with its schema and the record of its training, and show its summary."""
    inputs.save_model(model, output, schema, training, console)
    lines = [{"name": line.name, "value": line.value, "std": line.std} for line in summary.lines]
    data = {
        "model": str(output),
        "measure": model.measure_.label,
        "classes": model.classes_.tolist(),
        "value": model.score_,
        "std": model.score_std_,
        "gap": model.gap_,
        "out_of_fold": lines,
        "seconds": model.timings_,
    }
    console.result(summary, {**data, **_fit_results(model)})


def _fit_results(model: CAPOClassifier) -> dict[str, Any]:
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


def predict_batch(
    loaded: LoadedModel, batch: Batch, features: Any
) -> tuple[list[pl.Series], FloatArray | None]:
    """The columns of the predictions, and decisions to compare with those in training, if there are any."""
    model = loaded.model
    if model.target_type_ == "binary":
        log_odds = model.log_odds(features)
        return _binary_series(loaded, batch, log_odds), model.decision_.margins(log_odds)
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


def _binary_series(loaded: LoadedModel, batch: Batch, log_odds: FloatArray) -> list[pl.Series]:
    model, prices = loaded.model, None
    probability, threshold = np.asarray(expit(log_odds)), np.full(len(log_odds), model.threshold_)
    saving: list[pl.Series] = []
    if is_priced(model):
        prices = read_prices(loaded, batch)
        saving = [pl.Series(EXPECTED_SAVING, [None] * len(log_odds), dtype=pl.Float64)]
    if prices is not None:
        threshold = prices.thresholds
        saving = [pl.Series(EXPECTED_SAVING, prices.expected_savings(probability))]
    decision = prices or model.decision_
    answers = decision.answers(model.label_pair)
    if answers.dtype == object:  # a column has values of one type
        answers = answers.astype(str)
    labels = answers[decision.decide(log_odds).astype(int)]
    columns = {LABEL: labels, "score": probability, "threshold": threshold}
    return [*(pl.Series(name, values) for name, values in columns.items()), *saving]


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


class PredictedRows(NamedTuple):
    """The predictions for some rows, and how these differ from the training rows.

    Attributes
    ----------
    frame : polars.DataFrame
        The predictions.
    unseen, missing : Counter of str
        For each column, the rows with a new category, and those that miss a value that no training row did.
    decision : ndarray, optional
        The scores of a model of two classes.
    """

    frame: pl.DataFrame
    unseen: Counter[str]
    missing: Counter[str]
    decision: FloatArray | None


def check_prediction(loaded: LoadedModel, batch: Batch, ids: Sequence[str], console: Console) -> None:
    """Check the identifiers, and show what a user should know about the predictions."""
    for name in ids:
        require_column(name, batch.frame.columns, "identifier")
    for note in missing_price_notes(loaded, batch):
        console.note(note)


def predict_rows(loaded: LoadedModel, schema: Schema, batch: Batch) -> PredictedRows:
    """Predict a batch."""
    features = schema.features(batch)
    predictions, scores = predict_batch(loaded, batch, features)
    names, ids = [each.name for each in predictions], schema.id_columns(batch)
    for name in ids.columns:
        if name in names:
            raise InvalidInputError(
                f"the identifier {name!r} has the name of a column of the predictions "
                f"({', '.join(names[:MAX_LISTED_COLUMNS])}): rename it in the table."
            )
    unseen, missing = Counter[str](), Counter[str]()
    if isinstance(features, pl.DataFrame):
        unseen, missing = count_unexpected(features, loaded.manifest.training.get("columns"))
    return PredictedRows(pl.DataFrame([*ids, *predictions]), unseen, missing, scores)


def map_ahead(
    function: Callable[[Item], Result], items: Iterable[Item], n_threads: int | None = None
) -> Generator[Result]:
    """Yield the result for each item in their order, computed by as many threads as there are cores.

    At most one item more than there are threads is taken ahead, so that memory stays bounded. The error of an
    item is raised in its place.
    """
    n_threads = n_threads or cpu_count()
    if n_threads == 1:
        yield from map(function, items)
        return
    # Loops and products inside a thread start no threads of their own: the limit of OpenMP is that of each
    # thread, the limit of BLAS that of all.
    pool = ThreadPoolExecutor(n_threads, initializer=threadpool_limits, initargs=(1, "openmp"))
    pending: deque[Future[Result]] = deque()
    with threadpool_limits(1, "blas"):
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) > n_threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def predict_parts(
    function: Callable[[Batch], PredictedRows],
    parts: Sequence[TablePart],
    cluster: str,
    step: Step,
    console: Console,
) -> Generator[PredictedRows]:
    """The predictions of the workers of a cluster, in the order of the rows.

    A part is started when the results of earlier ones have been used, so that only a few are in memory.
    """
    from dask.delayed import delayed  # noqa: PLC0415 (an optional package)

    n_rows, pending, waiting = 0, deque[Any](), deque(parts)
    with inputs.connect(cluster, console) as client:
        # A task that returns it, unlike scattered data, is repeated if its worker is lost.
        shared = client.compute(delayed(function, traverse=False))
        n_ahead = N_PARTS_AHEAD * max(sum(client.nthreads().values()), 1)
        while pending or waiting:
            while waiting and len(pending) < n_ahead:
                pending.append(client.submit(_predict_part, waiting.popleft(), shared, pure=False))
            for predicted in pending.popleft().result():
                n_rows += predicted.frame.height
                yield predicted
            step.progress(f"{n_rows:,} rows")


def _predict_part(part: TablePart, function: Callable[[Batch], PredictedRows]) -> list[PredictedRows]:
    """The predictions for a part, in batches; none if it has no rows."""
    return inputs.apply_to_part(part, lambda rows: list(map(function, rows.split(inputs.BATCH_SIZE))), [])


class Drift:
    """How new rows differ from the training rows, collected batch by batch in constant memory.

    Parameters
    ----------
    loaded : LoadedModel
        The model.
    """

    def __init__(self, loaded: LoadedModel) -> None:
        self.model = loaded.model
        self.unseen: Counter[str] = Counter()
        self.missing: Counter[str] = Counter()
        self.n_rows = 0
        self.prevalence: PrevalenceEstimate | None = None
        self.is_label_shift = True
        population = self.model.population_
        is_adjusted = population is not None and population.log_odds_shift != 0
        #: The share of positives that the model was adjusted to.
        self.adjusted_to = population.prevalence if population is not None and is_adjusted else None
        self._scores: list[FloatArray] = []
        self._step = 1

    def observe(self, rows: PredictedRows) -> None:
        """Take the next rows into account."""
        self.unseen.update(rows.unseen)
        self.missing.update(rows.missing)
        first = -self.n_rows % self._step
        self.n_rows += rows.frame.height
        if rows.decision is None:
            return
        self._scores.append(rows.decision[first :: self._step])
        if sum(map(len, self._scores)) > MAX_KEPT_SCORES:
            self._scores = [np.concatenate(self._scores)[::2]]
            self._step *= 2

    def estimate_prevalence(self) -> None:
        """Estimate the share of positives, and whether more than it has changed, for two classes."""
        if self._scores:
            log_odds = np.concatenate(self._scores) + self.model.decision_.log_odds
            trained = class_scores(self.model)
            found = decisions.estimate_prevalence(log_odds - current_shift(self.model), trained)
            max_distance = decisions.MAX_MIXTURE_DISTANCE + decisions.sampling_error(found.n_rows)
            self.is_label_shift = found.distance <= max_distance
            self.prevalence = found

    def lines(self) -> list[str]:
        """One line for the prevalence, and one for each difference."""
        lines = [] if self.prevalence is None else [self._describe_prevalence(self.prevalence)]
        if +self.unseen:
            lines.append(f"categories that were not in training: {_list_counts(self.unseen)}")
        if +self.missing:
            lines.append(f"missing values in columns that had none: {_list_counts(self.missing)}")
        return lines

    def _describe_prevalence(self, found: PrevalenceEstimate) -> str:
        guarantee = self.model.guarantee_
        is_at_risk = guarantee is not None and guarantee.is_certified
        if not self.is_label_shift:
            risk = ", so that the guarantee may not hold" if is_at_risk else ""
            return (
                f"the scores differ from those in training by more than the share of positives (distance "
                f"{found.distance:.3f}){risk}: label some of these rows, and see 'capo evaluate'"
            )
        advice = ""
        if self._is_changed(found) and is_at_risk:
            advice = "; the guarantee may not hold: 'capo guarantee' with labeled rows like these renews it"
        elif self._is_changed(found) and guarantee is None:
            advice = "; 'capo adjust' adapts the model to it"
        adjusted = "" if self.adjusted_to is None else f", {self.adjusted_to:.2%} in the model's population"
        return (
            f"{found.value:.2%} positive as estimated (95% interval {found.low:.2%} to {found.high:.2%}), "
            f"{found.trained:.2%} in training{adjusted}{advice}"
        )

    def _is_changed(self, found: PrevalenceEstimate) -> bool:
        """Whether the interval excludes the share of positives that the model is for."""
        share = found.trained if self.adjusted_to is None else self.adjusted_to
        return not found.low <= share <= found.high

    def to_dict(self) -> dict[str, Any]:
        """The differences as plain values."""
        data: dict[str, Any] = {"rows": self.n_rows}
        if (found := self.prevalence) is not None:
            data |= {
                "prevalence": {"value": found.value, "low": found.low, "high": found.high},
                "trained_prevalence": found.trained,
                "adjusted_prevalence": self.adjusted_to,
                "prevalence_changed": self._is_changed(found),
                "mixture_distance": found.distance,
                "is_label_shift": self.is_label_shift,
            }
        return {**data, "unseen_categories": +self.unseen, "newly_missing": +self.missing}


def _list_counts(counts: Counter[str]) -> str:
    named = (+counts).most_common()
    shown = ", ".join(f"{name!r} ({count:,} rows)" for name, count in named[:MAX_NAMED_COLUMNS])
    more = len(named) - MAX_NAMED_COLUMNS
    return f"{shown} and {more} more" if more > 0 else shown


@contextmanager
def open_writer(file: BinaryIO, output: Path | None) -> Iterator[Callable[[pl.DataFrame], None]]:
    """A function that writes batches of predictions, in the format that the name of the output asks for."""
    name = output.name.lower() if output else ""
    if name.endswith(PARQUET):
        # The types of a Parquet file must be known before its first row.
        with TemporaryDirectory(prefix="capo-") as folder:
            parts: list[Path] = []

            def keep(batch: pl.DataFrame) -> None:
                parts.append(Path(folder, f"{len(parts)}.arrow"))
                batch.write_ipc(parts[-1])

            yield keep
            frames = [pl.scan_ipc(path) for path in parts]
            pl.concat(frames, how="vertical_relaxed").sink_parquet(file)
        return
    separator = SEPARATORS.get(Path(name.removesuffix(".gz")).suffix, ",")
    is_first = True

    def write(batch: pl.DataFrame) -> None:
        nonlocal is_first
        if separator is None:
            text = batch.write_ndjson()
        else:
            text = batch.write_csv(separator=separator, include_header=is_first)
        is_first = False
        stream.write(text.encode())

    compressed = gzip.GzipFile(fileobj=file, mode="wb", filename="") if name.endswith(".gz") else None
    stream: Any = compressed or file
    with compressed or nullcontext():
        yield write


class LabeledOutputs(NamedTuple):
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
        for batch in inputs.read_batches(table, step):
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
        columns = ([getattr(each.prices, name) for each in parts] for name in decisions.PRICE_NAMES)
        prices = RowPrices(*(np.concatenate(each) for each in columns))
    return LabeledOutputs(
        np.concatenate([each.y for each in parts]),
        np.concatenate([each.outputs for each in parts]),
        None if parts[0].weight is None else np.concatenate([each.weight for each in parts]),
        inputs.join_groups([each.groups for each in parts], loaded, console),
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
    parts = inputs.divide(table, partition_rows, console)
    with inputs.connect(address, console) as client, console.step(f"evaluating on {address}"):
        X, y = inputs.read_parts(parts, loaded.schema)
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
    groups = (
        schema.groups(batch) if folds else inputs.join_groups([schema.known_groups(batch)], loaded, console)
    )
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
