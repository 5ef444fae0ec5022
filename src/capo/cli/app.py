"""Plain-text help with the options in groups."""
# ruff: noqa: D301

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from . import interface
from .console import discard_standard_output
from .options import PANELS, expand_groups

ARGUMENTS, OTHER_OPTIONS = "Arguments", "Options"


class GroupedHelpCommand(TyperCommand):
    """A command whose help lists its options by their `rich_help_panel`, without loading rich."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        # Typer puts required arguments in braces, which usually mean a choice.
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in (ARGUMENTS, *PANELS, OTHER_OPTIONS)}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if parameter.param_type_name == "argument":
                name = getattr(parameter, "metavar", None) or str(parameter.name).upper()
                groups[ARGUMENTS].append((name, record[1]))
            else:
                groups[getattr(parameter, "rich_help_panel", None) or OTHER_OPTIONS].append(record)
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


class PipedHelpGroup(TyperGroup):
    """The commands; a reader of their help that stops early, such as ``head``, is not an error."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().make_context(*args, **kwargs)
        except BrokenPipeError:
            discard_standard_output()
            raise typer.Exit from None

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            discard_standard_output()
            raise typer.Exit from None


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
