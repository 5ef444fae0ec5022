"""``capo predict``, ``adjust`` and ``guarantee``: a model on new rows."""
# Commands import what they need when they run, so that the help is fast.
# ruff: noqa: PLC0415, D301

from __future__ import annotations

from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from ..exceptions import InvalidInputError
from . import options
from .console import Console, check_file_ending, check_model_output, check_output, is_stdout, open_output


@options.command()
def predict(
    model: options.Model,
    table: options.Table,
    output: Annotated[
        Path | None,
        options.output_option(
            "--output -o FILE", "CSV, TSV, JSON lines (also .gz) or Parquet file; default: CSV."
        ),
    ] = None,
    ids: Annotated[
        options.Texts, options.column_option("--id COLUMN", "Column to copy; by default those of training.")
    ] = None,
    excel_safe: Annotated[
        bool, options.output_option("--excel-safe", "Put ' before texts that a spreadsheet runs as formulas.")
    ] = False,
    cluster: options.Cluster = None,
    partition_rows: options.PartitionRows = None,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    trust: options.Trust = None,
    as_json: Annotated[
        bool, options.output_option("--json", "Print how the rows differ from training; needs --output.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Predict a label and a probability for each row of a table.

    \b
    The table is read in batches, so that it can be of any length. Columns may be in any order, and
    additional ones are ignored. A category that did not occur in training counts as a missing value.
    Messages tell how the rows differ from the training rows: the estimated share of positives, categories
    and missing values that were not in training.
    With more than two classes there is one probability for each class, with several labels per row one for
    each label.
    A model with prices of each row reads their columns here too: the predictions have the threshold of each
    row, and what calling it positive is worth in expectation. Without the columns, one threshold is used,
    if they were dropped in training and are no features.
      capo predict churn.capo new.csv -o predictions.csv
      capo predict churn.capo new.csv --id customer | head
      capo predict churn.capo 'new-*.parquet' --cluster local:4 -o predictions.parquet
    """
    from ..io.formats import open_table
    from ..io.table_schema import require_column
    from . import inputs, rows

    console = Console(as_json, quiet)
    reader = open_table(table, format, delimiter, encoding, sheet)
    content = "predictions are written to .csv, .tsv or .jsonl files, also with .gz, or to .parquet files"
    check_file_ending(output, rows.PREDICTION_ENDINGS, content)
    check_output(output, *reader.paths, model)
    loaded = inputs.load_model(model, trust, console)
    schema = loaded.schema if ids is None else loaded.schema.with_ids(ids)
    predict_batch = partial(rows.predict_batch, loaded, schema)
    if as_json and is_stdout(output):
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
        batches = inputs.read_batches(reader, step)
        first = next(batches)
        for name in ids or ():
            require_column(name, first.frame.columns, "identifier")
        for note in rows.missing_price_notes(loaded, first):
            console.note(note)
        if cluster is None:
            found = rows.map_ahead(predict_batch, chain([first], batches))
        else:
            found = rows.predict_parts(predict_batch, parts, cluster, step, console)
        with closing(found):
            for predicted in found:
                drift.observe(predicted)
                write(predicted.frame)
    if quiet and not as_json:
        return
    with console.step("comparing with the training rows"):
        drift.estimate_prevalence()
    for line in drift.lines():
        console.log(f"new rows: {line}")
    if as_json:
        console.result("", drift.to_dict())


@options.command()
def adjust(
    model: options.Model,
    output: options.ModelOutput,
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="Rows of the new population.", show_default=False)
    ] = "",
    prevalence: Annotated[
        float | None, options.model_option("--prevalence SHARE", "Share of positives there, if it is known.")
    ] = None,
    seed: options.Seed = 0,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    trust: options.Trust = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Adjust a model to another share of positives.

    \b
    The share of positives is estimated from unlabeled rows, with an interval; probabilities and threshold
    are adjusted to it. If more than the share of positives has changed, the model is not adjusted.
      capo adjust churn.capo new.csv -o new.capo
      capo adjust churn.capo --prevalence 0.02 -o rare.capo
    """
    from ..io.formats import open_table
    from .inputs import load_model, save_model

    console = Console(as_json, quiet)
    reader, X = None, None
    if table:
        reader = open_table(table, format, delimiter, encoding, sheet)
    elif prevalence is None:
        raise InvalidInputError("name a table with rows of the new population, or pass --prevalence.")
    check_model_output(output, *([] if reader is None else reader.paths), model)
    loaded = load_model(model, trust, console)
    if reader is not None:
        with console.step(f"reading {reader.name}"):
            X = loaded.schema.features(reader.read())
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


@options.command()
def guarantee(
    model: options.Model,
    table: options.Table,
    output: Annotated[Path | None, options.output_option("--output -o FILE", "Model file to write.")] = None,
    promise: Annotated[
        options.Texts,
        options.model_option("--promise LIMIT", "Such as 'precision >= 0.9' or 'fpr <= 0.01'; repeatable."),
    ] = None,
    abstain_label: Annotated[
        options.Text,
        options.model_option("--abstain-label LABEL", "Prediction between two thresholds; 'ask' by default."),
    ] = None,
    confidence: Annotated[
        float | None,
        options.model_option("--confidence NUMBER", "Probability that all promises hold; 0.95 by default."),
    ] = None,
    objective: Annotated[
        options.Text, options.model_option("--objective MEASURE", "To maximize among thresholds that pass.")
    ] = None,
    segments: Annotated[
        options.Text, options.column_option("--segments COLUMN", "Keep the promises for each of its values.")
    ] = None,
    seed: options.Seed = 0,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    trust: options.Trust = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
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
    from ..io.formats import open_table
    from . import inputs, rows

    console = Console(as_json, quiet)
    reader = open_table(table, format, delimiter, encoding, sheet)
    check_model_output(output, *reader.paths, model)
    loaded = inputs.load_model(model, trust, console)
    with console.step(f"reading {reader.name}"):
        batch, schema = reader.read(), loaded.schema
        X, y, weight = (
            rows.read_features(loaded, batch, segments),
            schema.labels(batch),
            schema.weights(batch),
        )
        groups = schema.groups(batch)
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
