"""``capo fit`` and ``capo refit``: train a model and write it to a file."""
# Commands import what they need when they run, so that the help is fast.
# ruff: noqa: PLC0415, D301

from dataclasses import replace
from typing import Annotated, Any

from . import options
from .console import check_model_output, count
from .options import model_option, reading_option


@options.command
def fit(
    table: options.Table,
    output: options.ModelOutput,
    training: options.Training,
    console: options.Output,
    folds: Annotated[
        int | None, model_option("--folds NUMBER", "Number of cross-fitting folds; 5 by default.", min=2)
    ] = None,
    cluster: options.Cluster = None,
    partition_rows: options.PartitionRows = None,
    out_of_core: Annotated[
        str,
        reading_option(
            "--out-of-core WHEN", "Whether to read the table in parts: yes, no, or auto (if memory is short)."
        ),
    ] = "auto",
    sample_size: Annotated[
        int,
        reading_option(
            "--sample-size NUMBER",
            "Number of rows to train the auxiliaries on if the table is read in parts.",
            min=20,
        ),
    ] = 100_000,
) -> None:
    """Train a model for a measure and print its out-of-fold scores.

    \b
    Columns may hold numbers or text and may have missing values. The target has two classes, more
    classes, or several labels per row; 'capo measures' lists the measures of each. A table that
    does not fit in memory is read in parts (--out-of-core), and the auxiliaries are trained on a sample.
      capo fit train.csv --target churned --measure f1 -o churn.capo
      capo fit train.parquet -t y -m fbeta --measure-arg beta=2 --positive yes --id customer -o m.capo
      capo fit train.csv -t y -m recall_at_precision --measure-arg floor=0.9 -a lgbm,rf,linear -o m.capo
      capo fit train.csv -t y -m '10*tp - 2*fp - 5*fn' -o profit.capo
      capo fit train.csv -t species -m f1_macro -o species.capo
      capo fit train.csv -t sports,politics,arts -m f1_samples -o topics.capo
      capo fit train.csv -t tags --label-separator ';' -m f1_micro -o tags.capo
      capo fit train.csv -t fraud --cost-fn amount --cost-fp 5 -o fraud.capo
      capo fit train.csv -t y --scores vendor_score,llm_answer -o m.capo
      zcat big.csv.gz | capo fit - -t y -o m.capo
      capo fit 'part-*.parquet' -t y --cluster tcp://scheduler:8786 -o m.capo
      capo fit larger-than-memory.csv -t y --out-of-core yes -o m.capo
    """
    import numpy as np

    from ..learning.folds import DEFAULT_N_FOLDS
    from . import inputs, rows, training_data

    console.strict = training.strict
    reader = table.open()
    plan = training_data.TrainingPlan(training, folds)
    check_model_output(output, *reader.paths, *plan.measure.files, training.types)
    if training_data.needs_parts(reader, plan, cluster, out_of_core, sample_size, console):
        model, n_rows, summary, data = training_data.fit_in_parts(
            reader, plan, cluster, partition_rows, sample_size, console
        )
    else:
        data = plan.read(reader, console)
        if data.groups is not None and data.target_type != "multilabel" and not training.time:
            n_groups = min(len(np.unique(data.groups[data.y == label])) for label in np.unique(data.y))
            n_folds = folds or DEFAULT_N_FOLDS
            if n_groups < n_folds:
                console.note(
                    f"One class is in {count(n_groups, 'group')} only: {n_groups} folds are used, not "
                    f"{n_folds}."
                )
        with console.step("training"):
            groups = {} if data.groups is None else {"groups": data.groups}
            data.model.fit(data.X, data.y, sample_weight=data.sample_weight, **data.prices, **groups)
        model, n_rows = data.model.set_params(verbose=0), len(data.y)
        summary = model.summary()
    record = inputs.training_record(reader, n_rows, data.X)
    if data.prices:
        record["prices"] = data.price_sources
    rows.write_trained_model(model, summary, output, data.schema, record, console)


@options.command
def refit(
    model: options.Model,
    table: options.Table,
    output: options.ModelOutput,
    console: options.Output,
    jobs: options.Jobs = 1,
    seed: options.Seed = 0,
    trust: options.Trust = None,
) -> None:
    """Refit a model on a few labeled rows from a new place.

    \b
    MODEL was trained elsewhere: in another country, shop, year or machine. TABLE has 50 to some
    thousand labeled rows from the new place, with the same columns, which MODEL has not seen. The
    result combines MODEL, as it is, with models trained on the new rows; calibration and threshold are
    those of the new place. If there are no labels, and only the share of positives has changed, use
    'capo adjust'.
      capo refit north.capo south.csv -o south.capo
      capo evaluate south.capo south_test.csv
    """
    from ..io.table_schema import read_prices
    from ..learning.folds import DEFAULT_N_FOLDS, TimeFolds
    from . import inputs, rows

    reader = table.open()
    check_model_output(output, *reader.paths, model)
    loaded = inputs.load_model(model, trust, console)
    with console.step(f"reading {reader.name}"):
        batch, schema = reader.read(), replace(loaded.schema, segments="")
        X, y, weight = schema.features(batch), schema.labels(batch), schema.weights(batch)
        groups = schema.groups(batch)
        params: dict[str, Any] = {} if groups is None else {"groups": groups}
        record = inputs.training_record(reader, len(y), X)
        record[inputs.EARLIER_TABLES] = inputs.training_checksums(loaded.manifest)
        if loaded.model.prices_ is not None:
            record["prices"] = rows.price_sources(loaded)
            params |= read_prices(record["prices"], batch, schema.table)
    old = loaded.model.set_params(n_jobs=jobs or None, random_state=seed, verbose=2)
    if isinstance(old.cv, TimeFolds):
        console.note("The model was trained with --time: the folds of the refit are random.")
        old.set_params(cv=DEFAULT_N_FOLDS)
    with console.step("training"):
        new = old.refit_on(X, y, weight, **params).set_params(verbose=0)
    rows.write_trained_model(new, new.summary(), output, loaded.schema, record, console)
