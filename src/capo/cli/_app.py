"""The commands and their options; each imports what it needs when it runs."""
# ruff: noqa: PLC0415, D301

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._console import Console

if TYPE_CHECKING:
    from ..io.tables import TableReader


def _measure_names() -> list[str]:
    from ..measures import names

    return names()


#: Folds of cross-fitting inside each of those held out.
INNER_FOLDS = 5

app = typer.Typer(
    name="capo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Table = Annotated[
    str,
    typer.Argument(metavar="TABLE", help="CSV, TSV, Parquet or svmlight, also .gz, .bz2, .xz; - for stdin."),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model that 'capo fit' wrote.")]
Target = Annotated[str | None, typer.Option("--target", "-t", metavar="COLUMN", help="Column of the labels.")]
Measure = Annotated[
    str,
    typer.Option(
        "--measure",
        "-m",
        metavar="MEASURE",
        help="What to optimise: a name ('capo measures' lists them) or a formula such as '10*tp - 2*fp'.",
        autocompletion=_measure_names,
    ),
]
MeasureArg = Annotated[
    list[str] | None,
    typer.Option(
        "--measure-arg",
        metavar="NAME=NUMBER",
        help="A parameter of the measure, such as beta=2; may be repeated.",
    ),
]
Auxiliaries = Annotated[
    str,
    typer.Option(
        "--auxiliaries",
        "-a",
        metavar="NAMES",
        help="The models to adapt: auto, or some of boosting, trees, linear, kernel, svm, latent, lgbm, xgb, "
        "rf, knn, nb, cvm, c45, rbfnet, with commas.",
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive", metavar="LABEL", help="The label of the positive class; the larger one by default."
    ),
]
Weight = Annotated[
    str | None, typer.Option("--weight", metavar="COLUMN", help="Column of the rows' weights.")
]
Drop = Annotated[
    list[str] | None, typer.Option("--drop", metavar="COLUMN", help="A column to leave out; may be repeated.")
]
Ids = Annotated[
    list[str] | None,
    typer.Option(
        "--id", metavar="COLUMN", help="A column to keep beside predictions, not learned; may be repeated."
    ),
]
Categories = Annotated[
    list[str] | None,
    typer.Option(
        "--category", metavar="COLUMN", help="A column of numbers to take as categories; may be repeated."
    ),
]
Delta = Annotated[
    str, typer.Option("--delta", metavar="NAME", help="The delta function: linear, rbf or none.")
]
Folds = Annotated[int, typer.Option("--folds", metavar="NUMBER", min=2, help="Folds of cross-fitting.")]
HeldOut = Annotated[
    int, typer.Option("--folds", metavar="NUMBER", min=2, help="Folds that are held out, one after another.")
]
Jobs = Annotated[
    int,
    typer.Option("--jobs", "-j", metavar="NUMBER", help="Models trained at the same time; -1 for all cores."),
]
Seed = Annotated[
    int, typer.Option("--seed", metavar="NUMBER", min=0, max=2**32 - 1, help="Seed of all that is random.")
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="NAME", help="csv, parquet or svmlight, if it cannot be told from the file."
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter", metavar="LETTER", help="What separates values: , ; | or tab. Told from the header."
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", metavar="NAME", help="Of a text file that is not UTF-8: latin-1, ..."),
]
Trust = Annotated[
    list[str] | None,
    typer.Option("--trust", metavar="TYPE", help="A type that the model file may hold, if you trust it."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No words but errors.")]
Json = Annotated[bool, typer.Option("--json", help="The result as JSON.")]


def _version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        typer.echo(f"capo {__version__}")
        raise typer.Exit


@app.callback()
def capo(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Train the classifier your metric asks for.

    \b
    A first round, from a table to a report:
      capo compare train.csv --target churned --measure f1
      capo fit train.csv --target churned --measure f1 -o churn.capo
      capo predict churn.capo new.csv -o predictions.csv
      capo report churn.capo test.csv -o report.html

    \b
    Results go to the standard output, words to the standard error.
    Exit codes: 0 done, 1 a defect in capo, 2 bad input, 130 interrupted, 143 terminated.
    """


@app.command()
def fit(
    table: Table,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the model goes.")],
    target: Target = None,
    measure: Measure = "f1",
    measure_arg: MeasureArg = None,
    auxiliaries: Auxiliaries = "auto",
    positive: Positive = None,
    weight: Weight = None,
    drop: Drop = None,
    ids: Ids = None,
    category: Categories = None,
    delta: Delta = "linear",
    folds: Folds = 5,
    jobs: Jobs = 1,
    seed: Seed = 0,
    format: Format = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model for a measure, and say what was found.

    \b
    Columns of numbers and of text, missing values included, go in as they are.
      capo fit train.csv --target churned --measure f1 -o churn.capo
      capo fit train.parquet -t y -m fbeta --measure-arg beta=2 --positive yes --id customer -o m.capo
      capo fit train.csv -t y -m recall_at_precision --measure-arg floor=0.9 -a lgbm,rf,linear -o m.capo
      capo fit train.csv -t y -m '10*tp - 2*fp - 5*fn' -o profit.capo
      zcat big.csv.gz | capo fit - -t y -o m.capo
    """
    from ._training import FitOptions, run_fit

    wanted = FitOptions(
        target=target,
        measure=measure,
        measure_args=measure_arg,
        auxiliaries=auxiliaries,
        positive=positive,
        weight=weight,
        drop=drop,
        ids=ids,
        categories=category,
        delta=delta,
        folds=folds,
        jobs=jobs,
        seed=seed,
    )
    run_fit(_table(table, format, delimiter, encoding), wanted, output, Console(quiet, json))


@app.command()
def predict(
    model: Model,
    table: Table,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="A CSV or TSV file; the standard output if not given."
        ),
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="A column to keep; those of the training by default; may be repeated.",
        ),
    ] = None,
    format: Format = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    trust: Trust = None,
    quiet: Quiet = False,
) -> None:
    """Predict the rows of a table: label, score and threshold.

    \b
    The table is read in pieces, whatever its length. Columns may be in any order, further ones are ignored;
    a category that was not there in training counts as missing.
      capo predict churn.capo new.csv -o predictions.csv
      capo predict churn.capo new.csv --id customer | head
    """
    from ._using import run_predict

    run_predict(model, _table(table, format, delimiter, encoding), output, ids, trust, Console(quiet))


@app.command()
def evaluate(
    model: Model,
    table: Table,
    format: Format = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    trust: Trust = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Judge a model on labelled rows: every measure with a bootstrap interval, and the confusion table.

    \b
      capo evaluate churn.capo test.csv
      capo evaluate churn.capo test.csv --json > figures.json
    """
    from ._using import run_evaluate

    run_evaluate(model, _table(table, format, delimiter, encoding), trust, seed, Console(quiet, json))


@app.command()
def compare(
    table: Table,
    target: Target = None,
    measure: Measure = "f1",
    measure_arg: MeasureArg = None,
    auxiliaries: Auxiliaries = "auto",
    positive: Positive = None,
    weight: Weight = None,
    drop: Drop = None,
    category: Categories = None,
    delta: Delta = "linear",
    folds: HeldOut = 5,
    jobs: Jobs = 1,
    seed: Seed = 0,
    format: Format = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Is capo worth it on this table? Cross-validated, against what is simpler.

    \b
    A default learner, the same with its threshold tuned, the stack of all auxiliaries with its threshold
    tuned, and capo, on the same held-out rows.
      capo compare train.csv --target churned --measure f1
      capo compare train.csv -t y -m mcc -a lgbm,rf,linear --json > comparison.json
    """
    from ._training import FitOptions, run_compare

    wanted = FitOptions(
        target=target,
        measure=measure,
        measure_args=measure_arg,
        auxiliaries=auxiliaries,
        positive=positive,
        weight=weight,
        drop=drop,
        ids=None,
        categories=category,
        delta=delta,
        folds=INNER_FOLDS,
        jobs=jobs,
        seed=seed,
    )
    run_compare(_table(table, format, delimiter, encoding), wanted, folds, Console(quiet, json))


@app.command()
def report(
    model: Model,
    table: Table,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the page goes.")],
    comparison: Annotated[
        Path | None,
        typer.Option(
            "--comparison", metavar="FILE", help="What 'capo compare --json' wrote, to be shown too."
        ),
    ] = None,
    format: Format = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    trust: Trust = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Write one HTML page on a model and labelled rows; it opens offline in any browser.

    \b
      capo report churn.capo test.csv -o report.html
      capo report churn.capo test.csv --comparison comparison.json -o report.html
    """
    from ._using import run_report

    given = _table(table, format, delimiter, encoding)
    run_report(model, given, output, comparison, trust, seed, Console(quiet))


@app.command()
def show(model: Model, json: Json = False) -> None:
    """Say what a model file holds, without opening the model.

    \b
      capo show churn.capo
    """
    from ._telling import run_show

    run_show(model, Console(as_json=json))


@app.command()
def measures(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One measure; all of them if not given.")
    ] = None,
    json: Json = False,
) -> None:
    """List the measures: formula, parameters, when to use them.

    \b
      capo measures
      capo measures fbeta
    """
    from ._telling import run_measures

    run_measures(name, Console(as_json=json))


@app.command()
def export(
    model: Model,
    output: Annotated[Path, typer.Argument(metavar="FILE", help="The ONNX file to write.")],
    trust: Trust = None,
    quiet: Quiet = False,
) -> None:
    """Write a model as ONNX, for onnxruntime and others.

    \b
      capo export churn.capo churn.onnx
    """
    from ._using import run_export

    run_export(model, output, trust, Console(quiet))


@app.command()
def demo() -> None:
    """See what adapting to the measure gains, on data that comes with scikit-learn."""
    from ._demo import main

    main()


@app.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
def paper(arguments: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Repeat the paper's study, every table and figure; from a checkout of the repository.

    \b
      capo paper --data FOLDER --quick
    """
    from ._telling import run_paper

    run_paper(arguments or [])


def _table(path: str, format: str | None, delimiter: str | None, encoding: str | None) -> TableReader:
    from ..io.tables import open_table

    return open_table(path, format=format, delimiter=delimiter, encoding=encoding)
