"""``capo evaluate``, ``compare``, ``explain`` and ``report``: how good a model is, and why."""
# Commands import what they need when they run, so that the help is fast.
# ruff: noqa: PLC0415, D301

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from ..exceptions import InvalidInputError
from . import options
from .console import Console, check_file_ending, check_output, count, to_json, write_output

#: Cross-fitting folds of each model of a comparison.
N_CROSS_FIT_FOLDS = 5


@options.command()
def evaluate(
    model: options.Model,
    table: options.Table,
    cluster: options.Cluster = None,
    partition_rows: options.PartitionRows = None,
    all_measures: Annotated[
        bool, options.output_option("--all", "List all measures, not only that of the model and its rates.")
    ] = False,
    seed: options.Seed = 0,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    trust: options.Trust = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Evaluate a model on labeled rows.

    \b
    Its measure and its rates, each with a 95% interval, and the confusion matrix. A promise of the model
    is tested. With more than two classes or several labels per row, precision, recall and F1 of each one
    follow.
      capo evaluate churn.capo test.csv
      capo evaluate churn.capo test.csv --all
      capo evaluate churn.capo test.csv --json > evaluation.json
      capo evaluate churn.capo 'test-*.parquet' --cluster tcp://scheduler:8786
    """
    from ..io.formats import open_table
    from .inputs import load_model, training_table_notes
    from .rows import evaluate_on_cluster, evaluate_rows, predict_labeled_table

    console = Console(as_json, quiet)
    reader = open_table(table, format, delimiter, encoding, sheet)
    check_output(None, *reader.paths, model)
    loaded = load_model(model, trust, console)
    if cluster is None:
        rows = predict_labeled_table(loaded, reader, console)
        evaluation = evaluate_rows(loaded.model, rows, seed, console, all_measures=all_measures)
        n_rows = len(rows.y)
    else:
        n_rows, evaluation = evaluate_on_cluster(
            loaded, reader, cluster, partition_rows, seed, console, all_measures=all_measures
        )
    training_table_notes(loaded.manifest, reader, console)
    console.result(
        f"{reader.name}: {count(n_rows, 'row')}\n\n{evaluation}",
        {"table": reader.name, "rows": n_rows, **evaluation.to_dict()},
    )


@options.command()
def compare(
    table: options.Table,
    targets: options.Targets = None,
    label_separator: options.LabelSeparator = None,
    positive: options.Positive = None,
    drop_unlabeled: options.DropUnlabeled = False,
    weight: options.Weight = None,
    group: options.Group = None,
    time: options.Time = None,
    drop: options.Drop = None,
    ids: options.Ids = None,
    categories: options.Categories = None,
    types: options.Types = None,
    strict: options.Strict = False,
    measure: options.Measure = None,
    measure_args: options.MeasureArgs = None,
    cost_fp: options.CostFP = None,
    cost_fn: options.CostFN = None,
    benefit_tp: options.BenefitTP = None,
    auxiliaries: options.Auxiliaries = None,
    scores: options.Scores = None,
    delta: options.Delta = "linear",
    jobs: options.Jobs = 1,
    seed: options.Seed = 0,
    folds: Annotated[int, options.model_option("--folds NUMBER", "Folds; each is held out once.", min=2)] = 5,
    output: Annotated[
        Path | None, options.output_option("--output -o FILE", "JSON file, for 'capo report --comparison'.")
    ] = None,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare capo with simpler methods by cross-validation.

    \b
    The simpler methods are a default learner, the same learner with a tuned threshold, and the stack of
    all auxiliaries with a tuned threshold; each class or label has its own threshold if there are more
    than two. All are evaluated on the same held-out rows. With prices of each row, the values are the mean
    money per held-out row.
      capo compare train.csv --target churned --measure f1
      capo compare train.csv -t y -m mcc -a lgbm,rf,linear -o comparison.json
      capo compare train.csv -t fraud --cost-fn amount --cost-fp 5
    """
    from .. import inspection
    from ..io.formats import open_table
    from ..learning.folds import TimeFolds
    from . import training_data
    from .inputs import table_sha256

    console = Console(as_json, quiet, strict)
    reader = open_table(table, format, delimiter, encoding, sheet)
    check_file_ending(output, [".json"], "a comparison is written to a .json file")
    prices = training_data.given(cost_fp=cost_fp, cost_fn=cost_fn, benefit_tp=benefit_tp)
    plan = training_data.TrainingPlan(
        training_data.make_roles(
            targets,
            types,
            weight=weight,
            group=group,
            time=time,
            drop=drop,
            ids=ids,
            categories=categories,
            scores=scores,
        ),
        training_data.RequestedMeasure.parse(measure, measure_args, "cost" if prices else "f1"),
        training_data.make_model(auxiliaries, delta, N_CROSS_FIT_FOLDS, time, jobs, seed),
        prices,
        label_separator or "",
        positive,
        drop_unlabeled,
    )
    check_output(output, *reader.paths, *plan.measure.files, types)
    data = plan.read(reader, console)
    with console.step("comparing", n_fits=folds) as step:
        comparison = inspection.compare(
            data.model,
            data.X,
            data.y,
            sample_weight=data.sample_weight,
            groups=data.groups,
            folds=TimeFolds(folds) if time else folds,
            random_state=seed,
            prices=data.prices or None,
            on_progress=step.end_fit,
        )
    # By these 'capo report' recognizes the comparison.
    source = {"target": plan.target, "table": reader.name, "sha256": table_sha256(reader)}
    comparison = replace(comparison, source={**(comparison.source or {}), **source})
    size = f"{count(len(data.y), 'row')}, {comparison.folds} folds"
    heading = f"{reader.name}: {size}; default learner: {comparison.default_learner}"
    if output is not None:
        write_output(to_json(comparison.to_dict()).encode(), output, console)
    console.result(f"{heading}\n\n{comparison}", comparison.to_dict())


@options.command()
def explain(
    model: options.Model,
    table: options.Table,
    rows: Annotated[
        list[int] | None,
        options.model_option("--row NUMBER", "Explain this row, counted from 1; repeatable."),
    ] = None,
    columns: Annotated[
        options.Texts, options.column_option("--column COLUMN", "Explain this column only; repeatable.")
    ] = None,
    folds: Annotated[
        int | None, options.model_option("--folds NUMBER", "Explain models trained on folds of TABLE.", min=2)
    ] = None,
    max_rows: Annotated[
        int, options.model_option("--max-rows NUMBER", "Rows that are used, drawn at random.", min=2)
    ] = 2000,
    output: Annotated[
        Path | None, options.output_option("--output -o FILE", "JSON file to write, besides the text.")
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
    """Show which columns matter, and why rows are predicted so.

    \b
    The importance of a column is what the measure loses if the column's values are shuffled among the rows,
    with a 95% interval. Columns that are near-copies of each other are shuffled together. The effects of the
    strongest columns on the probability follow. Use rows that the model was not trained on, or --folds.
      capo explain churn.capo test.csv
      capo explain churn.capo train.csv --folds 5
    --row shows the change in log-odds by each column of a row; the table needs no labels for that.
      capo explain churn.capo new.csv --row 17 --row 230
      capo explain churn.capo test.csv --json | jq '.importance[0]'
    """
    from ..io.formats import open_table
    from .inputs import load_model, training_table_notes
    from .rows import explain_columns, explain_predictions, has_labels, read_features

    console = Console(as_json, quiet)
    reader = open_table(table, format, delimiter, encoding, sheet)
    check_file_ending(output, [".json"], "explanations are written to a JSON file, whose name ends in .json")
    check_output(output, *reader.paths, model)
    loaded = load_model(model, trust, console)
    with console.step(f"reading {reader.name}"):
        batch = reader.read()
        X = read_features(loaded, batch)
    positions = [row - 1 for row in rows or ()]
    for row in rows or ():
        if not 1 <= row <= len(batch):
            raise InvalidInputError(
                f"--row counts from 1, and the table has {count(len(batch), 'row')}: got {row}."
            )
    is_labeled = has_labels(loaded.schema, batch)
    if not is_labeled and not rows:
        raise InvalidInputError(
            f"{reader.name} has no labels, and the importance of columns needs them: add the target column, "
            "or name rows to explain with --row."
        )
    explained = explain_predictions(loaded, batch, X, positions, console, seed, columns) if rows else []
    found = None
    if is_labeled:
        if folds is None:
            training_table_notes(loaded.manifest, reader, console)
        found = explain_columns(loaded, batch, X, console, seed, columns, folds, max_rows)
    numbered = list(zip(rows or (), explained, strict=True))
    data = {"table": reader.name, **({} if found is None else found.to_dict())}
    data["rows"] = [{**each.to_dict(), "row": row} for row, each in numbered]
    if output is not None:
        write_output(to_json(data).encode(), output, console)
    texts = [] if found is None else [f"{reader.name}: {found}"]
    console.result("\n\n".join([*texts, *(f"row {row:,}: {each}" for row, each in numbered)]), data)


@options.command()
def report(
    model: options.Model,
    table: options.Table,
    output: Annotated[Path, options.output_option("--output -o FILE", "HTML file to write.")],
    comparison: Annotated[
        Path | None, options.other_option("--comparison FILE", "Output of 'capo compare' to include.")
    ] = None,
    seed: options.Seed = 0,
    explain: Annotated[
        bool,
        options.output_option("--explain/--no-explain", "Show which columns matter, which takes longer."),
    ] = True,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    trust: options.Trust = None,
    quiet: options.Quiet = False,
) -> None:
    """Write an HTML report on a model and labeled rows.

    \b
    The page is one file that opens offline. It has a slider for the threshold, all measures,
    calibration, the columns that matter and their effects, the worst errors, and the training. For a
    model with prices of each row it shows the money that is saved in place of the slider.
      capo report churn.capo test.csv -o report.html
      capo report churn.capo test.csv --comparison comparison.json -o report.html
    """
    from ..io.formats import open_table
    from ..report import render_report
    from . import inputs
    from . import rows as table_rows

    console = Console(quiet=quiet)
    reader = open_table(table, format, delimiter, encoding, sheet)
    check_output(output, *reader.paths, model, comparison)
    check_file_ending(output, [".html", ".htm"], "the report is an HTML file, whose name ends in .html")
    loaded = inputs.load_model(model, trust, console)
    stored_comparison = None if comparison is None else table_rows.read_comparison(comparison, loaded)
    notes = inputs.training_table_notes(loaded.manifest, reader, console)
    with console.step("predicting"):
        batch = reader.read()
        rows = table_rows.predict_labeled(loaded, batch, needs_prices=False)
    notes += table_rows.missing_price_notes(loaded, batch)
    rows = rows._replace(groups=inputs.join_groups([rows.groups], loaded, console))
    evaluation = table_rows.evaluate_rows(loaded.model, rows, seed, console)
    importance = None
    if explain:
        try:
            importance = table_rows.explain_columns(loaded, batch, rows.X, console, seed)
        except InvalidInputError as error:
            console.note(f"The report has no importance of columns: {error}")
    if importance is not None and rows.prices is not None:
        notes.append("The importance of columns is computed with the mean prices and one threshold.")
    with console.step("drawing"):
        html = render_report(
            loaded.model,
            rows.y,
            rows.outputs,
            prices=rows.prices,
            sample_weight=rows.weight,
            table_name=reader.name,
            comparison=stored_comparison,
            evaluation=evaluation,
            importance=importance,
            errors=table_rows.find_worst_errors(loaded, rows, batch),
            notes=notes,
        )
    write_output(html.encode(errors="backslashreplace"), output, console)
