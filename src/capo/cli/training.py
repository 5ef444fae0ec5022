"""``capo fit`` and ``capo refit``: train a model and write it to a file."""
# Commands import what they need when they run, so that the help is fast.
# ruff: noqa: PLC0415, D301

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from . import options
from .console import Console, check_model_output


@options.command("Train a model and print its out-of-fold scores.")
def fit(
    *,
    table: options.TableOptions,
    output: Path,
    training: options.TrainingOptions,
    folds: Annotated[
        int | None,
        options.model_option(
            "--folds NUMBER",
            "Folds for cross-fitting the auxiliaries and choosing C.",
            min=2,
            show_default="5",
        ),
    ] = None,
    cluster: str | None = None,
    partition_rows: int | None = None,
    out_of_core: str = "auto",
    sample_size: int = 100_000,
    console: Console,
) -> None:
    """Train a model for a measure and print its out-of-fold scores.

    \b
    Columns may hold numbers or text and may have missing values. The target has two classes, more
    classes, or several labels per row; 'capo measures' lists the measures of each.
      capo fit train.csv --target churned --measure f1 -o churn.capo
      capo fit train.parquet -t y -m fbeta --measure-arg beta=2 --positive yes --id customer -o m.capo
      capo fit train.csv -t y -m recall_at_precision --measure-arg floor=0.9 -a lgbm,rf,linear -o m.capo
      capo fit train.csv -t y -m '10*tp - 2*fp - 5*fn' -o profit.capo
      capo fit train.csv -t species -m f1_macro -o species.capo
      capo fit train.csv -t sports,politics,arts -m f1_samples -o topics.capo
      capo fit train.csv -t tags --label-separator ';' -m f1_micro -o tags.capo
      capo fit train.csv -t fraud --cost-fn amount --cost-fp 5 -o fraud.capo
      zcat big.csv.gz | capo fit - -t y -o m.capo
      capo fit 'part-*.parquet' -t y --cluster tcp://scheduler:8786 -o m.capo
      capo fit larger-than-memory.csv -t y --out-of-core yes -o m.capo
    """
    from . import inputs, rows, training_data

    console.strict = training.strict
    reader = table.open()
    plan = training_data.TrainingPlan(training, folds)
    check_model_output(output, *reader.paths, *plan.files)
    if training_data.needs_parts(reader, plan, cluster, out_of_core, sample_size, console):
        model, n_rows, summary, data = training_data.fit_in_parts(
            reader, plan, cluster, partition_rows, sample_size, console
        )
    else:
        data = plan.read(reader, console)
        training_data.note_few_groups(data, folds, console)
        with console.step("training"):
            groups = {} if data.groups is None else {"groups": data.groups}
            data.model.fit(data.X, data.y, sample_weight=data.sample_weight, **data.prices, **groups)
        model, n_rows = data.model.set_params(verbose=0), len(data.y)
        summary = model.summary()
    record = inputs.training_record(reader, n_rows, data.X)
    if data.prices:
        record["prices"] = data.price_columns.sources
    rows.write_trained_model(model, summary, output, data.schema.to_dict(), record, console)


@options.command("Refit a model on a few rows from a new place.")
def refit(
    *,
    model_file: options.ModelOptions,
    table: options.TableOptions,
    output: Path,
    jobs: int = 1,
    seed: int = 0,
    console: Console,
) -> None:
    """Refit a model on 50 to some thousand labeled rows from where it is to be used.

    \b
    MODEL was trained elsewhere: in another country, shop, year or machine. TABLE has labeled rows from the
    new place, with the same columns, which MODEL has not seen. The result combines MODEL, as it is, with
    models trained on the new rows; calibration and threshold are those of the new place. If there are no
    labels, and only the share of positives has changed, use 'capo adjust'.
      capo refit north.capo south.csv -o south.capo
      capo evaluate south.capo south_test.csv
    """
    from ..learning.folds import DEFAULT_N_FOLDS, TimeFolds
    from . import inputs, rows

    reader = table.open()
    check_model_output(output, *reader.paths, model_file.path)
    loaded = model_file.load(console)
    with console.step(f"reading {reader.name}"):
        batch, schema = reader.read(), loaded.schema
        X, y, weight = schema.features(batch), schema.labels(batch), schema.weights(batch)
        groups = schema.groups(batch)
        params: dict[str, Any] = {} if groups is None else {"groups": groups}
        record = inputs.training_record(reader, len(y), X)
        record[inputs.EARLIER_TABLES] = inputs.training_checksums(loaded.manifest)
        if loaded.model.prices_ is not None:
            columns = rows.price_columns(loaded)
            params |= columns.read(batch, schema)
            record["prices"] = columns.sources
    old = loaded.model.set_params(n_jobs=jobs or None, random_state=seed, verbose=2)
    if isinstance(old.cv, TimeFolds):
        console.note("The model was trained with --time: the folds of the refit are random.")
        old.set_params(cv=DEFAULT_N_FOLDS)
    with console.step("training"):
        model = old.refit_on(X, y, weight, **params).set_params(verbose=0)
    if old.guarantee_ is not None and model.guarantee_ is None:
        console.note(
            "The guarantee of the old model does not hold for the refitted one: use 'capo guarantee' with "
            "other labeled rows."
        )
    rows.write_trained_model(model, model.summary(), output, loaded.manifest.schema, record, console)
