"""Options about results and messages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import typer

from .._console import Console
from ._panels import COLUMNS, OUTPUT

_option = partial(typer.Option, rich_help_panel=OUTPUT)

output_option = partial(_option, "--output", "-o", metavar="FILE")

JsonOption = Annotated[bool, _option("--json", help="Print the result as JSON.")]
QuietOption = Annotated[bool, _option("--quiet", "-q", help="Suppress progress messages and notes.")]


@dataclass(frozen=True, kw_only=True)
class ConsoleOptions:
    """What is printed, and how."""

    json: JsonOption = False
    quiet: QuietOption = False
    strict: bool = False

    def open(self) -> Console:
        """The console of the command."""
        return Console(self.quiet, self.json, self.strict)


@dataclass(frozen=True, kw_only=True)
class TrainingConsoleOptions(ConsoleOptions):
    """Notes about training data can be errors."""

    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Stop with an error where a note would say that the data may mislead.",
            rich_help_panel=COLUMNS,
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class DriftConsoleOptions(ConsoleOptions):
    """The predictions are the result, and JSON describes their rows."""

    json: Annotated[
        bool,
        _option("--json", help="Print how the rows differ from the training rows as JSON; needs --output."),
    ] = False
