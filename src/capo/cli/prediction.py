"""``capo predict``, ``adjust`` and ``guarantee``: a model on new rows."""
# Commands import what they need when they run, so that the help is fast.
# ruff: noqa: PLC0415, D301

from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from ..exceptions import InvalidInputError
from . import options
from .console import check_file_ending, check_model_output, check_output, count, is_stdout, open_output
from .options import Text, Texts, column_option, model_option, output_option


@options.command
def predict(
    model: options.Model,
    table: options.Table,
    console: options.Output,
    output: Annotated[
        Path | None,
        output_option("--output -o FILE", "CSV, TSV, JSON lines (also .gz) or Parquet file; default: CSV."),
    ] = None,
    ids: Annotated[Texts, column_option("--id COLUMN", "Column to copy; by default as in training.")] = None,
    excel_safe: Annotated[
        bool, output_option("--excel-safe", "Put ' before texts that a spreadsheet runs as formulas.")
    ] = False,
    cluster: options.Cluster = None,
    partition_rows: options.PartitionRows = None,
    trust: options.Trust = None,
) -> None:
    """Predict a label and a probability for each row of a table.

    \b
    The table is read in batches, so that it can be of any length. Columns may be in any order, and
    additional ones are ignored. A category that did not occur in training counts as a missing value.
    Messages report how the rows differ from the training rows: the estimated share of positives, new
    categories and new missing values; --json prints these differences, and needs --output.
    With more than two classes there is one probability for each class, with several labels per row one for
    each label.
    A model with prices of each row reads their columns here too: the predictions contain the threshold of
    each row, and the expected saving of predicting it positive. Without these columns, one threshold is used
    for all rows, provided that the columns are not features (--drop in training).
      capo predict churn.capo new.csv -o predictions.csv
      capo predict churn.capo new.csv --id customer | head
      capo predict churn.capo 'new-*.parquet' --cluster local:4 -o predictions.parquet
    """
    from ..io.table_schema import require_column
    from . import inputs, rows

    reader = table.open()
    content = "predictions are written to .csv, .tsv or .jsonl files, also with .gz, or to .parquet files"
    check_file_ending(output, rows.PREDICTION_ENDINGS, content)
    check_output(output, *reader.paths, model)
    loaded = inputs.load_model(model, trust, console)
    if ids is not None:
        loaded = loaded._replace(schema=loaded.schema.with_ids(ids))
    predict_batch = partial(rows.predict_batch, loaded)
    if console.as_json and is_stdout(output):
        raise InvalidInputError(
            "--json prints the drift report, so that the predictions need a file: name one with --output."
        )
    drift = rows.Drift(loaded)
    parts = () if cluster is None else inputs.divide(reader, partition_rows, console)
    with (
        console.step("predicting") as step,
        open_output(output) as stream,
        rows.open_writer(stream, output, excel_safe=excel_safe) as write,
    ):
        batches = reader.batches(inputs.BATCH_SIZE)
        first = next(batches)
        for name in ids or ():
            require_column(name, first.frame.columns, "identifier")
        for note in rows.missing_price_notes(loaded, first):
            console.note(note)
        if cluster is None:
            found = rows.map_ahead(predict_batch, chain([first], batches))
        else:
            found = rows.predict_parts(predict_batch, parts, cluster, console)
        with closing(found):
            for predicted in found:
                drift.observe(predicted)
                write(predicted.frame)
                step.progress(count(drift.n_rows, "row"))
    if console.quiet and not console.as_json:
        return
    with console.step("comparing with the training rows"):
        drift.estimate_prevalence()
    for line in drift.lines():
        console.log(f"new rows: {line}")
    if console.as_json:
        console.result("", drift.to_dict())


@dataclass(frozen=True)
class PopulationTable(options.Table):
    """A table with rows of another population; optional."""

    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="Rows of the new population.", show_default=False)
    ] = ""


@options.command
def adjust(
    model: options.Model,
    output: options.ModelOutput,
    table: PopulationTable,
    console: options.Output,
    prevalence: Annotated[
        float | None, model_option("--prevalence SHARE", "Share of positives in the new rows, if known.")
    ] = None,
    seed: options.Seed = 0,
    trust: options.Trust = None,
) -> None:
    """Adjust a model to another share of positives.

    \b
    The share of positives is estimated from unlabeled rows, with an interval; probabilities and threshold
    are adjusted to it. If more than the share of positives has changed, the model is not adjusted.
      capo adjust churn.capo new.csv -o new.capo
      capo adjust churn.capo --prevalence 0.02 -o rare.capo
    """
    from .inputs import load_model, save_model

    reader, X = table.open() if table.table else None, None
    if reader is None and prevalence is None:
        raise InvalidInputError("name a table with rows of the new population, or pass --prevalence.")
    check_model_output(output, *(reader.paths if reader else ()), model)
    loaded = load_model(model, trust, console)
    if reader is not None:
        with console.step(f"reading {reader.name}"):
            X = replace(loaded.schema, segments="").features(reader.read())
    with console.step("adjusting"):
        adjusted = loaded.model.for_population(X, prevalence=prevalence, random_state=seed)
    save_model(adjusted, output, loaded.schema, loaded.manifest.training, console)
    before, after, population = loaded.model.threshold_, adjusted.threshold_, adjusted.population_
    assert population is not None
    threshold = f"positive above a probability of {after:.4g}, before {before:.4g}"
    console.result(
        f"population   {population}\nthreshold    {threshold}",
        {"model": str(output), **population.to_dict(), "threshold": after, "threshold_before": before},
    )


@options.command
def guarantee(
    model: options.Model,
    table: options.Table,
    console: options.Output,
    output: Annotated[Path | None, output_option("--output -o FILE", "Model file to write.")] = None,
    promise: Annotated[
        Texts,
        model_option("--promise LIMIT", "Such as 'precision >= 0.9' or 'fpr <= 0.01'; repeatable."),
    ] = None,
    abstain_label: Annotated[
        Text,
        model_option(
            "--abstain-label LABEL", "Label predicted between the two thresholds; 'ask' by default."
        ),
    ] = None,
    confidence: Annotated[
        float | None,
        model_option("--confidence NUMBER", "Probability that all promises hold; 0.95 by default."),
    ] = None,
    objective: Annotated[
        Text, model_option("--objective MEASURE", "Measure to maximize while all promises hold.")
    ] = None,
    segments: Annotated[
        Text, column_option("--segments COLUMN", "Column of segments; the promises are kept in each segment.")
    ] = None,
    seed: options.Seed = 0,
    trust: options.Trust = None,
) -> None:
    """Choose thresholds that keep promises on new rows.

    \b
    A promise, about precision, fdr, npv, recall, fnr, specificity, fpr or positive_rate, holds with a
    stated confidence; by default it is the constraint of the model's measure. TABLE has labeled
    calibration rows that the model was not trained on. If no threshold passes the exact test, no row is
    predicted positive, and the message says how many rows would be needed. Promises about both labels
    have a threshold each, and 'ask' is predicted between them.
      capo guarantee alarm.capo calibration.csv --promise 'precision >= 0.9' -o promised.capo
      capo guarantee alarm.capo calibration.csv --promise 'precision >= 0.9' --promise 'npv >= 0.99'
      capo guarantee alarm.capo calibration.csv --promise 'precision >= 0.8' --objective f1 --json
      capo guarantee alarm.capo calibration.csv --promise 'fpr <= 0.05' --segments region -o promised.capo
    """
    import numpy as np

    from ..decisions import Constraint, needs_abstention
    from . import inputs

    reader = table.open()
    check_model_output(output, *reader.paths, model)
    loaded = inputs.load_model(model, trust, console)
    with console.step(f"reading {reader.name}"):
        batch, schema = reader.read(), replace(loaded.schema, segments=segments or "")
        X, y, weight = schema.features(batch), schema.labels(batch), schema.weights(batch)
        groups = schema.groups(batch)
    if segments is not None and segments == schema.target:
        raise InvalidInputError(f"--segments must not be the target: got {segments!r}.")
    if weight is not None and np.ptp(weight) > 0:
        raise InvalidInputError(
            "the model was trained with sample weights, and the exact test counts rows: drop the weights, or "
            "use calibration rows that were drawn with them."
        )
    promises = [Constraint.parse(each) for each in promise or ()]
    if abstain_label is None and needs_abstention(promises):
        abstain_label = "ask"
    limits: dict[str, Any] = {"confidence": confidence, "objective": objective, "groups": groups}
    limits["segments"] = segments
    with console.step("testing"):
        promised = loaded.model.guarantee(
            X, y, *promises, abstain_label=abstain_label, **limits, random_state=seed
        )
    found = promised.guarantee_
    assert found is not None
    console.result(
        f"{reader.name}: {found}\nthreshold: {promised.summary().notes['threshold']}",
        {"table": reader.name, "threshold": promised.threshold_, **found.to_dict()},
    )
    if output is not None:
        training = {**loaded.manifest.training, inputs.CALIBRATION_TABLE: inputs.table_sha256(reader)}
        inputs.save_model(promised, output, loaded.schema, training, console)
