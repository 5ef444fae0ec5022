"""The rows of a table with a model's outputs: predicted and written, or labeled, evaluated and explained."""

import gzip
import json
import re
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
from scipy.special import expit
from threadpoolctl import threadpool_limits

from .. import decisions, inspection
from .._compat import FloatArray, NDArray
from ..decisions import PrevalenceEstimate, RowPrices
from ..estimators import CAPOClassifier, class_scores, current_shift
from ..exceptions import InvalidInputError, ModelFileError
from ..io import table_schema
from ..io.formats import TableReader
from ..io.parts import TablePart
from ..io.source import Batch
from ..io.table_schema import PriceSources, TableSchema
from ..learning.folds import TimeFolds
from ..tables.checks import segment_names
from ..tables.kinds import BooleanKind
from ..tables.numbers import NumberKind
from ..tables.targets import positive_mask
from . import inputs
from .console import Console, count
from .inputs import LoadedModel

Item = TypeVar("Item")
Result = TypeVar("Result")

#: The separator of values for each ending of a text file; None for JSON lines.
SEPARATORS = {".csv": ",", ".txt": ",", ".tsv": "\t", ".tab": "\t", ".jsonl": None, ".ndjson": None}
PARQUET = (".parquet", ".pq")
#: First characters of texts that a spreadsheet runs as formulas, and texts that are numbers nevertheless.
FORMULA, NUMBER = r"^[=+\-@\t\r]", r"^[+-]?[0-9]+([.,][0-9]+)?$"
PREDICTION_ENDINGS = (*SEPARATORS, *(f"{ending}.gz" for ending in SEPARATORS), *PARQUET)
#: Largest number of scores to keep; beyond it, only every second, fourth, ... is kept.
MAX_KEPT_SCORES = 100_000
#: Largest number of columns named in a line about differences.
MAX_NAMED_COLUMNS = 5
#: Columns that an error message lists at most.
MAX_LISTED_COLUMNS = 10
#: Parts under way for each thread of the workers, so that none of them waits for the next part.
N_PARTS_AHEAD = 2
#: Characters of a value of a file that are shown.
MAX_VALUE_LENGTH = 40


def is_priced(model: CAPOClassifier) -> bool:
    """Whether the prices of the rows decide, which they do not if there is a guarantee."""
    terms = model.prices_
    is_decided = terms is not None and (terms.per_row or terms.asks)
    return model.target_type_ == "binary" and bool(is_decided and model.guarantee_ is None)


#: Attributes of models that ``--json`` reports about a fit, if present.
FIT_RESULTS = (
    *("classes_", "gap_", "pos_label_", "n_positive_", "threshold_", "C_", "class_counts_", "uses_rule_"),
    *("log_loss_", "calibration_error_", "thresholds_", "auxiliary_weights_", "bound_", "timings_"),
)


def write_trained_model(
    model: CAPOClassifier,
    summary: inspection.Summary,
    output: Path,
    schema: TableSchema,
    training: dict[str, Any],
    console: Console,
) -> None:
    """Write a model with its schema and the record of its training, and show its summary."""
    inputs.save_model(model, output, schema, training, console)
    data = {
        "model": str(output),
        "measure": model.measure_.label,
        "rows": len(model.oof_labels_ if model.target_type_ == "multiclass" else model.oof_decision_),
        "value": model.score_,
        "std": model.score_std_,
        "out_of_fold": [{"name": each.name, "value": each.value, "std": each.std} for each in summary.lines],
        **{name.rstrip("_"): getattr(model, name) for name in FIT_RESULTS if hasattr(model, name)},
    }
    if model.target_type_ != "binary":
        data["expected_value"] = model.value_
    if model.target_type_ == "multiclass":
        data["gain_matrix"] = model.rule_.gain
    if model.target_type_ == "multilabel":
        data["label_rows"] = [each.n_positive for each in model.label_models_]
    if model.savings_ is not None:
        data["savings"] = model.savings_.to_dict()
    console.result(summary, data)


def price_sources(loaded: LoadedModel) -> PriceSources:
    """The columns of prices, or the numbers, that the model was trained with."""
    sources = loaded.manifest.training.get("prices")
    if not isinstance(sources, dict) or not all(
        name in decisions.ROW_PRICE_NAMES and isinstance(source, str | float)
        for name, source in sources.items()
    ):
        raise ModelFileError("the model file does not contain the names of its price columns.")
    return sources


def read_prices(loaded: LoadedModel, batch: Batch, *, is_needed: bool = False) -> RowPrices | None:
    """The prices of a batch; None if they are not needed and the table does not have all of them."""
    sources = price_sources(loaded)
    if not is_needed and table_schema.missing_price_columns(sources, batch):
        return None
    prices = table_schema.read_prices(sources, batch, loaded.schema.table)
    return loaded.model.row_prices(len(batch), **prices)


def missing_price_notes(loaded: LoadedModel, batch: Batch) -> list[str]:
    """Log a note if a table lacks the prices that a model was trained with."""
    if not is_priced(loaded.model):
        return []
    missing = table_schema.missing_price_columns(price_sources(loaded), batch)
    if not missing or missing[0] in loaded.schema.table.names:  # a table without a feature is refused
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
    log_odds : ndarray, optional
        The log-odds of the positive class, for a model of two classes.
    """

    frame: pl.DataFrame
    unseen: Counter[str]
    missing: Counter[str]
    log_odds: FloatArray | None


def predict_batch(loaded: LoadedModel, batch: Batch) -> PredictedRows:
    """Predict the rows of a batch."""
    model, features, log_odds = loaded.model, loaded.schema.features(batch), None
    if model.target_type_ == "binary":
        log_odds = model.log_odds(features)
        columns = _binary_columns(loaded, batch, features, log_odds)
    else:
        columns = _class_columns(loaded, features)
    ids = loaded.schema.id_columns(batch)
    for name in ids.columns:
        if name in columns:
            raise InvalidInputError(
                f"the identifier {name!r} has the name of a column of the predictions "
                f"({', '.join(list(columns)[:MAX_LISTED_COLUMNS])}): rename it in the table."
            )
    unseen, missing = Counter[str](), Counter[str]()
    if isinstance(features, pl.DataFrame):
        unseen, missing = table_schema.count_unexpected(features, loaded.manifest.training.get("columns"))
    return PredictedRows(pl.DataFrame({**ids.to_dict(), **columns}), unseen, missing, log_odds)


def _binary_columns(loaded: LoadedModel, batch: Batch, X: Any, log_odds: FloatArray) -> dict[str, Any]:
    """The label, the probability and the threshold of each row, and the value of calling it positive."""
    model, probability = loaded.model, expit(log_odds)
    prices = read_prices(loaded, batch) if is_priced(model) else None
    decision = model.row_decision(X) if prices is None else prices
    answers = decision.answers(model.label_pair)
    if answers.dtype == object:  # a column has values of one type
        answers = answers.astype(str)
    columns = {
        "label": answers[decision.decide(log_odds).astype(int)],
        "score": probability,
        "threshold": np.broadcast_to(expit(decision.log_odds), len(log_odds)),
    }
    if prices is not None:
        columns["expected_saving"] = prices.expected_savings(probability)
    elif is_priced(model):
        columns["expected_saving"] = pl.Series([None] * len(log_odds), dtype=pl.Float64)
    return columns


def _class_columns(loaded: LoadedModel, features: Any) -> dict[str, Any]:
    """The class or the labels of each row, and the probability of each class or label."""
    model, schema = loaded.model, loaded.schema
    probabilities, names = model.predict_proba(features), [str(name) for name in model.classes_.tolist()]
    columns = {f"probability_{name}": probabilities[:, k] for k, name in enumerate(names)}
    if model.target_type_ == "multiclass":
        return {"label": model.classes_[model.decision_.decide(probabilities)], **columns}
    predicted = model.predict(features)
    if schema.separator:
        texts = [schema.separator.join(names[k] for k in np.flatnonzero(row)) for row in predicted]
        return {"labels": texts, **columns}
    return {**{name: predicted[:, k] for k, name in enumerate(names)}, **columns}


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
    console: Console,
) -> Generator[PredictedRows]:
    """The predictions of the workers of a cluster, in the order of the rows.

    A part is started when the results of earlier ones have been used, so that only a few are in memory.
    """
    from dask.delayed import delayed  # noqa: PLC0415 (an optional package)

    pending, waiting = deque[Any](), deque(parts)
    with inputs.connect(cluster, console) as client:
        # A task that returns it, unlike scattered data, is repeated if its worker is lost.
        shared = client.compute(delayed(function, traverse=False))
        n_ahead = N_PARTS_AHEAD * max(sum(client.nthreads().values()), 1)
        while pending or waiting:
            while waiting and len(pending) < n_ahead:
                pending.append(client.submit(_predict_part, waiting.popleft(), shared, pure=False))
            yield from pending.popleft().result()


def _predict_part(part: TablePart, function: Callable[[Batch], PredictedRows]) -> list[PredictedRows]:
    """The predictions for a part, in batches; none if it has no rows."""
    return inputs.apply_to_part(part, lambda rows: list(map(function, rows.split(inputs.BATCH_SIZE))), [])


class Drift:
    """Differences between new rows and the training rows, collected by batch in constant memory.

    Parameters
    ----------
    loaded : LoadedModel
        The model.
    """

    def __init__(self, loaded: LoadedModel) -> None:
        self.model = loaded.model
        self.unseen, self.missing = Counter[str](), Counter[str]()
        self.n_rows = 0
        self.prevalence: PrevalenceEstimate | None = None
        self.is_label_shift = True
        population = self.model.population_
        #: The share of positives that the model was adjusted to.
        self.adjusted_to = population.prevalence if population and population.log_odds_shift else None
        self._scores: list[FloatArray] = []
        self._step = 1

    def observe(self, rows: PredictedRows) -> None:
        """Take the next rows into account."""
        self.unseen.update(rows.unseen)
        self.missing.update(rows.missing)
        first = -self.n_rows % self._step
        self.n_rows += rows.frame.height
        if rows.log_odds is None:
            return
        self._scores.append(rows.log_odds[first :: self._step])
        if sum(map(len, self._scores)) > MAX_KEPT_SCORES:
            self._scores = [np.concatenate(self._scores)[::2]]
            self._step *= 2

    def estimate_prevalence(self) -> None:
        """Estimate the share of positives, and whether more than it has changed, for two classes."""
        if self._scores:
            log_odds = np.concatenate(self._scores) - current_shift(self.model)
            self.prevalence = found = decisions.estimate_prevalence(log_odds, class_scores(self.model))
            max_distance = decisions.MAX_MIXTURE_DISTANCE + decisions.sampling_error(found.n_rows)
            self.is_label_shift = found.distance <= max_distance

    @property
    def is_prevalence_changed(self) -> bool:
        """Whether the interval excludes the share of positives of the model's population."""
        found = self.prevalence
        if found is None:
            return False
        return (
            not found.low <= (found.trained if self.adjusted_to is None else self.adjusted_to) <= found.high
        )

    def lines(self) -> list[str]:
        """One line for the prevalence, and one for each difference."""
        lines = [] if self.prevalence is None else [self._describe_prevalence(self.prevalence)]
        if +self.unseen:
            lines.append(f"categories that were not in training: {_list_counts(self.unseen)}")
        if +self.missing:
            lines.append(f"missing values in columns that had none: {_list_counts(self.missing)}")
        return lines

    def _describe_prevalence(self, found: PrevalenceEstimate) -> str:
        guarantee, advice = self.model.guarantee_, ""
        is_at_risk = guarantee is not None and guarantee.is_certified
        if not self.is_label_shift:
            risk = ", so that the guarantee may not hold" if is_at_risk else ""
            return (
                f"the scores differ from those in training by more than the share of positives (distance "
                f"{found.distance:.3f}){risk}: label some of these rows, and see 'capo evaluate'"
            )
        if self.is_prevalence_changed and is_at_risk:
            advice = "; the guarantee may not hold: 'capo guarantee' with labeled rows like these renews it"
        elif self.is_prevalence_changed and guarantee is None:
            advice = "; 'capo adjust' adapts the model to it"
        adjusted = "" if self.adjusted_to is None else f", {self.adjusted_to:.2%} in the model's population"
        return (
            f"{found.value:.2%} positive as estimated (95% interval {found.low:.2%} to {found.high:.2%}), "
            f"{found.trained:.2%} in training{adjusted}{advice}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The differences as plain values."""
        data: dict[str, Any] = {"rows": self.n_rows}
        if (found := self.prevalence) is not None:
            data |= {
                "prevalence": {"value": found.value, "low": found.low, "high": found.high},
                "trained_prevalence": found.trained,
                "adjusted_prevalence": self.adjusted_to,
                "prevalence_changed": self.is_prevalence_changed,
                "mixture_distance": found.distance,
                "is_label_shift": self.is_label_shift,
            }
        return {**data, "unseen_categories": +self.unseen, "newly_missing": +self.missing}


def _list_counts(counts: Counter[str]) -> str:
    named = (+counts).most_common()
    shown = ", ".join(f"{name!r} ({count(n_rows, 'row')})" for name, n_rows in named[:MAX_NAMED_COLUMNS])
    more = len(named) - MAX_NAMED_COLUMNS
    return f"{shown} and {more} more" if more > 0 else shown


def quote_formulas(batch: pl.DataFrame) -> pl.DataFrame:
    """Put ' before names and texts that a spreadsheet would run as formulas; numbers are not changed."""
    names = batch.columns
    texts = {name: pl.col(name) for name, dtype in batch.schema.items() if dtype == pl.String}
    is_formula = {
        name: each.str.contains(FORMULA) & ~each.str.contains(NUMBER) for name, each in texts.items()
    }
    quoted = batch.with_columns(
        pl.when(is_formula[name]).then("'" + texts[name]).otherwise(texts[name]).alias(name) for name in texts
    )
    return quoted.rename({name: f"'{name}" for name in names if re.match(FORMULA, name)})


@contextmanager
def open_writer(
    file: BinaryIO, output: Path | None, *, excel_safe: bool = False
) -> Iterator[Callable[[pl.DataFrame], None]]:
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
            shown = quote_formulas(batch) if excel_safe else batch
            text = shown.write_csv(separator=separator, include_header=is_first)
        is_first = False
        stream.write(text.encode())

    compressed = gzip.GzipFile(fileobj=file, mode="wb", filename="") if name.endswith(".gz") else None
    stream: Any = compressed or file
    with compressed or nullcontext():
        yield write


class LabeledOutputs(NamedTuple):
    """Labels of rows and the outputs of a model for them; for two classes, which rows are positive."""

    X: Any
    y: NDArray[Any]
    outputs: FloatArray
    weight: FloatArray | None
    groups: NDArray[Any] | None
    prices: RowPrices | None
    segments: NDArray[Any] | None


def predict_labeled(loaded: LoadedModel, batch: Batch, *, needs_prices: bool = True) -> LabeledOutputs:
    """Apply a model to labeled rows."""
    schema, model, prices = loaded.schema, loaded.model, None
    X, y = schema.features(batch), np.asarray(schema.labels(batch))
    if model.target_type_ == "binary":
        y = positive_mask(y, model.label_pair)
    if is_priced(model):
        prices = read_prices(loaded, batch, is_needed=needs_prices)
    methods = {"multiclass": "predict_proba", "multilabel": "decision_function"}
    outputs = getattr(model, methods.get(model.target_type_, "positive_decision"))(X)
    segments = segment_names(X, schema.segments) if schema.segments else None
    weight, groups = schema.weights(batch), schema.groups(batch, is_needed=False)
    return LabeledOutputs(X, y, outputs, weight, groups, prices, segments)


def predict_labeled_table(loaded: LoadedModel, table: TableReader, console: Console) -> LabeledOutputs:
    """Apply a model to a labeled table, batch by batch; the features are not kept."""
    with console.step("predicting") as step:
        parts = []
        for batch in table.batches(inputs.BATCH_SIZE):
            parts.append(predict_labeled(loaded, batch)._replace(X=None))
            step.progress(count(batch.first_row + len(batch) - 1, "row"))
    groups = inputs.join_groups([each.groups for each in parts], loaded, console)
    joined, prices = parts[0]._replace(groups=groups), parts[0].prices
    names = [name for name in ("y", "outputs", "weight", "segments") if getattr(joined, name) is not None]
    arrays: dict[str, Any] = {name: np.concatenate([getattr(each, name) for each in parts]) for name in names}
    if prices is not None:
        names = list(decisions.ROW_PRICE_NAMES)
        columns = {name: np.concatenate([getattr(each.prices, name) for each in parts]) for name in names}
        arrays["prices"] = replace(prices, **columns)
    return joined._replace(**arrays)


def evaluate_rows(
    model: CAPOClassifier, rows: LabeledOutputs, seed: int, console: Console, *, all_measures: bool = True
) -> inspection.Evaluation:
    """Evaluate the outputs of a model, with intervals by the bootstrap."""
    with console.step("bootstrap") as step:
        return inspection.evaluate(
            model,
            rows.y,
            rows.outputs,
            prices=rows.prices,
            segments=rows.segments,
            sample_weight=rows.weight,
            groups=rows.groups,
            all_measures=all_measures,
            random_state=seed,
            on_progress=step.progress,
        )


def find_worst_errors(loaded: LoadedModel, rows: LabeledOutputs, batch: Batch) -> list[Any]:
    """The worst errors on some rows, with the values of the file; none unless there are two classes."""
    model, losses = loaded.model, None
    if model.target_type_ != "binary":
        return []
    if rows.prices is not None:
        predicted = rows.prices.decide(rows.outputs + model.decision_.log_odds)
        losses = rows.prices.losses(rows.y, predicted)
    found = inspection.worst_errors(
        model, rows.X, model.label_pair[rows.y.astype(int)], decision=rows.outputs, losses=losses
    )
    return [replace(each, values=as_in_file(each.values, loaded, batch, each.row - 1)) for each in found]


def as_in_file(values: dict[str, str], loaded: LoadedModel, batch: Batch, position: int) -> dict[str, str]:
    """The values of a row as written in the file, such as ``No`` instead of 0."""
    columns = loaded.schema.table.take(values).columns
    written = [column.key for column in columns if column.kind != NumberKind()]
    raw = batch.frame.select(written).row(position, named=True) if written else {}
    texts = {name: str(each)[:MAX_VALUE_LENGTH] for name, each in raw.items() if each is not None}
    return {**values, **texts}


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


def explain_predictions(
    loaded: LoadedModel,
    batch: Batch,
    X: Any,
    rows: list[int],
    console: Console,
    seed: int,
    columns: list[str] | None,
) -> list[inspection.RowExplanation]:
    """The contribution of each column to the log-odds of rows, counted from 1, with the file's values."""
    model, positions = loaded.model, [row - 1 for row in rows]
    if is_priced(model):
        console.note(
            f"The model has prices: rows are explained at one threshold, {model.threshold_:.4g}; "
            "'capo predict' uses the threshold of each row."
        )
    with console.step("explaining rows") as step:
        found = inspection.explain_rows(
            model, X[positions], X, columns=columns, random_state=seed, on_progress=step.progress
        )
    for position, row in zip(positions, found, strict=True):
        for number, each in enumerate(row.contributions):
            values = as_in_file(dict(zip(each.columns, each.values, strict=True)), loaded, batch, position)
            row.contributions[number] = replace(each, values=tuple(values.values()))
    return found


def explain_columns(
    loaded: LoadedModel,
    batch: Batch,
    X: Any,
    console: Console,
    seed: int,
    columns: list[str] | None = None,
    folds: int | None = None,
    max_rows: int = 2000,
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
    groups = schema.groups(batch, is_needed=folds is not None)
    if folds is None:
        groups = inputs.join_groups([groups], loaded, console)
    with console.step("explaining") as step:
        found = inspection.importance(
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
    for effect in found.effects:
        name = effect.columns[0]
        if any(isinstance(column.kind, BooleanKind) for column in schema.table.take([name]).columns):
            spelled = pl.DataFrame({"code": X[name], "text": batch.frame[name].cast(pl.String)}).drop_nulls()
            texts = {f"{code:g}": text for code, text in spelled.unique("code", keep="first").iter_rows()}
            effect.points[:] = [replace(each, values=texts[each.values]) for each in effect.points]
    return found
