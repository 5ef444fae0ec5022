"""The Typer application: the list of commands, and what they have in common."""
# ruff: noqa: D301

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from . import _interface as interface
from ._help import GroupedHelpCommand, PipedHelpGroup
from ._options import expand_groups

MAX_HELP_WIDTH = 110
#: The commands in the order of the help, each with its line there.
COMMANDS: dict[Callable[..., None], str] = {
    interface.fit: "Train a model and print its out-of-fold scores.",
    interface.predict: "Predict a label and a probability for each row.",
    interface.evaluate: "Evaluate a model on labeled rows.",
    interface.guarantee: "Choose a threshold that keeps a constraint on new rows.",
    interface.adjust: "Adjust a model to another share of positives.",
    interface.refit: "Refit a model on a few rows from a new place.",
    interface.compare: "Compare capo with simpler methods by cross-validation.",
    interface.inspect: "Show what each column of a table is taken for.",
    interface.explain: "Show which columns matter, and why rows are predicted so.",
    interface.report: "Write an HTML report on a model and labeled rows.",
    interface.show: "Describe a model file without loading the model.",
    interface.measures: "List the measures and when to use them.",
    interface.export: "Convert a model to ONNX.",
    interface.demo: "Show a comparison on scikit-learn's digits dataset.",
}

app = typer.Typer(
    name="capo",
    cls=PipedHelpGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": MAX_HELP_WIDTH},
)
for command, short_help in COMMANDS.items():
    app.command(cls=GroupedHelpCommand, short_help=short_help)(expand_groups(command))


def _show_version(requested: bool) -> None:
    if requested:
        from .. import __version__  # noqa: PLC0415 (only here)

        typer.echo(f"capo {__version__}")
        raise typer.Exit


@app.callback()
def capo(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Train classifiers that optimize your evaluation measure.

    \b
    A typical session, from a table to a report:
      capo inspect train.csv
      capo compare train.csv --target churned --measure f1
      capo fit train.csv --target churned --measure f1 -o churn.capo
      capo predict churn.capo new.csv -o predictions.csv
      capo explain churn.capo test.csv
      capo report churn.capo test.csv -o report.html

    \b
    Results go to standard output, messages to standard error.
    Exit codes: 0 success, 1 internal error, 2 bad input or usage, 130 interrupted, 143 terminated.
    """
